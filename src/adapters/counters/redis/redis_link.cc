#include "adapters/counters/redis/redis_link.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/thread_name.h"

namespace bartleby::redis {
namespace {

constexpr std::size_t kMaxRound = 4096;  // commands of one round
constexpr int kMaxElements = 100'000;    // of one list
constexpr int kMaxDepth = 8;             // of lists in lists; hiredis reads no deeper

struct FreedReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};

Reply taken(const redisReply& in, int depth = 0) {
  Reply out;
  const auto text = [&] { return in.str == nullptr ? std::string() : std::string(in.str, in.len); };
  switch (in.type) {
    case REDIS_REPLY_STRING:
      return {Reply::Type::kText, text()};
    case REDIS_REPLY_STATUS:
      return {Reply::Type::kStatus, text()};
    case REDIS_REPLY_ERROR:
      return {Reply::Type::kError, text()};
    case REDIS_REPLY_INTEGER:
      out.type = Reply::Type::kNumber;
      out.number = in.integer;
      return out;
    case REDIS_REPLY_ARRAY:
      out.type = Reply::Type::kList;
      if (depth < kMaxDepth)
        for (std::size_t i = 0; i < in.elements; ++i)
          out.items.push_back(in.element[i] == nullptr ? Reply() : taken(*in.element[i], depth + 1));
      return out;
    default:
      return out;
  }
}

// hiredis takes a list's own word for its length, and would make room for billions.
const redisReplyObjectFunctions* whole_functions = nullptr;

void* bounded_list(const redisReadTask* task, int elements) {
  return elements > kMaxElements ? nullptr : whole_functions->createArray(task, elements);
}

redisReplyObjectFunctions* bounded_functions(const redisReplyObjectFunctions* whole) {
  static redisReplyObjectFunctions functions = [&] {
    whole_functions = whole;
    redisReplyObjectFunctions out = *whole;
    out.createArray = &bounded_list;
    return out;
  }();
  return &functions;
}

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

void Link::Closed::operator()(redisContext* context) const { redisFree(context); }

Link::Link(LinkOptions options)
    : options_(std::move(options)), state_(fail(ErrorCode::kUnavailable, where() + ": not connected yet")) {
  thread_ = std::thread([this] { work(); });
}

Link::~Link() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  asked_.notify_all();
  thread_.join();
}

Result<void> Link::reachable() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Link::distrust(const std::string& why) {
  const std::lock_guard lock(mutex_);
  distrusted_ = why;
  asked_.notify_all();
}

Result<std::vector<Reply>> Link::ask(std::vector<Command> commands) {
  auto batch = std::make_shared<Batch>();
  batch->commands = std::move(commands);
  const std::size_t n = batch->commands.size();
  std::unique_lock lock(mutex_);
  if (!state_) return std::unexpected(state_.error());
  if (queued_ + n > options_.max_queued)
    return fail(ErrorCode::kUnavailable, where() + ": more than it can take is waiting already");
  queue_.push_back(batch);
  queued_ += n;
  asked_.notify_all();
  // The round that is under way, and the next one.
  const auto longest = 2 * options_.limit + options_.limit / 2;
  if (!answered_.wait_for(lock, longest, [&] { return batch->state != Batch::State::kWaits; }))
    return fail(ErrorCode::kUnavailable, where() + ": no answer in time");
  if (batch->state == Batch::State::kFailed) return std::unexpected(batch->error);
  return std::move(batch->replies);
}

void Link::set_state(const Result<void>& state) {
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = state_.has_value() != state.has_value();
    state_ = state;
  }
  if (changed && options_.told) options_.told(state);
}

void Link::answer(const Batches& batches, const Result<void>& result) {
  const std::lock_guard lock(mutex_);
  for (const auto& batch : batches) {
    batch->state = result ? Batch::State::kDone : Batch::State::kFailed;
    if (!result) batch->error = result.error();
  }
  answered_.notify_all();
}

void Link::work() {
  name_thread("redis");
  Duration pause{0};
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!context_) {
      asked_.wait_for(lock, pause, [this] { return stopping_; });
      if (stopping_) break;
      distrusted_.clear();
      lock.unlock();
      const auto connected = connect();
      if (!connected) {
        context_.reset();
        pause = std::clamp(pause * 2, options_.first_pause, options_.longest_pause);
      }
      set_state(connected);
      lock.lock();
      continue;
    }
    const bool asked =
        asked_.wait_for(lock, options_.idle, [this] { return stopping_ || !queue_.empty() || !distrusted_.empty(); });
    if (stopping_) break;
    Batches batches;
    for (std::size_t n = 0; !queue_.empty() && (batches.empty() || n + queue_.front()->commands.size() <= kMaxRound);) {
      n += queue_.front()->commands.size();
      queued_ -= queue_.front()->commands.size();
      batches.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    const std::string distrusted = distrusted_;
    if (!asked) {
      batches.push_back(std::make_shared<Batch>());
      batches.back()->commands = {{"PING"}};
    }
    lock.unlock();
    Result<void> result;
    if (!distrusted.empty())
      result = fail(ErrorCode::kUnavailable, where() + ": " + distrusted);
    else
      result = round(batches, Clock::now() + options_.limit);
    if (result && !asked && batches.back()->replies.front().type != Reply::Type::kStatus)
      result = fail(ErrorCode::kUnavailable, where() + ": " + batches.back()->replies.front().text);
    if (result) pause = Duration(0);
    if (!result) {
      context_.reset();
      pause = std::clamp(pause * 2, options_.first_pause, options_.longest_pause);
      // Before anybody is told: whoever asks again must not wait for a connection that is gone.
      set_state(result);
      lock.lock();
      for (auto& late : queue_) batches.push_back(std::move(late));
      queue_.clear();
      queued_ = 0;
      lock.unlock();
    }
    answer(batches, result);
    lock.lock();
  }
  const auto ended = fail(ErrorCode::kUnavailable, "the process stops");
  state_ = ended;
  for (const auto& batch : queue_) {
    batch->state = Batch::State::kFailed;
    batch->error = ended.error();
  }
  answered_.notify_all();
}

Result<void> Link::connect() {
  const auto until = Clock::now() + options_.connect_limit;
  context_.reset(redisConnectNonBlock(options_.host.c_str(), options_.port));
  if (!context_) return fail(ErrorCode::kUnavailable, where() + ": out of memory");
  if (context_->err != 0) return fail(ErrorCode::kUnavailable, where() + ": " + context_->errstr);
  context_->reader->fn = bounded_functions(context_->reader->fn);
  if (auto ready = wait_io(true, until); !ready) return ready;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return fail(ErrorCode::kUnavailable, where() + ": " + words_of(error));
  auto greeting = std::make_shared<Batch>();
  if (!options_.password.empty() && options_.user.empty()) greeting->commands.push_back({"AUTH", options_.password});
  if (!options_.user.empty()) greeting->commands.push_back({"AUTH", options_.user, options_.password});
  if (options_.database != 0) greeting->commands.push_back({"SELECT", std::to_string(options_.database)});
  greeting->commands.push_back({"PING"});
  // As fast as any other answer: else every question to a slow server would end what the greeting began.
  if (auto greeted = round({greeting}, Clock::now() + options_.limit); !greeted) return greeted;
  for (const Reply& reply : greeting->replies) {
    if (reply.type == Reply::Type::kError) return fail(ErrorCode::kUnavailable, where() + ": " + reply.text);
    if (reply.type != Reply::Type::kStatus) return fail(ErrorCode::kUnavailable, where() + ": is no Redis server");
  }
  return {};
}

Result<void> Link::round(const Batches& batches, Clock::time_point until) {
  std::size_t expected = 0;
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const auto& batch : batches)
    for (const Command& command : batch->commands) {
      words.clear();
      sizes.clear();
      for (const std::string& word : command) {
        words.push_back(word.data());
        sizes.push_back(word.size());
      }
      if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(), sizes.data()) !=
          REDIS_OK)
        return fail(ErrorCode::kUnavailable, where() + ": " + context_->errstr);
      ++expected;
    }
  std::vector<Reply> replies;
  if (auto done = exchange(expected, replies, until); !done) return done;
  auto next = replies.begin();
  for (const auto& batch : batches) {
    const auto end = next + static_cast<std::ptrdiff_t>(batch->commands.size());
    batch->replies.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
  return {};
}

// Writes and reads at the same time: a server that answers while we write must not block on us.
Result<void> Link::exchange(std::size_t expected, std::vector<Reply>& replies, Clock::time_point until) {
  int written = 0;
  std::size_t bytes = 0;
  const auto broken = [this] { return fail(ErrorCode::kUnavailable, where() + ": " + context_->errstr); };
  while (replies.size() < expected) {
    if (written == 0 && redisBufferWrite(context_.get(), &written) != REDIS_OK) return broken();
    if (auto ready = wait_io(written == 0, until); !ready) return ready;
    const std::size_t before = context_->reader->len;
    if (redisBufferRead(context_.get()) != REDIS_OK) return broken();
    bytes += context_->reader->len - before;
    if (bytes > options_.max_reply) return fail(ErrorCode::kUnavailable, where() + ": answers more than it was asked");
    for (void* found = nullptr;; found = nullptr) {
      if (redisGetReplyFromReader(context_.get(), &found) != REDIS_OK) return broken();
      if (found == nullptr) break;
      const std::unique_ptr<void, FreedReply> reply(found);
      if (replies.size() == expected) return fail(ErrorCode::kUnavailable, where() + ": answers what it was not asked");
      replies.push_back(taken(*static_cast<redisReply*>(reply.get())));
    }
  }
  return {};
}

Result<void> Link::wait_io(bool to_write, Clock::time_point until) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return fail(ErrorCode::kUnavailable, where() + ": no answer in time");
    pollfd one{context_->fd, static_cast<short>(POLLIN | (to_write ? POLLOUT : 0)), 0};
    const int ready = ::poll(&one, 1, static_cast<int>(left));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail(ErrorCode::kUnavailable, where() + ": " + words_of(errno));
  }
}

}  // namespace bartleby::redis
