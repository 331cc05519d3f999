#include "office/retention.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "office/archive_upkeep.h"
#include "office/archives.h"
#include "office/audit.h"
#include "office/issues.h"
#include "office/item_tally.h"
#include "office/lease.h"
#include "office/letter_changes.h"
#include "office/letters.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kSlice = 500;
constexpr int kSlices = 200;                  // of one dlq in one round: the rest comes with the next
constexpr std::int64_t kItemSlice = 10000;    // of an operation that is forgotten
constexpr std::int64_t kRowsTogether = 1000;  // of small operations that are forgotten together, their own included
constexpr std::size_t kArchivesAtOnce = 100;
constexpr std::size_t kMostLeftOut = 20000;  // letters of one dlq that cannot be archived, looked at in one round
constexpr std::size_t kNamed = 20;           // of them in one report
constexpr std::int64_t kPlaceSlice = 10000;
constexpr std::size_t kIssueSlice = 5000;                     // in one round, and as many hours of trends
constexpr Duration kPlacesKept{std::chrono::hours(24 * 30)};  // of first lives: what was sent has died by then
constexpr Duration kLease{std::chrono::minutes(10)};

struct Ended {
  std::int64_t seq;
  std::string id;
  std::int64_t letters;
};

Actor actor(std::string reason) { return {"office", std::move(reason), ""}; }

Result<std::vector<std::int64_t>> old_letters(Store& store, const std::string& dlq, LetterState state, Timestamp before,
                                              std::size_t most = kSlice) {
  std::vector<std::int64_t> found;
  BARTLEBY_TRY(store.read([&](Connection& connection) {
    return sql::each(
        connection,
        "SELECT l.seq FROM letters l JOIN shelves s ON s.id = l.shelf"
        " WHERE s.dlq = $1 AND l.state = $2 AND l.died_at < $3 AND l.changed_at < $3 LIMIT $4",
        [&](Rows& row) { found.push_back(row.integer(0)); }, dlq, static_cast<int>(state), ms(before), most);
  }));
  return found;
}

Result<std::size_t> purge(Store& store, const std::vector<std::int64_t>& letters, LetterState state,
                          const std::string& reason, Timestamp now) {
  std::size_t purged = 0;
  BARTLEBY_TRY(change_letters(store, actor(reason), now, [&](LetterChanges& changes) -> Result<void> {
    purged = 0;
    for (const std::int64_t seq : letters) {
      const auto changed = changes.change(seq, {.state = state}, LetterCause::kPurge);
      if (!changed) return std::unexpected(changed.error());
      if (changed->result == ChangeResult::kDone) ++purged;
    }
    return {};
  }));
  return purged;
}

Result<void> purge_old(Store& store, const std::string& dlq, LetterState state, Timestamp before, Timestamp now,
                       RetentionReport& report) {
  for (int i = 0; i < kSlices; ++i) {
    const auto letters = old_letters(store, dlq, state, before);
    if (!letters) return std::unexpected(letters.error());
    if (letters->empty()) return {};
    const auto purged = purge(store, *letters, state, "kept for as long as the dlq's retention says", now);
    if (!purged) return std::unexpected(purged.error());
    report.purged += *purged;
    if (*purged == 0 || letters->size() < kSlice) return {};
  }
  return {};
}

Result<void> archive_old(Store& store, Archive& archive, const std::string& dlq, Timestamp before, Timestamp now,
                         RetentionReport& report) {
  std::set<std::int64_t> left_out;  // they stay open, and would be the first of every slice
  for (int i = 0; i < kSlices; ++i) {
    auto letters = old_letters(store, dlq, LetterState::kOpen, before, kSlice + left_out.size());
    if (!letters) return std::unexpected(letters.error());
    std::erase_if(*letters, [&](std::int64_t seq) { return left_out.contains(seq); });
    if (letters->empty()) return {};
    const auto done = archive_letters(store, archive, dlq, *letters, actor("nobody dealt with it in time"), now);
    if (!done) return std::unexpected(done.error());
    report.archived += done->letters;
    if (done->letters > 0) ++report.archives;
    for (const NotArchived& one : done->left_out) {
      left_out.insert(one.seq);
      ++report.left_out;
      if (report.named.size() < kNamed) report.named.push_back(one);
    }
    if ((done->letters == 0 && done->left_out.empty()) || left_out.size() >= kMostLeftOut) return {};
  }
  return {};
}

Result<void> purge_discarded(Store& store, Timestamp now, RetentionReport& report) {
  for (int i = 0; i < kSlices; ++i) {
    std::vector<std::int64_t> letters;
    BARTLEBY_TRY(store.read([&](Connection& connection) {
      return sql::each(
          connection, "SELECT seq FROM letters WHERE undo_until IS NOT NULL AND undo_until < $1 LIMIT $2",
          [&](Rows& row) { letters.push_back(row.integer(0)); }, ms(now), kSlice);
    }));
    if (letters.empty()) return {};
    const auto purged = purge(store, letters, LetterState::kDiscarded, "its discard cannot be undone any more", now);
    if (!purged) return std::unexpected(purged.error());
    report.purged += *purged;
    if (*purged == 0) return {};
  }
  return {};
}

// Ended before and waiting for nothing: the first of them.
Result<std::vector<Ended>> ended_operations(Store& store, Timestamp before) {
  std::vector<Ended> found;
  BARTLEBY_TRY(store.read([&](Connection& connection) {
    const std::string_view statement =
        office_mutant(OfficeMutant::kRunningForgotten)
            ? "SELECT seq, id, letters FROM operations WHERE started_at < $1 AND $2 <> $3 ORDER BY started_at LIMIT $4"
        : office_mutant(OfficeMutant::kWaitingForgotten)
            ? "SELECT seq, id, letters FROM operations WHERE ended_at < $1 AND $2 <> $3 ORDER BY ended_at LIMIT $4"
            : "SELECT o.seq, o.id, o.letters FROM operations o WHERE o.ended_at IS NOT NULL AND o.ended_at < $1"
              " AND NOT EXISTS(SELECT 1 FROM operation_results r"
              " WHERE r.operation = o.seq AND r.result IN ($2, $3) AND r.items > 0) ORDER BY o.ended_at LIMIT $4";
    return sql::each(
        connection, statement, [&](Rows& row) { found.push_back({row.integer(0), row.text(1), row.integer(2)}); },
        ms(before), static_cast<int>(ItemResult::kSent), static_cast<int>(ItemResult::kUnknown), kRowsTogether / 2);
  }));
  return found;
}

// Of one result at a time, with their counts. True: there were none.
Result<bool> drop_items(Connection& connection, std::int64_t operation, std::int64_t slice) {
  const auto counted = counted_results(connection, operation);
  if (!counted) return std::unexpected(counted.error());
  for (std::size_t result = 0; result < kItemResults; ++result) {
    if (counted->items[result] == 0) continue;
    BARTLEBY_TRY(sql::execute(connection,
                              "DELETE FROM operation_items WHERE operation = $1 AND position IN (SELECT position FROM"
                              " operation_items WHERE operation = $1 AND result = $2 ORDER BY position LIMIT $3)",
                              operation, result, slice));
    if (office_mutant(OfficeMutant::kForgottenStillCounted)) return false;
    BARTLEBY_TRY(sql::execute(connection,
                              "UPDATE operation_results SET items = items - $3 WHERE operation = $1 AND result = $2",
                              operation, result, connection.changes()));
    return false;
  }
  return true;
}

// With what is said of them; their items are gone.
Result<void> drop(Connection& connection, std::span<const Ended> operations, Timestamp now) {
  AuditChain audit(connection);
  for (const Ended& one : operations) {
    BARTLEBY_TRY(sql::execute(connection, "DELETE FROM operation_results WHERE operation = $1", one.seq));
    BARTLEBY_TRY(sql::execute(connection, "DELETE FROM operations WHERE seq = $1", one.seq));
    BARTLEBY_TRY(audit.append({0, now, "office", "forget", one.id, "", "", "its time after its end is over", "", ""}));
  }
  return audit.finish();
}

// A slice of a large one. True: nothing of it is left.
Result<bool> forget_some(Store& store, const Ended& ended, std::int64_t slice, Timestamp now) {
  bool gone = false;
  BARTLEBY_TRY(store.write([&](Connection& connection) -> Result<void> {
    const auto empty = drop_items(connection, ended.seq, slice);
    if (!empty) return std::unexpected(empty.error());
    gone = *empty;
    return gone ? drop(connection, {&ended, 1}, now) : Result<void>();
  }));
  return gone;
}

// The first ones, as far as they fit into one transaction together; none where the first is a large one.
std::span<const Ended> small_ones(std::span<const Ended> ended, std::int64_t slice) {
  std::int64_t rows = 0;
  std::size_t fit = 0;
  while (fit < ended.size() && ended[fit].letters <= slice) {
    rows += ended[fit].letters + 1;
    if (rows > kRowsTogether) break;
    ++fit;
  }
  return ended.first(fit);
}

Result<void> forget_together(Store& store, std::span<const Ended> operations, Timestamp now) {
  return store.write([&](Connection& connection) -> Result<void> {
    for (const Ended& one : operations)
      BARTLEBY_TRY(sql::execute(connection, "DELETE FROM operation_items WHERE operation = $1", one.seq));
    return drop(connection, operations, now);
  });
}

}  // namespace

std::optional<Timestamp> expires_at(const StoredLetter& letter, const DlqRule& rule) {
  if (letter.state == LetterState::kDiscarded) return letter.undo_until;
  if (letter.state != LetterState::kOpen && letter.state != LetterState::kResolved) return std::nullopt;
  // Of a financial dlq until somebody has dealt with it.
  if (!rule.keep || (rule.dlq_class == DlqClass::kFinancial && letter.state == LetterState::kOpen)) return std::nullopt;
  return std::max(letter.died_at, letter.changed_at) + *rule.keep;
}

Result<std::size_t> forget_operations(Store& store, Timestamp before, int most, std::int64_t slice, Timestamp now) {
  std::size_t forgotten = 0;
  std::vector<Ended> found;
  std::span<const Ended> left;
  for (int i = 0; i < most; ++i) {
    if (left.empty()) {
      auto ended = ended_operations(store, before);
      if (!ended) return std::unexpected(ended.error());
      found = std::move(*ended);
      left = found;
    }
    if (left.empty()) break;
    std::size_t gone = 0;
    if (const auto together = small_ones(left, slice); !together.empty()) {
      BARTLEBY_TRY(forget_together(store, together, now));
      gone = together.size();
    } else {
      const auto all = forget_some(store, left.front(), slice, now);
      if (!all) return std::unexpected(all.error());
      gone = *all ? 1 : 0;
    }
    forgotten += gone;
    left = left.subspan(gone);
  }
  return forgotten;
}

Result<std::size_t> empty_plans(Store& store, int most, std::int64_t slice) {
  std::vector<std::int64_t> plans;
  BARTLEBY_TRY(store.read([&](Connection& connection) {
    return sql::each(
        connection,
        "SELECT o.seq FROM operations o WHERE o.state = $1 AND o.started_at IS NULL"
        " AND EXISTS(SELECT 1 FROM operation_results r WHERE r.operation = o.seq AND r.items > 0) ORDER BY o.seq"
        " LIMIT $2",
        [&](Rows& row) { plans.push_back(row.integer(0)); }, static_cast<int>(OperationState::kCancelled), most);
  }));
  std::size_t emptied = 0;
  for (int i = 0; i < most && emptied < plans.size(); ++i) {
    bool empty = false;
    BARTLEBY_TRY(store.write([&](Connection& connection) -> Result<void> {
      const auto dropped = drop_items(connection, plans[emptied], slice);
      if (!dropped) return std::unexpected(dropped.error());
      empty = *dropped;
      return {};
    }));
    if (empty) ++emptied;
  }
  return emptied;
}

namespace {

template <class T>
Result<void> whether(const Result<T>& result) {
  return result ? Result<void>() : std::unexpected(result.error());
}

Result<void> forget_places(Store& store, Timestamp now) {
  return store.write([&](Connection& connection) {
    return sql::execute(connection,
                        "DELETE FROM first_places WHERE (lineage, consumer_group) IN (SELECT lineage, consumer_group"
                        " FROM first_places WHERE removed_at <= $1 ORDER BY removed_at LIMIT $2)",
                        ms(now - kPlacesKept), kPlaceSlice);
  });
}

// Of letters, of operations, and of places of first lives. One that fails holds up no other: an archive that cannot be
// written would else let everything that is to be deleted pile up. What is deleted comes first, as it needs no room.
// Answers with the first error.
Result<void> keep_rows(Store& store, Archive& archive, const RuleOf& rule_of, Duration operations, Timestamp now,
                       RetentionReport& report) {
  std::vector<DlqState> dlqs;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    auto found = dlq_states(connection);
    if (!found) return std::unexpected(found.error());
    dlqs = std::move(*found);
    return {};
  }));
  Result<void> all;
  const auto note = [&](Result<void> done) {
    if (all) all = std::move(done);
  };
  const auto each_dlq = [&](auto&& work) {
    for (const DlqState& dlq : dlqs) {
      const DlqRule rule = rule_of(dlq.name);
      if (rule.keep) note(work(dlq.name, rule, now - *rule.keep));
    }
  };
  // Open ones of a financial dlq stay until somebody deals with them.
  const auto ends_open = [](const DlqRule& rule, Then then) {
    return rule.then == then && rule.dlq_class != DlqClass::kFinancial;
  };
  each_dlq([&](const std::string& dlq, const DlqRule&, Timestamp before) {
    return purge_old(store, dlq, LetterState::kResolved, before, now, report);
  });
  each_dlq([&](const std::string& dlq, const DlqRule& rule, Timestamp before) {
    return ends_open(rule, Then::kPurge) ? purge_old(store, dlq, LetterState::kOpen, before, now, report)
                                         : Result<void>();
  });
  note(purge_discarded(store, now, report));
  note(whether(empty_plans(store, kSlices, kItemSlice)));
  const auto forgotten = forget_operations(store, now - operations, kSlices, kItemSlice, now);
  report.operations = forgotten.value_or(0);
  note(whether(forgotten));
  note(forget_places(store, now));
  const auto issues = forget_issues(store, now, kIssueSlice);
  report.issues = issues.value_or(0);
  note(whether(issues));
  each_dlq([&](const std::string& dlq, const DlqRule& rule, Timestamp before) {
    return ends_open(rule, Then::kArchive) ? archive_old(store, archive, dlq, before, now, report) : Result<void>();
  });
  return all;
}

}  // namespace

Result<RetentionReport> keep_tidy(Store& store, Archive& archive, const RuleOf& rule_of, Duration operations,
                                  const std::string& holder, Timestamp now) {
  RetentionReport report;
  const auto ours = take_lease(store, kRetentionLease, holder, now, kLease);
  if (!ours) return std::unexpected(ours.error());
  if (!*ours) {
    report.skipped = true;
    return report;
  }
  const auto kept = keep_rows(store, archive, rule_of, operations, now, report);
  // Whatever became of that: this makes room.
  auto upkeep = tidy_archives(store, archive, kArchivesAtOnce, now);
  if (!kept) return std::unexpected(kept.error());
  if (!upkeep) return std::unexpected(upkeep.error());
  report.rewritten = upkeep->rewritten;
  report.removed = upkeep->removed;
  report.damaged = std::move(upkeep->damaged);
  BARTLEBY_TRY(release_lease(store, kRetentionLease, holder));
  return report;
}

}  // namespace bartleby
