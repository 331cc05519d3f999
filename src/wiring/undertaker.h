// Writes the obituaries of those who ran when the last process died, into the journals of their messages.
//
// Its thread tries until all are written, later each time: a cluster that is away holds back those workers alone whose
// handlers run in this process. Until the last one is durable the flight recorder keeps what it has found, and nobody
// may be written into it. What a broker refuses for good (the journal or its partition is gone, or may not be written
// to) is logged and dropped: that death is not counted. Other threads ask `buried`. A stop waits for the broker's limit
// of one call at most.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "ports/broker.h"
#include "runtime/flight_recorder.h"

namespace bartleby {

class Undertaker {
 public:
  using Brokers = std::map<std::string, std::unique_ptr<Broker>>;

  Undertaker(FlightRecorder& recorder, const Brokers& brokers, Log& log);

  // Waits a moment for the thread; an error says what it waits for.
  Result<void> buried();
  bool over() const;

 private:
  void work(const std::stop_token& stopping);
  Result<void> bury();
  Result<Broker*> broker_of(const std::string& journal) const;
  Result<void> write(Broker* at, const std::vector<Record>& obituaries);

  FlightRecorder& recorder_;
  const Brokers& brokers_;
  Log& log_;
  std::set<std::string> settled_;  // journals, by the thread
  mutable std::mutex mutex_;       // of the next three
  std::condition_variable_any changed_;
  bool over_ = false;
  std::string why_ = "they are being written";
  std::jthread thread_;
};

}  // namespace bartleby
