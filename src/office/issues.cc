#include "office/issues.h"

#include <algorithm>

#include "office/audit.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::int64_t kHour = 3600 * 1000;
constexpr std::int64_t kHoursKept = 48;    // twice what a trend shows
constexpr std::size_t kMaxKnown = 100000;  // issues remembered by number; forgotten all at once

#define BARTLEBY_ISSUE                                                                             \
  "SELECT seq, id, state, version, title, kind, error_type, open, total, first, last, until, note" \
  " FROM issues"

Issue read_issue(Rows& row) {
  Issue issue;
  issue.seq = row.integer(0);
  issue.id = row.text(1);
  issue.state = static_cast<IssueState>(row.integer(2));
  issue.version = row.integer(3);
  issue.title = row.text(4);
  issue.kind = static_cast<Kind>(row.integer(5));
  issue.error_type = row.text(6);
  issue.open = row.integer(7);
  issue.total = row.integer(8);
  issue.first = timestamp_ms(row.integer(9));
  issue.last = timestamp_ms(row.integer(10));
  if (!row.is_null(11)) issue.until = timestamp_ms(row.integer(11));
  issue.note = row.text(12);
  return issue;
}

bool is_due(const Issue& issue, Timestamp since, Timestamp now) {
  if (issue.state == IssueState::kMuted) return issue.until && *issue.until <= now;
  const bool young = issue.state == IssueState::kNew || issue.state == IssueState::kRegressed;
  return young && since + kIssueIsNewFor <= now;
}

AuditEntry aged_line(const std::string& id, IssueState from, IssueState to, Timestamp now) {
  const char* why = from == IssueState::kMuted ? "it was muted until now" : "it is known for a day";
  return {0,   now, "office", std::string(name(IssueCause::kTime)), id, std::string(name(from)), std::string(name(to)),
          why, "",  ""};
}

}  // namespace

// ---- Arrivals ----------------------------------------------------------------------------------------

Result<std::int64_t> IssueBook::find(Connection& connection, Kind kind, const ErrorText& error, Timestamp died,
                                     Timestamp now) {
  const Fingerprint print = fingerprint_of(kind, error);
  auto found = known_.find(print.issue);
  if (found == known_.end()) {
    const auto stored = sql::one(
        connection, "SELECT seq FROM issues WHERE id = $1", [](Rows& row) { return row.integer(0); }, print.issue);
    if (!stored) return std::unexpected(stored.error());
    std::int64_t seq = stored->value_or(0);
    if (!*stored) {
      const auto taken = sql::take_numbers(connection, "issue", 1);
      if (!taken) return taken;
      seq = *taken;
      BARTLEBY_TRY(sql::execute(
          connection,
          "INSERT INTO issues(seq, id, state, version, title, kind, error_type, open, total, first, last, state_since)"
          " VALUES($1, $2, 0, 1, $3, $4, $5, 0, 0, $6, $6, $7)",
          seq, print.issue, print.title, static_cast<int>(kind), error.type, ms(died), ms(now)));
      made_.push_back({print.issue, IssueState::kNew});
    }
    if (known_.size() >= kMaxKnown) known_.clear();
    found = known_.emplace(print.issue, seq).first;
  }
  return found->second;
}

void IssueBook::count(std::int64_t issue, Timestamp died, Timestamp now) {
  Added& added = added_[issue];
  ++added.letters;
  added.last = std::max(added.last, died);
  ++added.hours[std::min(ms(died), ms(now)) / kHour];
}

Result<std::vector<IssueNews>> IssueBook::finish(Connection& connection, AuditChain& audit, Timestamp now) {
  std::vector<IssueNews> news = std::exchange(made_, {});
  for (const auto& [seq, added] : std::exchange(added_, {})) {
    Timestamp since{};
    const auto issue = sql::one(
        connection,
        "SELECT seq, id, state, version, title, kind, error_type, open, total, first, last, until, note, state_since"
        " FROM issues WHERE seq = $1",
        [&](Rows& row) {
          since = timestamp_ms(row.integer(13));
          return read_issue(row);
        },
        seq);
    if (!issue) return std::unexpected(issue.error());
    // Its number was known from before it was forgotten: after this failure it is made anew.
    if (!*issue) return fail(ErrorCode::kUnavailable, "the store has no issue " + std::to_string(seq) + " any more");
    IssueState state = (*issue)->state;
    if (is_due(**issue, since, now)) {
      state = next_state(state, IssueCause::kTime).value_or(state);
      BARTLEBY_TRY(audit.append(aged_line((*issue)->id, (*issue)->state, state, now)));
      news.push_back({(*issue)->id, state});
    }
    const IssueState before = state;
    state = next_state(state, IssueCause::kLetter).value_or(state);
    if (state == IssueState::kRegressed && before != state) {
      news.push_back({(*issue)->id, state});
      BARTLEBY_TRY(audit.append({0, now, "intake", "regress", (*issue)->id, std::string(name(before)),
                                 std::string(name(state)), "a letter of it came", "", ""}));
    }
    const bool moved = state != (*issue)->state;
    BARTLEBY_TRY(sql::execute(connection,
                              "UPDATE issues SET total = total + $2, last = CASE WHEN last < $3 THEN $3 ELSE last END,"
                              " state = $4, version = version + $5, state_since = $6,"
                              " until = CASE WHEN $4 = 3 THEN until ELSE NULL END WHERE seq = $1",
                              seq, added.letters, ms(added.last), static_cast<int>(state), moved ? 1 : 0,
                              ms(moved ? now : since)));
    for (const auto& [hour, letters] : added.hours)
      BARTLEBY_TRY(
          sql::execute(connection,
                       "INSERT INTO issue_hours(issue, hour, letters) VALUES($1, $2, $3) ON CONFLICT(issue, hour)"
                       " DO UPDATE SET letters = issue_hours.letters + excluded.letters",
                       seq, hour, letters));
  }
  return news;
}

void IssueBook::forget() {
  known_.clear();
  added_.clear();
  made_.clear();
}

// ---- People ------------------------------------------------------------------------------------------

Result<ChangedIssue> change_issue(Store& store, const std::string& id, IssueCause cause, const Actor& actor,
                                  Timestamp now, std::optional<std::int64_t> version, std::optional<Timestamp> until) {
  ChangedIssue changed;
  auto written = store.write([&](Connection& connection) -> Result<void> {
    auto found = issue_by_id(connection, id);
    if (!found) return std::unexpected(found.error());
    if (!*found) {
      changed.result = IssueChange::kNotFound;
      return {};
    }
    changed.issue = std::move(**found);
    Issue& issue = changed.issue;
    const auto to = next_state(issue.state, cause);
    if (version && *version != issue.version)
      changed.result = IssueChange::kStale;
    else if (!to)
      changed.result = IssueChange::kWrongState;
    if (changed.result != IssueChange::kDone) return {};
    AuditChain audit(connection);
    BARTLEBY_TRY(audit.append({0, now, actor.name, std::string(name(cause)), issue.id, std::string(name(issue.state)),
                               std::string(name(*to)), actor.reason, actor.request_id, ""}));
    issue.state = *to;
    issue.until = *to == IssueState::kMuted ? until : std::nullopt;
    issue.note = actor.reason;  // of the state it is in: an earlier one's is in the audit
    ++issue.version;
    BARTLEBY_TRY(sql::execute(
        connection,
        "UPDATE issues SET state = $2, version = $3, until = $4, state_since = $5, note = $6 WHERE seq = $1", issue.seq,
        static_cast<int>(issue.state), issue.version, issue.until ? std::optional(ms(*issue.until)) : std::nullopt,
        ms(now), issue.note));
    return audit.finish();
  });
  if (!written) return std::unexpected(written.error());
  return changed;
}

Result<std::vector<IssueNews>> age_issues(Store& store, Timestamp now, std::size_t most) {
  struct Due {
    std::int64_t seq;
    std::string id;
    IssueState from;
  };
  std::vector<IssueNews> aged;
  const auto written = store.write([&](Connection& connection) -> Result<void> {
    aged.clear();
    std::vector<Due> due;
    BARTLEBY_TRY(sql::each(
        connection,
        "SELECT seq, id, state FROM issues"
        " WHERE (state IN (0, 2) AND state_since <= $1) OR (state = 3 AND until <= $2) ORDER BY seq LIMIT $3",
        [&](Rows& row) { due.push_back({row.integer(0), row.text(1), static_cast<IssueState>(row.integer(2))}); },
        ms(now - kIssueIsNewFor), ms(now), most));
    if (due.empty()) return {};
    AuditChain audit(connection);
    for (const Due& one : due) {
      const IssueState to = next_state(one.from, IssueCause::kTime).value_or(IssueState::kActive);
      BARTLEBY_TRY(sql::execute(connection,
                                "UPDATE issues SET state = $2, version = version + 1, state_since = $3, until = NULL"
                                " WHERE seq = $1",
                                one.seq, static_cast<int>(to), ms(now)));
      BARTLEBY_TRY(audit.append(aged_line(one.id, one.from, to, now)));
      aged.push_back({one.id, to});
    }
    return audit.finish();
  });
  if (!written) return std::unexpected(written.error());
  return aged;
}

// What people muted stays so until the time they said, or for ever: it would be told as new otherwise.
#define BARTLEBY_OLD_ISSUE                                                                     \
  "i.last < $1 AND i.state_since < $1 AND i.state <> 3 AND NOT EXISTS(SELECT 1 FROM letters l" \
  " WHERE l.issue = i.seq)"

Result<std::size_t> forget_issues(Store& store, Timestamp now, std::size_t most) {
  struct Old {
    std::int64_t seq;
    std::string id;
  };
  const std::int64_t before = ms(now - kIssuesKept);
  std::vector<Old> old;
  std::vector<std::pair<std::int64_t, std::int64_t>> hours;
  // Looked for without holding up who writes.
  const auto read = store.read([&](Connection& connection) -> Result<void> {
    BARTLEBY_TRY(sql::each(
        connection, "SELECT i.seq, i.id FROM issues i WHERE " BARTLEBY_OLD_ISSUE " ORDER BY i.last LIMIT $2",
        [&](Rows& row) { old.push_back({row.integer(0), row.text(1)}); }, before, most));
    return sql::each(
        connection, "SELECT issue, hour FROM issue_hours WHERE hour < $1 LIMIT $2",
        [&](Rows& row) { hours.emplace_back(row.integer(0), row.integer(1)); }, ms(now) / kHour - kHoursKept, most);
  });
  if (!read) return std::unexpected(read.error());
  std::size_t forgotten = 0;
  if (old.empty() && hours.empty()) return forgotten;
  const auto written = store.write([&](Connection& connection) -> Result<void> {
    forgotten = 0;
    for (const auto& [issue, hour] : hours)
      BARTLEBY_TRY(sql::execute(connection, "DELETE FROM issue_hours WHERE issue = $1 AND hour = $2", issue, hour));
    AuditChain audit(connection);
    for (const Old& one : old) {
      BARTLEBY_TRY(sql::execute(connection, "DELETE FROM issues AS i WHERE " BARTLEBY_OLD_ISSUE " AND i.seq = $2",
                                before, one.seq));
      if (connection.changes() == 0) continue;  // a letter or a person came meanwhile
      ++forgotten;
      BARTLEBY_TRY(sql::execute(connection, "DELETE FROM issue_hours WHERE issue = $1", one.seq));
      BARTLEBY_TRY(sql::execute(connection, "DELETE FROM walked_issues WHERE issue = $1", one.seq));
      BARTLEBY_TRY(audit.append({0, now, "office", "forget", one.id, "", "", "no letter of it is left", "", ""}));
    }
    return audit.finish();
  });
  if (!written) return std::unexpected(written.error());
  return forgotten;
}

Result<std::optional<Issue>> issue_by_id(Connection& connection, std::string_view id) {
  return sql::one(connection, BARTLEBY_ISSUE " WHERE id = $1", read_issue, id);
}

Result<std::optional<Issue>> issue_by_number(Connection& connection, std::int64_t seq) {
  return sql::one(connection, BARTLEBY_ISSUE " WHERE seq = $1", read_issue, seq);
}

// One statement for each state, merged here: each walks its index from the cursor on.
Result<std::vector<Issue>> issue_page(Connection& connection, const std::vector<IssueState>& states,
                                      const std::optional<IssueCursor>& after, std::size_t limit) {
  const std::int64_t last = after ? ms(after->last) : INT64_MAX, seq = after ? after->seq : INT64_MAX;
  std::vector<Issue> page;
  const auto take = [&](Rows& row) { page.push_back(read_issue(row)); };
  if (states.empty())
    BARTLEBY_TRY(sql::each(connection,
                           BARTLEBY_ISSUE " WHERE (last, seq) < ($1, $2) ORDER BY last DESC, seq DESC LIMIT $3", take,
                           last, seq, limit));
  for (const IssueState state : states)
    BARTLEBY_TRY(sql::each(
        connection, BARTLEBY_ISSUE " WHERE state = $4 AND (last, seq) < ($1, $2) ORDER BY last DESC, seq DESC LIMIT $3",
        take, last, seq, limit, static_cast<int>(state)));
  std::ranges::sort(page,
                    [](const Issue& a, const Issue& b) { return std::pair(a.last, a.seq) > std::pair(b.last, b.seq); });
  if (page.size() > limit) page.resize(limit);
  return page;
}

Result<std::array<std::int64_t, 24>> issue_trend(Connection& connection, std::int64_t issue, Timestamp now) {
  std::array<std::int64_t, 24> trend{};
  const std::int64_t first = ms(now) / kHour - 23;
  BARTLEBY_TRY(sql::each(
      connection, "SELECT hour, letters FROM issue_hours WHERE issue = $1 AND hour >= $2 AND hour < $2 + 24",
      [&](Rows& row) { trend.at(static_cast<std::size_t>(row.integer(0) - first)) = row.integer(1); }, issue, first));
  return trend;
}

}  // namespace bartleby
