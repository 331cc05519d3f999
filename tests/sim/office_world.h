// One seed of the office: dlqs that fill, an office that takes letters in and sends them again, workers that answer,
// people who want things, and everything that goes wrong; then all is healed and must end.
//
// The real intake, operations, queue of a sink and SQLite store, on a simulated broker, a simulated sink and a clock
// that the world winds. A crash drops everything of the office; store, broker and sink stay. One thread; the store lies
// in a folder of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapters/store/sqlite/sqlite_store.h"
#include "base/clock.h"
#include "codec/letter.h"
#include "office/intake_runner.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "office/retention.h"
#include "office/sink_runner.h"
#include "tests/sim/office_archive.h"
#include "tests/sim/office_checker.h"
#include "tests/sim/office_faults.h"
#include "tests/sim/office_sink.h"
#include "tests/sim/world.h"

namespace bartleby::sim {

// A group that reads a topic: where its replays come, and where its dead messages go.
struct OfficeGroup {
  std::string name, topic, dlq, lane;
  std::int32_t partitions, dlq_partitions;
};

class OfficeWorld {
 public:
  // `folder` is empty and stays as long as the world.
  OfficeWorld(std::uint64_t seed, const std::string& folder, OfficeCoverage& coverage, bool trace);
  RunResult run();

 private:
  struct HandClock : Clock {
    explicit HandClock(const Scheduler& s) : scheduler(s) {}
    Now now() const override { return scheduler.both(); }
    std::chrono::microseconds real(Duration) const override { return {}; }
    const Scheduler& scheduler;
  };
  // What a crash takes with it.
  struct Office {
    Operations operations;
    IntakeRunner intake;
    OperationRunner runner;
    SinkRunner sink;
  };
  // A replay that was handled, which its worker may handle again when somebody moves its offset.
  struct Handled {
    const OfficeGroup* group;
    TopicPartition tp;
    LogRecord record;
    ReplayMark mark;
  };

  // ---- office_world.cc
  void draw();
  void make_topics();
  void make_office();
  IntakeOptions intake_options();
  bool alive(const std::function<void()>& work);  // false: it crashed
  void office_turn();
  void another_intake();
  void check_counts();
  void free_empty_shelves();
  void heal();
  bool quiet();
  void note(const std::string& what);

  // ---- office_parties.cc: producers, retention, workers
  void produce();
  void one_dies();
  void write_letter(const OfficeGroup& group, const LetterFacts& facts, const LogRecord& record);
  void copy_something();
  void trouble_dlqs();
  void work();
  void work_on(const OfficeGroup& group, const TopicPartition& tp);
  bool answer(const OfficeGroup& group, const TopicPartition& tp, const LogRecord& record, Offset from);
  void handle_again();
  LetterFacts died_again(const OfficeGroup& group, const TopicPartition& tp, const LogRecord& record,
                         const ReplayMark& mark);
  bool may_write(const OfficeGroup& group) const;

  // ---- office_people.cc
  void people();
  void plan();
  void change_operation(bool healing);
  void change_one_letter();
  void change_an_issue();
  OperationSettings settings();
  std::string some_query();

  // ---- office_keeping.cc: what becomes of things by the clock
  void draw_keeping();
  void tidy();
  void another_keeper();
  bool waits_for_files() const;
  void restore_an_archive();
  bool tidied() const;

  // ---- office_sinks.cc
  void draw_sinks();
  std::vector<std::string> sinks_of(const std::string& dlq) const;
  void change_sinks();
  void feed_sink();

  Random& random() { return scheduler_.random(); }
  template <class T>
  const T& any(const std::vector<T>& of) {
    return of[random().below(of.size())];
  }

  const std::uint64_t seed_;
  const bool trace_;
  OfficeCoverage& coverage_;
  Scheduler scheduler_;
  SimCluster cluster_;
  HandClock clock_;
  Log log_;
  std::unique_ptr<sqlite_store::SqliteStore> real_;
  const OfficeKey key_{"o1", "0123456789abcdef0123456789abcdef"};
  OfficeFaults faults_;
  OfficeFate fate_;
  std::unique_ptr<FragileStore> store_;
  FragileBroker broker_;
  SimArchive archive_;
  SimSink sink_;
  std::unique_ptr<OfficeChecker> checker_;
  std::unique_ptr<Office> office_;

  // ---- What this seed is like
  std::vector<OfficeGroup> groups_;
  std::uint32_t rounds_ = 30, letters_left_ = 40, dies_ = 30;
  bool tells_ids_ = false;  // the broker, of its topics
  bool retention_ = false, new_topics_ = false, two_intakes_ = false, copies_ = false, again_ = false, parts_ = false;
  bool slow_workers_ = false;
  bool denied_ = false, two_keepers_ = false, long_waits_ = false, lazy_outcomes_ = false;
  bool keeps_ = false;
  bool has_sink_ = false, fickle_ = false;
  std::uint32_t feeds_ = 0;  // of 100 turns in which the sink may be fed
  SinkOptions sink_options_;
  DlqRule rule_;
  Duration keep_operations_{0};
  std::size_t read_records_ = 1000;
  RunLimits limits_;

  std::vector<std::vector<Record>> written_;  // letters, as their records
  std::vector<Handled> handled_;
  std::vector<Record> outcomes_;
  std::map<TopicPartition, std::int64_t> origins_;
  std::set<std::string> hurried_;  // operations whose rate was taken away
  std::uint32_t ids_ = 0;
  bool taking_in_ = false, nested_ = false, healing_ = false;
  std::int64_t keeper_in_ = 0;  // after so many calls another office keeps up archives; 0: none does
  std::uint64_t commits_ = 0;
  std::uint64_t hash_ = 0;
};

RunResult run_office_seed(std::uint64_t seed, OfficeCoverage& coverage, bool trace);

}  // namespace bartleby::sim
