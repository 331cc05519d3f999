#include "cli/cli.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/session.h"

namespace bartleby::cli {
namespace {

void append(std::vector<Command>& commands, std::vector<Command> more) {
  for (Command& command : more) commands.push_back(std::move(command));
}

void fill_in(CliContext& context) {
  if (context.out == nullptr) {
    context.out = &std::cout;
    if (!context.terminal) context.terminal = isatty(STDOUT_FILENO) == 1;
  }
  if (context.err == nullptr) context.err = &std::cerr;
  if (!context.variable)
    context.variable = [](const std::string& name) -> std::optional<std::string> {
      const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nothing here sets one
      return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
  if (!context.now) context.now = [] { return system_now().wall; };
}

const Command* find(const std::vector<Command>& commands, const std::string& name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

bool is_group(const std::vector<Command>& commands, std::string_view word) {
  const std::string start = std::string(word) + " ";
  return std::ranges::any_of(commands, [&](const Command& c) { return c.name.starts_with(start); });
}

Failure unknown_command(const std::vector<Command>& commands, const std::string& word) {
  std::vector<std::string> firsts;
  for (const Command& command : commands) firsts.push_back(command.name.substr(0, command.name.find(' ')));
  std::string text = "unknown command '" + word + "'\n";
  if (const auto near = nearest(word, firsts)) text += "did you mean 'bartleby " + *near + "'? ";
  return {exit_status::kUsage, text + "All commands: bartleby help"};
}

Failure unknown_verb(const std::vector<Command>& commands, const std::string& group,
                     const std::optional<std::string>& verb) {
  std::vector<std::string> verbs;
  std::string list;
  for (const Command& command : commands) {
    if (!command.name.starts_with(group + " ")) continue;
    verbs.push_back(command.name.substr(group.size() + 1));
    list += (list.empty() ? "" : "|") + verbs.back();
  }
  std::string text = verb ? group + " has no '" + *verb + "'" : group + " needs to know what to do";
  if (verb)
    if (const auto near = nearest(*verb, verbs)) text += "; did you mean 'bartleby " + group + " " + *near + "'?";
  return {exit_status::kUsage, text + "\nusage: bartleby " + group + " " + list};
}

void tell(const CliContext& context, const Failure& failure) { *context.err << "bartleby: " << failure.text << '\n'; }

// Options may also stand before the command, where they are options of every command that talks to a server.
std::expected<std::size_t, Failure> leading_options(std::span<const std::string_view> words) {
  const std::vector<Option> options = server_options();
  std::size_t i = 0;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    const auto option = std::ranges::find_if(options, [&](const Option& o) {
      return o.name == name || (words[i].size() >= 2 && words[i][1] == o.letter && words[i][1] != '-');
    });
    if (option == options.end())
      return refuse(exit_status::kUsage,
                    "no option '" + std::string(name) + "' before a command\nAll commands: bartleby help");
    const bool attached = name != words[i] || (words[i][1] != '-' && words[i].size() > 2);
    if (!option->value.empty() && !attached) ++i;
  }
  return std::min(i, words.size());
}

Ran run_command(const Command& command, std::span<const std::string_view> words, const CliContext& context) {
  if (command.run_words) return command.run_words(words);
  std::vector<Option> options = command.options;
  options.push_back({"--help", 'h', "", "show this text"});
  const auto arguments = Arguments::read(command.name, command.operands, options, words);
  if (!arguments) return refuse(command.mistake, arguments.error().text);
  if (arguments->has("--help")) {
    *context.out << help_of(command);
    return exit_status::kOk;
  }
  return command.run(*arguments, context);
}

Ran dispatch(std::span<const std::string_view> words, const CliContext& context) {
  const std::vector<Command> commands = all_commands(context);
  if (words.empty()) return refuse(exit_status::kUsage, "say what to do. All commands: bartleby help");
  std::string first(words[0]);
  if (first == "--help" || first == "-h") first = "help";
  if (first == "--version") first = "version";
  std::vector<std::string_view> rest(words.begin() + 1, words.end());
  if (first.starts_with('-')) {
    const auto leading = leading_options(words);
    if (!leading) return std::unexpected(leading.error());
    if (*leading == words.size()) return refuse(exit_status::kUsage, "say what to do. All commands: bartleby help");
    first = words[*leading];
    rest.assign(words.begin() + static_cast<std::ptrdiff_t>(*leading) + 1, words.end());
    // Behind the verb, and before a `--` that would make operands of them.
    const std::size_t verb = is_group(commands, first) && !rest.empty() ? 1 : 0;
    rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(verb), words.begin(),
                words.begin() + static_cast<std::ptrdiff_t>(*leading));
  }
  if (const Command* command = find(commands, first)) return run_command(*command, rest, context);
  if (!is_group(commands, first)) return std::unexpected(unknown_command(commands, first));
  if (rest.empty()) return std::unexpected(unknown_verb(commands, first, std::nullopt));
  if (rest[0] == "--help" || rest[0] == "-h") {
    *context.out << help_of_group(commands, first);
    return exit_status::kOk;
  }
  const Command* command = find(commands, first + " " + std::string(rest[0]));
  if (command == nullptr) return std::unexpected(unknown_verb(commands, first, std::string(rest[0])));
  return run_command(*command, std::span(rest).subspan(1), context);
}

}  // namespace

std::vector<Command> all_commands(const CliContext& context) {
  std::vector<Command> commands = context.commands;
  append(commands, send_commands());
  append(commands, tail_commands());
  append(commands, topics_commands());
  append(commands, workers_commands());
  append(commands, parked_commands());
  append(commands, explain_commands());
  append(commands, letters_commands());
  append(commands, letter_order_commands());
  append(commands, issues_commands());
  append(commands, ops_commands());
  append(commands, dlqs_commands());
  append(commands, purge_commands());
  append(commands, archive_commands());
  append(commands, audit_commands());
  append(commands, channels_commands());
  append(commands, keys_commands());
  append(commands, status_commands());
  if (context.config_check) append(commands, config_commands());
  append(commands, receiver_commands());
  append(commands, api_commands());
  append(commands, completion_commands());
  append(commands, version_commands());
  append(commands, help_commands());
  return commands;
}

int run_cli(std::span<const std::string_view> words, CliContext context) {
  fill_in(context);
  // A reader that goes away (`| head`) is noticed by the stream, not by a signal that ends the process.
  std::signal(SIGPIPE, SIG_IGN);
  const Ran ran = dispatch(words, context);
  context.out->flush();
  if (!ran) {
    tell(context, ran.error());
    return ran.error().status;
  }
  return *ran;
}

}  // namespace bartleby::cli
