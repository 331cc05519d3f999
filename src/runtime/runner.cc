#include "runtime/runner.h"

#include "base/assert.h"
#include "codec/letter.h"
#include "runtime/attempt_token.h"

namespace bartleby {
// Open as long as the partition is ours.
struct Runner::Gate {
  std::mutex mutex;
  bool closed = false;
  std::vector<std::weak_ptr<AttemptIn>> attempts;
};

struct Runner::Stretch {
  std::uint64_t life = 0;
  Token token;
  TopicPartition tp;
  std::vector<RunMessage> messages;
  std::uint32_t attempt = 1;  // of the first
  bool alone = false;
  std::uint32_t done = 0;
  Instant began{};
  std::shared_ptr<Gate> gate;
  std::shared_ptr<const std::vector<RetryPolicy>> policies;
  std::shared_ptr<AttemptIn> current;
  // A handler that answers from inside `start` must not make the stack deeper with every message.
  std::atomic<int> turn{0};
};

Runner::Runner(Settings settings, const Clock& clock, WorkerFigures& figures, Done done)
    : settings_(std::move(settings)), clock_(clock), figures_(figures), done_(std::move(done)) {
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
    const Now now = clock_.now();
    auto attempt = std::make_shared<AttemptIn>();
    attempt->worker = settings_.worker;
    attempt->group = settings_.group;
    attempt->tp = s.tp;
    attempt->record = m.record;
    LetterFacts origin;
    origin.cluster = settings_.cluster;
    origin.topic = s.tp.topic;
    origin.partition = s.tp.partition;
    origin.offset = m.record->offset;
    origin.timestamp = m.record->timestamp;
    if (settings_.replay_of)
      if (auto mark = settings_.replay_of(s.tp.topic, *m.record)) {
        origin.lineage = std::move(mark->lineage);
        attempt->replay_of = std::move(mark->letter);
      }
    attempt->message_id = message_id(origin);
    attempt->idempotency_key = attempt->message_id;
    attempt->number = s.done == 0 ? s.attempt : 1;
    attempt->max = policy.max_attempts;
    attempt->alone = s.alone;
    attempt->deadline = now.steady + policy.timeout;
    attempt->deadline_wall = now.wall + policy.timeout;
    if (!handler.in_process()) attempt->token = new_attempt_token();
    {
      const std::lock_guard lock(s.gate->mutex);
      if (s.gate->closed) {
        finish(s, std::nullopt);
        return;
      }
      std::erase_if(s.gate->attempts, [](const auto& weak) { return weak.expired(); });
      s.gate->attempts.push_back(attempt);
    }
    s.began = now.steady;
    s.current = attempt;
    handler.start(attempt, [this, stretch](Decision decision) { answered(stretch, std::move(decision)); });
  } while (stretch->turn.fetch_sub(1) > 1);
}

void Runner::answered(const std::shared_ptr<Stretch>& stretch, Decision decision) {
  Stretch& s = *stretch;
  if (decision.unrun) return finish(s, std::nullopt);  // what is left goes back to the queue, uncounted
  const Now now = clock_.now();
  figures_.attempt_time.observe(now.steady - s.began);
  figures_.by_fate[static_cast<std::size_t>(decision.fate)].fetch_add(1, std::memory_order_relaxed);
  figures_.last_end_ms.store(ms(now.wall), std::memory_order_relaxed);
  if (decision.fate == Fate::kRetry) figures_.retries.add(decision.error.type, 1);
  s.current.reset();
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
