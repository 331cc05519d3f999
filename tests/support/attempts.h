// Attempts to hand to a handler, and a place to wait for their outcomes, with an outcome's text for comparisons.
// `Outcomes` may be used from any thread; a wait that takes too long fails the test instead of hanging.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "codec/utf8.h"
#include "ports/handler.h"

namespace bartleby::test {

inline LogRecord plain_record() {
  LogRecord r;
  r.offset = Offset(12345);
  r.timestamp = timestamp_ms(1736937000000);
  r.key = "deal_550e8400";
  r.value = R"({"amount":5})";
  return r;
}

inline std::shared_ptr<AttemptIn> make_attempt(LogRecord record = plain_record(), Duration timeout = Duration(10000),
                                               std::string token = "at_aaaaaaaaaaaaaaaaaaaaaaaaaa") {
  auto a = std::make_shared<AttemptIn>();
  a->names = std::make_shared<const AttemptIn::Names>("here", "payout-executor", "cg-payout-executor");
  a->tp = {"escrow.commands", Partition(3)};
  a->record = std::make_shared<const LogRecord>(std::move(record));
  a->id = "msg_abcdefghijklmnopqrstuvwxyz";
  a->configured_key = "payout:550e";
  a->number = 2;
  a->max = 6;
  a->deadline = system_now().steady + timeout;
  a->deadline_wall = timestamp_ms(1736937030000);
  a->token = std::move(token);
  return a;
}

// `retry throttled after=30s "type" "message"`, `done emit=2`, `reject permanent REJECTED "type" "message"`
inline std::string text_of(const Decision& d) {
  static constexpr const char* kFates[] = {"done", "skip", "retry", "reject", "logical-failure"};
  std::string out = kFates[static_cast<std::size_t>(d.fate)];
  if (d.fate == Fate::kRetry || d.fate == Fate::kReject) out += " " + std::string(name(d.kind));
  if (d.fate == Fate::kReject) out += " " + std::string(name(d.reason));
  if (d.after) out += " after=" + std::to_string(d.after->count() / 1000) + "s";
  if (!d.emit.empty()) out += " emit=" + std::to_string(d.emit.size());
  if (d.fate != Fate::kDone) out += " \"" + d.error.type + "\" \"" + d.error.message + "\"";
  if (!d.error.stack.empty()) out += " stack=\"" + d.error.stack + "\"";
  return out;
}

inline Decision failure(std::string type) {
  Decision d;
  d.fate = Fate::kRetry;
  d.error.type = std::move(type);
  return d;
}

class Outcomes {
 public:
  // An answer that puts its outcome here, under `name`; it may come when nobody looks any more.
  Answer answer(int name) {
    return [state = state_, name](Decision d) {
      const std::lock_guard lock(state->mutex);
      ++state->answers;
      state->outcomes.insert_or_assign(name, std::move(d));
      state->changed.notify_all();
    };
  }

  // False: they did not all come in time.
  bool wait(std::size_t count, std::chrono::milliseconds longest = std::chrono::seconds(60)) {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, longest, [&] { return state_->outcomes.size() >= count; });
  }

  Decision of(int name) {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->outcomes.find(name);
    return found == state_->outcomes.end() ? failure("NoOutcome") : found->second;
  }

  std::size_t answers() {
    const std::lock_guard lock(state_->mutex);
    return state_->answers;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<int, Decision> outcomes;
    std::size_t answers = 0;  // more than outcomes: one was answered twice
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline Decision run(Handler& handler, std::shared_ptr<AttemptIn> attempt = make_attempt()) {
  Outcomes outcomes;
  handler.start(std::move(attempt), outcomes.answer(0));
  outcomes.wait(1);
  return outcomes.of(0);
}

}  // namespace bartleby::test
