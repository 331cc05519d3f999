// Letters into the store, exactly once: letters, counters, issues and the position in the dlq, in one transaction.
//
// One thread. The position is compared before it is moved: a batch that was stored already, or that somebody else has
// stored, changes nothing and fails. After any failure the caller reads the position anew and goes on from there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "office/arrival.h"
#include "office/audit.h"
#include "office/issues.h"
#include "office/letter_row.h"
#include "office/tally.h"

namespace bartleby {

// How far intake has come in one partition of a dlq.
struct IntakePosition {
  Offset next{0};        // reading begins here: below it nothing is unfinished
  Offset done_to{0};     // what ended below it is stored; parts between the two may still wait for others
  std::string log_id{};  // of which log: another one may have the name later. Empty: not known

  bool operator==(const IntakePosition&) const = default;
};

struct IntakeBatch {
  TopicPartition dlq;
  std::optional<IntakePosition> before;  // absent: there is none yet
  IntakePosition after;
  std::int64_t missed = 0;  // offsets that were deleted before they were read
  std::vector<Arrival> letters;
};

struct IntakeReport {
  std::size_t stored = 0;      // new letters
  std::size_t came_back = 0;   // later lives of letters that are there
  std::size_t duplicates = 0;  // the same letter once more
  std::size_t incidents = 0;   // of the new ones: under another id, because theirs is another letter's
  std::size_t overflowed = 0;  // letters that lie on the shelf for the rest: there are too many shelves
  std::vector<IssueNews> news;
};

class TakeIn {
 public:
  // `sinks_of`: who else gets the letters of a dlq, by name.
  using SinksOf = std::function<std::vector<std::string>(const std::string& dlq)>;
  // Of which topic a private lane is, where that cannot be told from its name; empty: of none.
  using SourceOf = std::function<std::string(const std::string& lane)>;
  explicit TakeIn(Store& store, std::string cluster, SinksOf sinks_of = {}, SourceOf source_of = {},
                  std::size_t most_shelves = kMaxShelves)
      : store_(store),
        cluster_(std::move(cluster)),
        sinks_of_(std::move(sinks_of)),
        source_of_(std::move(source_of)),
        shelves_(most_shelves) {}

  Result<IntakeReport> store(const IntakeBatch& batch, Timestamp now);
  Result<std::optional<IntakePosition>> position(const TopicPartition& dlq);
  Result<void> know_dlq(const std::string& dlq, DlqClass dlq_class, Timestamp now);

 private:
  Result<void> move_position(Connection& connection, const IntakeBatch& batch);
  Result<void> take(Connection& connection, const TopicPartition& dlq, const Arrival& arrival, std::int64_t seq);
  Result<bool> insert(Connection& connection, const Arrival& arrival, Place job, const std::string& id,
                      std::int64_t seq);
  Result<bool> take_life(Connection& connection, const Arrival& arrival);
  Result<bool> take_late(Connection& connection, const LetterRow& row, const Arrival& arrival);
  Result<void> bring_back(Connection& connection, const LetterRow& row, const Arrival& arrival);
  static Result<Place> first_place(Connection& connection, const StoredLetter& letter);
  Result<std::optional<LetterRow>> other_life(Connection& connection, const StoredLetter& letter);
  Result<Shelf> shelf_of(Connection& connection, const StoredLetter& letter, const LetterRow* earlier);

  Store& store_;
  const std::string cluster_;
  const SinksOf sinks_of_;
  const SourceOf source_of_;
  Shelves shelves_;
  IssueBook issues_;
  // ---- Of the batch that is being stored
  IntakeReport report_;
  Tally tally_;
  std::optional<AuditChain> audit_;
  std::vector<std::string> sinks_;
  Timestamp now_{};
};

}  // namespace bartleby
