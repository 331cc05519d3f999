// One worker of this process: a thread that joins the group, drives the engine through a pump, and has its handlers
// run.
//
// It owns its thread, its member and its runner; the broker and the handlers outlive it. What the broker cannot do
// now is tried again, later each time, for as long as the worker lives: a broker that is away is a state, not an
// error. Questions and orders come from any thread, are carried out by the worker's own between two turns, and are
// answered within a second or with kUnavailable. `stop` begins a clean stop; the destructor waits for it, as long as
// the drain allows.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "codec/topic_name.h"
#include "engine/start.h"
#include "model/dlq_provision.h"
#include "ports/broker.h"
#include "runtime/runner.h"

namespace bartleby {

struct WorkerSpec {
  std::string name, group, cluster, instance;
  std::vector<std::string> topics;
  std::int32_t new_topic_partitions = 1;           // of a source topic that does not exist yet; 0 = it must exist
  std::string journal = "{topic}.parked.{group}";  // templates; see codec/topic_name.h
  std::string dead_letter = "{topic}.dlq";
  LetterDialect dialect = LetterDialect::kRecord;
  std::function<DlqProvision(const std::string& dlq)> provision;  // of one that is missing; absent: the defaults
  std::string replay_topic;                 // template of the private lane for replays; empty: none is read
  std::function<Result<void>()> may_begin;  // asked before it joins, again and again; absent: it may
  StartAt start = StartAt::kEarliest;
  Timestamp start_time{};  // with kTime
  EngineConfig engine;
  std::vector<std::shared_ptr<Handler>> handlers;  // by case, like engine.cases
  std::function<Admission(const std::string& topic, const LogRecord& record)> admit;
  ReplayOf replay_of;  // absent: nothing is a replay
  std::vector<std::shared_ptr<Watcher>> watchers{};
  std::string record;        // folder for recordings of the engine's events; empty: none are made
  Duration overdue{300000};  // a handler that is late by more than this is given up, with the process
};

enum class WorkerState : std::uint8_t { kStarting, kRunning, kPaused, kStopping, kStopped };
std::string_view name(WorkerState state);

struct PartitionStatus {
  TopicPartition tp;
  std::string state;  // running, taking over, …
  Offset committed, frontier, log_end;
  std::size_t parked = 0, held = 0, held_keys = 0, in_memory = 0;
  std::size_t kept = 0;            // of the parked ones: for people, because there are no dead letters
  bool intake_stopped = false;     // at a limit
  std::size_t dlq_pending = 0;     // letters that are not written yet
  std::size_t metadata_bytes = 0;  // of the last commit
  std::int64_t lag = 0;            // after the committed offset
  std::int64_t effective_lag = 0;  // what could run now and has not
  bool lane = false;               // of a private lane for replays; shown only while something is in it
};

struct WorkerStatus {
  std::string name, group, instance;
  WorkerState state = WorkerState::kStarting;
  std::string trouble;  // why it does not run or begins nothing, in words; empty when all is well
  std::vector<PartitionStatus> partitions;
  std::size_t parked = 0, kept = 0, held = 0, held_keys = 0, dlq_pending = 0;  // of all partitions
  std::size_t intakes_stopped = 0;                                             // partitions
  std::size_t metadata_bytes_max = 0;
  std::int64_t effective_lag = 0;
  bool pinned = false;  // a message that waits holds a commit
  std::uint32_t running = 0;
  bool guard_open = false;
  bool writes_fail = false;                  // the broker takes none: nothing new begins
  std::vector<std::string> refusing_dlqs{};  // they have refused letters, which wait
  std::optional<Timestamp> last_message_at;
};

class Worker {
 public:
  // `broken` is called at most once, from the worker's thread, when only the end of the process helps.
  using Broken = std::function<void(const std::string& why)>;

  Worker(WorkerSpec spec, Broker& broker, const Clock& clock, Log& log, Broken broken = {});
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void stop();
  // The partitions are handed over; handlers that were too slow for that may still run.
  bool parted() const { return parted_.load(); }
  bool stopped() const { return state_.load() == WorkerState::kStopped; }

  Broker& broker() const { return broker_; }
  const WorkerSpec& spec() const { return spec_; }
  const WorkerFigures& figures() const { return figures_; }
  Timestamp started_at() const { return started_at_; }
  std::optional<Timestamp> last_message_at() const;
  bool stopping() const { return stopping_.load(); }
  // A topic that takes no messages: kept for Bartleby itself, or a journal of this worker.
  bool keeps(const std::string& topic) const { return is_kept_topic(topic) || journals_.contains(topic); }
  std::uint64_t alarms(AlarmType type) const { return alarms_[static_cast<std::size_t>(type)].load(); }

  // What only the broker knows is waited for so long at most, and otherwise as it was told last; 0: not at all.
  Result<WorkerStatus> status(Duration limit = Duration(1000));
  Result<std::vector<ParkedMessage>> parked(const ParkedFilter& filter, std::size_t limit);
  // What holds each partition (of `partition`, where given), or what happens to one message.
  struct Answer {
    TopicPartition tp;
    Explanation explanation;
    std::vector<PinnedMessage> pinned;  // as in the explanation
  };
  Result<std::vector<Answer>> explain(std::optional<Partition> partition, std::optional<Offset> offset);
  // What happens to the messages of a key, by partition. An empty answer: none waits or runs there.
  Result<std::vector<Answer>> explain_key(std::string_view key, std::optional<Partition> partition);
  // How many messages it meant.
  Result<std::size_t> order(ParkedOrder::What what, const ParkedFilter& filter);
  Result<void> pause(bool paused);
  // Changes what may change while it runs; as many cases as before.
  Result<void> apply(const LiveSettings& settings);

 private:
  using Task = std::move_only_function<void()>;

  template <class T>
  Result<T> ask(std::function<T()> question);
  void work();
  bool prepare();
  bool make_topics();
  void tell_hidden(const std::string& topic);
  void tell_forgetting(const TopicSpec& dlq);
  TopicSpec dlq_spec(const std::string& name, const TopicSpec& source) const;
  void follow_growth(Now now);
  void add_lane(const SourceTopic& source, const TopicWords& words, const TopicSpec& topic,
                std::vector<TopicSpec>& wanted);
  bool is_lane(const TopicPartition& tp) const;
  bool commit_begin(const std::vector<std::string>& topics, StartAt start);
  void begin_without_offsets(const std::vector<CommittedOffset>& first);
  bool join();
  void turn();
  void tell_stop_waits(Now now);
  void take_tasks();
  void look_at_emitted(Decision& decision);
  std::unique_ptr<EventRecorder> recorder(const EngineConfig& engine);
  void part();  // from a pump that is over
  void told(const Alarm& alarm, const TopicPartition* tp);
  void count(AlarmType type) { alarms_[static_cast<std::size_t>(type)].fetch_add(1); }
  void set_state(WorkerState state);
  void trouble(const std::string& what, const Error& error);
  void watch_overdue(Now now);

  const WorkerSpec spec_;
  Broker& broker_;
  const Clock& clock_;
  Log& log_;
  const Broken broken_;
  const Timestamp started_at_;
  const std::set<std::string> journals_;
  EngineConfig engine_;  // of the next member; the worker's thread alone
  WorkerFigures figures_;

  std::mutex mutex_;        // of the five below, which other threads fill
  std::uint64_t life_ = 1;  // of the member; its successor numbers partitions and runs anew
  std::vector<HandledRun> handled_;
  std::size_t wake_at_ = 1;  // so many of them wake the worker
  std::deque<Task> tasks_;
  Member* awake_ = nullptr;  // whom to wake
  std::condition_variable changed_;

  std::atomic<WorkerState> state_{WorkerState::kStarting};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> parted_{false};
  std::array<std::atomic<std::uint64_t>, 32> alarms_{};

  // The worker's thread alone:
  Runner runner_;
  std::vector<HandledRun> taken_;
  bool many_answers_ = false;               // came in the turn before this one
  std::vector<HandledRun> answered_;        // the worker's thread alone, which runs inline handlers
  std::atomic<std::thread::id> turning_{};  // that thread, once it works
  std::map<std::string, SourceTopic> sources_;
  std::vector<std::string> lanes_;                  // private ones, one for each topic
  std::map<std::string, std::int32_t> partitions_;  // of the topics, when they were prepared
  std::set<std::string> told_topics_;               // of whose settings something was told already
  std::set<std::string> emitted_topics_;
  std::unique_ptr<Member> member_;
  std::unique_ptr<Pump> pump_;
  std::string trouble_;
  Duration pause_{0};
  Instant next_try_{};
  bool prepared_ = false;
  bool stop_told_ = false;
  Instant next_stop_word_ = kNever;
  bool paused_ = false;
  Instant next_overdue_look_{};
  Instant next_growth_look_{};
  bool topics_missing_ = false;  // a write was refused because of it
  EngineCounters before_;        // of the engines of earlier members

  std::jthread thread_;  // last
};

}  // namespace bartleby
