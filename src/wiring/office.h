// The office of a process: its store in the data folder, the thread that takes in letters of the embedded log, and the
// one that carries out operations.
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
#include "office/intake_runner.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "ports/broker.h"
#include "ports/store.h"
#include "wiring/config.h"

namespace bartleby {

// Whether a topic is taken for a dlq by its name alone.
bool looks_like_dlq(std::string_view topic);

class Office {
 public:
  // `key` signs replays.
  static Result<std::unique_ptr<Office>> start(const Config& config, Broker& broker, const OfficeKey& key,
                                               const Clock& clock, Log& log);

  Store& store() { return *store_; }
  Operations& operations() { return *operations_; }
  IntakeCounts intake() const { return intake_->counts(); }
  void follow(const Config& config);  // after a reload: the workers' dlqs may be others

 private:
  explicit Office(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  bool is_dlq(const std::string& topic) const;
  std::vector<Reader> readers_of(const std::string& topic) const;

  std::unique_ptr<Store> store_;
  mutable std::mutex mutex_;
  std::set<std::string> dlqs_;                          // under the mutex
  std::set<std::string> lanes_;                         // under the mutex; no dlqs, whatever they are called
  std::map<std::string, std::vector<Reader>> readers_;  // under the mutex; by topic
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<OperationRunner> runner_;
  std::unique_ptr<IntakeRunner> intake_;  // last: the threads end first
};

}  // namespace bartleby
