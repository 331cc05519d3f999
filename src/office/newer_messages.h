// Newer messages of the keys of letters that their group has finished: a letter that is sent again comes after them.
//
// Two know of them. The log does, between a letter and its group's commit: it is read once for each partition, its
// newest part where it is long, within `LogLookLimits`. The store knows which of them died, and which of the dead were
// handled when they were sent again. What a worker's `match` left out counts too, and so does a message whose letter
// was purged or is not taken in yet: nobody tells them apart. What could not be looked at is a warning.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ports/broker.h"
#include "ports/store.h"

namespace bartleby {

// A key in one partition of a topic, as one group sees it.
struct KeyPlace {
  std::string topic;
  std::int32_t partition = 0;
  std::int64_t key_hash = 0;
  std::string group;

  auto operator<=>(const KeyPlace&) const = default;
};

using KeyOffsets = std::map<KeyPlace, std::int64_t>;

struct FinishedMessages {
  std::map<KeyPlace, std::vector<std::int64_t>> offsets;
  std::vector<std::string> warnings;
};
using FinishedIn = std::function<FinishedMessages(const KeyOffsets& oldest_letters)>;

// For all partitions together.
struct LogLookLimits {
  std::size_t records = 50000;
  std::size_t bytes = std::size_t{32} << 20;
  Duration time{5000};  // no read begins after it
};

// What the log has of these keys above their oldest letters and their groups have finished; replays are left out.
FinishedMessages finished_in_log(Broker& broker, const Clock& clock, const KeyOffsets& oldest_letters,
                                 const LogLookLimits& limits = {});

// The newest message of each key that was handled, where there is one.
Result<KeyOffsets> newest_handled(Connection& connection, const KeyOffsets& keys, const FinishedMessages& in_log);

}  // namespace bartleby
