// Changes of letters' states, many in one transaction: the only way a state changes once a letter is in the store.
//
// Each is a compare-and-set on what the caller has seen, asks the table (`next_state`), and leaves a line in the audit.
// `finish` writes counters and the audit's head; without it the transaction must not be committed, so use
// `change_letters`, which does both.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/audit_entry.h"
#include "office/audit.h"
#include "office/letter_row.h"
#include "office/tally.h"

namespace bartleby {

enum class ChangeResult : std::uint8_t {
  kDone,
  kNotFound,
  kWrongState,  // the cause does not apply to the state it is in
  kStale,       // it is not what the caller has seen
};

// What the caller has seen of a letter; what is absent is not compared.
struct Seen {
  std::optional<LetterState> state{};
  std::optional<std::uint32_t> replays{};
  std::optional<std::int64_t> version{};
};

struct ChangedLetter {
  ChangeResult result = ChangeResult::kDone;
  StoredLetter letter;  // as it is now; after a purge, as it was
};

struct ChangeOptions {
  std::optional<Timestamp> undo_until{};          // of a discard
  std::string detail{};                           // for the audit, as JSON
  const std::vector<LifeBytes>* lives = nullptr;  // what an archive gave back, for a restore
};

class LetterChanges {
 public:
  LetterChanges(Connection& connection, Actor actor, Timestamp now)
      : connection_(connection), actor_(std::move(actor)), now_(now), audit_(connection) {}

  Result<ChangedLetter> change(std::int64_t seq, const Seen& seen, LetterCause cause,
                               const ChangeOptions& options = {});
  Result<ChangedLetter> change(std::string_view id, const Seen& seen, LetterCause cause,
                               const ChangeOptions& options = {});
  Result<void> finish();

  Connection& connection() { return connection_; }

 private:
  Result<ChangedLetter> change(Result<std::optional<LetterRow>> found, const Seen& seen, LetterCause cause,
                               const ChangeOptions& options);
  Result<void> remove(const StoredLetter& letter);
  Result<void> leave_archive(std::int64_t letter);
  Result<void> update(const StoredLetter& letter, LetterState to, const ChangeOptions& options);

  Connection& connection_;
  const Actor actor_;
  const Timestamp now_;
  AuditChain audit_;
  Tally tally_;
};

// One transaction; what `work` has changed is undone if it answers with an error.
Result<void> change_letters(Store& store, const Actor& actor, Timestamp now,
                            const std::function<Result<void>(LetterChanges&)>& work);

}  // namespace bartleby
