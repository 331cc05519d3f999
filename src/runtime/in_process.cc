#include "runtime/in_process.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <thread>
#include <typeinfo>
#include <utility>

#include "base/thread_name.h"

namespace bartleby {
namespace {

constexpr std::chrono::milliseconds kInlineWaits{100};  // the engine stands still meanwhile

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

// Waits, on a thread that nobody else needs. Whether it is alone.
bool through_gate(const InProcess& where, const AttemptIn& in, std::chrono::milliseconds at_most) {
  return where.gate == nullptr ? in.alone : where.gate->begin(in.alone, at_most);
}

}  // namespace

Presence::Presence(const InProcess& where, const AttemptIn& in, bool alone)
    : gate_(where.gate), recorder_(where.recorder), suspect_(in.alone) {
  if (recorder_ == nullptr) return;
  slot_ = recorder_->begin({where.journal ? where.journal(in.tp.topic) : std::string(), in.tp.partition,
                            in.record->offset, in.record->timestamp, in.number, alone});
}

Presence::~Presence() {
  if (recorder_ != nullptr) recorder_->end(slot_);
  if (gate_ != nullptr) gate_->end(suspect_);
}

void FlightSeat::enter(const AttemptIn& in, bool alone) {
  if (where_.recorder == nullptr) return;
  if (slot_ == FlightRecorder::kNoSlot || topic_ != in.tp.topic) {
    if (slot_ == FlightRecorder::kNoSlot) slot_ = where_.recorder->claim();
    where_.recorder->name_journal(slot_, where_.journal ? where_.journal(in.tp.topic) : std::string());
    topic_ = in.tp.topic;
  }
  where_.recorder->run(slot_, in.tp.partition, in.record->offset, in.record->timestamp, in.number, alone);
}

void FlightSeat::rest() {
  if (where_.recorder != nullptr) where_.recorder->rest(slot_);
}

void FlightSeat::give_up() {
  if (where_.recorder != nullptr) where_.recorder->end(std::exchange(slot_, FlightRecorder::kNoSlot));
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

void PooledHandler::start_all(std::vector<Start>& starts) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    for (Start& one : starts) jobs_.push_back(std::move(one));
    wake = to_be_woken();
  }
  starts.clear();
  if (wake) wake_.notify_one();
}

// One at a time is being woken, and wakes the next one if there is more to do: many short jobs would wake all.
bool PooledHandler::to_be_woken() {
  if (waiting_ == 0 || waking_ || jobs_.empty()) return false;
  waking_ = true;
  return true;
}

void PooledHandler::work(Running& running) {
  name_thread("handler " + where_.name);
  FlightRecorder::alternate_stack();
  here.pool = this;
  FlightSeat seat(where_);
  while (std::optional<Job> job = take(seat)) {
    while (job) {
      run_one(running, seat, *job);
      job = std::exchange(here.next, std::nullopt);
      if (job && ending_) std::exchange(job, std::nullopt)->answer(Decision::not_run());
    }
  }
}

// Nothing: the handler ends.
std::optional<PooledHandler::Job> PooledHandler::take(FlightSeat& seat) {
  std::unique_lock lock(mutex_);
  while (jobs_.empty()) {
    if (ending_) return std::nullopt;
    seat.give_up();
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

void PooledHandler::run_one(Running& running, FlightSeat& seat, Job& job) {
  const AttemptIn& in = *job.attempt;
  seat.enter(in, through_gate(where_, in, in.alone ? AloneGate::kSuspectWaits : AloneGate::kOthersWait));
  {
    const std::lock_guard lock(running.mutex);
    running.deadline = in.deadline;
    running.alone = in.alone;
    running.slot = seat.slot();
  }
  const Outcome outcome = run(where_, code_, in, seat.slot());
  {
    const std::lock_guard lock(running.mutex);
    running.deadline = kNever;
  }
  seat.rest();
  if (where_.gate != nullptr) where_.gate->end(in.alone);
  job.answer(decision_of(outcome));
}

Handler::Overdue PooledHandler::overdue(Instant now, Duration by) {
  Overdue all;
  for (Running& r : running_) {
    const std::lock_guard lock(r.mutex);
    if (r.deadline == kNever || now < r.deadline + by) continue;
    ++all.late;
    all.alone = all.alone || r.alone;
  }
  return all;
}

void PooledHandler::mark_overdue(Instant now, Duration by) {
  for (Running& r : running_) {
    const std::lock_guard lock(r.mutex);
    if (r.deadline != kNever && now >= r.deadline + by && where_.recorder != nullptr) where_.recorder->mark(r.slot);
  }
}

InlineHandler::InlineHandler(InProcess where, SyncHandler code) : where_(std::move(where)), code_(std::move(code)) {}

// Whether it is alone.
bool InlineHandler::pass_gate(const AttemptIn& in) {
  if (where_.gate == nullptr) return in.alone;
  if (inside_ && !in.alone && !where_.gate->wanted()) return false;
  end_turn();
  inside_ = !in.alone;
  return where_.gate->begin(in.alone, kInlineWaits);
}

void InlineHandler::end_turn() {
  if (std::exchange(inside_, false)) where_.gate->end(false);
}

void InlineHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  std::optional<Decision> decision = run_now(*attempt);
  end_turn();
  answer(decision ? std::move(*decision) : Decision{});
}

std::optional<Decision> InlineHandler::run_now(const AttemptIn& attempt) {
  seat_.enter(attempt, pass_gate(attempt));
  const Outcome outcome = bartleby::run(where_, code_, attempt, seat_.slot());
  seat_.rest();
  if (where_.gate != nullptr && attempt.alone) where_.gate->end(true);
  if (outcome.fate() == Fate::kDone && outcome.emitted().empty()) return std::nullopt;
  return decision_of(outcome);
}

// What an asynchronous attempt leaves behind until it is answered.
struct AsynchronousHandler::Asked {
  std::unique_ptr<Presence> flight;
  Answer answer;
  std::shared_ptr<Alone> alone;  // null: it does not run alone
  std::thread::id starter = std::this_thread::get_id();
  int exceptions = std::uncaught_exceptions();
  bool starting = true, thrown = false;  // the starter's alone

  void operator()(const Outcome& outcome) {
    // An exception drops the reply on its way out of the code; what it was is known to whoever catches it.
    if (std::this_thread::get_id() == starter && starting && std::uncaught_exceptions() > exceptions) {
      thrown = true;
      return;
    }
    if (alone) {
      const std::lock_guard lock(alone->mutex);
      std::erase_if(alone->running, [this](const Alone::One& one) { return one.who == this; });
    }
    flight.reset();
    answer(decision_of(outcome));
  }
};

void AsynchronousHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  if (where_.gate == nullptr) return run(attempt, std::move(answer), attempt->alone);
  const bool suspect = attempt->alone;
  where_.gate->begin_later(suspect, [this, attempt = std::move(attempt), answer = std::move(answer)](
                                        bool alone) mutable { run(attempt, std::move(answer), alone); });
}

void AsynchronousHandler::run(const std::shared_ptr<AttemptIn>& attempt, Answer answer, bool alone) {
  auto flight = std::make_unique<Presence>(where_, *attempt, alone);
  if (attempt->cancelled) {  // while it waited at the gate
    flight.reset();
    return answer(Decision::not_run());
  }
  // The attempt, and with it every view, lives as long as the message or the attempt is held.
  struct Held {
    std::shared_ptr<AttemptIn> in;
    Message message;
    Attempt attempt;
  };
  auto held = std::make_shared<Held>(Held{attempt, message_of(*attempt), attempt_of(*attempt)});
  const std::uint32_t slot = flight->slot();
  auto asked = std::make_shared<Asked>();
  asked->flight = std::move(flight);
  asked->answer = std::move(answer);
  if (attempt->alone) {
    asked->alone = alone_;
    const std::lock_guard lock(alone_->mutex);
    alone_->running.push_back({asked.get(), attempt->deadline, slot});
  }
  Reply reply([asked](const Outcome& outcome) { (*asked)(outcome); });
  FlightRecorder::enter(where_.recorder, slot);
  const Outcome outcome = guarded([&] {
    code_({held, &held->message}, {held, &held->attempt}, std::move(reply));
    return done();
  });
  FlightRecorder::leave();
  asked->starting = false;
  if (asked->thrown) (*asked)(outcome);
}

Handler::Overdue AsynchronousHandler::overdue(Instant now, Duration by) {
  Overdue all;
  const std::lock_guard lock(alone_->mutex);
  for (const Alone::One& one : alone_->running)
    if (now >= one.deadline + by) ++all.late;
  all.alone = all.late > 0;
  return all;
}

void AsynchronousHandler::mark_overdue(Instant now, Duration by) {
  const std::lock_guard lock(alone_->mutex);
  for (const Alone::One& one : alone_->running)
    if (now >= one.deadline + by && where_.recorder != nullptr) where_.recorder->mark(one.slot);
}

}  // namespace bartleby
