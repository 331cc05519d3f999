#include "runtime/runner.h"

#include <algorithm>

#include "base/assert.h"
#include "codec/letter.h"
#include "runtime/attempt_token.h"

namespace bartleby {
namespace {

constexpr Duration kLongestTurn{20};  // of immediate handlers, before the rest of a stretch has to wait: others ask too

std::string id_of(const AttemptIn& attempt) {
  LetterFacts origin;
  origin.cluster = attempt.names->cluster;
  origin.topic = attempt.tp.topic;
  origin.partition = attempt.tp.partition;
  origin.offset = attempt.record->offset;
  origin.timestamp = attempt.record->timestamp;
  return message_id(origin);
}

}  // namespace

// Open as long as the partition is ours.
struct Runner::Gate {
  std::mutex mutex;
  bool closed = false;
  std::vector<std::weak_ptr<AttemptIn>> attempts;
  std::size_t sweep_at = 64;  // so many, and those that are over are thrown out: not at every message

  // False: closed.
  bool add(const std::shared_ptr<AttemptIn>& attempt) {
    const std::lock_guard lock(mutex);
    if (closed) return false;
    if (attempts.size() >= sweep_at) {
      std::erase_if(attempts, [](const auto& weak) { return weak.expired(); });
      sweep_at = std::max<std::size_t>(64, 2 * attempts.size());
    }
    attempts.push_back(attempt);
    return true;
  }
};

struct Runner::Stretch {
  struct Message {
    std::shared_ptr<const LogRecord> record;
    std::uint16_t case_id;
  };
  std::uint64_t life = 0;
  Token token;
  TopicPartition tp;
  Message first;
  std::vector<Message> others;
  std::uint32_t attempt = 1;  // of the first
  bool alone = false;
  std::uint32_t done = 0;
  Now now;  // when the one before was answered: that is when the next one begins
  std::shared_ptr<Gate> gate;
  std::shared_ptr<const std::vector<RetryPolicy>> policies;
  // A handler that answers from inside `start` must not make the stack deeper with every message.
  std::atomic<int> turn{0};
  AttemptIn first_attempt;  // most stretches have one message: with it they are one piece of memory

  const Message& message() const { return done == 0 ? first : others[done - 1]; }
};

Runner::Runner(Settings settings, const Clock& clock, WorkerFigures& figures, Done done)
    : settings_(std::move(settings)),
      names_(std::make_shared<const AttemptIn::Names>(settings_.cluster, settings_.worker, settings_.group)),
      clock_(clock),
      figures_(figures),
      done_(std::move(done)) {
  set_policies(settings_.policies);
  starts_.resize(settings_.handlers.size());
  attempt_.names = names_;
  attempt_.id_of = &id_of;
}

void Runner::set_policies(const std::vector<RetryPolicy>& policies) {
  BARTLEBY_ASSERT(policies.size() == settings_.handlers.size());
  policies_ = std::make_shared<const std::vector<RetryPolicy>>(policies);
}

Runner::~Runner() { BARTLEBY_ASSERT(idle()); }

void Runner::run(std::uint64_t life, const Run& run, std::span<const RunMessage> messages) {
  Handler& handler = *settings_.handlers[messages.front().case_id];
  if (handler.immediate()) return run_now(life, run, messages, handler);
  auto stretch = std::make_shared<Stretch>();
  stretch->life = life;
  stretch->token = run.token;
  stretch->tp = *messages.front().tp;
  stretch->first = {messages.front().keep(), messages.front().case_id};
  stretch->others.reserve(messages.size() - 1);
  for (const RunMessage& m : messages.subspan(1)) stretch->others.push_back({m.keep(), m.case_id});
  stretch->attempt = run.attempt;
  stretch->alone = run.alone;
  std::shared_ptr<Gate>& gate = gates_[run.token.ref];
  if (!gate) gate = std::make_shared<Gate>();
  stretch->gate = gate;
  stretch->policies = policies_;
  figures_.running.fetch_add(1);
  if (const auto older = still_running(*stretch)) {
    waiting_.push_back({stretch, *older});
    return;
  }
  begin(stretch);
}

void Runner::begin(const std::shared_ptr<Stretch>& stretch) {
  stretch->now = now_;
  const std::uint16_t case_id = stretch->first.case_id;
  if (!settings_.handlers[case_id]->queues()) return next(stretch);
  if (auto attempt = next_attempt(stretch))
    starts_[case_id].push_back({std::move(attempt), answer_of(stretch)});
  else
    finish(*stretch, std::nullopt);
}

// The attempt on one of its messages that an earlier assignment began, and that has not come back.
std::optional<std::weak_ptr<AttemptIn>> Runner::still_running(const Stretch& stretch) {
  std::erase_if(left_behind_, [](const LeftBehind& one) { return one.attempt.expired(); });
  const auto is_of_it = [&](const LeftBehind& one) {
    const Offset last = stretch.others.empty() ? stretch.first.record->offset : stretch.others.back().record->offset;
    return one.tp == stretch.tp && one.offset >= stretch.first.record->offset && one.offset <= last;
  };
  const auto at = std::ranges::find_if(left_behind_, is_of_it);
  if (at == left_behind_.end()) return std::nullopt;
  return at->attempt;
}

void Runner::begin_turn(Now now) {
  now_ = turn_began_ = now;
  for (Waiting& one : std::exchange(waiting_, {})) {
    const auto older = one.older.expired() ? still_running(*one.stretch) : std::optional(one.older);
    if (older)
      waiting_.push_back({one.stretch, *older});
    else
      begin(one.stretch);
  }
}

// On the worker's own thread and within the turn: nobody can release the partition meanwhile, so no gate is needed.
void Runner::run_now(std::uint64_t life, const Run& run, std::span<const RunMessage> messages, Handler& handler) {
  const RetryPolicy& policy = (*policies_)[messages.front().case_id];
  AttemptIn& attempt = attempt_;
  if (attempt.tp != *messages.front().tp) attempt.tp = *messages.front().tp;
  attempt.alone = run.alone;
  attempt.max = policy.max_attempts;
  if (!std::exchange(running_, true)) figures_.running.fetch_add(1);
  std::uint32_t done = 0;
  std::optional<Decision> last;
  for (const RunMessage& m : messages) {
    if (done > 0 && now_.steady - turn_began_.steady > kLongestTurn) break;  // the rest goes back to the queue
    attempt.reuse();
    attempt.record = {std::shared_ptr<const void>(), m.record};  // its slot holds it
    if (settings_.replay_of && !m.record->headers.empty())
      if (auto mark = settings_.replay_of(attempt.tp.topic, *m.record)) {
        attempt.id = std::move(mark->lineage);
        attempt.replay_of = std::move(mark->letter);
      }
    attempt.number = done == 0 ? run.attempt : 1;
    attempt.deadline = now_.steady + policy.timeout;
    attempt.deadline_wall = now_.wall + policy.timeout;
    for (const auto& watcher : settings_.watchers) watcher->begins(m.keep(), attempt.number);
    last = handler.run_now(attempt);
    if (last && last->unrun) {
      last.reset();
      break;
    }
    for (const auto& watcher : settings_.watchers) watcher->ended(m.keep(), attempt.number, last ? *last : Decision{});
    const Duration took = clock_.steady() - now_.steady;
    now_.steady += took;
    now_.wall += took;
    if (!last && took == Duration(0)) {
      ++plain_;
    } else {
      count(took, last ? last->fate : Fate::kDone, 1);
      if (last) count_failure(attempt.tp, m.record->offset, attempt.number, attempt.max, *last, now_.steady);
    }
    if (last) break;
    ++done;
  }
  done_(life, {run.token, done, std::move(last)});
}

void Runner::end_turn() {
  for (std::size_t i = 0; i < starts_.size(); ++i)
    if (!starts_[i].empty()) settings_.handlers[i]->start_all(starts_[i]);
  if (plain_ > 0) count(Duration(0), Fate::kDone, std::exchange(plain_, 0));
  if (std::exchange(running_, false)) {
    for (const std::shared_ptr<Handler>& handler : settings_.handlers) handler->end_turn();
    figures_.last_end_ms.store(ms(now_.wall), std::memory_order_relaxed);
    figures_.running.fetch_sub(1);
  }
}

void Runner::count(Duration took, Fate fate, std::uint64_t n) {
  figures_.attempt_time.observe(took, n);
  figures_.by_fate[static_cast<std::size_t>(fate)].fetch_add(n, std::memory_order_relaxed);
}

void Runner::count_failure(const TopicPartition& tp, Offset offset, std::uint32_t attempt, std::uint32_t max,
                           const Decision& decision, Instant now) {
  if (decision.fate != Fate::kRetry && decision.fate != Fate::kReject) return;
  if (decision.fate == Fate::kRetry) figures_.retries.add(decision.error.type, 1);
  if (settings_.failures) settings_.failures->tell(tp, offset, attempt, max, decision, now);
}

void Runner::release(PartitionRef ref) {
  const auto at = gates_.find(ref);
  if (at == gates_.end()) return;
  const std::shared_ptr<Gate> gate = std::move(at->second);
  gates_.erase(at);
  const std::lock_guard lock(gate->mutex);
  gate->closed = true;
  for (const std::weak_ptr<AttemptIn>& weak : gate->attempts)
    if (const auto attempt = weak.lock()) {
      attempt->cancelled.store(true);
      left_behind_.push_back({attempt->tp, attempt->record->offset, weak});
    }
  for (Waiting& one : std::exchange(waiting_, {})) {
    if (one.stretch->gate == gate)
      finish(*one.stretch, std::nullopt);
    else
      waiting_.push_back(std::move(one));
  }
}

// Of the message whose turn it is; null: its partition is released.
std::shared_ptr<AttemptIn> Runner::next_attempt(const std::shared_ptr<Stretch>& stretch) {
  Stretch& s = *stretch;
  const Stretch::Message& m = s.message();
  const RetryPolicy& policy = (*s.policies)[m.case_id];
  auto attempt = s.done == 0 ? std::shared_ptr<AttemptIn>(stretch, &s.first_attempt) : std::make_shared<AttemptIn>();
  attempt->names = names_;
  attempt->tp = s.tp;
  attempt->record = m.record;
  attempt->id_of = &id_of;
  if (settings_.replay_of && !m.record->headers.empty())
    if (auto mark = settings_.replay_of(s.tp.topic, *m.record)) {
      attempt->id = std::move(mark->lineage);
      attempt->replay_of = std::move(mark->letter);
    }
  attempt->number = s.done == 0 ? s.attempt : 1;
  attempt->max = policy.max_attempts;
  attempt->alone = s.alone;
  attempt->deadline = s.now.steady + policy.timeout;
  attempt->deadline_wall = s.now.wall + policy.timeout;
  if (!settings_.handlers[m.case_id]->in_process()) attempt->token = new_attempt_token();
  if (!s.gate->add(attempt)) return nullptr;
  for (const auto& watcher : settings_.watchers) watcher->begins(m.record, attempt->number);
  return attempt;
}

Answer Runner::answer_of(const std::shared_ptr<Stretch>& stretch) {
  return [this, stretch](Decision decision) { answered(stretch, std::move(decision)); };
}

// Starts messages until one is not answered at once. `turn` counts who may go on: the one that raises it from 0.
void Runner::next(const std::shared_ptr<Stretch>& stretch) {
  if (stretch->turn.fetch_add(1) > 0) return;
  do {
    Handler& handler = *settings_.handlers[stretch->message().case_id];
    auto attempt = next_attempt(stretch);
    if (!attempt) return finish(*stretch, std::nullopt);
    handler.start(std::move(attempt), answer_of(stretch));
  } while (stretch->turn.fetch_sub(1) > 1);
}

void Runner::answered(const std::shared_ptr<Stretch>& stretch, Decision decision) {
  Stretch& s = *stretch;
  if (decision.unrun) return finish(s, std::nullopt);  // what is left goes back to the queue, uncounted
  const Duration took = clock_.steady() - s.now.steady;
  s.now.steady += took;
  s.now.wall += took;
  count(took, decision.fate, 1);
  figures_.last_end_ms.store(ms(s.now.wall), std::memory_order_relaxed);
  for (const auto& watcher : settings_.watchers)
    watcher->ended(s.message().record, s.done == 0 ? s.attempt : 1, decision);
  count_failure(s.tp, s.message().record->offset, s.done == 0 ? s.attempt : 1,
                (*s.policies)[s.message().case_id].max_attempts, decision, s.now.steady);
  if (decision.fate != Fate::kDone || !decision.emit.empty()) return finish(s, std::move(decision));
  ++s.done;
  if (s.done == s.others.size() + 1) return finish(s, std::nullopt);
  next(stretch);
}

void Runner::finish(const Stretch& stretch, std::optional<Decision> last) {
  const Token token = stretch.token;
  const std::uint32_t done = stretch.done;
  done_(stretch.life, {token, done, std::move(last)});
  figures_.running.fetch_sub(1);  // last: nothing of the runner is touched after it
}

}  // namespace bartleby
