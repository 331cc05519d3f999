// The judge: looks at the world from outside the engine and says which promise was broken.
//
// It keeps its own copy of what is durable (journal, letters, emitted records, commits), taken at the moment the
// broker accepts a write, and checks every commit as if the worker crashed right after it: whatever that commit
// calls finished must be finished, and whatever left something behind must not come again. It also sees every
// start and end of a handler. The first violation is kept; later ones follow from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/journal.h"
#include "codec/letter.h"
#include "codec/metadata.h"
#include "ports/broker.h"
#include "tests/sim/coverage.h"
#include "tests/sim/fragile_member.h"
#include "tests/sim/options.h"

namespace bartleby::sim {

// One message of the source topic and everything that ever happened to it.
struct Story {
  std::uint32_t id = 0;
  Offset offset;
  Timestamp timestamp;
  Bytes key;
  Lane lane;  // of the key
  Bytes value;
  bool skip = false;
  std::uint16_t case_id = 0;

  bool applied = false;  // a handler succeeded on it
  bool dead = false;     // its letter is durable
  bool deleted = false;  // no longer in the log
  bool gone = false;     // deleted under us: retention, compaction, a recreated topic
  bool told = false;     // and an incident said so, or a newer record took its place
  bool dropped = false;  // an operator moved the group past it
  bool sealed = false;   // the last commit says it is finished and will not come again
  bool emits = false;
  std::uint32_t emitted = 0;
  bool replayed = false;       // its letter waits to be told what became of it
  std::uint32_t outcomes = 0;  // that were told
  std::uint32_t letters = 0;
  std::uint32_t starts = 0;
  std::uint32_t failures = 0;  // handler failures that may count
  std::uint32_t deaths = 0;    // of processes, that count against it
  std::uint64_t done_seq = 0;  // when its success was handed to the engine of its owner
  std::optional<Instant> obituary_at;
  std::string done_by;  // and by which writer, in which of its assignments
  Epoch done_in;
  std::string failed_by;  // who saw its last failure that counts, in which assignment, when, and which attempt that was
  Epoch failed_in;
  std::uint64_t failed_seq = 0;
  std::uint32_t failed_attempt = 0;
  std::uint32_t passed_over = 0;  // writes of the partition since, that did not mention it
  std::vector<ErrorText> errors;  // that handlers gave and that may count

  // Another owner may have failed on it meanwhile, so any of its errors may be the last one known.
  bool had(const ErrorText& error) const {
    return std::ranges::any_of(errors, [&](const ErrorText& e) {
      return e.type == error.type && e.message == error.message && (e.stack == error.stack || error.stack.empty());
    });
  }
  bool resolved() const { return applied || dead || skip || gone || dropped; }
};

struct Watched {
  std::map<Offset, Story> stories;
  std::map<std::string, DecodedEntry> journal;  // durable
  std::string writer;
  Offset low{0};
  std::optional<Offset> high;  // trusted
  std::optional<JournalCheck> last_check;
  bool excused = false;  // something happened that costs attempts and duplicates, never a message
  bool added = false;    // while the group ran
  bool begun = false;    // somebody has committed for it
  bool newer = false;    // the last commit is of version 2
  bool was_newer = false;
};

// A handler begins.
struct Start {
  TopicPartition tp;
  Offset offset;
  std::uint32_t attempt;
  bool alone;
  bool probe;
  std::uint32_t others;  // handlers running in the same process
  bool guard_open;
  Instant handed_out;  // with the others of its stretch
  std::string writer;
  bool owner = false;  // as the broker sees it
};

// What the worker said and when, for a write that is on its way.
struct Sent {
  std::vector<TopicPartition> tps;
  std::uint64_t seq = 0;
  Release release = Release::kOld;
};

class Checker {
 public:
  Checker(const Options& options, Coverage& coverage) : options_(options), coverage_(coverage) {}

  void produced(const TopicPartition& tp, Story story);
  void committed(const std::string& writer, const Write& write, const Sent& sent, Now now);
  void produced_outside(const Record& record, Now now);                               // obituaries
  void journal_now(const TopicPartition& tp, const std::vector<LogRecord>& records);  // it is another all at once
  void started(const Start& start, Now now);
  void told_of(const TopicPartition& tp, Offset from, Offset to);  // people heard that these are gone
  void began_anew(const TopicPartition& tp);                       // its owner has forgotten what was not written yet
  void process_died(const TopicPartition& tp, Offset offset, bool counts);
  void finish(bool liveness);
  void stopped_cleanly();  // everything has ended and everybody is gone

  void fail(const std::string& what);
  const std::string& violation() const { return violation_; }
  Watched& at(const TopicPartition& tp) { return watched_[tp]; }
  std::map<TopicPartition, Watched>& all() { return watched_; }
  Story* find(const TopicPartition& tp, Offset offset);
  bool all_resolved() const;
  bool strict(const TopicPartition& tp, const std::string& writer) { return watched_[tp].writer == writer; }

 private:
  void take_letters(const Write& write, Now now);
  void take_outcome(const Record& record);
  void check_letter(const TopicPartition& tp, const Letter& letter);
  void check_version(const TopicPartition& tp, const std::string& metadata, Release release);
  void check_cut(const TopicPartition& tp, Offset low, const std::string& metadata, const std::string& writer,
                 Epoch epoch, std::uint64_t sent_seq);
  std::string name(const TopicPartition& tp, Offset offset) const;

  const Options& options_;
  Coverage& coverage_;
  std::map<TopicPartition, Watched> watched_;
  std::string violation_;
};

}  // namespace bartleby::sim
