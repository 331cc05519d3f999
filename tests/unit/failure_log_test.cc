#include "runtime/failure_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bartleby {
namespace {

class FailureLogTest : public ::testing::Test {
 protected:
  void fail(int times) {
    Decision decision;
    decision.fate = Fate::kRetry;
    decision.error = {"BankBusy", "account 4711 is locked", ""};
    for (int i = 0; i < times; ++i) failures_.tell({"orders", Partition(2)}, Offset(7), 1, 3, decision, now_);
  }

  std::vector<std::string> lines_;
  Log log_{LogFormat::kText, LogLevel::kInfo, [this](std::string_view line) { lines_.emplace_back(line); }};
  FailureLog failures_{"payments", log_};
  Instant now_{Duration(5000)};
};

TEST_F(FailureLogTest, NamesTheMessageTheAttemptAndTheKindButNotTheErrorsText) {
  fail(1);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("attempt_failed worker=payments topic=orders partition=2 offset=7 attempt=1 of=3 "
                           "kind=transient type=BankBusy left_out=0"),
            std::string::npos)
      << lines_[0];
  EXPECT_EQ(lines_[0].find("4711"), std::string::npos);
}

TEST_F(FailureLogTest, AnOutageMakesAFewLinesAndTheNextOneSaysHowManyWereLeftOut) {
  fail(1000);
  EXPECT_EQ(lines_.size(), 10u);
  now_ += FailureLog::kWindow;
  fail(1);
  ASSERT_EQ(lines_.size(), 11u);
  EXPECT_NE(lines_[10].find("left_out=990"), std::string::npos) << lines_[10];
}

}  // namespace
}  // namespace bartleby
