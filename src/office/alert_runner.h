// The thread that looks at the store for what is alarming, and tells those who are to be told.
//
// It looks every second or two, and at once when it is woken; nobody waits for it, least of all messages. A destination
// that fails is counted, told of in the log once each way, and tried again; the others go on. Owns its thread and the
// destinations; store, clock and log outlive it. `set` changes the destinations while it runs. Any thread may call it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "office/alert_book.h"
#include "ports/store.h"

namespace bartleby {

class AlertRunner {
 public:
  AlertRunner(Store& store, const Clock& clock, Log& log);
  ~AlertRunner();
  AlertRunner(const AlertRunner&) = delete;
  AlertRunner& operator=(const AlertRunner&) = delete;

  void set(std::vector<std::unique_ptr<Alerter>> destinations, Duration resend);
  void start();
  void wake();
  void run_once();                                      // without the thread, for tests
  std::map<std::string, std::uint64_t> errors() const;  // pushes that failed, by destination

 private:
  struct Destination {
    std::unique_ptr<Alerter> to;
    AlertTelling telling{};
    bool silent = false;  // the last push failed
  };
  struct Setup {
    std::vector<Destination> destinations;
    Duration resend{60000};
  };

  void work();
  void push(Destination& destination, Duration resend);
  Result<AlertFacts> facts();

  Store& store_;
  const Clock& clock_;
  Log& log_;
  std::mutex running_;   // one round at a time
  Alerts holding_;       // under it
  bool unread_ = false;  // the store did not answer
  mutable std::mutex mutex_;
  std::shared_ptr<Setup> setup_;  // under the mutex, like those below
  std::map<std::string, std::uint64_t> errors_;
  std::condition_variable wake_;
  bool woken_ = false, stopping_ = false;
  std::thread thread_;  // last
};

}  // namespace bartleby
