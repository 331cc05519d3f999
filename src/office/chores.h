// What the office does by the clock: issues grow older, counts are compared with the letters, old letters are archived,
// shelves that are empty are freed.
//
// Owns its thread; `stop` (and the destructor) ends it after the chore at hand. Store and news must outlive it. A chore
// that fails is done again at its next time, with a line in the log. Several offices may do this on one store: ageing
// is one transaction, and the check has a lease.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "office/news.h"
#include "office/retention.h"
#include "ports/store.h"

namespace bartleby {

struct ChoreTimes {
  Duration age{60000};     // issues
  Duration check{600000};  // of counts
  Duration tidy{600000};   // of old letters
};

class Chores {
 public:
  using Tidy = std::function<Result<RetentionReport>(Timestamp now)>;
  // `holder` names this process in the lease.
  Chores(Store& store, News& news, Log& log, const Clock& clock, std::string holder, Tidy tidy, ChoreTimes times = {});
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

  void start();
  void stop();
  void run_due(Now now);  // without the thread, for tests

 private:
  void work();
  void tidy_up(Now now);

  Store& store_;
  News& news_;
  Log& log_;
  const Clock& clock_;
  const std::string holder_;
  const Tidy tidy_;
  const ChoreTimes times_;
  Instant age_at_{}, check_at_{}, tidy_at_{};  // of the thread
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // under the mutex
  std::thread thread_;
};

}  // namespace bartleby
