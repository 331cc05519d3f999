// `version`: of this program; which version a server runs is in its /openapi.json.
#include <ostream>

#include "cli/commands.h"

namespace bartleby::cli {

std::vector<Command> version_commands() {
  return {{.name = "version",
           .summary = "show the version",
           .examples = {"bartleby version"},
           .run = [](const Arguments&, const CliContext& context) -> Ran {
             *context.out << "bartleby " << context.version << '\n';
             return exit_status::kOk;
           }}};
}

}  // namespace bartleby::cli
