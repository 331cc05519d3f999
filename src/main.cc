// bartleby: the command line. Finds the command that was asked for and runs it.
//
// Exit status: 0 when the command did its work, 2 when the command line makes no sense.

#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

#include "wiring/serve.h"

namespace {

using Arguments = std::span<const std::string_view>;

constexpr int kOk = 0;
constexpr int kUsage = 2;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(Arguments arguments);
};

int show_help(Arguments arguments);
int show_version(Arguments arguments);
int run_serve(Arguments arguments) { return bartleby::serve(arguments, {}); }

constexpr std::array kCommands{
    Command{"help", "show this text", show_help},
    Command{"serve", "run workers and the API", run_serve},
    Command{"version", "show the version", show_version},
};

int refuse_arguments(std::string_view command, Arguments arguments) {
  std::cerr << "bartleby: " << command << " takes no argument, got '" << arguments.front() << "'\n";
  return kUsage;
}

int show_help(Arguments arguments) {
  if (!arguments.empty()) return refuse_arguments("help", arguments);
  std::cout << "bartleby: a worker runtime and dead letter office for Kafka\n\n"
            << "usage: bartleby COMMAND\n\n";
  for (const Command& command : kCommands) {
    const std::size_t padding = 10 - std::min<std::size_t>(command.name.size(), 9);
    std::cout << "  " << command.name;
    for (std::size_t i = 0; i < padding; ++i) std::cout << ' ';
    std::cout << command.summary << '\n';
  }
  return kOk;
}

int show_version(Arguments arguments) {
  if (!arguments.empty()) return refuse_arguments("version", arguments);
  std::cout << "bartleby " << BARTLEBY_VERSION << '\n';
  return kOk;
}

// How many letters must be added, removed or replaced to turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

int refuse_unknown(std::string_view name) {
  std::cerr << "bartleby: unknown command '" << name << "'\n";
  const auto distance = [&](const Command& command) { return edit_distance(name, command.name); };
  const Command& nearest = *std::ranges::min_element(kCommands, {}, distance);
  // Beyond half of its letters a word is not a slip of the finger but something else.
  if (distance(nearest) <= std::max<std::size_t>(nearest.name.size() / 2, 1)) {
    std::cerr << "did you mean 'bartleby " << nearest.name << "'? ";
  }
  std::cerr << "All commands: bartleby help\n";
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv, argv + argc);
  if (words.size() < 2) {
    std::cerr << "usage: bartleby COMMAND. All commands: bartleby help\n";
    return kUsage;
  }
  std::string_view name = words[1];
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version") name = "version";

  const auto* command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) return refuse_unknown(name);
  return command->run(Arguments(words).subspan(2));
}
