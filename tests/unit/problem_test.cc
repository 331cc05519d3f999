// What of an error leaves the server, and what only its log is told.
#include "server/problem.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codec/utf8.h"

namespace bartleby {
namespace {

const Error kOfStore{ErrorCode::kUnavailable,
                     "/srv/data/office.db: INSERT INTO letters(id) VALUES($1): disk I/O error (SQLite error 778)"};

TEST(Problem, PathsAndStatementsOfTheStoreAreForTheLogAlone) {
  for (const Response& response : {store_problem(kOfStore), problem(kOfStore)}) {
    EXPECT_FALSE(response.body.contains("/srv")) << response.body;
    EXPECT_FALSE(response.body.contains("INSERT")) << response.body;
    EXPECT_TRUE(response.body.contains("SQLite error 778")) << response.body;
    EXPECT_TRUE(response.body.contains("the server's log says what it was")) << response.body;
    EXPECT_EQ(response.for_log, kOfStore.message);
  }
}

TEST(Problem, WhatTheCallerSaidWrongIsToldAsItIs) {
  const Response response = problem(Error{ErrorCode::kInvalid, "orders.dlq has 3 partitions (SQLite error 1)"});
  EXPECT_EQ(response.status, 422);
  EXPECT_TRUE(response.body.contains("orders.dlq has 3 partitions (SQLite error 1)")) << response.body;
  EXPECT_EQ(response.for_log, "");
}

TEST(Problem, WhatIsQuotedAndCutInACharacterIsStillText) {
  const std::string cut = "the beginning of a character: \xf0\x9d";
  const Response response = problem(ProblemType::kInvalid, cut, {{cut, cut}});
  EXPECT_TRUE(is_utf8(response.body)) << response.body;
}

TEST(Problem, WhoMayTryAgainIsToldWhen) {
  const auto waits = [](const Response& response) {
    return std::ranges::count(response.headers, std::pair<std::string, std::string>("Retry-After", "1")) == 1;
  };
  EXPECT_TRUE(waits(store_problem(kOfStore)));
  EXPECT_TRUE(waits(problem(Error{ErrorCode::kUnavailable, "the broker does not answer"})));
  EXPECT_FALSE(waits(problem(Error{ErrorCode::kNotFound, "there is no such letter"})));
}

}  // namespace
}  // namespace bartleby
