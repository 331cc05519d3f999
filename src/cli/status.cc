// `status`: whether Bartleby itself is well.
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

std::string checks_table(const Session& session, const JsonValue& status) {
  Table table({{"CHECK", 20}, {"RESULT", 8}, {"DETAIL", 100}});
  for (const JsonValue& check : status["checks"].items())
    table.add({check.text("name"), check.text("status"), check.text("detail")});
  return session.text_of(table) + shown(status.text("cluster")) + ", version " + shown(status.text("version")) + ": " +
         status.text("status") + "\n";
}

Ran show_status(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto status = session->get("/api/v1/status");
    if (!status) return std::unexpected(status.error());
    session->show_one(*status, status->text("status"), [&] { return checks_table(*session, *status); });
    const std::string word = status->text("status");
    return word == "fail" ? exit_status::kError : word == "halted" ? exit_status::kHalted : exit_status::kOk;
  });
}

}  // namespace

std::vector<Command> status_commands() {
  return {{.name = "status",
           .summary = "whether Bartleby itself is well: its self-checks",
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby status", "bartleby status -o name"},
           .run = show_status}};
}

}  // namespace bartleby::cli
