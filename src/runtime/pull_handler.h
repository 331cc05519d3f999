// A handler whose workers come and ask: attempts wait here until somebody claims them.
//
//   offered --claim--> open (in OpenAttempts, by token) --finish | deadline--> answered
//
// Every call may come from any thread; callbacks and answers are called without a lock held. What is offered waits
// without a deadline, which begins when it is claimed, and is as long as it was when it was offered. Cancelled
// attempts are dropped. Bounded: attempts offered (then: throttled), claims that wait (then: an error), attempts and
// bytes of one claim. Somebody must call `tick` by `next_deadline`, which ends claims that have waited long enough.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/open_attempts.h"

namespace bartleby {

struct PullHandlerOptions {
  std::size_t max_offered = 100'000;
  std::size_t max_waiting_claims = 1'000;
  std::size_t max_per_claim = 500;
  std::size_t max_claim_bytes = std::size_t{16} << 20;  // one attempt is always given
  Duration longest_wait = std::chrono::seconds(60);
  TellTime clock = system_now;
};

struct Claimed {
  std::shared_ptr<AttemptIn> attempt;
  Timestamp deadline;  // by the calendar; not the attempt's own, which was set before it was claimed
};

struct ClaimRequest {
  std::size_t max = 1;
  Duration wait{0};
  std::string instance{};  // who asks, for people
};

class PullHandler : public Handler {
 public:
  using ClaimId = std::uint64_t;
  using ClaimDone = std::move_only_function<void(std::vector<Claimed>)>;

  explicit PullHandler(std::shared_ptr<OpenAttempts> open, PullHandlerOptions options = {})
      : open_(std::move(open)), options_(std::move(options)) {}
  ~PullHandler() override { close(); }

  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override;
  bool in_process() const override { return false; }

  // `done` is called once: at once, when there is something, or with nothing when the wait is over. The id is for
  // `abandon`. An error (too many claims wait already, nothing asked for) means that it is never called.
  Result<ClaimId> claim(const ClaimRequest& request, ClaimDone done);

  // Whoever asked is gone: nothing is given to it any more, and `done` is not called. False: it has been called.
  bool abandon(ClaimId claim);

  void tick();
  Instant next_deadline() const;  // kNever: no claim waits

  // Ends waiting claims with nothing and answers what was offered, for a stop.
  void close();

  struct Figures {
    std::size_t offered = 0, claims = 0;
  };
  Figures figures() const;

 private:
  struct Offer {
    std::shared_ptr<AttemptIn> attempt;
    Duration timeout;
    Answer answer;
  };
  struct Waiting {
    ClaimId id;
    std::size_t max;
    Instant until;
    ClaimDone done;
  };

  std::vector<Offer> take(std::size_t max, std::vector<Offer>& dropped);
  void hand_over(std::vector<Offer> offers, ClaimDone done);
  static void drop(std::vector<Offer> offers);

  const std::shared_ptr<OpenAttempts> open_;
  const PullHandlerOptions options_;
  mutable std::mutex mutex_;
  std::deque<Offer> offered_;
  std::list<Waiting> waiting_;  // in the order they came
  ClaimId last_id_ = 0;
  bool closed_ = false;
};

}  // namespace bartleby
