#include "cli/letter_text.h"

#include <algorithm>
#include <array>

#include "cli/text.h"

namespace bartleby::cli {

bool shows_payload(const JsonValue& letter) { return letter["origin"].has("key"); }

std::string error_text(const JsonValue& error) {
  const std::string type = error.text("type");
  const std::string message = error.text("message");
  if (type.empty() || message.empty()) return type + message;
  return type + ": " + message;
}

std::string sparkline(const JsonValue& numbers) {
  constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::int64_t most = 0;
  for (const JsonValue& n : numbers.items()) most = std::max(most, n.if_integer().value_or(0));
  std::string line;
  for (const JsonValue& n : numbers.items()) {
    const std::int64_t value = n.if_integer().value_or(0);
    line += value <= 0 ? " " : kBars[static_cast<std::size_t>(value * 7 / most)];
  }
  return line;
}

std::string names_text(const JsonValue& list) {
  std::string text;
  for (const JsonValue& name : list.items())
    if (const std::string* word = name.if_text()) text += (text.empty() ? "" : ", ") + *word;
  return text.empty() ? "-" : text;
}

std::string count_text(const JsonValue& document, std::size_t listed, std::string_view thing) {
  const auto shown_here = static_cast<std::int64_t>(listed);
  const std::int64_t total = document["count"].integer("value", shown_here);
  std::string text = document["count"].truth("exact") ? "" : "more than ";
  text += counted(total, thing);
  if (total > shown_here) text += ", the first " + grouped(shown_here) + " shown";
  return text;
}

}  // namespace bartleby::cli
