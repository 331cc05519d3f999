// The command line: a list of commands, and what finds the one that was asked for and runs it.
//
// A command is a row of a table: its words, what it takes, its examples, and the function behind it. Help and
// completions are made from the rows. A program adds its own (`serve`, say) in `CliContext::commands`. Data goes to
// `out`, everything else to `err`. The commands of this folder speak to a server over HTTP and hold nothing; what they
// need from folders above this one (the configuration) is passed in.
#pragma once

#include <expected>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/arguments.h"

namespace bartleby::cli {

struct CliContext;

// The process's exit status, or what to tell and the status with it.
using Ran = std::expected<int, Failure>;

struct Command {
  std::string name;  // one word or two: `send`, `workers ls`
  std::string summary;
  std::vector<Operand> operands = {};
  std::vector<Option> options = {};  // `--help` is added to every command
  std::string details = {};          // what the summary has no room for
  std::vector<std::string> examples = {};
  std::function<Ran(const Arguments& arguments, const CliContext& context)> run = {};
  // Instead of `run`: reads its words itself, `--help` among them. What is above is then for lists and completions.
  std::function<int(std::span<const std::string_view> words)> run_words = {};
  int mistake = exit_status::kUsage;  // what it ends with where its words are wrong
};

// What `config check`, `show` and `env` print; `fine` is false where the configuration cannot be.
struct ConfigAnswer {
  bool fine = true;
  std::string text;
};
using ConfigQuestion = std::function<ConfigAnswer(const std::optional<std::string>& file)>;

struct CliContext {
  std::string version;
  std::vector<Command> commands = {};                    // beside those of this folder; shown first
  ConfigQuestion config_check, config_show, config_env;  // absent: there are no `config` commands

  // The process, unless a test says otherwise.
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  std::function<std::optional<std::string>(const std::string& name)> variable = {};
  std::function<Timestamp()> now = {};
  std::optional<bool> terminal = {};  // whether `out` is one
};

// `words` are those after the program's name.
int run_cli(std::span<const std::string_view> words, CliContext context);

// Every command there is in this context, in the order of the help.
std::vector<Command> all_commands(const CliContext& context);
std::string usage_of(const Command& command);  // `send TOPIC [VALUE] [options]`
std::string help_of(const Command& command);
std::string help_of_all(std::span<const Command> commands);
std::string help_of_group(std::span<const Command> commands, std::string_view word);

}  // namespace bartleby::cli
