// One seed, from first record to last verdict: a cluster, some worker processes, their handlers, and what goes wrong.
//
// First faults happen for a while (safety), then everything is healed and must come to an end (liveness). The workers
// are the real Pump and the real Engine; the rest is played. Everything comes from the seed, so a run can be
// repeated event by event; its hash says whether it was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "engine/explain.h"
#include "runtime/pump.h"
#include "tests/sim/checker.h"
#include "tests/sim/coverage.h"
#include "tests/sim/fragile_member.h"
#include "tests/sim/options.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_member.h"

namespace bartleby::sim {

struct RunResult {
  std::uint64_t seed = 0;
  std::string violation;  // empty: all promises kept
  std::uint64_t hash = 0;
  std::uint64_t steps = 0;
};

// What a handler will do with a message.
struct Script {
  std::uint16_t case_id = 0;
  std::uint32_t fails = 0;  // attempts that fail
  bool reject = false;
  bool emit = false;
  std::size_t emit_bytes = 0;  // beside the number
  bool skip = false;
  bool malformed = false;
  bool replayed = false;
  std::uint32_t crashes = 0;    // runs that kill the process
  std::uint32_t throttles = 0;  // runs that are told to wait
  std::uint32_t unrun = 0;      // times that it is given back
  Duration takes{0};
  Kind kind = Kind::kTransient;
};

class World {
 public:
  World(const Options& options, Coverage& coverage, bool trace);
  ~World();
  // Every life of every process is recorded by what this makes. Before `run`.
  void record(std::function<std::unique_ptr<EventRecorder>(const EngineConfig&)> make) { record_ = std::move(make); }
  RunResult run();

 private:
  // A handler at work on a stretch.
  struct Running {
    Run run;
    std::vector<std::shared_ptr<const LogRecord>> messages;
    TopicPartition tp;
    std::uint32_t at = 0;
    std::uint64_t number = 0;
    Instant begun{};
    bool left_behind = false;  // its partition has begun anew since
  };
  // One slot of the flight recorder: survives the process.
  struct RecorderSlot {
    TopicPartition tp;
    Offset offset;
    Timestamp timestamp;
    bool faulting;
    bool alone;
  };
  // Where a partition was when it last got on.
  struct Standing {
    Phase phase;
    Offset low, frontier;
    std::uint64_t begun;
    Instant since;
  };
  struct Process {
    std::uint32_t number = 0;
    std::uint64_t incarnation = 0;
    Release release = Release::kOld;
    Release next_release = Release::kOld;  // of its next life
    std::unique_ptr<SimMember> member;
    std::unique_ptr<FragileMember> fragile;
    std::unique_ptr<Pump> pump;
    std::vector<Running> running;
    std::map<PartitionRef, Instant> handing_over;  // since when
    std::vector<RecorderSlot> recorder;
    std::vector<Scheduler::Task> thawing;
    Instant wake = kNever;
    bool frozen = false;
    bool stopping = false;
    bool turn_planned = false;
    std::vector<std::pair<std::uint32_t, Instant>> fail_times;  // message, when: the guard's evidence
    std::set<std::uint32_t> successes_since_open;
    std::set<std::uint32_t> successes_since_turn;  // answered; the engine hears of them in its next turn
    std::set<std::uint32_t> exhausted_letters;
    bool guard_was_open = false;
    bool guard_gave_up = false;      // in its last turn, after it had heard of what ended
    bool other_settings = false;     // of this life and the next
    bool settings_changing = false;  // its next turn hears of it
    EngineCounters last{};
    std::vector<Running> waiting;  // for one that was left behind at the same message
    std::map<PartitionRef, Standing> standing;
    std::map<PartitionRef, std::uint64_t> begun;  // runs
    Instant last_begun{};
  };

  // processes (world.cc)
  void start(Process& p);
  void crash(Process& p, std::optional<std::uint64_t> faulting_run);
  bool write_obituary(const Record& record);
  void stop(Process& p);
  void plan_turn(Process& p, Instant when);
  void turn(Process& p);
  void in_process(Process& p, Duration wait, std::function<void(Process&)> task);
  void alarm(Process& p, const Alarm& a, const TopicPartition* tp);
  void watch_guard(Process& p);
  bool uses_no_attempt(const Process& p) const;
  void handed_over(Process& p, PartitionRef ref);
  void write_sent(Process& p, const Write& w);

  // handlers (world_handlers.cc)
  Script script_of(std::uint32_t id) const;
  Admission admit(const LogRecord& record) const;
  std::optional<ReplayMark> replay_of(const LogRecord& record) const;
  void set_off(Process& p, Running r);
  void begin(Process& p, const Run& run, std::span<const RunMessage> messages);
  void next_message(Process& p, std::uint64_t number);
  void end_message(Process& p, std::uint64_t number);
  void complete(Process& p, std::uint64_t number, std::uint32_t done, std::optional<Decision> last);
  Running* find(Process& p, std::uint64_t number);

  // trouble (world_trouble.cc)
  void produce(std::optional<std::int32_t> partition = {});
  void plan_trouble();
  void trouble();
  void heal();
  void retention();
  bool journal_is_written() const;
  void lose_journal();
  void cut_journal();
  void compact_journal();
  void end_transactions();
  void freeze_journal();
  void stray_answers(Process& p);
  void kill_gone(const TopicPartition& tp, Offset below);

  // people (world_people.cc)
  static bool is_settled(const std::optional<CommittedOffset>& c);
  bool before_joining();
  void ensure_journal();
  void add_partition();
  void reset_offset();
  void move_offset(const TopicPartition& tp);
  void recreate(bool keeps_offsets);
  void regrow(int tries);
  void cut_log(int tries);
  void take_time_of_done(const TopicPartition& tp, Offset at);
  void grow(const TopicPartition& tp, Offset high);
  void change_release(Process& p);
  void last_releases();
  void back_to_old();
  void give_orders(Process& p);
  void change_settings(Process& p);
  void ask_why();
  void look_for_standstill();
  bool has_reason(const Process& p, const PartitionEngine& partition, const Explanation& why) const;
  void ask_for(const Engine& engine, const PartitionEngine& owner, const WaitingMessage& m, Now now);
  void ask_for(const Engine& engine, const PartitionEngine& partition, const Process& p);
  bool finished();
  void say_where_all_stand();

  void say(const std::string& text);
  void mix(std::uint64_t value) { hash_ = combine(hash_, value); }

  const Options& options_;
  std::function<std::unique_ptr<EventRecorder>(const EngineConfig&)> record_;
  Coverage& coverage_;
  const bool trace_;
  Scheduler scheduler_;
  Random random_;
  std::unique_ptr<SimCluster> cluster_;
  Checker checker_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::pair<std::string, std::uint64_t>, Sent> sent_;          // writer, serial
  std::map<std::uint32_t, std::uint32_t> throttled_, crashed_, unrun_;  // message → how often
  std::int32_t partitions_ = 1;                                         // of the source, now
  Timestamp start_time_{};                                              // of a group that begins at a time
  std::uint32_t produced_ = 0;
  std::uint32_t to_produce_ = 0;
  std::uint64_t last_running_ = 0;
  std::uint64_t seq_ = 0;
  std::uint64_t hash_ = 0;
  Instant outage_until_{};
  Instant down_until_{};                 // people keep all processes down
  std::optional<TopicPartition> moved_;  // by people, and nobody has claimed it since
  Instant last_crash_{};
  std::uint64_t largest_ = 0;  // of the messages, as the budget counts them
  bool healed_ = false;
  bool same_time_ = false;  // another message has the number and the time of one that a journal calls done
  bool foreign_ = false;    // a tool has written metadata that is not ours
};

RunResult run_seed(std::uint64_t seed, const std::vector<Fault>& off, Coverage& coverage, bool trace);

}  // namespace bartleby::sim
