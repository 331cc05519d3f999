#include "office/shelves.h"

#include <set>

#include "office/sql.h"

namespace bartleby {
namespace {

#define BARTLEBY_SHELF "SELECT id, dlq, cluster, topic, consumer_group, worker, reason, consumer FROM shelves"

Shelf read_shelf(Rows& row) {
  Shelf shelf;
  shelf.id = row.integer(0);
  shelf.label = {row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), static_cast<Reason>(row.integer(6))};
  shelf.consumer = row.text(7);
  return shelf;
}

}  // namespace

std::string channel_of(const ShelfLabel& label) { return label.topic.empty() ? label.dlq : label.topic; }

std::string consumer_without_channel(const ShelfLabel& label) {
  const std::string prefix = channel_of(label) + ".";
  if (label.group.starts_with(prefix)) return label.group.substr(prefix.size());
  return label.group.empty() ? channel_of(label) : label.group;
}

std::string consumer_of(const ShelfLabel& label) {
  const std::string channel = channel_of(label);
  return channel + (label.group.starts_with(channel + ".") ? "." : "/") + consumer_without_channel(label);
}

std::map<std::string, std::string> shown_consumers(const std::map<std::string, std::string>& channels) {
  std::map<std::string, std::string> shown;
  std::set<std::pair<std::string, std::string>> taken;
  // In the order of ids `.` comes before `/`: a consumer of the channel keeps the plain name.
  for (const auto& [consumer, channel] : channels) {
    std::string id = consumer.substr(channel.size() + 1);
    while (!taken.insert({channel, id}).second) id.insert(0, "/");
    shown[consumer] = std::move(id);
  }
  return shown;
}

ShelfLabel overflow_label(const ShelfLabel& label, const std::string& cluster) {
  return {label.dlq, cluster, "", "other", "other", label.reason};
}

void Shelves::forget() {
  known_.clear();
  count_.reset();
}

Result<std::optional<Shelf>> Shelves::find(Connection& connection, const ShelfLabel& label) {
  if (const auto found = known_.find(label); found != known_.end()) return found->second;
  auto stored = sql::one(
      connection,
      BARTLEBY_SHELF
      " WHERE dlq = $1 AND cluster = $2 AND topic = $3 AND consumer_group = $4 AND worker = $5 AND reason = $6",
      read_shelf, label.dlq, label.cluster, label.topic, label.group, label.worker, static_cast<int>(label.reason));
  if (stored && *stored) known_.emplace(label, **stored);
  return stored;
}

Result<Shelf> Shelves::make(Connection& connection, const ShelfLabel& label) {
  const auto id = sql::take_numbers(connection, "shelf", 1);
  if (!id) return std::unexpected(id.error());
  Shelf made{*id, label, consumer_of(label)};
  BARTLEBY_TRY(sql::execute(connection, "INSERT INTO shelves VALUES($1, $2, $3, $4, $5, $6, $7, $8)", made.id,
                            label.dlq, label.cluster, label.topic, label.group, label.worker,
                            static_cast<int>(label.reason), made.consumer));
  if (count_) ++*count_;
  return known_.emplace(label, std::move(made)).first->second;
}

Result<std::optional<Shelf>> Shelves::shelf(Connection& connection, const ShelfLabel& label) {
  auto found = find(connection, label);
  if (!found || *found) return found;
  if (!count_) {
    const auto count = sql::one(connection, "SELECT count(*) FROM shelves", [](Rows& row) { return row.integer(0); });
    if (!count) return std::unexpected(count.error());
    count_ = static_cast<std::size_t>(count->value_or(0));
  }
  if (*count_ >= most_) return std::nullopt;
  auto made = make(connection, label);
  if (!made) return std::unexpected(made.error());
  return std::move(*made);
}

Result<Shelf> Shelves::overflow(Connection& connection, const ShelfLabel& label, const std::string& cluster) {
  const ShelfLabel other = overflow_label(label, cluster);
  auto found = find(connection, other);
  if (!found) return std::unexpected(found.error());
  if (*found) return std::move(**found);
  return make(connection, other);
}

Result<std::vector<Shelf>> all_shelves(Connection& connection) {
  std::vector<Shelf> shelves;
  BARTLEBY_TRY(
      sql::each(connection, BARTLEBY_SHELF " ORDER BY id", [&](Rows& row) { shelves.push_back(read_shelf(row)); }));
  return shelves;
}

Result<Shelf> shelf_numbered(Connection& connection, std::int64_t id) {
  auto found = sql::one(connection, BARTLEBY_SHELF " WHERE id = $1", read_shelf, id);
  if (!found) return std::unexpected(found.error());
  if (!*found) return fail(ErrorCode::kMalformed, "the store has no shelf " + std::to_string(id));
  return std::move(**found);
}

}  // namespace bartleby
