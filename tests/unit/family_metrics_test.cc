// Metrics by a field of the messages: what is counted where, and that nobody's input makes new series.
#include "runtime/family_metrics.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

std::shared_ptr<const LogRecord> message(std::string_view value) {
  return std::make_shared<const LogRecord>(LogRecord{Offset(0), timestamp_ms(0), Bytes(), value, {}});
}

LetterFacts died(Reason reason, std::uint32_t attempts) {
  LetterFacts facts;
  facts.reason = reason;
  facts.attempts = attempts;
  return facts;
}

Decision with(Fate fate) {
  Decision d;
  d.fate = fate;
  return d;
}

TEST(FamilyMetrics, EverythingIsThereAtZeroFromTheStart) {
  const FamilyMetrics metrics("worker_agent", "task_type", Match{Match::Field::kJson, "/task_type", {"BUILD", "TEST"}});
  const auto all = metrics.read();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].value, "BUILD");
  EXPECT_EQ(all[2].value, "other");
  for (const auto& one : all) EXPECT_EQ(one.letters, (std::array<std::uint64_t, 4>{}));
  EXPECT_EQ(metrics.refused(), (std::array<std::uint64_t, 4>{}));
}

TEST(FamilyMetrics, LettersCountByReasonAndByAValueThatIsListed) {
  FamilyMetrics metrics("worker_agent", "task_type", Match{Match::Field::kJson, "/task_type", {"BUILD", "TEST"}});
  metrics.letter_written(message(R"({"task_type":"TEST"})"), died(Reason::kExhausted, 3));
  metrics.letter_written(message(R"({"task_type":"TEST"})"), died(Reason::kRejected, 1));
  metrics.letter_written(message("no json"), died(Reason::kMalformed, 0));
  metrics.letter_written(message(R"({"task_type":"NEW"})"), died(Reason::kProcessCrash, 30));
  const auto all = metrics.read();
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].letters, (std::array<std::uint64_t, 4>{1, 1, 0, 0}));
  EXPECT_EQ(all[2].letters, (std::array<std::uint64_t, 4>{0, 0, 1, 1}));
  EXPECT_EQ(all[1].failures, (std::array<std::uint64_t, 8>{1, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(all[1].failures_sum, 4U);
  EXPECT_EQ(all[2].failures, (std::array<std::uint64_t, 8>{0, 0, 0, 0, 0, 0, 0, 1}));  // what was never tried: none
}

TEST(FamilyMetrics, ASuccessCountsTheFailuresBeforeIt) {
  FamilyMetrics metrics("worker_agent", "kind", Match{Match::Field::kHeader, "kind", {"a"}});
  auto record = std::make_shared<LogRecord>();
  record->headers = {{"kind", "a"}};
  metrics.ended(record, 1, with(Fate::kDone));
  metrics.ended(record, 2, with(Fate::kRetry));
  metrics.ended(record, 3, with(Fate::kReject));  // its letter says it
  metrics.ended(record, 3, with(Fate::kDone));
  const auto all = metrics.read();
  EXPECT_EQ(all[0].failures, (std::array<std::uint64_t, 8>{0, 1, 0, 0, 0, 0, 0, 0}));
  metrics.letter_refused(Refusal::kTimeout);
  EXPECT_EQ(metrics.refused(), (std::array<std::uint64_t, 4>{0, 0, 0, 1}));
  EXPECT_EQ(error_type(Refusal::kTimeout), "TimeoutError");
}

}  // namespace
}  // namespace bartleby
