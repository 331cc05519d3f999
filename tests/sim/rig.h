// A directed simulation: a cluster without faults, workers whose handlers are answered by the test, one clock.
//
// Nothing happens unless the test winds the clock. Every run of a handler waits in `Worker::running` until it is
// answered; a worker can be started, crashed (nothing is said any more, what was sent goes on) or stopped
// cleanly. What the group has committed, the journal holds and the dlq got can be looked at between two
// steps. `WithMutant` leaves out one rule of the engine as long as it lives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/mutants.h"
#include "runtime/pump.h"
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_member.h"

namespace bartleby::sim {

class Rig;

// One message in the hands of a handler.
struct Started {
  std::string worker;  // transactional id
  TopicPartition tp;
  std::int64_t offset = 0;
  std::uint32_t attempt = 0;
  bool alone = false;
  Instant at{};
  Token token;
  std::shared_ptr<const LogRecord> record;
};

class Worker : public std::enable_shared_from_this<Worker> {
 public:
  Worker(Rig& rig, const std::string& instance, EngineConfig engine);

  const std::string& id() const { return member_->transactional_id(); }
  const Engine& engine() const { return pump_->engine(); }
  const PartitionEngine* partition(std::int32_t partition = 0) const;
  SimMember& member() { return *member_; }
  bool up() const { return pump_ != nullptr; }
  bool failed() const { return failed_; }

  const std::vector<Started>& running() const { return running_; }
  const Started* at(std::int64_t offset) const;  // null: no handler is at it
  bool at_all(const std::vector<std::int64_t>& offsets) const;

  // The handler's answer; it must be at this message.
  void answer(std::int64_t offset, std::optional<Decision> decision);
  void done(std::int64_t offset) { answer(offset, std::nullopt); }
  void fails(std::int64_t offset, const std::string& error = "no");  // to be retried
  void reject(std::int64_t offset);                                  // for good
  void give_back(std::int64_t offset);                               // nobody has run it
  void order(ParkedOrder::What what);                                // of people, about everything that waits
  void change(const EngineConfig& engine);                           // what may change while it runs
  void step() { turn(); }                                            // though nothing has happened
  void begin_stop();                                                 // Rig::stop waits for its end too

 private:
  friend class Rig;
  void begin();
  void plan(Instant when);
  void turn();
  void crash();

  Rig& rig_;
  std::unique_ptr<SimMember> member_;
  std::unique_ptr<Pump> pump_;
  std::vector<Started> running_;
  Instant wake_ = kNever;
  bool failed_ = false;
};

struct RigOptions {
  std::uint64_t seed = 1;
  std::int32_t partitions = 1;
  std::size_t dlq_message = 1 << 20;  // the largest record the dlq takes
  std::size_t letter_part = 400;
  std::uint64_t retention_bytes = 0;  // of the source; 0: without limit
  std::optional<Duration> retention{};
  std::size_t cases = 1;  // a message's value "caseN" says which it is
};

class Rig {
 public:
  explicit Rig(RigOptions options = {});
  ~Rig();

  EngineConfig
      engine;  // of workers that are started from now on: one message per run, no guard, 3 attempts, 10 s apart
  Scheduler scheduler;
  SimCluster cluster;
  std::vector<Started> history;  // every run
  std::vector<Write> writes;     // every write that took effect
  std::vector<Letter> letters;   // all of them
  std::vector<Alarm> alarms;
  std::string skipped = "does not match";  // messages with this value are not for our workers

  std::int64_t produce(const Bytes& key, const std::string& value = "v", std::int32_t partition = 0);
  void produce_all(const std::vector<std::string>& keys);
  Worker& start(const std::string& instance = "a");
  void crash(Worker& worker) { worker.crash(); }
  void stop(Worker& worker);  // and winds until it is over

  void wind(Duration span) { scheduler.run_for(span); }
  // False: it did not happen in time, or so much else that time stands still.
  bool wind_until(const std::function<bool()>& happened, Duration limit = Duration(120000));
  // Until the handler of this worker is at the message.
  bool until_at(const Worker& worker, std::int64_t offset);

  Offset low(std::int32_t partition = 0) const;
  DecodedMetadata metadata(std::int32_t partition = 0) const;
  std::map<std::string, DecodedEntry> journal(std::int32_t partition = 0) const;  // by key, live ones
  const MessageEntry* entry(std::int64_t offset, std::int32_t partition = 0) const;
  bool has_done(std::int64_t offset) const { return entry(offset) != nullptr && entry(offset)->done; }
  bool has_parked(std::int64_t offset) const { return entry(offset) != nullptr && !entry(offset)->done; }
  void write_journal(const JournalEntry& entry, const JournalStory& story = {}, std::int32_t partition = 0);
  std::size_t runs_of(std::int64_t offset) const;
  std::vector<std::int64_t> order() const;  // offsets in the order of their runs
  bool alarmed(AlarmType type) const;

  // Commit metadata that has room for this many heads of a worker with a name of one letter.
  static std::size_t room_for_heads(std::size_t heads);

 private:
  friend class Worker;
  RigOptions options_;
  std::vector<std::shared_ptr<Worker>> workers_;
  mutable std::map<std::string, DecodedEntry> seen_;  // what `entry` points into
};

// What a scenario answers when it has gone another way.
std::string went_wrong(const char* what, int line);

class WithMutant {
 public:
  explicit WithMutant(Mutant mutant) { active_mutant = mutant; }
  ~WithMutant() { active_mutant = Mutant::kNoMutant; }
  WithMutant(const WithMutant&) = delete;
  WithMutant& operator=(const WithMutant&) = delete;
};

}  // namespace bartleby::sim
