// Handlers that are code of this process: on a pool of threads, on the engine's own thread, or asynchronous.
//
// Each run is in the flight recorder while it lasts, so that the next start knows who ran when the process died. Code
// of this process cannot be interrupted: an attempt that has passed its deadline is answered when it returns, a late
// success is a success. An exception is a retry with its type and what(). `overdue` counts who should long be back:
// the worker ends the process when that is half of the pool, or one that runs alone, because nothing else gets these
// threads back.
#pragma once

#include <bartleby/message.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ports/handler.h"
#include "runtime/alone_gate.h"
#include "runtime/flight_recorder.h"

namespace bartleby {

Decision decision_of(const Outcome& outcome);

// `journal` is where the obituary of a message of this topic would go; `recorder` may be null.
struct InProcess {
  std::string name;  // of the handler, for texts
  FlightRecorder* recorder = nullptr;
  std::function<std::string(const std::string& topic)> journal;
  AloneGate* gate = nullptr;  // may be null
};

// What runs now, and has come through the gate: in the flight recorder, for as long as the object lives.
class Presence {
 public:
  Presence(const InProcess& where, const AttemptIn& in, bool alone);
  ~Presence();
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  std::uint32_t slot() const { return slot_; }

 private:
  AloneGate* const gate_;
  FlightRecorder* const recorder_;
  const bool suspect_;
  std::uint32_t slot_ = FlightRecorder::kNoSlot;
};

// A thread's place in the flight recorder: its own from one message to the next, where it names nobody. One thread.
class FlightSeat {
 public:
  explicit FlightSeat(const InProcess& where) : where_(where) {}
  ~FlightSeat() { give_up(); }
  FlightSeat(const FlightSeat&) = delete;
  FlightSeat& operator=(const FlightSeat&) = delete;

  void enter(const AttemptIn& in, bool alone);
  void rest();
  void give_up();  // until the next message: others may need it
  std::uint32_t slot() const { return slot_; }

 private:
  const InProcess& where_;
  std::uint32_t slot_ = FlightRecorder::kNoSlot;
  std::string topic_;  // whose journal is in the slot
};

class PooledHandler : public Handler {
 public:
  PooledHandler(InProcess where, SyncHandler code, std::uint32_t threads);
  ~PooledHandler() override;  // waits for what runs; what only waits is answered unrun

  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override;
  bool queues() const override { return true; }
  void start_all(std::vector<Start>& starts) override;
  bool in_process() const override { return true; }
  Overdue overdue(Instant now, Duration by) override;
  void mark_overdue(Instant now, Duration by) override;
  std::uint32_t capacity() const override { return static_cast<std::uint32_t>(running_.size()); }

 private:
  using Job = Start;
  struct Running {
    std::mutex mutex;
    Instant deadline = kNever;
    bool alone = false;
    std::uint32_t slot = FlightRecorder::kNoSlot;
  };
  struct Here {
    const PooledHandler* pool = nullptr;  // whose thread this is
    std::optional<Job> next;
  };
  static thread_local Here here;

  void work(Running& running);
  std::optional<Job> take(FlightSeat& seat);
  void run_one(Running& running, FlightSeat& seat, Job& job);
  bool to_be_woken();

  const InProcess where_;
  const SyncHandler code_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> jobs_;
  std::size_t waiting_ = 0;            // threads without work
  bool waking_ = false;                // one of them has been told
  std::vector<Running> running_;       // by thread
  std::atomic<bool> ending_ = false;   // written under the mutex
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

// On the thread that calls it, one at a time: for handlers of microseconds that never block. The gate holds it up for a
// moment. Between two messages of a turn it stays inside the gate unless a suspect waits there, and its place in the
// flight recorder stays its own, naming nobody.
class InlineHandler : public Handler {
 public:
  InlineHandler(InProcess where, SyncHandler code);
  ~InlineHandler() override { end_turn(); }
  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override;
  bool immediate() const override { return true; }
  std::optional<Decision> run_now(const AttemptIn& attempt) override;
  void end_turn() override;
  bool in_process() const override { return true; }

 private:
  bool pass_gate(const AttemptIn& attempt);

  const InProcess where_;
  const SyncHandler code_;
  FlightSeat seat_{where_};
  bool inside_ = false;  // has come through the gate, as no suspect, and not left it yet
};

// The code answers when it likes. Its deadline is only told to it. Never waits: `start` may be called on the very
// thread that another attempt needs for its answer.
class AsynchronousHandler : public Handler {
 public:
  AsynchronousHandler(InProcess where, AsyncHandler code) : where_(std::move(where)), code_(std::move(code)) {}
  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override;
  bool in_process() const override { return true; }
  Overdue overdue(Instant now, Duration by) override;
  void mark_overdue(Instant now, Duration by) override;

 private:
  struct Asked;
  struct Alone {  // the attempts that run alone
    std::mutex mutex;
    struct One {
      const Asked* who;
      Instant deadline;
      std::uint32_t slot;
    };
    std::vector<One> running;
  };

  void run(const std::shared_ptr<AttemptIn>& attempt, Answer answer, bool alone);

  const InProcess where_;
  const AsyncHandler code_;
  const std::shared_ptr<Alone> alone_ = std::make_shared<Alone>();  // answers may come after the handler's end
};

}  // namespace bartleby
