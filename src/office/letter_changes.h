// Changes of letters' states, many in one transaction: the only way a state changes once a letter is in the store.
//
// Each is a compare-and-set on what the caller has seen, asks the table (`next_state`), and leaves a line in the audit.
// `finish` writes counters and the audit's head; without it the transaction must not be committed, so use
// `change_letters`, which does both.
#pragma once

#include <functional>
#include <map>
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

// For who changes many, by their numbers, and has no use for their stories.
struct Changed {
  ChangeResult result = ChangeResult::kDone;
  LetterState state = LetterState::kOpen;  // as they are now
  std::int64_t version = 0;
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

  Result<Changed> change(std::int64_t seq, const Seen& seen, LetterCause cause, const ChangeOptions& options = {});
  Result<ChangedLetter> change(std::string_view id, const Seen& seen, LetterCause cause,
                               const ChangeOptions& options = {});
  Result<void> finish();

  Connection& connection() { return connection_; }

 private:
  // What a change needs to know of a letter.
  struct Before {
    std::int64_t seq;
    std::string id;
    LetterState state;
    std::int64_t version;
    std::uint32_t replays;
    std::int64_t issue, shelf;
  };
  Result<Changed> change(const Before& letter, const Seen& seen, LetterCause cause, const ChangeOptions& options);
  Result<const Shelf*> shelf(std::int64_t id);
  Result<void> remove(const Before& letter);
  Result<void> leave_archive(std::int64_t letter);
  Result<void> remember_place(std::int64_t letter);
  Result<void> update(const Before& letter, LetterState to, const ChangeOptions& options);

  Connection& connection_;
  const Actor actor_;
  const Timestamp now_;
  AuditChain audit_;
  Tally tally_;
  std::map<std::int64_t, Shelf> shelves_;  // of letters of this transaction, by number
};

// One transaction; what `work` has changed is undone if it answers with an error.
Result<void> change_letters(Store& store, const Actor& actor, Timestamp now,
                            const std::function<Result<void>(LetterChanges&)>& work);

}  // namespace bartleby
