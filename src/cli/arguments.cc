#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace bartleby::cli {
namespace {

// How many letters must be added, removed, replaced or swapped with their neighbour to turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before;  // two rows up
  std::vector<std::size_t> above;
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({above[j - 1] + (from[i - 1] == to[j - 1] ? 0U : 1U), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string joined(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

class Reader {
 public:
  Reader(std::string_view command, std::span<const Operand> operands, std::span<const Option> options)
      : command_(command), operands_(operands), options_(options) {}

  std::unexpected<Failure> wrong(const std::string& what) const {
    return refuse(exit_status::kUsage, what + "\nAll it takes: bartleby " + std::string(command_) + " --help");
  }

  const Option* long_option(std::string_view name) const {
    const auto found = std::ranges::find(options_, name, &Option::name);
    return found == options_.end() ? nullptr : &*found;
  }

  const Option* short_option(char letter) const {
    const auto found = std::ranges::find(options_, letter, &Option::letter);
    return found == options_.end() ? nullptr : &*found;
  }

  std::unexpected<Failure> unknown_option(std::string_view word) const {
    std::vector<std::string> names;
    for (const Option& option : options_) names.push_back(option.name);
    std::string text = std::string(command_) + " has no option '" + std::string(word) + "'";
    if (const auto near = nearest(word, names)) text += "; did you mean '" + *near + "'?";
    return wrong(text);
  }

  std::optional<std::string> refused_choice(const std::string& what, const std::vector<std::string>& choices,
                                            const std::string& value) const {
    if (choices.empty() || std::ranges::find(choices, value) != choices.end()) return std::nullopt;
    std::string text = what + " is one of " + joined(choices, ", ") + ", not '" + value + "'";
    if (const auto near = nearest(value, choices)) text += "; did you mean '" + *near + "'?";
    return text;
  }

  std::optional<std::string> refused_operands(const std::vector<std::string>& given) const {
    const bool open = !operands_.empty() && operands_.back().repeats;
    if (given.size() > operands_.size() && !open) {
      const std::string surplus = "'" + given[operands_.size()] + "'";
      if (operands_.empty()) return std::string(command_) + " takes no argument, got " + surplus;
      return std::string(command_) + " has an argument too many: " + surplus;
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      if (i >= given.size()) {
        if (operands_[i].needed) return std::string(command_) + " needs " + operands_[i].name;
        break;
      }
      if (auto text = refused_choice(operands_[i].name, operands_[i].choices, given[i])) return text;
    }
    return std::nullopt;
  }

 private:
  std::string_view command_;
  std::span<const Operand> operands_;
  std::span<const Option> options_;
};

}  // namespace

std::expected<Arguments, Failure> Arguments::read(std::string_view command, std::span<const Operand> operands,
                                                  std::span<const Option> options,
                                                  std::span<const std::string_view> words) {
  const Reader reader(command, operands, options);
  Arguments out;
  out.command_ = command;
  bool only_operands = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (only_operands || word.size() < 2 || word[0] != '-') {
      out.operands_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      only_operands = true;
      continue;
    }
    const Option* option = nullptr;
    std::optional<std::string_view> attached;
    if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      option = reader.long_option(word.substr(0, equals));
      if (equals != std::string_view::npos) attached = word.substr(equals + 1);
    } else {
      option = reader.short_option(word[1]);
      if (word.size() > 2) attached = word.substr(2);
    }
    if (option == nullptr) return reader.unknown_option(word.substr(0, word.find('=')));
    if (option->value.empty() && attached) return reader.wrong(option->name + " takes no value");
    std::string value;
    if (!option->value.empty()) {
      if (!attached && ++i == words.size()) return reader.wrong(option->name + " needs " + option->value);
      value = attached ? *attached : words[i];
      if (auto text = reader.refused_choice(option->name, option->choices, value)) return reader.wrong(*text);
    }
    std::vector<std::string>& values = out.values_[option->name];
    if (!values.empty() && !option->repeats && values.back() != value)
      return reader.wrong(option->name + " is given twice, and differs");
    values.push_back(std::move(value));
  }
  // Who asks for help gets it, whatever else is missing.
  if (out.has("--help")) return out;
  if (auto text = reader.refused_operands(out.operands_)) return reader.wrong(*text);
  return out;
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::string> Arguments::operand_if(std::size_t i) const {
  if (i >= operands_.size()) return std::nullopt;
  return operands_[i];
}

std::expected<std::int64_t, Failure> Arguments::number(std::string_view option, std::int64_t fallback,
                                                       std::int64_t least, std::int64_t most) const {
  const auto text = value(option);
  if (!text) return fallback;
  const auto n = integer_of(*text);
  if (n && *n >= least && *n <= most) return *n;
  return refuse(exit_status::kUsage, std::string(option) + " is a number from " + std::to_string(least) + " to " +
                                         std::to_string(most) + ", not '" + *text + "'");
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 64 || candidates.empty()) return std::nullopt;
  const auto distance = [&](const std::string& candidate) { return edit_distance(word, candidate); };
  const std::string& best = *std::ranges::min_element(candidates, {}, distance);
  // Beyond a third of its letters a word is not a slip of the finger but something else.
  if (distance(best) > std::max<std::size_t>(best.size() / 3, 1)) return std::nullopt;
  return best;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<Place> place_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto partition = integer_of(text.substr(0, colon));
  const auto offset = integer_of(text.substr(colon + 1));
  if (!partition || !offset || *partition < 0 || *partition > INT32_MAX || *offset < 0) return std::nullopt;
  return Place{static_cast<std::int32_t>(*partition), *offset};
}

std::optional<std::int64_t> rate_of(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  const auto rate = integer_of(text);
  return rate && *rate >= 0 && *rate <= 1000000 ? rate : std::nullopt;
}

}  // namespace bartleby::cli
