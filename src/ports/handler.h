// A handler as the runtime sees it: it is given attempts and answers each of them once.
//
// `start` returns at once; the answer may come from any thread, later or from inside `start`. A handler keeps the
// deadline itself where it can let go (a connection is closed) and answers with kind `timeout`; where it cannot (code
// that runs in this process) it answers when the code has returned. An answer dropped unanswered is the handler's
// mistake: the runtime takes it for a retry of type NoReply.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/outcome.h"

namespace bartleby {

// Lives as long as someone holds it, longer than the assignment of its partition.
struct AttemptIn {
  struct Names {
    std::string cluster, worker, group;
  };

  // The same for all attempts and lives. Computed when it is first asked for, by any thread.
  std::string_view message_id() const {
    std::call_once(id_once_, [this] {
      if (id.empty() && id_of != nullptr) id = id_of(*this);
    });
    return id;
  }
  // Configured, else the message id.
  std::string_view idempotency_key() const { return configured_key.empty() ? message_id() : configured_key; }

  std::shared_ptr<const Names> names;
  TopicPartition tp;
  std::shared_ptr<const LogRecord> record;
  std::string (*id_of)(const AttemptIn&) = nullptr;
  mutable std::string id;  // given, else made by `id_of`
  std::string configured_key;
  std::optional<std::string> replay_of;  // letter id
  std::uint32_t number = 1;              // of this attempt, from 1
  std::uint32_t max = 1;
  bool alone = false;  // under suspicion of having killed a process: nothing else runs in this one
  Instant deadline;
  Timestamp deadline_wall;
  std::string token;                   // `at_…`: names this attempt to people and other processes
  std::atomic<bool> cancelled{false};  // nobody waits for the answer any more

  // For the next message, by the one thread that knows it.
  void reuse() {
    id.clear();
    replay_of.reset();
    std::construct_at(&id_once_);
  }

 private:
  mutable std::once_flag id_once_;
};

using Answer = std::move_only_function<void(Decision)>;

class Handler {
 public:
  virtual ~Handler() = default;

  virtual void start(std::shared_ptr<AttemptIn> attempt, Answer answer) = 0;

  // One that only queues what it is given, and answers nothing from inside, may be given what begins together at once.
  struct Start {
    std::shared_ptr<AttemptIn> attempt;
    Answer answer;
  };
  virtual bool queues() const { return false; }
  // Only if it does. Takes them out.
  virtual void start_all(std::vector<Start>& /*starts*/) {}

  // Code that is over when it returns to the caller, and keeps nothing of the attempt, may be run by `run_now`.
  virtual bool immediate() const { return false; }
  // Only if it is. Nothing: handled, and nothing else to say about it.
  virtual std::optional<Decision> run_now(const AttemptIn& /*attempt*/) { return Decision::not_run(); }
  // No further `run_now` follows at once: what was kept from one to the next is given up.
  virtual void end_turn() {}

  // Where the code runs inside this process a message can kill it, and the runtime keeps evidence.
  virtual bool in_process() const = 0;

  // How many attempts of this process are past their deadline by more than `by`, and how many it can run at all: code
  // that does not come back can only be ended with the process. One that runs alone keeps all others out.
  struct Overdue {
    std::uint32_t late = 0;
    bool alone = false;
  };
  virtual Overdue overdue(Instant /*now*/, Duration /*by*/) { return {}; }
  virtual std::uint32_t capacity() const { return 0; }
  // The process is about to be ended because of these: they are named as the ones who brought it down.
  virtual void mark_overdue(Instant /*now*/, Duration /*by*/) {}
};

}  // namespace bartleby
