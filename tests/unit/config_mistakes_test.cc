// Configuration mistakes, one row a case: tests/robustness/config_mistakes.txt. Each row is what somebody wrote and the
// exact answer; and every key of the table must have its rows: a wrong type, a wrong value, a near miss.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "wiring/config.h"
#include "wiring/config_keys.h"

namespace bartleby {
namespace {

struct Row {
  int line = 0;
  std::string input;
  std::string answer;
};

constexpr const char* kTable = BARTLEBY_SOURCE "/tests/robustness/config_mistakes.txt";

std::vector<Row> rows() {
  std::vector<Row> out;
  std::ifstream in(kTable);
  std::string text;
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.empty() || text.starts_with('#')) continue;
    const std::size_t arrow = text.find(" => ");
    out.push_back({line, text.substr(0, arrow), arrow == std::string::npos ? "" : text.substr(arrow + 4)});
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\\n")) {
      out += '\n';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

// `$NAME=value && yaml`: variables first, then the file.
ConfigSources sources_of(std::string_view input) {
  ConfigSources out;
  while (input.starts_with('$')) {
    const std::size_t end = input.find(" && ");
    const std::string_view variable = input.substr(1, end - 1);
    const std::size_t equals = variable.find('=');
    out.environment.emplace(variable.substr(0, equals), variable.substr(equals + 1));
    input.remove_prefix(end + 4);
  }
  out.file = ConfigFile{"f", unescaped(input)};
  out.read = [](const std::string&) -> std::expected<std::string, std::string> {
    return std::unexpected("No such file or directory");
  };
  return out;
}

std::string answer_to(std::string_view input) {
  const auto config = load(sources_of(input));
  if (config) return "fine";
  std::string out;
  for (const Mistake& mistake : config.error()) out += (out.empty() ? "" : " | ") + mistake.text();
  return out;
}

// The answers in the table replaced by those of the program, to be read and judged.
void write_answers() {
  std::ifstream in(kTable);
  std::ostringstream out;
  for (std::string text; std::getline(in, text);) {
    const std::string input = text.substr(0, text.find(" => "));
    out << (text.empty() || text.starts_with('#') ? text : input + " => " + answer_to(input)) << "\n";
  }
  in.close();
  std::ofstream(kTable) << out.str();
}

TEST(ConfigMistakes, GetTheAnswerOfTheTable) {
  if (std::getenv("BARTLEBY_WRITE_ANSWERS") != nullptr) write_answers();
  const std::vector<Row> all = rows();
  ASSERT_GT(all.size(), 200U);
  for (const Row& row : all) EXPECT_EQ(answer_to(row.input), row.answer) << "line " << row.line << ": " << row.input;
}

TEST(ConfigMistakes, EveryKeyHasItsRows) {
  const std::vector<Row> all = rows();
  const auto has = [&](const std::string& key, std::string_view what) {
    return std::ranges::any_of(
        all, [&](const Row& row) { return row.answer.contains(": " + key + ": ") && row.answer.contains(what); });
  };
  for (const Key& key : config_keys()) {
    std::string path(key.path);
    const bool named = path.ends_with('*');
    for (std::size_t at = path.find('*'); at != std::string::npos; at = path.find('*')) {
      const bool kinds = path.substr(0, at).ends_with("kinds.");
      path.replace(at, 1, kinds ? "timeout" : path.starts_with("brokers") ? "main" : path.starts_with("p") ? "p" : "w");
    }
    if (const std::size_t item = path.find(".[]"); item != std::string::npos) path.replace(item, 3, "[0]");
    EXPECT_TRUE(has(path, "got a list, wants ") || has(path, "got a map, wants ")) << path << ": wrong type";
    EXPECT_TRUE(key.type == KeyType::kMap || has(path, ": got \"") || has(path, ": got the text ") ||
                has(path, ": got a secret") || has(path, "[0]: ") || has(path + "[0]", ": "))
        << path << ": wrong value";
    if (named) continue;
    const std::string name = path.substr(path.rfind('.') + 1);
    EXPECT_TRUE(std::ranges::any_of(
        all, [&](const Row& row) { return row.answer.ends_with("unknown key; did you mean " + name + "?"); }))
        << path << ": near miss";
  }
}

}  // namespace
}  // namespace bartleby
