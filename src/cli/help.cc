// `help`, and the text of `--help`: made from the same rows that the words are read against.
#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kColumn = 24;

void append_row(std::string& out, const std::string& left, const std::string& right) {
  out += "  " + left;
  if (right.empty()) {
    out += '\n';
    return;
  }
  const std::size_t width = width_of(left) + 2;
  if (width + 2 > kColumn)
    out += "\n" + std::string(kColumn, ' ');
  else
    out.append(kColumn - width, ' ');
  out += right + "\n";
}

std::string left_of(const Option& option) {
  std::string text = option.letter == 0 ? "    " : std::string("-") + option.letter + ", ";
  text += option.name;
  if (!option.value.empty()) text += " " + option.value;
  if (option.repeats) text += " …";
  return text;
}

Ran run_help(const Arguments& arguments, const CliContext& context) {
  const std::vector<Command> commands = all_commands(context);
  if (arguments.size() == 0) {
    *context.out << help_of_all(commands);
    return exit_status::kOk;
  }
  std::string name = arguments.operand(0);
  if (arguments.size() == 2) name += " " + arguments.operand(1);
  const auto found = std::ranges::find(commands, name, &Command::name);
  if (found != commands.end() && found->run_words) {
    constexpr std::string_view kHelp = "--help";
    return found->run_words({&kHelp, 1});
  }
  if (found != commands.end()) {
    *context.out << help_of(*found);
    return exit_status::kOk;
  }
  const std::string group = help_of_group(commands, name);
  if (!group.empty()) {
    *context.out << group;
    return exit_status::kOk;
  }
  return refuse(exit_status::kUsage, "no command '" + name + "'\nAll commands: bartleby help");
}

}  // namespace

std::string usage_of(const Command& command) {
  std::string text = command.name;
  for (const Operand& operand : command.operands) {
    std::string name = operand.name + (operand.repeats ? "…" : "");
    text += operand.needed ? " " + name : " [" + name + "]";
  }
  if (!command.options.empty()) text += " [options]";
  return text;
}

std::string help_of(const Command& command) {
  std::string out = "usage: bartleby " + usage_of(command) + "\n\n" + command.summary + "\n";
  if (!command.details.empty()) out += "\n" + command.details + "\n";
  out += "\noptions:\n";
  for (const Option& option : command.options) append_row(out, left_of(option), option.help);
  append_row(out, "-h, --help", "show this text");
  if (!command.examples.empty()) out += "\nexamples:\n";
  for (const std::string& example : command.examples) out += "  " + example + "\n";
  return out;
}

std::string help_of_group(std::span<const Command> commands, std::string_view word) {
  std::string rows;
  std::string examples;
  for (const Command& command : commands) {
    if (!command.name.starts_with(std::string(word) + " ")) continue;
    append_row(rows, command.name, command.summary);
    for (const std::string& example : command.examples) examples += "  " + example + "\n";
  }
  if (rows.empty()) return "";
  return "usage: bartleby " + std::string(word) + " VERB [options]\n\n" + rows + "\nexamples:\n" + examples +
         "\nMore on one: bartleby " + std::string(word) + " VERB --help\n";
}

std::string help_of_all(std::span<const Command> commands) {
  std::string out =
      "bartleby: a worker runtime and dead letter office for Kafka\n\n"
      "usage: bartleby COMMAND [options]\n\n";
  for (const Command& command : commands) append_row(out, command.name, command.summary);
  out +=
      "\nMore on one: bartleby COMMAND --help\n"
      "Exit status: 0 done, 1 error, 2 usage or configuration, 3 not found, 4 denied, 5 conflict, 6 partly done,\n"
      "7 halted by a guard, 8 timeout or unreachable\n";
  return out;
}

std::vector<Command> help_commands() {
  return {{.name = "help",
           .summary = "show all commands, or one",
           .operands = {{"COMMAND", false}, {"VERB", false}},
           .examples = {"bartleby help", "bartleby help workers pause"},
           .run = run_help}};
}

}  // namespace bartleby::cli
