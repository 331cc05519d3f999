#include "runtime/in_process.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <typeinfo>

namespace bartleby {
namespace {

Message message_of(const AttemptIn& in) {
  Message::Parts p;
  p.topic = in.tp.topic;
  p.id = {[](const void* of) { return static_cast<const AttemptIn*>(of)->message_id(); }, &in};
  p.has_key = in.record->key.has_value();
  if (p.has_key) p.key = *in.record->key;
  p.is_null = !in.record->value.has_value();
  if (!p.is_null) p.value = *in.record->value;
  p.partition = in.tp.partition;
  p.offset = in.record->offset;
  p.timestamp = in.record->timestamp;
  p.headers = &in.record->headers;
  return Message(p);
}

Attempt attempt_of(const AttemptIn& in) {
  Attempt::Parts p;
  p.number = static_cast<int>(in.number);
  p.max = static_cast<int>(in.max);
  p.deadline = TimePoint(in.deadline.time_since_epoch());
  p.cancelled = &in.cancelled;
  p.idempotency_key = {[](const void* of) { return static_cast<const AttemptIn*>(of)->idempotency_key(); }, &in};
  if (in.replay_of) p.replay_of = *in.replay_of;
  return Attempt(p);
}

std::string type_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  std::free(text);  // NOLINT: allocated by the runtime library
  return name;
}

// Exceptions stop here.
template <class F>
Outcome guarded(F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    return retry(type_name(typeid(e)), e.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return retry(type == nullptr ? "Exception" : type_name(*type), "an exception that is no std::exception");
  }
}

Outcome run(const InProcess& where, const SyncHandler& code, const AttemptIn& in, std::uint32_t slot) {
  const Message message = message_of(in);
  Attempt attempt = attempt_of(in);
  FlightRecorder::enter(where.recorder, slot);
  Outcome outcome = guarded([&] { return code(message, attempt); });
  FlightRecorder::leave();
  return outcome;
}

}  // namespace

Presence::Presence(const InProcess& where, const AttemptIn& in)
    : gate_(where.gate), recorder_(where.recorder), suspect_(in.alone) {
  const bool alone = gate_ != nullptr ? gate_->begin(suspect_) : suspect_;
  if (recorder_ == nullptr) return;
  slot_ = recorder_->begin({where.journal ? where.journal(in.tp.topic) : std::string(), in.tp.partition,
                            in.record->offset, in.record->timestamp, in.number, alone});
}

Presence::~Presence() {
  if (recorder_ != nullptr) recorder_->end(slot_);
  if (gate_ != nullptr) gate_->end(suspect_);
}

Decision decision_of(const Outcome& outcome) {
  Decision d;
  d.fate = outcome.fate();
  d.kind = d.fate == Fate::kReject ? Kind::kPermanent : Kind::kTransient;
  if (const auto after = outcome.after()) d.after = std::max(Duration(0), Duration(*after));
  d.error = {outcome.type(), outcome.message(), outcome.stack()};
  std::size_t bytes = 0;
  for (const Record& r : outcome.emitted()) bytes += payload_size(r);
  if (outcome.emitted().size() > kMaxEmitRecords || bytes > kMaxEmitBytes) {
    Decision refused;
    refused.fate = Fate::kRetry;
    refused.kind = Kind::kConfig;
    refused.error = {"EmitTooLarge",
                     "one outcome emits at most " + std::to_string(kMaxEmitRecords) +
                         " records and 8 MB; this one had " + std::to_string(outcome.emitted().size()) + " records, " +
                         std::to_string(bytes) + " bytes",
                     ""};
    return refused;
  }
  d.emit = outcome.emitted();
  return d;
}

PooledHandler::PooledHandler(InProcess where, SyncHandler code, std::uint32_t threads)
    : where_(std::move(where)), code_(std::move(code)), running_(std::max(threads, 1u)) {
  threads_.reserve(running_.size());
  for (Running& r : running_) threads_.emplace_back([this, &r] { work(r); });
}

PooledHandler::~PooledHandler() {
  std::deque<Job> unrun;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    unrun.swap(jobs_);
  }
  wake_.notify_all();
  for (Job& job : unrun) job.answer(Decision::not_run());
  threads_.clear();
}

thread_local PooledHandler::Here PooledHandler::here;

void PooledHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  Job job{std::move(attempt), std::move(answer)};
  // From inside an answer of this thread's own: the next message of the same stretch. It goes on here, without waking
  // anybody.
  if (here.pool == this && !here.next) {
    here.next = std::move(job);
    return;
  }
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    wake = to_be_woken();
  }
  if (wake) wake_.notify_one();
}

// One at a time is being woken, and wakes the next one if there is more to do: many short jobs would wake all.
bool PooledHandler::to_be_woken() {
  if (waiting_ == 0 || waking_ || jobs_.empty()) return false;
  waking_ = true;
  return true;
}

void PooledHandler::work(Running& running) {
  FlightRecorder::alternate_stack();
  here.pool = this;
  while (std::optional<Job> job = take()) {
    while (job) {
      run_one(running, *job);
      job = std::exchange(here.next, std::nullopt);
      if (job && ending_) std::exchange(job, std::nullopt)->answer(Decision::not_run());
    }
  }
}

// Nothing: the handler ends.
std::optional<PooledHandler::Job> PooledHandler::take() {
  std::unique_lock lock(mutex_);
  while (jobs_.empty()) {
    if (ending_) return std::nullopt;
    ++waiting_;
    wake_.wait(lock);
    --waiting_;
    waking_ = false;
  }
  Job job = std::move(jobs_.front());
  jobs_.pop_front();
  const bool wake = to_be_woken();
  lock.unlock();
  if (wake) wake_.notify_one();
  return job;
}

void PooledHandler::run_one(Running& running, Job& job) {
  const Presence flight(where_, *job.attempt);
  {
    const std::lock_guard lock(running.mutex);
    running.deadline = job.attempt->deadline;
    running.slot = flight.slot();
  }
  const Outcome outcome = run(where_, code_, *job.attempt, flight.slot());
  {
    const std::lock_guard lock(running.mutex);
    running.deadline = kNever;
  }
  job.answer(decision_of(outcome));
}

std::uint32_t PooledHandler::overdue(Instant now, Duration by) {
  std::uint32_t n = 0;
  for (Running& r : running_) {
    const std::lock_guard lock(r.mutex);
    if (r.deadline != kNever && now >= r.deadline + by) ++n;
  }
  return n;
}

void PooledHandler::mark_overdue(Instant now, Duration by) {
  for (Running& r : running_) {
    const std::lock_guard lock(r.mutex);
    if (r.deadline != kNever && now >= r.deadline + by && where_.recorder != nullptr) where_.recorder->mark(r.slot);
  }
}

void InlineHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  const Presence flight(where_, *attempt);
  answer(decision_of(run(where_, code_, *attempt, flight.slot())));
}

void AsynchronousHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  // The attempt, and with it every view, lives as long as the message or the attempt is held.
  struct Held {
    std::shared_ptr<AttemptIn> in;
    Message message;
    Attempt attempt;
  };
  auto held = std::make_shared<Held>(Held{attempt, message_of(*attempt), attempt_of(*attempt)});
  auto flight = std::make_unique<Presence>(where_, *attempt);
  const std::uint32_t slot = flight->slot();
  Reply reply([flight = std::move(flight), answer = std::move(answer)](const Outcome& outcome) mutable {
    flight.reset();
    answer(decision_of(outcome));
  });
  FlightRecorder::enter(where_.recorder, slot);
  // An exception drops the reply with it, and that makes it a retry.
  try {
    code_({held, &held->message}, {held, &held->attempt}, std::move(reply));
  } catch (...) {
    FlightRecorder::leave();
    return;
  }
  FlightRecorder::leave();
}

}  // namespace bartleby
