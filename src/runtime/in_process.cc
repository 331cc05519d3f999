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
  p.id = in.message_id;
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
  p.idempotency_key = in.idempotency_key;
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
  for (std::size_t i = 0; i < running_.size(); ++i) threads_.emplace_back([this, i] { work(i); });
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

void PooledHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(attempt), std::move(answer)});
  }
  wake_.notify_one();
}

void PooledHandler::work(std::size_t thread) {
  FlightRecorder::alternate_stack();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    {
      const Presence flight(where_, *job.attempt);
      lock.lock();
      running_[thread] = {job.attempt->deadline, flight.slot()};
      lock.unlock();
      Outcome outcome = run(where_, code_, *job.attempt, flight.slot());
      lock.lock();
      running_[thread] = {};
      lock.unlock();
      job.answer(decision_of(outcome));
    }
    job = {};
    lock.lock();
  }
}

std::uint32_t PooledHandler::overdue(Instant now, Duration by) {
  const std::lock_guard lock(mutex_);
  std::uint32_t n = 0;
  for (const Running& r : running_) {
    if (r.deadline == kNever || now < r.deadline + by) continue;
    ++n;
  }
  return n;
}

void PooledHandler::mark_overdue(Instant now, Duration by) {
  const std::lock_guard lock(mutex_);
  for (const Running& r : running_)
    if (r.deadline != kNever && now >= r.deadline + by && where_.recorder != nullptr) where_.recorder->mark(r.slot);
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
