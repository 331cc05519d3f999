#include "office/shelf_upkeep.h"

#include <vector>

#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

struct Looked {
  std::int64_t id;
  bool free;
};

// Letters are looked at, not counters: what somebody has edited must not cost a letter its shelf.
Result<std::vector<Looked>> look_at(Connection& connection, std::int64_t after, std::int64_t slice) {
  const bool careless = office_mutant(OfficeMutant::kFreedWithLetters);
  const bool queue_blind = office_mutant(OfficeMutant::kQueuedShelfFreed);
  std::vector<Looked> found;
  BARTLEBY_TRY(sql::each(
      connection,
      "SELECT s.id, EXISTS(SELECT 1 FROM letters l WHERE l.shelf = s.id AND (l.state = 0 OR $3 = 0)),"
      " EXISTS(SELECT 1 FROM lives e WHERE e.shelf = s.id)"
      " OR $4 = 0 AND (EXISTS(SELECT 1 FROM sink_queue q WHERE q.shelf = s.id)"
      " OR EXISTS(SELECT 1 FROM sink_refused r WHERE r.shelf = s.id))"
      " OR EXISTS(SELECT 1 FROM consumers c WHERE c.channel = CASE WHEN s.topic = '' THEN s.dlq ELSE s.topic END"
      " AND c.channel || '.' || c.id = s.consumer)"
      " FROM shelves s WHERE s.id > $1 ORDER BY s.id LIMIT $2",
      [&](Rows& row) { found.push_back({row.integer(0), row.integer(1) == 0 && row.integer(2) == 0}); }, after, slice,
      careless ? 1 : 0, queue_blind ? 1 : 0));
  return found;
}

Result<void> remove(Connection& connection, std::int64_t shelf) {
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM counters WHERE shelf = $1", shelf));
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM walked WHERE shelf = $1", shelf));
  return sql::execute(connection, "DELETE FROM shelves WHERE id = $1", shelf);
}

Result<std::int64_t> remove_rows(Store& store, std::int64_t slice) {
  std::int64_t removed = 0;
  const auto written = store.write([&](Connection& connection) -> Result<void> {
    BARTLEBY_TRY(sql::execute(
        connection,
        "DELETE FROM dlq_summary WHERE consumerId IN (SELECT d.consumerId FROM dlq_summary d WHERE d.dead_count = 0"
        " AND NOT EXISTS(SELECT 1 FROM shelves s WHERE s.consumer = d.consumerId)"
        " AND NOT EXISTS(SELECT 1 FROM consumers c WHERE c.channel = d.channelId"
        " AND c.channel || '.' || c.id = d.consumerId) LIMIT $1)",
        slice));
    removed = connection.changes();
    return {};
  });
  if (!written) return std::unexpected(written.error());
  return removed;
}

}  // namespace

Result<FreedShelves> free_shelves(Store& store, const ShelfSteps& steps) {
  FreedShelves freed;
  std::int64_t after = 0;
  for (int i = 0; i < steps.slices; ++i) {
    std::int64_t looked = 0, removed = 0, last = after;
    const auto written = store.write([&](Connection& connection) -> Result<void> {
      removed = 0;
      const auto found = look_at(connection, after, steps.slice);
      if (!found) return std::unexpected(found.error());
      looked = static_cast<std::int64_t>(found->size());
      for (const Looked& one : *found) {
        last = one.id;
        if (!one.free) continue;
        BARTLEBY_TRY(remove(connection, one.id));
        ++removed;
      }
      return {};
    });
    if (!written) return std::unexpected(written.error());
    freed.shelves += removed;
    after = last;
    if (looked < steps.slice) break;
  }
  for (int i = 0; i < steps.slices; ++i) {
    const auto removed = remove_rows(store, steps.slice);
    if (!removed) return std::unexpected(removed.error());
    freed.rows += *removed;
    if (*removed < steps.slice) break;
  }
  return freed;
}

}  // namespace bartleby
