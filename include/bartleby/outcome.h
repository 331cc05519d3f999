// What a handler decides about one message.
//
//   return done();                                            handled
//   return done().emit({.topic = "receipts", .value = text}); handled; record and commit are written together
//   return skip("not ours");                                  finished without work
//   return retry("BankBusy", "no answer").after(30s);         tried again: by the policy, not before 30 s have passed
//   return reject("BadOrder", "no amount");                   never tried again: becomes a letter at once
//   return logical_failure("Declined", "limit reached");      recorded and counted; the message is finished
//
// A thrown exception is a retry with its type and what().
#pragma once

#include <bartleby/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bartleby {

enum class Fate : std::uint8_t { kDone, kSkip, kRetry, kReject, kLogicalFailure };

class [[nodiscard]] Outcome {
 public:
  Outcome(Fate fate, std::string type, std::string message)
      : fate_(fate), type_(std::move(type)), message_(std::move(message)) {}

  Outcome& emit(Record record) & {
    emit_.push_back(std::move(record));
    return *this;
  }
  Outcome&& emit(Record record) && { return std::move(emit(std::move(record))); }

  Outcome& after(std::chrono::milliseconds wait) & {
    after_ = wait;
    return *this;
  }
  Outcome&& after(std::chrono::milliseconds wait) && { return std::move(after(wait)); }

  // The first 500 characters are kept.
  Outcome& stack(std::string text) & {
    stack_ = std::move(text);
    return *this;
  }
  Outcome&& stack(std::string text) && { return std::move(stack(std::move(text))); }

  Fate fate() const { return fate_; }
  const std::string& type() const { return type_; }
  const std::string& message() const { return message_; }
  const std::string& stack() const { return stack_; }
  const std::vector<Record>& emitted() const { return emit_; }
  std::optional<std::chrono::milliseconds> after() const { return after_; }

 private:
  Fate fate_;
  std::string type_, message_, stack_;
  std::vector<Record> emit_;
  std::optional<std::chrono::milliseconds> after_;
};

inline Outcome done() { return {Fate::kDone, {}, {}}; }
inline Outcome skip(std::string why) { return {Fate::kSkip, {}, std::move(why)}; }
inline Outcome retry(std::string type, std::string message) {
  return {Fate::kRetry, std::move(type), std::move(message)};
}
inline Outcome reject(std::string type, std::string message) {
  return {Fate::kReject, std::move(type), std::move(message)};
}
inline Outcome logical_failure(std::string type, std::string message) {
  return {Fate::kLogicalFailure, std::move(type), std::move(message)};
}

}  // namespace bartleby
