// The header that makes a message a replay: which letter it was, which life this is, and a signature of the office.
//
//   bartleby-replay: v1;op=…;letter=…;lineage=…;replays=1;group=…;at=…;kid=…;mac=…
//
// The mac is an HMAC-SHA256 over everything before it, the topic that the message was sent to, and the SHA-256 of its
// value. A header that is missing, given twice, malformed, of an unknown key or wrong makes an ordinary message:
// whoever can write to a topic can copy one, but not make one. Outcome records, which answer it, are here too. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/record.h"

namespace bartleby {

constexpr std::string_view kReplayHeader = "bartleby-replay";
constexpr const char* kOutcomesTopic = "bartleby.outcomes";
constexpr std::int32_t kOutcomesPartitions = 3;
constexpr std::int32_t kOutcomesReplicas = 3;  // at least, where there are as many brokers
constexpr std::size_t kMinOfficeSecret = 32;   // bytes

struct OfficeKey {
  std::string kid;
  std::string secret;
};

struct ReplayMark {
  std::string operation;
  std::string letter;         // id of the letter
  std::string lineage;        // message id of the first life
  std::uint32_t replays = 0;  // of the life that begins with it, from 1
  std::string group;          // whose letter it was
  Timestamp at;               // of the first life's record

  bool operator==(const ReplayMark&) const = default;
};

std::string replay_header(const ReplayMark& mark, const OfficeKey& key, std::string_view topic, const Bytes& value);

// What the record's header says, where it is ours to believe.
std::optional<ReplayMark> replay_mark(const LogRecord& record, const std::vector<OfficeKey>& keys,
                                      std::string_view topic);

// What became of a replayed message, as its worker writes it beside its commit.
enum class Verdict : std::uint8_t { kApplied, kDead, kSkipped };

struct OutcomeRecord {
  std::string letter;
  std::uint32_t replays = 0;
  Verdict verdict = Verdict::kApplied;
  Timestamp at;

  bool operator==(const OutcomeRecord&) const = default;
};

std::string outcome_value(const OutcomeRecord& outcome);
Result<OutcomeRecord> outcome_from(std::string_view value);

}  // namespace bartleby
