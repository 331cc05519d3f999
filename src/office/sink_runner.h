// The thread that feeds one sink: takes the first letters of its queue, writes them, and only then lets them go.
//
// Owns its thread; `stop` (and the destructor) ends it after the call at hand. Sink and store must outlive it. A sink
// that fails is tried again, later each time up to a minute, with a line in the log and a count; intake never waits
// for it. A crash between the sink's answer and the store's repeats a batch, which changes nothing in the sink. A
// letter that the sink refuses for what it is, is put aside, so that those behind it go on, and tried again every ten
// minutes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"
#include "office/sink_queue.h"
#include "ports/sink.h"
#include "ports/store.h"

namespace bartleby {

struct SinkOptions {
  std::string name;
  // Which of these dlqs it is told of, of those that the store knows.
  std::function<std::vector<std::string>(const std::string& dlq)> sinks_of;
  std::size_t letters = 200;                       // of one batch
  std::size_t bytes = std::size_t{4} << 20;        // of one batch: the first letter beyond it is its last
  std::int64_t fill_below = 1000;                  // letters of before the feed are queued while fewer wait
  std::int64_t fill_at_once = 500;                 // numbers of letters that one transaction looks at for that
  std::size_t refused_at_once = 1000;              // that are tried again
  Duration look{1000};                             // for letters, where nobody wakes it
  Duration first_wait{1000}, longest_wait{60000};  // after a failure
  Duration refused_again{600000};
};

struct SinkStatus {
  std::string name;
  SinkBacklog backlog;
  std::uint64_t written = 0, errors = 0;     // since the process started; errors: failed calls and refused letters
  std::optional<Timestamp> failing_since{};  // absent: the last call went well
  std::string error{};                       // of the last failure
};

class SinkRunner {
 public:
  SinkRunner(Sink& sink, Store& store, Log& log, const Clock& clock, SinkOptions options);
  ~SinkRunner();
  SinkRunner(const SinkRunner&) = delete;
  SinkRunner& operator=(const SinkRunner&) = delete;

  void start();
  void stop();
  void wake();
  Result<SinkStatus> status() const;

  // Without the thread: what is due now. Whether there may be more to do at once.
  bool round();

 private:
  void work();
  Result<bool> carry_on(Now now);
  Result<void> follow();
  void failed(const Error& error, Now now);
  void went_well();
  Result<void> settle(const std::vector<QueuedLetter>& batch, const std::vector<RefusedLetter>& refused, Timestamp now);

  Sink& sink_;
  Store& store_;
  Log& log_;
  const Clock& clock_;
  const SinkOptions options_;
  bool prepared_ = false;
  std::size_t at_once_;  // letters of the next batch: half as many after one that failed
  Duration wait_;
  Instant try_at_{}, follow_at_{}, refused_at_{};

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false, woken_ = false;   // under the mutex
  std::uint64_t written_ = 0, errors_ = 0;  // under the mutex
  std::optional<Timestamp> failing_since_;  // under the mutex
  std::string error_;                       // under the mutex
  std::thread thread_;
};

}  // namespace bartleby
