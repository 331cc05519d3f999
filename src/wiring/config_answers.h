// What `bartleby config check`, `show` and `env` answer with: the process's variables and the file, if one is named.
//
// The commands themselves are in src/cli, which does not know the configuration; here it is handed to them.
#pragma once

#include "cli/cli.h"

namespace bartleby {

void answer_config_questions(cli::CliContext& context);

}  // namespace bartleby
