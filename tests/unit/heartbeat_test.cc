#include "codec/heartbeat.h"

#include <gtest/gtest.h>

#include "runtime/worker_figures.h"

namespace bartleby {
namespace {

HeartbeatFacts facts() {
  HeartbeatFacts f;
  f.timestamp = timestamp_ms(1736937000000);
  f.last_message_at = timestamp_ms(1736936999250);
  f.consumer_lag = 3;
  f.started_at = timestamp_ms(1736930000000);
  f.version = "0.3.0";
  f.advertise = "http://10.0.0.7:1853";
  f.partitions = 4;
  f.parked = 1;
  f.pinned = true;
  return f;
}

TEST(HeartbeatText, HasTheFieldsOfTheContractInTheirOrder) {
  EXPECT_EQ(
      heartbeat_text(facts()),
      R"({"timestamp":"2025-01-15T10:30:00.000Z","status":"RUNNING","last_message_at":"2025-01-15T10:29:59.250Z",)"
      R"("consumer_lag":3,"started_at":"2025-01-15T08:33:20.000Z","version":"0.3.0",)"
      R"("advertise":"http://10.0.0.7:1853","partitions":4,"parked":1,"pinned":true})");
}

TEST(HeartbeatText, IsReadBackInEveryStatus) {
  for (const LifeStatus status : {LifeStatus::kRunning, LifeStatus::kPaused, LifeStatus::kShuttingDown}) {
    HeartbeatFacts f = facts();
    f.status = status;
    f.pinned = false;
    f.last_message_at = std::nullopt;
    EXPECT_EQ(heartbeat_from_text(heartbeat_text(f)), f);
  }
}

TEST(HeartbeatText, FourFieldsOfAnotherLanguageAreEnough) {
  const auto f = heartbeat_from_text(
      R"({"timestamp":"2025-01-15T10:30:00Z","status":"PAUSED","last_message_at":null,"consumer_lag":7,"extra":[1]})");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->timestamp, timestamp_ms(1736937000000));
  EXPECT_EQ(f->status, LifeStatus::kPaused);
  EXPECT_EQ(f->consumer_lag, 7);
  EXPECT_EQ(f->last_message_at, std::nullopt);
}

TEST(HeartbeatText, RefusesWhatIsNone) {
  for (const char* text :
       {"", "null", "[]", "{}", R"({"timestamp":"2025-01-15T10:30:00.000Z"})", R"({"status":"RUNNING"})",
        R"({"timestamp":"yesterday","status":"RUNNING"})", R"({"timestamp":"2025-01-15T10:30:00.000Z","status":"OK"})",
        R"({"timestamp":1736937000000,"status":"RUNNING"})", "{\"timestamp\":"})
    EXPECT_EQ(heartbeat_from_text(text), std::nullopt) << text;
  EXPECT_EQ(heartbeat_from_text(std::string(100000, '[')), std::nullopt);
}

TEST(WorkerFigures, TheFiftyFirstErrorTypeIsCountedAsOther) {
  NamedCounts counts(50);
  for (int i = 0; i < 60; ++i) counts.add("E" + std::to_string(i), 1);
  counts.add("E3", 2);
  counts.add("other", 5);
  const auto all = counts.all();
  ASSERT_EQ(all.size(), 51U);
  EXPECT_EQ(all.back(), (std::pair<std::string, std::uint64_t>("other", 15)));
  std::uint64_t sum = 0;
  for (const auto& [name, n] : all) sum += n;
  EXPECT_EQ(sum, 67U);
}

TEST(WorkerFigures, NamesFromOutsideAreCutAndMadeText) {
  NamedCounts counts(5);
  counts.add(std::string(100000, 'x'), 1);
  counts.add("\xff\xfe", 1);
  counts.add("", 1);
  for (const auto& [name, n] : counts.all()) {
    EXPECT_LE(name.size(), 120U);
    EXPECT_TRUE(is_utf8(name));
    EXPECT_FALSE(name.empty());
  }
}

TEST(Histogram, PutsASpanIntoTheFirstBucketThatHoldsIt) {
  Histogram h;
  h.observe(Duration(0));
  h.observe(Duration(1));
  h.observe(Duration(2));
  h.observe(Duration(31000));
  const Histogram::Reading r = h.read();
  EXPECT_EQ(r.buckets[0], 2U);
  EXPECT_EQ(r.buckets[1], 1U);
  EXPECT_EQ(r.buckets.back(), 1U);
  EXPECT_DOUBLE_EQ(r.sum, 31.003);
}

}  // namespace
}  // namespace bartleby
