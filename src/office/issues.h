// Issues: letters with one fingerprint, their state, and how many came in each hour.
//
// `IssueBook` belongs to intake and is used in its transactions; when one fails, `forget` must follow. The rest is for
// people's requests, each in a transaction of its own that writes a line of the audit.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "model/audit_entry.h"
#include "model/issue.h"
#include "office/audit.h"
#include "office/fingerprint.h"
#include "ports/store.h"

namespace bartleby {

// What happened to an issue that people want to hear of.
struct IssueNews {
  std::string id;
  IssueState state;  // it is in now: new or regressed of letters, active of time, any of people
};

class IssueBook {
 public:
  // The number of the issue; made where there is none.
  Result<std::int64_t> find(Connection& connection, Kind kind, const ErrorText& error, Timestamp died, Timestamp now);
  // Another letter of it; written by `finish`.
  void count(std::int64_t issue, Timestamp died, Timestamp now);
  // Totals, states and trends of what was counted since the last time.
  Result<std::vector<IssueNews>> finish(Connection& connection, AuditChain& audit, Timestamp now);
  void forget();

 private:
  struct Added {
    std::int64_t letters = 0;
    Timestamp last{};
    std::map<std::int64_t, std::int64_t> hours;
  };
  std::map<std::string, std::int64_t> known_;
  std::map<std::int64_t, Added> added_;
  std::vector<IssueNews> made_;
};

enum class IssueChange : std::uint8_t { kDone, kNotFound, kWrongState, kStale };

struct ChangedIssue {
  IssueChange result = IssueChange::kDone;
  Issue issue;  // as it is now
};

// `version`: what the caller has seen; absent: whatever it is. `until` is for mute.
Result<ChangedIssue> change_issue(Store& store, const std::string& id, IssueCause cause, const Actor& actor,
                                  Timestamp now, std::optional<std::int64_t> version = {},
                                  std::optional<Timestamp> until = {});

// New and regressed issues older than a day, and muted ones whose time is over, become active: so many at once, each
// with a line in the audit. Answers with them.
Result<std::vector<IssueNews>> age_issues(Store& store, Timestamp now, std::size_t most);

// Issues of which no letter is left, and nothing was heard for so long, are forgotten, with a line in the audit; hours
// that no trend shows any more too. At most `most` of each. Answers with how many issues.
constexpr Duration kIssuesKept{std::chrono::hours(24 * 90)};
Result<std::size_t> forget_issues(Store& store, Timestamp now, std::size_t most);

Result<std::optional<Issue>> issue_by_id(Connection& connection, std::string_view id);
Result<std::optional<Issue>> issue_by_number(Connection& connection, std::int64_t seq);

struct IssueCursor {
  Timestamp last;
  std::int64_t seq = 0;
};

// The latest first; of some states, or of all where none is named.
Result<std::vector<Issue>> issue_page(Connection& connection, const std::vector<IssueState>& states,
                                      const std::optional<IssueCursor>& after, std::size_t limit);

// Letters per hour, the last entry is the hour of `now`.
Result<std::array<std::int64_t, 24>> issue_trend(Connection& connection, std::int64_t issue, Timestamp now);

}  // namespace bartleby
