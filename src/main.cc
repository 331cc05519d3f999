// bartleby: the command line. What it can do is in src/cli; what a server is made of, in src/wiring.

#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "wiring/config_answers.h"

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  bartleby::cli::CliContext context;
  context.version = BARTLEBY_VERSION;
  bartleby::answer_config_questions(context);
  return bartleby::cli::run_cli(words, std::move(context));
}
