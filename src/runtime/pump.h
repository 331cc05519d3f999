// Between the engine and a group member: moves bytes, decides nothing.
//
// It keeps what the engine only names (messages by slot, error texts by story, emitted records by number), turns
// broker events into engine events and commands into requests, and writes a plan out as records. One thread
// calls it; production and simulation use the very same code. What the broker does not answer, the engine asks
// for again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/journal.h"
#include "codec/letter.h"
#include "codec/replay_header.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "ports/broker.h"
#include "runtime/held_records.h"
#include "runtime/recording.h"
#include "runtime/watcher.h"
#include "runtime/worker_figures.h"

namespace bartleby {

// How a record is to be treated: decided before it has a lane.
struct Admission {
  std::uint16_t case_id = 0;
  bool skip = false;
  std::optional<Reason> refuse;
};

struct SourceTopic {
  TopicTraits traits;
  std::string journal;
  LetterTarget dlq;
};

// What a record's header says about it as a replay of a letter of this group; nothing: it is an ordinary message.
using ReplayOf = std::function<std::optional<ReplayMark>(const std::string& topic, const LogRecord& record)>;

struct PumpConfig {
  EngineConfig engine;
  std::string cluster, group, worker, instance;
  std::map<std::string, SourceTopic> topics;
  std::function<Admission(const std::string& topic, const LogRecord& record)> admit;
  ReplayOf replay_of;   // absent: nothing is a replay
  Duration tail{1000};  // how often the journal is looked at for obituaries
  // Makes what records the engine's steps; absent or null: nothing does.
  std::function<std::unique_ptr<EventRecorder>(const EngineConfig& engine)> record;
  WorkerFigures* figures = nullptr;  // where it counts; nowhere
  std::vector<std::shared_ptr<Watcher>> watchers;
  std::function<void(const std::string& dlq, std::uint64_t letters)> letters_written;  // durably; absent: nobody asks
  bool immediate = false;  // every handler is through with its message when `OnRun` returns
};

struct HandledRun {
  Token token;
  std::uint32_t done = 0;
  std::optional<Decision> last;
};

// One message of a Run, with its bytes, while `OnRun` is called.
struct RunMessage {
  const TopicPartition* tp = nullptr;
  const LogRecord* record = nullptr;
  const HeldRecords* held = nullptr;
  std::uint32_t slot = kNone;
  std::uint16_t case_id = 0;

  // Outlives the call, and the partition: a handler may still be at it.
  std::shared_ptr<const LogRecord> keep() const { return held->keep(slot); }
};

// A message that waits, with what is known of it here.
struct ParkedMessage {
  TopicPartition tp;
  WaitingMessage waiting;
  Bytes key;  // null also where the bytes are in the log only
  bool in_memory = false;
  ErrorText error;
};

// What holds a commit, likewise.
struct PinnedMessage {
  Pin pin;
  Bytes key;        // null also where the bytes are in the log only
  ErrorText error;  // of its last failure
};

struct ParkedFilter {
  std::optional<TopicPartition> tp;
  std::optional<Offset> offset;
  std::optional<Kind> kind;
  std::optional<std::pair<TopicPartition, Offset>> after;  // those that come later than this one
};

class Pump {
 public:
  // `run` is called from inside `turn` for every Run, and `handled` once for each of them, later or at once.
  using OnRun = std::function<void(const Run&, std::span<const RunMessage>)>;
  using OnAlarm = std::function<void(const Alarm&, const TopicPartition*)>;

  // The partition was handed over or lost: no further message of its runs may begin.
  using OnGone = std::function<void(PartitionRef)>;

  Pump(PumpConfig config, Member& member, OnRun run, OnAlarm alarm, OnGone gone = {});

  // Waits for the broker's events, up to `wait` (0: takes what is there).
  void poll(Duration wait);
  // Takes what is there, and steps.
  void turn(Now now) {
    poll(Duration(0));
    step(now);
  }
  // Steps the engine with what was polled and handled, and carries out what it wants, once.
  void step(Now now);
  void handled(HandledRun run) { handled_.push_back(std::move(run)); }
  void tell(Event event) { events_.push_back(std::move(event)); }  // stop, pause, orders of people

  Instant next_wakeup() const;
  bool stopped() const { return stopped_; }
  bool failed() const { return failed_; }                  // the member is out; a new pump with a new member goes on
  const std::string& failure() const { return failure_; }  // why, in the broker's words
  bool topic_made_anew() const { return topic_made_anew_; }
  const Engine& engine() const { return engine_; }
  const TopicPartition* where(PartitionRef ref) const;
  std::size_t metadata_bytes(PartitionRef ref) const;  // of the last commit; 0: none yet
  std::vector<std::pair<PartitionRef, TopicPartition>> partitions() const;
  std::vector<std::string> refusing_dlqs() const;  // by name; their letters wait until they take one
  // Messages that wait for their next attempt, or for people; at most `limit`.
  // In the order of topic, partition and offset.
  std::vector<ParkedMessage> parked(const ParkedFilter& filter, Now now, std::size_t limit) const;
  std::vector<PinnedMessage> pinned(const Explanation& explanation) const;
  bool has_handled() const { return !handled_.empty(); }
  bool has_events() const { return !events_.empty(); }

  std::size_t slots_in_use() const { return held_.size(); }
  std::size_t stories_in_use() const { return stories_.size(); }
  std::size_t emits_in_use() const { return emits_.size(); }

 private:
  struct Emit {
    std::vector<Record> records;
  };
  struct Place {
    PartitionRef ref;
    TopicPartition tp;
    const SourceTopic* topic;
    // journal: read to the end once, then tailed for obituaries
    Offset tail_from{0};
    bool journal_read = false;  // once to its end: from there on it is tailed
    Instant next_tail = kNever;
    bool tailing = false;
    std::size_t metadata_bytes = 0;
  };
  enum class Asked : std::uint8_t { kOffsets, kFence, kLog, kJournalEnd, kJournal, kMessage, kSweep, kTailEnd, kTail };
  struct Request {
    Asked asked;
    PartitionRef ref;
    Stability stability = Stability::kStable;
    std::uint32_t serial = 0;  // of the engine's read
    std::map<std::string, DecodedEntry> journal;
  };

  void take(BrokerEvent& event);
  void range_read(RangeRead& in);
  void log_range_read(const LogRangeRead& in);
  std::vector<RecordRef> refs_of(const Place& place, std::vector<LogRecord> records);
  RecordRef ref_of(const Place& place, const LogRecord& record, std::uint32_t slot) const;
  void carry_out(Command& command);
  void write(WritePlan& plan);
  void write_record(const PlannedRecord& planned, const Place& place, std::vector<Record>& out);
  std::optional<ReplayMark> replay_of(const Place& place, const LogRecord& record) const;
  void journal_slice(Request& request, RangeRead& in);
  std::uint64_t ask(Request request);
  Place* place(PartitionRef ref);
  std::uint32_t new_story(JournalStory story, bool though_empty = false);  // for later, when there is more to say
  static std::uint32_t topics_of(const std::vector<Record>& emitted);
  std::uint32_t refusal_story(const std::string& topic, Refusal why);
  void tail_journals(Now now);
  void count_runs() const;
  void count_write(bool done);
  void tell_letters(bool done);

  PumpConfig config_;
  Member& member_;
  OnRun run_;
  OnAlarm alarm_;
  OnGone gone_;
  Engine engine_;
  std::unique_ptr<EventRecorder> recorder_;
  Commands commands_;
  std::vector<BrokerEvent> polled_;
  std::vector<Event> events_;
  std::deque<std::vector<RecordRef>> batches_;  // records of `events_`
  std::vector<HandledRun> handled_;
  std::vector<Completion> completions_;
  std::vector<RunMessage> messages_;
  HeldRecords held_;
  std::vector<std::uint32_t> slots_;  // of one slice; kept for its memory
  Slab<JournalStory> stories_;
  Slab<Emit> emits_;
  std::map<std::uint32_t, Place> places_;  // by index
  std::set<TopicPartition> assigned_;      // of topics that the group has never had an offset on
  std::map<std::uint64_t, Request> requests_;
  std::uint64_t last_request_ = 0;
  struct Planned {
    std::uint32_t plan;
    std::string topic;  // of an emitted record
    bool letter = false;
  };
  std::vector<Planned> planned_of_;  // of the write in flight, by record
  WriteSerial write_serial_;
  std::optional<Instant> write_began_;                  // until it is answered
  std::map<std::string, std::uint64_t> write_letters_;  // of it, by topic
  struct WrittenLetter {
    std::shared_ptr<const LogRecord> record;
    LetterFacts facts;
  };
  std::vector<WrittenLetter> told_letters_;  // of it, where somebody watches
  std::vector<std::pair<PartitionRef, TopicPartition>> write_partitions_;
  Now now_{};
  bool stopped_ = false;
  bool failed_ = false;
  std::string failure_;
  bool topic_made_anew_ = false;
};

}  // namespace bartleby
