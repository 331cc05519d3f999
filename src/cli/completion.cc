// `completion`: a script for bash, zsh or fish, made from the table of commands. Names of workers, topics,
// letters, issues and dlqs are asked from the server when they are needed; a server that is away completes to nothing.
#include <algorithm>
#include <ostream>

#include "cli/commands.h"

namespace bartleby::cli {
namespace {

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

std::vector<std::string> first_words(const std::vector<Command>& commands) {
  std::vector<std::string> words;
  for (const Command& command : commands)
    if (const std::string word = first_word(command.name); std::ranges::find(words, word) == words.end())
      words.push_back(word);
  return words;
}

std::string verbs_of(const std::vector<Command>& commands, const std::string& word) {
  std::string verbs;
  for (const Command& command : commands)
    if (command.name.starts_with(word + " "))
      verbs += (verbs.empty() ? "" : " ") + command.name.substr(word.size() + 1);
  return verbs;
}

// What to write in the first operand's place: words, or a call that gives them.
std::string operand_words(const Command& command) {
  if (command.operands.empty()) return "";
  const Operand& operand = command.operands.front();
  if (operand.name == "WORKER") return "$(bartleby workers ls -o name 2>/dev/null)";
  if (operand.name == "TOPIC") return "$(bartleby topics ls -o name 2>/dev/null)";
  if (operand.name == "LETTER") return "$(bartleby letters ls -o name 2>/dev/null)";
  if (operand.name == "ISSUE") return "$(bartleby issues ls -o name 2>/dev/null)";
  if (operand.name == "OPERATION") return "$(bartleby ops ls -o name 2>/dev/null)";
  if (operand.name == "DLQ") return "$(bartleby dlqs ls -o name 2>/dev/null)";
  std::string words;
  for (const std::string& choice : operand.choices) words += (words.empty() ? "" : " ") + choice;
  return words;
}

std::string option_words(const Command& command) {
  std::string words;
  for (const Option& option : command.options) words += option.name + " ";
  return words + "--help";
}

std::string bash_script(const std::vector<Command>& commands) {
  std::string out =
      "# bash completion for bartleby. Load it with: source <(bartleby completion bash)\n"
      "_bartleby() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  local command=\"${COMP_WORDS[1]}\" words=''\n"
      "  case \"$command\" in\n";
  std::string all;
  for (const std::string& word : first_words(commands)) {
    all += (all.empty() ? "" : " ") + word;
    const std::string verbs = verbs_of(commands, word);
    if (!verbs.empty())
      out +=
          "    " + word + ") [[ $COMP_CWORD -gt 2 ]] && command+=\" ${COMP_WORDS[2]}\" || words='" + verbs + "' ;;\n";
  }
  out += "  esac\n  if [[ $COMP_CWORD -eq 1 ]]; then\n    words='" + all +
         "'\n  elif [[ -z $words ]]; then\n    case \"$command\" in\n";
  for (const Command& command : commands)
    out += "      '" + command.name + "') words=\"" + option_words(command) +
           "\"\n        [[ $word == -* ]] || words=\"" + operand_words(command) + "\" ;;\n";
  out +=
      "    esac\n"
      "    case \"$before\" in\n"
      "      -o|--output) words='table json jsonl name' ;;\n"
      "      -c|--config) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
      "    esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -F _bartleby bartleby\n";
  return out;
}

std::string zsh_script(const std::vector<Command>& commands) {
  return "#compdef bartleby\n# zsh completion for bartleby. Load it with: source <(bartleby completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(commands);
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_script(const std::vector<Command>& commands) {
  std::string out =
      "# fish completion for bartleby. Load it with: bartleby completion fish | source\n"
      "complete -c bartleby -f\n";
  for (const std::string& word : first_words(commands)) {
    const auto one = std::ranges::find(commands, word, &Command::name);
    const std::string what = one == commands.end() ? verbs_of(commands, word) : one->summary;
    out += "complete -c bartleby -n __fish_use_subcommand -a " + word + " -d " + quoted(what) + "\n";
  }
  for (const Command& command : commands) {
    const std::string word = first_word(command.name);
    std::string when = "__fish_seen_subcommand_from " + word;
    if (command.name != word) {
      const std::string verb = command.name.substr(word.size() + 1);
      const std::string verbs = verbs_of(commands, word);
      out += "complete -c bartleby -n " + quoted(when + "; and not __fish_seen_subcommand_from " + verbs) + " -a " +
             verb + " -d " + quoted(command.summary) + "\n";
      when += "; and __fish_seen_subcommand_from " + verb;
    }
    std::string words = operand_words(command);
    if (words.starts_with('$')) words.erase(0, 1);  // fish calls without the sign
    if (!words.empty()) out += "complete -c bartleby -n " + quoted(when) + " -a " + quoted(words) + "\n";
    for (const Option& option : command.options) {
      out += "complete -c bartleby -n " + quoted(when) + " -l " + option.name.substr(2);
      if (option.letter != 0) out += std::string(" -s ") + option.letter;
      if (!option.value.empty()) out += option.value == "FILE" ? " -r -F" : " -x";
      std::string choices;
      for (const std::string& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
      if (!choices.empty()) out += " -a " + quoted(choices);
      out += " -d " + quoted(option.help) + "\n";
    }
  }
  return out;
}

Ran run_completion(const Arguments& arguments, const CliContext& context) {
  const std::vector<Command> commands = all_commands(context);
  const std::string& shell = arguments.operand(0);
  *context.out << (shell == "bash"  ? bash_script(commands)
                   : shell == "zsh" ? zsh_script(commands)
                                    : fish_script(commands));
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> completion_commands() {
  return {{.name = "completion",
           .summary = "print completions for a shell",
           .operands = {{"SHELL", true, {"bash", "zsh", "fish"}}},
           .examples = {"source <(bartleby completion bash)", "bartleby completion fish | source"},
           .run = run_completion}};
}

}  // namespace bartleby::cli
