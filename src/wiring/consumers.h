// Consumers of channels as workers: made, changed and removed while the process runs, as the store says.
//
// A consumer's settings go through the same rules as a worker in the configuration's file. `ConsumerFollower` owns a
// thread that looks at the store every 5 s, and at once when woken; what cannot be run is told in the log and tried
// again. `stop` (and the destructor) waits for a hand-over that is under way.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "office/channels.h"
#include "ports/broker.h"
#include "ports/store.h"
#include "wiring/config.h"

namespace bartleby {

// kInvalid: what is wrong with it, in words. `local`: its address may be private.
Result<WorkerConfig> worker_of(const Consumer& consumer, const std::string& cluster_id, bool local);

// Puts the channels of the configuration into the store; what is there and the same is left alone, and so is what the
// file does not name.
Result<void> put_channels(const std::vector<ChannelConfig>& channels, const std::string& cluster_id, bool local,
                          Store& store, Broker& broker, Timestamp now);

struct FollowerActions {
  std::function<Result<void>(const WorkerConfig& worker)> run;  // in place of the one that is there
  std::function<void(const std::string& worker)> end;
  std::function<Result<void>(const std::string& worker, bool paused)> pause;
  std::function<void(const std::vector<WorkerConfig>& all)> changed;
};

class ConsumerFollower {
 public:
  ConsumerFollower(Store& store, Log& log, std::string cluster_id, bool local, FollowerActions actions);
  ~ConsumerFollower();
  ConsumerFollower(const ConsumerFollower&) = delete;
  ConsumerFollower& operator=(const ConsumerFollower&) = delete;

  void look();  // once, on the caller's thread; before `start`
  void start();
  void wake();
  void stop();

 private:
  struct Followed {
    Consumer consumer;
    WorkerConfig worker;
  };
  bool follow(const Consumer& consumer);

  Store& store_;
  Log& log_;
  const std::string cluster_id_;
  const bool local_;
  const FollowerActions actions_;
  std::map<std::string, Followed> followed_;  // by the worker's name; of the thread that looks
  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false, stopping_ = false;  // under the mutex
  std::thread thread_;
};

}  // namespace bartleby
