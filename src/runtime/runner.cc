#include "runtime/runner.h"

#include <algorithm>

#include "base/assert.h"
#include "codec/letter.h"
#include "runtime/attempt_token.h"

namespace bartleby {
namespace {

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
  std::uint64_t life = 0;
  Token token;
  TopicPartition tp;
  std::vector<RunMessage> messages;
  std::uint32_t attempt = 1;  // of the first
  bool alone = false;
  std::uint32_t done = 0;
  Now now;  // when the one before was answered: that is when the next one begins
  std::shared_ptr<Gate> gate;
  std::shared_ptr<const std::vector<RetryPolicy>> policies;
  // A handler that answers from inside `start` must not make the stack deeper with every message.
  std::atomic<int> turn{0};
};

Runner::Runner(Settings settings, const Clock& clock, WorkerFigures& figures, Done done)
    : settings_(std::move(settings)),
      names_(std::make_shared<const AttemptIn::Names>(settings_.cluster, settings_.worker, settings_.group)),
      clock_(clock),
      figures_(figures),
      done_(std::move(done)) {
  set_policies(settings_.policies);
}

void Runner::set_policies(const std::vector<RetryPolicy>& policies) {
  BARTLEBY_ASSERT(policies.size() == settings_.handlers.size());
  const std::lock_guard lock(mutex_);
  policies_ = std::make_shared<const std::vector<RetryPolicy>>(policies);
}

Runner::~Runner() { BARTLEBY_ASSERT(idle()); }

void Runner::run(std::uint64_t life, const Run& run, std::span<const RunMessage> messages) {
  auto stretch = std::make_shared<Stretch>();
  stretch->life = life;
  stretch->token = run.token;
  stretch->tp = *messages.front().tp;
  stretch->messages.assign(messages.begin(), messages.end());
  stretch->attempt = run.attempt;
  stretch->alone = run.alone;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Gate>& gate = gates_[run.token.ref];
    if (!gate) gate = std::make_shared<Gate>();
    stretch->gate = gate;
    stretch->policies = policies_;
  }
  stretch->now = clock_.now();
  figures_.running.fetch_add(1);
  next(stretch);
}

void Runner::release(PartitionRef ref) {
  std::shared_ptr<Gate> gate;
  {
    const std::lock_guard lock(mutex_);
    const auto at = gates_.find(ref);
    if (at == gates_.end()) return;
    gate = std::move(at->second);
    gates_.erase(at);
  }
  const std::lock_guard lock(gate->mutex);
  gate->closed = true;
  for (const std::weak_ptr<AttemptIn>& weak : gate->attempts)
    if (const auto attempt = weak.lock()) attempt->cancelled.store(true);
}

// Starts messages until one is not answered at once. `turn` counts who may go on: the one that raises it from 0.
void Runner::next(const std::shared_ptr<Stretch>& stretch) {
  if (stretch->turn.fetch_add(1) > 0) return;
  do {
    Stretch& s = *stretch;
    const RunMessage& m = s.messages[s.done];
    Handler& handler = *settings_.handlers[m.case_id];
    const RetryPolicy& policy = (*s.policies)[m.case_id];
    auto attempt = std::make_shared<AttemptIn>();
    attempt->names = names_;
    attempt->tp = s.tp;
    attempt->record = m.record;
    attempt->id_of = &id_of;
    if (settings_.replay_of)
      if (auto mark = settings_.replay_of(s.tp.topic, *m.record)) {
        attempt->id = std::move(mark->lineage);
        attempt->replay_of = std::move(mark->letter);
      }
    attempt->number = s.done == 0 ? s.attempt : 1;
    attempt->max = policy.max_attempts;
    attempt->alone = s.alone;
    attempt->deadline = s.now.steady + policy.timeout;
    attempt->deadline_wall = s.now.wall + policy.timeout;
    if (!handler.in_process()) attempt->token = new_attempt_token();
    if (!s.gate->add(attempt)) return finish(s, std::nullopt);
    for (const auto& watcher : settings_.watchers) watcher->begins(m.record, attempt->number);
    handler.start(std::move(attempt), [this, stretch](Decision decision) { answered(stretch, std::move(decision)); });
  } while (stretch->turn.fetch_sub(1) > 1);
}

void Runner::answered(const std::shared_ptr<Stretch>& stretch, Decision decision) {
  Stretch& s = *stretch;
  if (decision.unrun) return finish(s, std::nullopt);  // what is left goes back to the queue, uncounted
  const Now now = clock_.now();
  figures_.attempt_time.observe(now.steady - std::exchange(s.now, now).steady);
  figures_.by_fate[static_cast<std::size_t>(decision.fate)].fetch_add(1, std::memory_order_relaxed);
  figures_.last_end_ms.store(ms(now.wall), std::memory_order_relaxed);
  for (const auto& watcher : settings_.watchers)
    watcher->ended(s.messages[s.done].record, s.done == 0 ? s.attempt : 1, decision);
  if (decision.fate == Fate::kRetry) figures_.retries.add(decision.error.type, 1);
  if (decision.fate != Fate::kDone || !decision.emit.empty()) return finish(s, std::move(decision));
  ++s.done;
  if (s.done == s.messages.size()) return finish(s, std::nullopt);
  next(stretch);
}

void Runner::finish(const Stretch& stretch, std::optional<Decision> last) {
  const Token token = stretch.token;
  const std::uint32_t done = stretch.done;
  done_(stretch.life, {token, done, std::move(last)});
  figures_.running.fetch_sub(1);  // last: nothing of the runner is touched after it
}

}  // namespace bartleby
