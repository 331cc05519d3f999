// Who is told what becomes of a worker's messages: counters for others, metrics of a family.
//
// Called by the worker's thread and by its handlers' threads, several at once. It must return at once and may not fail:
// messages never wait for it, and nothing is decided by it. It outlives the worker.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "codec/letter.h"
#include "model/outcome.h"
#include "model/record.h"
#include "ports/broker.h"

namespace bartleby {

// Why a broker did not take a letter, as metrics and log call it.
constexpr std::string_view error_type(Refusal why) {
  constexpr std::array<std::string_view, 4> kNames = {"TooLargeError", "NotAllowedError", "NoTopicError",
                                                      "TimeoutError"};
  return kNames[static_cast<std::size_t>(why)];
}

class Watcher {
 public:
  virtual ~Watcher() = default;

  // `attempt` counts from 1: so many less one have failed.
  virtual void begins(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt) = 0;
  virtual void ended(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt,
                     const Decision& decision) = 0;
  // The letter is in its dlq, with the commit.
  virtual void letter_written(const std::shared_ptr<const LogRecord>& record, const LetterFacts& facts) = 0;
  // The broker would not take it; it is tried again.
  virtual void letter_refused(Refusal why) = 0;
};

}  // namespace bartleby
