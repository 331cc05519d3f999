// What the office promises, checked from outside after every transaction that took effect and at every record sent.
//
// It keeps its own copy: of the dlqs' records, of what was sent, of what workers answered, and of the store as it was
// before. It reads the store by itself, past the faults. The first promise that is broken is kept as a sentence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "codec/replay_header.h"
#include "model/audit_entry.h"
#include "model/operation_facts.h"
#include "office/take_in.h"
#include "ports/store.h"
#include "tests/sim/coverage.h"
#include "tests/sim/office_archive.h"
#include "tests/sim/office_sink.h"
#include "tests/sim/sim_cluster.h"

namespace bartleby::sim {

inline const std::string kOfficeCluster = "sim";

class OfficeChecker {
 public:
  OfficeChecker(Store& store, const SimCluster& cluster, const SimArchive& archive, const SimSink& sink, OfficeKey key,
                OfficeCoverage& coverage)
      : store_(store), cluster_(cluster), archive_(archive), sink_(sink), key_(std::move(key)), coverage_(coverage) {}

  // ---- What the world says
  void born(const std::string& lineage, const std::string& letter, Offset origin) {
    origins_[lineage] = {origin, letter};
  }
  void dlq(const std::string& topic) { dlqs_.insert(topic); }
  void made_anew(const TopicPartition& dlq);
  void record_visible(const TopicPartition& tp, const LogRecord& record);
  void begin_turn();               // of the office
  void forgets(Timestamp before);  // operations that ended then
  void file_goes(const std::string& name);
  void tell(const std::string& dlq, bool told);  // whether the sink gets its letters, from now on
  void given(const SinkLetter& life);            // to the sink

  // ---- Checks
  void committed();
  void crashed();  // the audit's chain is whole
  void ended();    // everything is healed and quiet

  const std::string& violation() const { return violation_; }
  void broken(std::string what);

  // ---- What the store has, as of the last transaction
  struct Letter {
    std::string id;
    LetterState state;
    std::int64_t version;
    std::uint32_t replays;
    std::string dialect;
    TopicPartition dlq;
    Offset at;
    std::string lineage, group;
    Place job;
    bool operator==(const Letter&) const = default;
  };
  struct Op {
    std::string id;
    OperationKind kind;
    OperationState state;
    std::int64_t cursor, letters;
    std::string settings, note;
    std::optional<Timestamp> ended_at;
    bool started = false;
    std::string dlqs;
    ResultCounts results{};
    std::int64_t with(ItemResult r) const { return results[static_cast<std::size_t>(r)]; }
  };
  struct Item {
    std::int64_t letter;
    std::uint32_t replays;
    std::int64_t version;
    ItemResult result;
    std::string note;
  };
  struct Position {
    IntakePosition at;
    std::int64_t missed = 0;
  };
  struct ArchiveRow {
    std::string id, sha256;
    bool operator==(const ArchiveRow&) const = default;
  };
  // Of a letter's number, and the life's.
  using LifeNumber = std::pair<std::int64_t, std::uint32_t>;
  struct StoredLife {
    std::string letter, dlq;
    bool here;  // its bytes
  };
  struct Feed {
    std::int64_t next, until;
  };
  struct Picture {
    std::map<std::int64_t, Letter> letters;  // by number
    std::map<std::int64_t, ArchiveRow> archives;
    std::map<std::int64_t, std::int64_t> archived;  // letters in archives
    std::set<std::int64_t> archives_left;
    std::set<std::string> files_left;
    std::map<std::int64_t, Op> operations;
    std::map<std::pair<std::int64_t, std::int64_t>, Item> items;  // by operation and position
    std::map<TopicPartition, Position> positions;
    std::map<LifeNumber, StoredLife> lives;
    std::set<SimSink::Life> for_sink;  // queued or put aside
    std::size_t queued = 0, put_aside = 0;
    std::map<std::string, Feed> feeds;  // by dlq
  };
  const Picture& picture() const { return now_; }
  bool noticed(const TopicPartition& dlq) const { return !anew_.contains(dlq); }  // that it was made anew
  bool told(const std::string& dlq) const { return told_.contains(dlq); }
  bool sink_has_all() const;

 private:
  // A record of a dlq: whole, a part, or no letter at all.
  struct Dead {
    std::string letter;  // the id of its letter; of a part too
    std::string raw;     // the id it gets where it is no letter, or given up
    bool part = false;
    std::size_t index = 0, count = 0;  // of a part
  };
  using Baseline = std::pair<std::int64_t, std::int64_t>;  // known and came back when a halt of it was last resumed

  Result<void> look(Connection& connection, Picture& picture, std::vector<AuditEntry>& lines);
  Result<void> look_at_counts(Connection& connection);
  void check_letters(const Picture& before, const std::vector<AuditEntry>& lines);
  void check_arrival(const Picture& before, const Letter& letter);
  void check_operations(const Picture& before, const std::vector<AuditEntry>& lines);
  void check_item(const Picture& before, std::int64_t operation, const Item& was, const Item& is);
  void check_positions(const Picture& before);
  void check_position(const TopicPartition& tp, const std::optional<Position>& was, const Position& is);
  void replayed(const TopicPartition& tp, const LogRecord& record);
  void must_be_settled(const TopicPartition& tp, Offset from, Offset to, bool parts);
  bool all_parts_are_there(const TopicPartition& tp, const Dead& part) const;
  bool must_halt(std::int64_t seq, const Op& op) const;
  bool may_be_forgotten(const Op& op) const;
  bool may_lose_items(const Op& op) const;
  void check_forgotten(const Picture& before, const std::vector<AuditEntry>& lines);
  Result<void> look_at_archives(Connection& connection, Picture& picture);
  void check_archives(const Picture& before);
  void check_restored(std::int64_t seq, const Letter& letter);
  void check_files_at_the_end();
  const std::map<std::string, std::uint32_t>* letters_in(const std::string& file);
  void note_bytes(const LogRecord& record, const Dead& dead);
  Result<void> look_at_sinks(Connection& connection, Picture& picture);
  void check_sinks(const Picture& before);
  void feed_added(const Picture& before, const std::string& dlq);
  void check_owed(const Feed& feed, std::set<LifeNumber>& owed);
  void check_sink_at_the_end();
  std::string name_of(std::int64_t letter) const;

  Store& store_;
  const SimCluster& cluster_;
  const SimArchive& archive_;
  const SimSink& sink_;
  const OfficeKey key_;
  OfficeCoverage& coverage_;
  std::string violation_;

  std::set<std::string> dlqs_;
  std::map<TopicPartition, std::map<Offset, Dead>> dead_;
  std::set<TopicPartition> anew_;
  std::set<std::string> written_, arrived_;
  std::map<std::string, std::pair<Offset, std::string>> origins_;      // first lives and their letters, by lineage
  std::map<std::pair<std::string, std::string>, Place> jobs_;          // of first lives that arrived: lineage, group
  std::map<std::pair<std::string, std::uint32_t>, std::string> sent_;  // letter and life: the operation
  std::set<std::pair<std::string, std::uint32_t>> sent_before_;        // its letter was purged and written again since
  std::map<std::tuple<std::string, std::string, std::string>, Offset> last_sent_;  // operation, topic, key: the origin
  std::map<std::pair<std::string, std::uint32_t>, std::set<Verdict>> verdicts_;
  std::map<std::int64_t, std::string> ids_;                     // of letters that are or were
  std::set<std::pair<std::string, std::uint32_t>> taken_back_;  // letter and life
  std::map<std::int64_t, Baseline> baselines_;
  std::set<std::int64_t> unanswered_;             // operations that halted because nobody answered for the canary
  std::map<std::int64_t, std::int64_t> excused_;  // of these, once resumed: how many need no outcome
  std::set<std::int64_t> must_halt_;              // when the turn began
  Timestamp forget_before_ = Timestamp::min();
  std::set<std::tuple<std::string, std::string, std::uint32_t>> noted_;   // operation, letter, life: with a result
  std::map<std::string, std::map<std::string, std::uint32_t>> contents_;  // of files by their bytes' hash: letter, life
  // ---- Sinks
  std::set<std::string> told_, ever_told_, feeds_seen_;  // dlqs
  std::map<std::string, LetterPayload> raw_bytes_;  // of records, by the id that they get where they are no letters
  std::map<std::string, std::map<std::size_t, LogRecord>> parts_;  // of letters
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::vector<LetterPayload>>
      bytes_of_lives_;                                // by lineage, group and life
  std::set<SimSink::Life> lives_seen_;                // that the store had
  std::set<SimSink::Life> for_sink_;                  // that it must get and does not have
  std::map<std::string, std::set<LifeNumber>> owed_;  // by dlq: what was there when it got its feed
  std::set<LifeNumber> not_owed_;                     // without bytes when a feed was added or came to them
  Picture now_;
  std::int64_t audit_seen_ = 0;
};

}  // namespace bartleby::sim
