// A message on its way to a handler, the attempt that carries it, and the reply of an asynchronous one.
// Views live as long as the attempt.
#pragma once

#include <bartleby/outcome.h>
#include <bartleby/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace bartleby {

using TimePoint = std::chrono::steady_clock::time_point;

// A text that is made when it is asked for: an id takes longer to compute than many a handler runs.
struct LateText {
  std::string_view (*text)(const void* of) = nullptr;
  const void* of = nullptr;
  std::string_view operator()() const { return text != nullptr ? text(of) : std::string_view(); }
};

class Message {
 public:
  struct Parts {
    std::string_view topic, key, value;
    LateText id;
    bool has_key = false;
    bool is_null = false;
    Partition partition;
    Offset offset;
    Timestamp timestamp;
    const Headers* headers = nullptr;
  };
  explicit Message(const Parts& parts) : parts_(parts) {}

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(parts_.value)); }
  std::string_view value() const { return parts_.value; }
  std::string_view topic() const { return parts_.topic; }
  std::string_view key() const { return parts_.key; }
  bool has_key() const { return parts_.has_key; }  // an empty key is a key
  bool is_null() const { return parts_.is_null; }  // no value at all: a tombstone
  Partition partition() const { return parts_.partition; }
  Offset offset() const { return parts_.offset; }
  Timestamp timestamp() const { return parts_.timestamp; }
  const Headers& headers() const { return *parts_.headers; }
  std::string_view id() const { return parts_.id(); }  // the same for all attempts and replays

 private:
  Parts parts_;
};

class Attempt {
 public:
  struct Parts {
    int number = 1;
    int max = 1;
    TimePoint deadline;
    const std::atomic<bool>* cancelled = nullptr;
    LateText idempotency_key;
    std::optional<std::string_view> replay_of;
  };
  explicit Attempt(const Parts& parts) : parts_(parts) {}

  int number() const { return parts_.number; }  // from 1
  int max() const { return parts_.max; }
  TimePoint deadline() const { return parts_.deadline; }
  // Nobody waits for the outcome any more (the partition has gone to somebody else, or the process stops).
  bool cancelled() const { return parts_.cancelled != nullptr && parts_.cancelled->load(std::memory_order_relaxed); }
  std::string_view idempotency_key() const { return parts_.idempotency_key(); }
  std::optional<std::string_view> replay_of() const { return parts_.replay_of; }

 private:
  Parts parts_;
};

// Answers an asynchronous attempt: once, from any thread. Dropped unanswered it is a retry of type NoReply.
class Reply {
 public:
  explicit Reply(std::move_only_function<void(Outcome)> answer) : answer_(std::move(answer)) {}
  Reply(Reply&& other) noexcept : answer_(std::exchange(other.answer_, nullptr)) {}
  Reply& operator=(Reply&& other) noexcept {
    if (this != &other) {
      give_up();
      answer_ = std::exchange(other.answer_, nullptr);
    }
    return *this;
  }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() { give_up(); }

  void operator()(Outcome outcome) {
    if (answer_) std::exchange(answer_, nullptr)(std::move(outcome));
  }

 private:
  void give_up() {
    if (answer_) (*this)(retry("NoReply", "the handler dropped its reply"));
  }
  std::move_only_function<void(Outcome)> answer_;
};

using SyncHandler = std::function<Outcome(const Message&, Attempt&)>;
using AsyncHandler = std::function<void(std::shared_ptr<const Message>, std::shared_ptr<Attempt>, Reply)>;

}  // namespace bartleby
