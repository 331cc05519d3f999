// Channels and their consumers, in the store: a channel is a topic, a consumer a worker that posts its messages.
//
// Inside transactions of the caller; what people change leaves a line in the audit. A channel's token is kept as a
// hash. A consumer's is kept in clear: it goes out with every message. A consumer has a row in `dlq_summary` from its
// registration on. Messages that were broadcast are kept by their ids, so that each is taken once. All are bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/audit_entry.h"
#include "model/record.h"
#include "ports/broker.h"
#include "ports/store.h"

namespace bartleby {

constexpr std::int64_t kMostChannels = 1000;
constexpr std::int64_t kMostConsumers = 1000;
constexpr std::int64_t kMostMessages = 1000000;  // that are known by their ids
constexpr Duration kMessagesKept{std::chrono::hours(24 * 30)};

struct Channel {
  std::string id, name;
  std::string token;  // its hash
  std::int32_t partitions = 1;
  Timestamp created_at;
};

struct Consumer {
  std::string channel, id, name, url;
  std::string token;   // in clear
  std::string retry;   // JSON object as the configuration has it; empty: the default
  std::string reject;  // JSON list of answers that mean: never again; empty: none
  std::string starts;  // JSON list: the offset of each partition at the registration
  bool paused = false;
  Timestamp created_at;

  std::string worker() const { return channel + "." + id; }  // its name, and that of its group
};

std::string token_hash(std::string_view token);
bool is_token(std::string_view given, std::string_view hash);

// kTooLarge: there are as many as may be. kFenced, of a consumer: another one has a worker of this name.
Result<void> put_channel(Connection& connection, const Channel& channel, const Actor& actor, Timestamp now);
Result<std::optional<Channel>> find_channel(Connection& connection, std::string_view id);
Result<std::vector<Channel>> all_channels(Connection& connection);

Result<void> put_consumer(Connection& connection, const Consumer& consumer, const Actor& actor, Timestamp now);
Result<std::optional<Consumer>> find_consumer(Connection& connection, std::string_view channel, std::string_view id);
// Another consumer whose worker has the same name, as `channel/id`; empty: there is none.
Result<std::string> consumer_beside(Connection& connection, const Consumer& consumer);
// Whether there was one under this id, which was removed.
Result<bool> was_removed(Connection& connection, const Consumer& consumer);
// Of one channel, or all.
Result<std::vector<Consumer>> consumers_of(Connection& connection, std::string_view channel);
enum class Removed : std::uint8_t { kDone, kNotFound, kHasLetters, kReplaying };
Result<Removed> remove_consumer(Connection& connection, std::string_view channel, std::string_view id,
                                const Actor& actor, Timestamp now);

// A consumer begins where the channel ends now: its group gets this place before anybody hears of the consumer. Answers
// with the places, as JSON; empty where the group has worked before: it goes on, and nobody knows from where it came
// (a store that was lost must not cost messages). `anew`: it was removed, and what came meanwhile is not for it;
// kFenced while its old worker still runs. The caller sees to it that nothing is sent meanwhile.
Result<std::string> begin_at_end(Broker& broker, const std::string& channel, const std::string& group, bool anew);

struct ChannelMessage {
  std::string channel, id;
  std::string hash;  // of what was sent
  Partition partition;
  Offset from;               // the log's end before it was written
  std::optional<Offset> at;  // absent: it is not known whether it was written
  std::string content_type;
};
Result<std::optional<ChannelMessage>> find_message(Connection& connection, std::string_view channel,
                                                   std::string_view id);
Result<void> begin_message(Connection& connection, const ChannelMessage& message, Timestamp now);
Result<void> place_message(Connection& connection, std::string_view channel, std::string_view id, Offset at);

}  // namespace bartleby
