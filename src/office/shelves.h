// The dictionary of shelves: a label (dlq, cluster, topic, group, worker, reason) and its number.
//
// Used inside transactions of whoever owns it; it remembers what it has seen in one of them. `forget` must come before
// the next: of a transaction that failed the numbers do not exist, and shelves that are empty are freed meanwhile
// (office/shelf_upkeep.h). Bounded: beyond `kMaxShelves` a dlq has one more for the rest, of each reason.
#pragma once

#include <map>
#include <optional>
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

// Where letters lie whose own shelf would be one too many: nobody's topic, so that no replay goes by it, and the group
// and worker `other`.
ShelfLabel overflow_label(const ShelfLabel& label, const std::string& cluster);

class Shelves {
 public:
  explicit Shelves(std::size_t most = kMaxShelves) : most_(most) {}

  // Makes it where there is none. Nothing: there are as many as may be.
  Result<std::optional<Shelf>> shelf(Connection& connection, const ShelfLabel& label);
  Result<Shelf> overflow(Connection& connection, const ShelfLabel& label, const std::string& cluster);
  void forget();

 private:
  Result<std::optional<Shelf>> find(Connection& connection, const ShelfLabel& label);
  Result<Shelf> make(Connection& connection, const ShelfLabel& label);

  const std::size_t most_;
  std::map<ShelfLabel, Shelf> known_;
  std::optional<std::size_t> count_;
};

Result<std::vector<Shelf>> all_shelves(Connection& connection);
Result<Shelf> shelf_numbered(Connection& connection, std::int64_t id);

}  // namespace bartleby
