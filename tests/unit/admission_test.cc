// Which records are replays of a group's letters, and who hears of those that only look like it.
#include "wiring/admission.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

const OfficeKey kKey{"o1", "a secret of at least 32 bytes, as it must"};

LogRecord replay(const std::string& group, const OfficeKey& key) {
  const ReplayMark mark{"op_1", "ltr_1", "msg_1", 1, group, timestamp_ms(1)};
  LogRecord record{Offset(3), timestamp_ms(2), "k", "v", {}};
  record.headers.emplace_back(std::string(kReplayHeader), replay_header(mark, key, "lane", record.value));
  return record;
}

TEST(Replays, AreKnownByTheKeyAndOthersAreTold) {
  std::vector<std::string> strange;
  const ReplayOf replays = replays_of("billing", {kKey}, [&](const std::string& topic, const LogRecord& record) {
    strange.push_back(topic + "@" + std::to_string(record.offset.v));
  });
  EXPECT_EQ(replays("lane", replay("billing", kKey))->letter, "ltr_1");
  EXPECT_FALSE(replays("lane", {Offset(1), timestamp_ms(1), "k", "v", {}})) << "an ordinary message";
  EXPECT_TRUE(strange.empty());
  EXPECT_FALSE(replays("lane", replay("audit", kKey))) << "of another group";
  EXPECT_FALSE(replays("lane", replay("billing", {"o2", kKey.secret}))) << "of a key that is not known";
  EXPECT_FALSE(replays("lane", replay("billing", {"o1", std::string(32, 'x')}))) << "of another key of that name";
  EXPECT_FALSE(replays("other", replay("billing", kKey))) << "sent to another topic";
  EXPECT_EQ(strange, (std::vector<std::string>{"lane@3", "lane@3", "lane@3", "other@3"}));
}

}  // namespace
}  // namespace bartleby
