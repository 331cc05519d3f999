// Says of every worker of this process, every few seconds, that it lives and how it is.
//
// A heartbeat is written by a thread of its own, not by the worker's; but the worker's thread is asked first, and one
// that does not answer is not said to live. An instance that is stopping is said to be until its last handler is back;
// the first beat after that says it of one that has stopped unheard. The cache may be away: that is logged once, and
// again when it is back; nothing else depends on it. Owns its thread; cache, clock and log outlive it. `beat` may be
// called by any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "codec/heartbeat.h"
#include "ports/counters.h"
#include "runtime/worker.h"

namespace bartleby {

struct HeartbeatOptions {
  Duration every{10000}, ttl{30000}, stopping_ttl{60000};
  std::string version;
  std::function<std::string()> advertise;                       // how others reach this process
  std::function<std::vector<std::shared_ptr<Worker>>()> whose;  // those that stop, too
};

class Heartbeats {
 public:
  Heartbeats(HeartbeatOptions options, Counters& counters, const Clock& clock, Log& log);
  ~Heartbeats();

  void start();  // the thread; it begins with a beat
  void beat();   // now, once
  void wake();   // the thread beats soon

 private:
  struct Known {
    std::string instance;  // empty: not heard yet
    WorkerStatus status;   // as last answered
    HeartbeatFacts facts;
    bool says_stopping = false;  // the cache has it
  };

  void beat(Worker& worker);
  void last_words(const std::string& worker, Known known);
  void put(const std::string& worker, Known& known);
  void work(const std::stop_token& stopping);

  const HeartbeatOptions options_;
  Counters& counters_;
  const Clock& clock_;
  Log& log_;
  std::mutex beating_;                  // one beat at a time
  std::map<std::string, Known> known_;  // by worker
  std::atomic<bool> silent_{false};     // the cache did not take the last one
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool woken_ = false;
  std::jthread thread_;  // last
};

}  // namespace bartleby
