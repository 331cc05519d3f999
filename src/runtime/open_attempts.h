// The attempts that something outside this process finishes by their tokens: push answers of 202, and pull.
//
//   announced --keep--> open --finish | deadline | cancelled | close--> answered
//   announced --finish--> decided --keep | withdraw--> answered
//
// Every call may come from any thread; answers are called without a lock held, from inside `finish`, `keep`, `open`,
// `tick` and `close`. Owns the answers it is given and answers each once. Somebody must call `tick` by
// `next_deadline`: until then a passed deadline has no effect, and a late success is a success. At `max_open` new
// attempts are refused; an attempt lives at most 24 h however often it is extended.
#pragma once

#include <expected>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "ports/pending_attempts.h"

namespace bartleby {

constexpr Duration kLongestAttempt = std::chrono::hours(24);

struct OpenAttemptsOptions {
  std::size_t max_open = 100'000;
  TellTime clock = system_now;
};

class OpenAttempts : public PendingAttempts {
 public:
  enum class Finish : std::uint8_t { kOk, kGone };

  explicit OpenAttempts(OpenAttemptsOptions options = {}) : options_(std::move(options)) {}
  ~OpenAttempts() override { close(); }

  bool announce(const std::shared_ptr<AttemptIn>& attempt) override;
  void keep(const std::shared_ptr<AttemptIn>& attempt, Answer answer) override;
  std::optional<Decision> withdraw(const std::string& token) override;

  // Announce and keep in one, with a deadline that is counted from now. No room: answered at once, as throttled.
  // Returns the deadline by the calendar.
  std::optional<Timestamp> open(const std::shared_ptr<AttemptIn>& attempt, Duration timeout, Answer answer);

  // Gone: unknown, finished, past its deadline, or nobody waits for it any more.
  Finish finish(const std::string& token, Decision decision);

  // Moves the deadline by that much, never beyond 24 h after the beginning. An attempt that is only announced cannot be
  // moved: the request that carries it ends with the deadline it was sent with.
  enum class NotExtended : std::uint8_t { kGone, kUnanswered };
  std::expected<Timestamp, NotExtended> extend(const std::string& token, Duration by);

  // Ends what is past its deadline with kind `timeout`, and what nobody waits for any more.
  void tick();
  Instant next_deadline() const;  // kNever: nothing waits

  // Answers everything that is open, for a stop. What comes later is refused.
  void close();

  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<AttemptIn> attempt;
    Answer answer;                    // empty: announced
    std::optional<Decision> decided;  // finished before the answer was there
    Instant opened, deadline;
    Timestamp wall;                                    // of the deadline
    std::multimap<Instant, std::string>::iterator at;  // while there is an answer
  };
  using Entries = std::unordered_map<std::string, Entry>;

  void list(Entries::iterator entry);
  Entry take(Entries::iterator entry);

  const OpenAttemptsOptions options_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::multimap<Instant, std::string> deadlines_;  // of those with an answer
  Instant look_for_cancelled_{};
  bool closed_ = false;
};

}  // namespace bartleby
