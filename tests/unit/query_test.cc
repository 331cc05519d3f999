// Plays every row of tests/unit/query_cases.txt.
#include "codec/query.h"

#include <gtest/gtest.h>

#include <fstream>

namespace bartleby {
namespace {

constexpr char kTable[] = "tests/unit/query_cases.txt";

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "\\x") == 0) {
      out += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(Query, EveryRowOfTheTableHasItsAnswer) {
  std::ifstream file(kTable);
  ASSERT_TRUE(file) << "is this the project's folder? " << kTable;
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t arrow = line.find("=>");
    ASSERT_NE(arrow, std::string::npos) << line;
    ++rows;
    const std::string text = unescaped(line.substr(0, arrow == 0 ? 0 : arrow - 1));
    const std::string wanted = line.size() > arrow + 3 ? line.substr(arrow + 3) : "";
    const auto query = parse_query(text);
    if (!wanted.starts_with("error ")) {
      ASSERT_TRUE(query) << line << "\n  " << query.error().position << ": " << query.error().message;
      EXPECT_EQ(query_text(*query), wanted) << line;
      EXPECT_EQ(parse_query(wanted), *query) << line;
      continue;
    }
    const std::size_t colon = wanted.find(':');
    if (query) {
      ADD_FAILURE() << line << "\n  is " << query_text(*query);
      continue;
    }
    EXPECT_EQ(std::to_string(query.error().position), wanted.substr(6, colon - 6)) << line << query.error().message;
    EXPECT_NE(query.error().message.find(wanted.substr(colon + 2)), std::string::npos)
        << line << "\n  " << query.error().message;
  }
  EXPECT_GT(rows, 55);
}

TEST(Query, IsBounded) {
  EXPECT_TRUE(parse_query("key:" + std::string(kMaxQuery - 4, 'x')));
  EXPECT_FALSE(parse_query("key:" + std::string(kMaxQuery - 3, 'x')));
  std::string many;
  for (std::size_t i = 0; i < kMaxQueryTerms; ++i) many += "a ";
  EXPECT_TRUE(parse_query(many));
  const auto more = parse_query(many + "b");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().position, many.size());
}

}  // namespace
}  // namespace bartleby
