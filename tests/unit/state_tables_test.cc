// The tables of docs/letters.md are those of the program.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "model/issue.h"
#include "model/letter_state.h"
#include "model/operation.h"

namespace bartleby {
namespace {

constexpr char kPage[] = "docs/letters.md";

// Rows below a heading, as "from|cause|to".
std::multiset<std::string> rows_of_page(const std::string& heading) {
  std::ifstream file(kPage);
  EXPECT_TRUE(file) << "is this the project's folder? " << kPage;
  std::multiset<std::string> rows;
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) here = line == "## " + heading;
    if (!here || !line.starts_with("| ") || line.starts_with("| From")) continue;
    std::string row;
    for (const char c : line)
      if (c != ' ') row += c;
    rows.insert(row.substr(1, row.size() - 2));
  }
  return rows;
}

template <class Table>
std::multiset<std::string> rows_of(const Table& table) {
  std::multiset<std::string> rows;
  for (const auto& t : table)
    rows.insert(std::string(name(t.from)) + "|" + std::string(name(t.cause)) + "|" + std::string(name(t.to)));
  return rows;
}

TEST(StateTables, ThePageDrawsTheTablesOfTheProgram) {
  EXPECT_EQ(rows_of_page("A letter"), rows_of(kLetterTransitions));
  EXPECT_EQ(rows_of_page("An issue"), rows_of(kIssueTransitions));
  EXPECT_EQ(rows_of_page("An operation"), rows_of(kOperationTransitions));
}

template <class State, class Table>
void expect_one_answer_each(const Table& table) {
  std::set<std::pair<State, std::string>> seen;
  for (const auto& t : table) {
    EXPECT_TRUE(seen.insert({t.from, std::string(name(t.cause))}).second) << name(t.from) << " " << name(t.cause);
    EXPECT_EQ(next_state(t.from, t.cause), t.to);
  }
}

TEST(StateTables, AStateAndACauseHaveOneAnswer) {
  expect_one_answer_each<LetterState>(kLetterTransitions);
  expect_one_answer_each<IssueState>(kIssueTransitions);
  expect_one_answer_each<OperationState>(kOperationTransitions);
}

TEST(StateTables, WhatIsGoneStaysGone) {
  for (std::size_t c = 0; c < kLetterCauseNames.size(); ++c)
    EXPECT_EQ(next_state(LetterState::kGone, static_cast<LetterCause>(c)), std::nullopt);
  EXPECT_EQ(letter_state_named("gone"), std::nullopt);
  EXPECT_EQ(letter_state_named("replaying"), LetterState::kReplaying);
}

TEST(StateTables, ALaterLifeOpensALetterFromEveryState) {
  for (std::size_t s = 0; s < kLetterStates; ++s)
    EXPECT_EQ(next_state(static_cast<LetterState>(s), LetterCause::kCameBack), LetterState::kOpen);
}

}  // namespace
}  // namespace bartleby
