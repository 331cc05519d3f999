#include "office/retention.h"

#include <vector>

#include "office/archives.h"
#include "office/lease.h"
#include "office/letter_changes.h"
#include "office/letters.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kSlice = 500;
constexpr int kSlices = 200;  // of one dlq in one round: the rest comes with the next
constexpr Duration kLease{std::chrono::minutes(10)};

Actor actor(std::string reason) { return {"office", std::move(reason), ""}; }

Result<std::vector<std::int64_t>> old_letters(Store& store, const std::string& dlq, LetterState state,
                                              Timestamp before) {
  std::vector<std::int64_t> found;
  BARTLEBY_TRY(store.read([&](Connection& connection) {
    return sql::each(
        connection,
        "SELECT l.seq FROM letters l JOIN shelves s ON s.id = l.shelf"
        " WHERE s.dlq = $1 AND l.state = $2 AND l.died_at < $3 AND l.changed_at < $3 LIMIT $4",
        [&](Rows& row) { found.push_back(row.integer(0)); }, dlq, static_cast<int>(state), ms(before), kSlice);
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
  for (int i = 0; i < kSlices; ++i) {
    const auto letters = old_letters(store, dlq, LetterState::kOpen, before);
    if (!letters) return std::unexpected(letters.error());
    if (letters->empty()) return {};
    const auto done = archive_letters(store, archive, dlq, *letters, actor("nobody dealt with it in time"), now);
    if (!done) return std::unexpected(done.error());
    report.archived += done->letters;
    if (done->letters > 0) ++report.archives;
    if (done->letters == 0) return {};
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

}  // namespace

Result<RetentionReport> keep_tidy(Store& store, Archive& archive, const RuleOf& rule_of, const std::string& holder,
                                  Timestamp now) {
  RetentionReport report;
  const auto ours = take_lease(store, kRetentionLease, holder, now, kLease);
  if (!ours) return std::unexpected(ours.error());
  if (!*ours) {
    report.skipped = true;
    return report;
  }
  std::vector<DlqState> dlqs;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    auto found = dlq_states(connection);
    if (!found) return std::unexpected(found.error());
    dlqs = std::move(*found);
    return {};
  }));
  for (const DlqState& dlq : dlqs) {
    const DlqRule rule = rule_of(dlq.name);
    if (!rule.keep || rule.dlq_class == DlqClass::kFinancial) continue;
    const Timestamp before = now - *rule.keep;
    if (rule.then == Then::kPurge)
      BARTLEBY_TRY(purge_old(store, dlq.name, LetterState::kOpen, before, now, report));
    else
      BARTLEBY_TRY(archive_old(store, archive, dlq.name, before, now, report));
    BARTLEBY_TRY(purge_old(store, dlq.name, LetterState::kResolved, before, now, report));
  }
  BARTLEBY_TRY(purge_discarded(store, now, report));
  BARTLEBY_TRY(release_lease(store, kRetentionLease, holder));
  return report;
}

}  // namespace bartleby
