// The office of a process: its store in the data folder, and five threads: one takes in letters of the embedded log,
// one carries out operations, one does chores, one tells of alerts, one finds out whether the store works; and one more
// for each sink.
//
// Takes in the dead letter topics of the configured workers, and every topic whose name looks like one (`*.dlq`,
// `*.DLT`, `*-dlt`, `dlq.*`). Owns store and threads; the broker must outlive it. Any thread may ask for the store.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "office/alert_runner.h"
#include "office/chores.h"
#include "office/intake_runner.h"
#include "office/news.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "office/sink_runner.h"
#include "office/store_check.h"
#include "ports/archive.h"
#include "ports/broker.h"
#include "ports/store.h"
#include "wiring/config.h"

namespace bartleby {

class Office {
 public:
  // `key` signs replays.
  static Result<std::unique_ptr<Office>> start(const Config& config, Broker& broker, const OfficeKey& key,
                                               const Clock& clock, Log& log);

  Store& store() { return *store_; }
  News& news() { return news_; }
  Operations& operations() { return *operations_; }
  Archive& archive() { return *archive_; }
  OperationRunner& runner() { return *runner_; }
  const AlertRunner& alerts() const { return *alerts_; }
  StoreCheck& store_check() { return *store_check_; }
  IntakeCounts intake() const { return intake_->counts(); }
  std::vector<SinkStatus> sinks() const;  // those that the store can tell about
  void follow(const Config& config);      // after a reload: the workers' dlqs and who is told may be others

  DlqRule rule_of(const std::string& dlq) const;  // how its letters are kept; any thread

 private:
  explicit Office(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  bool is_dlq(const std::string& topic) const;
  Result<void> start_sinks(const Config& config, const Clock& clock, Log& log);
  void tell_whom(const Config& config);
  std::vector<Reader> readers_of(const std::string& topic) const;
  std::string source_of(const std::string& lane) const;

  std::unique_ptr<Store> store_;
  std::unique_ptr<Archive> archive_;
  News news_;
  mutable std::mutex mutex_;
  OfficeConfig rules_;                                  // under the mutex
  std::set<std::string> dlqs_;                          // under the mutex
  std::map<std::string, std::string> lanes_;            // under the mutex: the topic; no dlqs, whatever they are called
  std::map<std::string, std::vector<Reader>> readers_;  // under the mutex; by topic
  Log* log_ = nullptr;
  AlertsConfig told_;  // as the destinations were made
  std::unique_ptr<StoreCheck> store_check_;
  std::unique_ptr<AlertRunner> alerts_;  // intake wakes it
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<OperationRunner> runner_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::vector<std::unique_ptr<SinkRunner>> sink_runners_;  // intake wakes them: they end after it
  std::unique_ptr<IntakeRunner> intake_;                   // these two last: their threads end first
  std::unique_ptr<Chores> chores_;
};

}  // namespace bartleby
