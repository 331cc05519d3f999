// The dictionary of shelves: a label (dlq, cluster, topic, group, worker, reason) and its number.
//
// Used inside transactions of whoever owns it; it remembers what it has seen. When a transaction fails, `forget` must
// follow: numbers that were given out in it do not exist. Bounded: beyond `kMaxShelves` it refuses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/stored_letter.h"
#include "ports/store.h"

namespace bartleby {

constexpr std::size_t kMaxShelves = 10000;

struct Shelf {
  std::int64_t id = 0;
  ShelfLabel label;
  std::string consumer;  // the consumer's id inside
};

// In the words of channels: a channel is a topic, a consumer a group on it. What has no origin is its dlq's. The id
// inside is one in all channels: `{channel}.{id}` for a group of that name, which is how consumers of channels are
// called, and `{channel}/{group}` for every other.
std::string consumer_of(const ShelfLabel& label);
std::string channel_of(const ShelfLabel& label);
std::string consumer_without_channel(const ShelfLabel& label);
// How consumers are shown, by the id inside (given with their channels): without the channel. Where the groups `x` and
// `{channel}.x` both read a channel, the first is shown as `/x`.
std::map<std::string, std::string> shown_consumers(const std::map<std::string, std::string>& channels);

class Shelves {
 public:
  // Makes it where there is none.
  Result<Shelf> shelf(Connection& connection, const ShelfLabel& label);
  void forget() { known_.clear(); }

 private:
  std::map<ShelfLabel, Shelf> known_;
};

Result<std::vector<Shelf>> all_shelves(Connection& connection);
Result<Shelf> shelf_numbered(Connection& connection, std::int64_t id);

}  // namespace bartleby
