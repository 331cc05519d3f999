// Operations as text, and following one to its end: shared by the commands that plan, start or watch them.
// One thread; what it follows goes on at the server whatever happens here.
#pragma once

#include <string>

#include "cli/json_value.h"
#include "cli/session.h"

namespace bartleby::cli {

// What a plan will do, and to whom; one line, and a line for each thing that should be known before.
std::string plan_text(const JsonValue& operation);
// `replay op_7f3 running: 400 of 1 000 (40 %), succeeded 390, waiting 8, came back 2`
std::string progress_line(const JsonValue& operation);
std::string bar_text(const JsonValue& operation, std::size_t width);  // `██████░░░░ 400/1000  succeeded 390 …`

// 0: all done; 6: some letters came back or were left out, or it was ended early; 7: it halted itself.
int exit_status_of_operation(const JsonValue& operation);

// Shows progress until it ends or halts: a bar on a terminal, else a line whenever something has changed. Interrupted,
// it says that the operation goes on.
Ran follow_operation(Session& session, const CliContext& context, const std::string& id);

// Plans what `body` asks for. Without `yes` the plan is shown, with what would start it; with it the operation is
// started and followed.
Ran plan_operation(Session& session, const CliContext& context, const std::string& body, bool yes);

}  // namespace bartleby::cli
