#include "runtime/pull_handler.h"

#include <algorithm>

namespace bartleby {
namespace {

Decision retry(Kind kind, std::string type, std::string message) {
  Decision d;
  d.fate = Fate::kRetry;
  d.kind = kind;
  d.error = {std::move(type), std::move(message), {}};
  return d;
}

}  // namespace

void PullHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  const Duration timeout = std::max(Duration(1), attempt->deadline - options_.clock().steady);
  std::vector<Offer> offers, dropped;
  ClaimDone done;
  {
    std::unique_lock lock(mutex_);
    if (closed_) {
      lock.unlock();
      answer(Decision::not_run());
      return;
    }
    if (offered_.size() >= options_.max_offered) {
      lock.unlock();
      Decision d = retry(Kind::kThrottled, "Overloaded", "too many attempts wait to be claimed");
      d.after = Duration(1000);
      answer(std::move(d));
      return;
    }
    offered_.push_back({std::move(attempt), timeout, std::move(answer)});
    if (waiting_.empty()) return;
    offers = take(waiting_.front().max, dropped);
    if (!offers.empty()) {
      done = std::move(waiting_.front().done);
      waiting_.pop_front();
    }
  }
  drop(std::move(dropped));
  if (done) hand_over(std::move(offers), std::move(done));
}

// With the lock held. The bytes are bounded too, but one attempt is always given.
std::vector<PullHandler::Offer> PullHandler::take(std::size_t max, std::vector<Offer>& dropped) {
  std::vector<Offer> offers;
  std::size_t bytes = 0;
  while (!offered_.empty() && offers.size() < max) {
    Offer& next = offered_.front();
    if (next.attempt->cancelled) {
      dropped.push_back(std::move(next));
    } else {
      bytes += payload_size(*next.attempt->record);
      if (bytes > options_.max_claim_bytes && !offers.empty()) break;
      offers.push_back(std::move(next));
    }
    offered_.pop_front();
  }
  return offers;
}

void PullHandler::hand_over(std::vector<Offer> offers, ClaimDone done) {
  std::vector<Claimed> claimed;
  claimed.reserve(offers.size());
  for (Offer& offer : offers)
    if (const auto deadline = open_->open(offer.attempt, offer.timeout, std::move(offer.answer)))
      claimed.push_back({std::move(offer.attempt), *deadline});
  done(std::move(claimed));
}

void PullHandler::drop(std::vector<Offer> offers) {
  for (Offer& offer : offers) offer.answer(retry(Kind::kTransient, "Cancelled", "nobody waits for it any more"));
}

Result<PullHandler::ClaimId> PullHandler::claim(const ClaimRequest& request, ClaimDone done) {
  if (request.max == 0) return fail(ErrorCode::kInvalid, "max: at least 1");
  const Instant now = options_.clock().steady;
  const std::size_t max = std::min(request.max, options_.max_per_claim);
  std::vector<Offer> offers, dropped;
  ClaimId id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    offers = take(max, dropped);
    if (offers.empty() && request.wait > Duration(0) && !closed_) {
      if (waiting_.size() >= options_.max_waiting_claims)
        return fail(ErrorCode::kTooLarge, "more than " + std::to_string(options_.max_waiting_claims) + " claims wait");
      waiting_.push_back({id, max, now + std::min(request.wait, options_.longest_wait), std::move(done)});
      done = nullptr;
    }
  }
  drop(std::move(dropped));
  if (done) hand_over(std::move(offers), std::move(done));
  return id;
}

bool PullHandler::abandon(ClaimId claim) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(waiting_, [&](const Waiting& w) { return w.id == claim; }) > 0;
}

void PullHandler::tick() {
  const Instant now = options_.clock().steady;
  std::vector<ClaimDone> over;
  std::vector<Offer> dropped;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](Waiting& w) {
      if (w.until > now) return false;
      over.push_back(std::move(w.done));
      return true;
    });
    std::erase_if(offered_, [&](Offer& offer) {
      if (!offer.attempt->cancelled) return false;
      dropped.push_back(std::move(offer));
      return true;
    });
  }
  for (ClaimDone& done : over) done({});
  drop(std::move(dropped));
}

Instant PullHandler::next_deadline() const {
  const std::lock_guard lock(mutex_);
  Instant next = kNever;
  for (const Waiting& w : waiting_) next = std::min(next, w.until);
  return next;
}

void PullHandler::close() {
  std::vector<ClaimDone> over;
  std::deque<Offer> offered;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (Waiting& w : waiting_) over.push_back(std::move(w.done));
    waiting_.clear();
    offered.swap(offered_);
  }
  for (ClaimDone& done : over) done({});
  for (Offer& offer : offered) offer.answer(Decision::not_run());
}

PullHandler::Figures PullHandler::figures() const {
  const std::lock_guard lock(mutex_);
  return {offered_.size(), waiting_.size()};
}

}  // namespace bartleby
