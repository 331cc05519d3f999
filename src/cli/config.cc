// `config`: check, show and env. What they print comes from whoever knows the configuration; no server is asked.
#include <ostream>

#include "cli/commands.h"

namespace bartleby::cli {
namespace {

Command question(const char* verb, const char* summary, std::vector<std::string> examples,
                 ConfigQuestion CliContext::* member) {
  return {.name = std::string("config ") + verb,
          .summary = summary,
          .options = {{"--config", 'c', "FILE", "the file; without one ./bartleby.yaml where there is one"}},
          .examples = std::move(examples),
          .run = [member](const Arguments& arguments, const CliContext& context) -> Ran {
            const ConfigAnswer answer = (context.*member)(arguments.value("--config"));
            // Mistakes are no data.
            (answer.fine ? *context.out : *context.err) << answer.text;
            return answer.fine ? exit_status::kOk : exit_status::kUsage;
          }};
}

}  // namespace

std::vector<Command> config_commands() {
  return {question("check", "say every mistake of a configuration, or what it would run",
                   {"bartleby config check -c bartleby.yaml"}, &CliContext::config_check),
          question("show", "the configuration that holds, with where each value came from",
                   {"bartleby config show -c bartleby.yaml", "BARTLEBY__LOG__FORMAT=json bartleby config show"},
                   &CliContext::config_show),
          question("env", "every key with its environment variable", {"bartleby config env -c bartleby.yaml"},
                   &CliContext::config_env)};
}

}  // namespace bartleby::cli
