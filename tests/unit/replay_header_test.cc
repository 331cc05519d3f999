// The header of a replay: only what the office signed, for this topic and these bytes, is believed.
#include "codec/replay_header.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

const OfficeKey kKey{"o1", "0123456789abcdef0123456789abcdef"};
const ReplayMark kMark{"op_1", "ltr_a", "msg_b", 2, "billing; team=a%", timestamp_ms(1736937000123)};

LogRecord replayed(const Bytes& value, const std::string& topic = "orders") {
  return {Offset(1),
          timestamp_ms(5),
          "k",
          value,
          {{"h", "1"}, {"bartleby-replay", replay_header(kMark, kKey, topic, value)}}};
}

TEST(ReplayHeader, IsReadBackAsItWasWritten) {
  for (const Bytes& value : {Bytes("v"), Bytes(""), Bytes()})
    EXPECT_EQ(replay_mark(replayed(value), {kKey}, "orders"), kMark);
}

TEST(ReplayHeader, WhatTheOfficeDidNotSignIsAnOrdinaryMessage) {
  EXPECT_FALSE(replay_mark(replayed("v"), {kKey}, "payments")) << "sent to another topic";
  EXPECT_FALSE(replay_mark(replayed("v"), {{"o1", "another secret, of 32 bytes at least"}}, "orders"));
  EXPECT_FALSE(replay_mark(replayed("v"), {{"o2", kKey.secret}}, "orders"));
  EXPECT_FALSE(replay_mark(replayed("v"), {}, "orders"));
  LogRecord other = replayed("v");
  other.value = "w";
  EXPECT_FALSE(replay_mark(other, {kKey}, "orders")) << "another value";
  other = replayed(Bytes());
  other.value = "";
  EXPECT_FALSE(replay_mark(other, {kKey}, "orders")) << "an empty value is no null";
  LogRecord twice = replayed("v");
  twice.headers.push_back(twice.headers.back());
  EXPECT_FALSE(replay_mark(twice, {kKey}, "orders"));
}

// Every character that is changed, taken away or doubled makes it worthless, and none of them ends the process.
TEST(ReplayHeader, NoChangedCharacterIsBelieved) {
  const LogRecord good = replayed("v");
  const std::string text = *good.headers.back().second;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int how = 0; how < 4; ++how) {
      std::string changed = text;
      if (how == 0) changed[i] = changed[i] == '7' ? '8' : '7';
      if (how == 1) changed.erase(i, 1);
      if (how == 2) changed.insert(i, 1, text[i]);
      if (how == 3) changed.resize(i);
      LogRecord record = good;
      record.headers.back().second = changed;
      EXPECT_FALSE(replay_mark(record, {kKey}, "orders")) << changed;
    }
  }
}

TEST(ReplayHeader, OutcomesAreReadBackAndNothingElseIs) {
  for (const Verdict verdict : {Verdict::kApplied, Verdict::kDead, Verdict::kSkipped}) {
    const OutcomeRecord outcome{"ltr_a", 3, verdict, timestamp_ms(1736937000123)};
    EXPECT_EQ(outcome_from(outcome_value(outcome)), outcome);
  }
  EXPECT_EQ(outcome_value({"ltr_a", 1, Verdict::kDead, timestamp_ms(0)}),
            R"({"letter":"ltr_a","replays":1,"outcome":"DEAD","at":"1970-01-01T00:00:00.000Z"})");
  for (const char* bad : {"", "[]", "{}", R"({"letter":1})", R"({"letter":"a","replays":-1,"outcome":"DEAD","at":"x"})",
                          R"({"letter":"a","replays":1,"outcome":"LOST","at":"1970-01-01T00:00:00.000Z"})"})
    EXPECT_FALSE(outcome_from(bad)) << bad;
}

}  // namespace
}  // namespace bartleby
