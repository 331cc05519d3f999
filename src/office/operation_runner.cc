#include "office/operation_runner.h"

#include <algorithm>

#include "base/death_point.h"
#include "base/thread_name.h"
#include "office/mutants.h"
#include "office/operation_plan.h"
#include "office/operation_row.h"
#include "office/outcomes.h"
#include "office/replay_batch.h"
#include "office/sql.h"

namespace bartleby {
namespace {

const TopicPartition kCursors{kOutcomesTopic, Partition(0)};

std::string group_of(const std::string& operation) { return "bartleby-op-" + operation; }

Result<void> whether(const Result<Dealt>& dealt) {
  if (dealt) return {};
  return std::unexpected(dealt.error());
}

}  // namespace

OperationRunner::OperationRunner(Broker& broker, Store& store, Log& log, const Clock& clock, RunnerOptions options)
    : broker_(broker), store_(store), log_(log), clock_(clock), options_(std::move(options)) {}

OperationRunner::~OperationRunner() { stop(); }

void OperationRunner::start() {
  thread_ = std::thread([this] { work(); });
}

void OperationRunner::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void OperationRunner::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

OperationCounts OperationRunner::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool OperationRunner::watch(std::string operation, Duration limit, std::move_only_function<void()> told) {
  {
    const std::lock_guard lock(mutex_);
    if (!watching_ || watches_.size() >= kMostWatches) return false;
    watches_.push_back({std::move(operation), clock_.now().steady + limit, std::move(told)});
    woken_ = true;
  }
  changed_.notify_all();
  return true;
}

void OperationRunner::end_watching() {
  std::vector<Watch> left;
  {
    const std::lock_guard lock(mutex_);
    watching_ = false;
    left.swap(watches_);
  }
  for (Watch& watch : left) watch.told();
}

// Without the lock while the store is asked and while people are told: both may take a while.
void OperationRunner::tell_watches() {
  std::vector<Watch> all, waiting, over;
  {
    const std::lock_guard lock(mutex_);
    all.swap(watches_);
  }
  const Instant now = clock_.now().steady;
  for (Watch& watch : all)
    (now >= watch.until || dealt_with(watch.operation) ? over : waiting).push_back(std::move(watch));
  {
    const std::lock_guard lock(mutex_);
    for (Watch& watch : waiting) (watching_ ? watches_ : over).push_back(std::move(watch));
  }
  for (Watch& watch : over) watch.told();
}

bool OperationRunner::dealt_with(const std::string& operation) {
  bool dealt = false;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    const auto found = operation_by_id(connection, operation);
    if (!found) return std::unexpected(found.error());
    dealt = !*found || (*found)->state != OperationState::kRunning || (*found)->cursor >= (*found)->letters;
    return {};
  });
  return read && dealt;  // a store that does not answer may answer before the time is over
}

void OperationRunner::count(OperationKind kind, ItemResult result, std::int64_t n) {
  const std::lock_guard lock(mutex_);
  counts_.add(kind, result, n);
}

void OperationRunner::work() {
  name_thread("operations");
  for (;;) {
    const bool busy = round();
    tell_watches();
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    if (busy) continue;
    Instant until = next_look_;
    for (const auto& [seq, one] : running_) until = std::min(until, one.run.next_wake());
    const Duration wait = std::max(Duration(1), until - clock_.now().steady);
    changed_.wait_for(lock, clock_.real(wait), [&] { return stopping_ || woken_; });
    if (stopping_) return;
    if (std::exchange(woken_, false)) next_look_ = Instant{};
  }
}

void OperationRunner::run_until_idle() {
  next_look_ = Instant{};
  while (round()) {
  }
}

bool OperationRunner::round() {
  if (!prepared_ && !prepare()) return false;
  const Now now = clock_.now();
  bool busy = false;
  if (now.steady >= next_look_) {
    next_look_ = now.steady + options_.limits.poll;
    busy = take_in_outcomes();
    find_operations();
    if (busy) next_look_ = now.steady;
  }
  if (now.steady >= next_expiry_) {
    next_expiry_ = now.steady + options_.expire;
    const auto expired = expire_plan(store_, now.wall);
    if (!expired) log_.warning("plans_not_expired", {{"why", expired.error().message}});
    if (expired.value_or(false)) {  // the next one after this round, so that operations go on in between
      next_expiry_ = now.steady;
      busy = true;
    }
  }
  for (auto& [seq, one] : running_) {
    const auto command = one.run.step(std::exchange(one.answer, std::nullopt), clock_.now());
    if (!command) continue;
    one.answer = std::visit([&](const auto& c) { return carry_out(seq, one, c); }, *command);
    busy = true;
  }
  std::erase_if(running_, [](const auto& one) { return one.second.run.over(); });
  return busy;
}

// The cursor of an operation lies on the topic of outcomes, which whoever writes first makes.
bool OperationRunner::prepare() {
  TopicSpec topic;
  topic.name = kOutcomesTopic;
  topic.partitions = kOutcomesPartitions;
  topic.least_replicas = kOutcomesReplicas;
  topic.retention = Duration(std::chrono::hours(24 * 30));
  const auto made = broker_.ensure_topics({topic});
  if (!made) log_.warning("operations_wait", {{"why", made.error().message}});
  prepared_ = made.has_value();
  if (!prepared_) next_look_ = clock_.now().steady + options_.limits.retry;
  return prepared_;
}

void OperationRunner::find_operations() {
  std::vector<std::int64_t> found;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto unfinished = unfinished_operations(connection);
    if (!unfinished) return std::unexpected(unfinished.error());
    found = std::move(*unfinished);
    return {};
  });
  if (!read) return log_.warning("operations_not_read", {{"why", read.error().message}});
  for (const std::int64_t seq : found) running_.try_emplace(seq, Running{OperationRun(options_.limits), {}, {}});
}

bool OperationRunner::take_in_outcomes() {
  const auto taken = take_outcomes(store_, broker_, options_.outcomes, clock_.now().wall);
  if (!taken) {
    log_.warning("outcomes_not_read", {{"why", taken.error().message}});
    return false;
  }
  if (taken->ignored > 0) log_.info("outcomes_ignored", {{"records", taken->ignored}});
  count(OperationKind::kReplay, ItemResult::kSucceeded, static_cast<std::int64_t>(taken->resolved));
  count(OperationKind::kReplay, ItemResult::kCameBack, static_cast<std::int64_t>(taken->came_back));
  return taken->records > 0;
}

CommandDone OperationRunner::told(std::int64_t seq, std::string_view doing, const Result<void>& result) {
  if (result) return {CommandDone::Result::kDone, ""};
  log_.warning("operation_waits", {{"operation", seq}, {"doing", doing}, {"why", result.error().message}});
  const std::lock_guard lock(mutex_);
  ++counts_.failures;
  return {CommandDone::Result::kFailed, result.error().message};
}

Result<Offset> OperationRunner::cursor_of(const std::string& operation) {
  const auto offsets = broker_.group_offsets(group_of(operation), {kCursors.topic});
  if (!offsets) return std::unexpected(offsets.error());
  for (const CommittedOffset& one : *offsets)
    if (one.tp == kCursors) return one.offset.value_or(Offset(0));
  return Offset(0);
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running& running, const Look&) {
  auto seen = look_at_operation(store_, seq);
  if (!seen) {
    told(seq, "looking at it", std::unexpected(seen.error()));
    return OperationSeen{};
  }
  // When all is written down the broker's cursor has nothing more to tell; outcomes may be awaited for an hour.
  seen->broker_at = seen->cursor;
  if (seen->kind == OperationKind::kReplay && seen->cursor < seen->letters) {
    const auto at = cursor_of(seen->id);
    if (!at) {
      told(seq, "reading its cursor", std::unexpected(at.error()));
      return OperationSeen{};
    }
    const bool blind = office_mutant(OfficeMutant::kBrokerCursorIgnored) && running.places.empty();
    seen->broker_at = blind ? seen->cursor : at->v;
  }
  return std::move(*seen);
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running&, const TakeLetters& c) {
  const auto taken = take_letters(store_, seq, c.from, c.to, clock_.now().wall);
  if (taken) count(OperationKind::kReplay, ItemResult::kSkipped, taken->skipped);
  return told(seq, "taking letters", whether(taken));
}

// Records and cursor are one write. What landed without our hearing of it is found by the next look.
RunEvent OperationRunner::carry_out(std::int64_t seq, Running& running, const SendLetters& c) {
  death_point("operation.taken");
  const auto refused = [](const Error& error) { return CommandDone{CommandDone::Result::kRefused, error.message}; };
  // A broker that does not answer is asked again: by their keys letters may come to other partitions than they were in.
  const auto partitions = [this](const std::string& topic) -> Result<std::int32_t> {
    const auto there = broker_.describe(topic);
    if (!there && there.error().code != ErrorCode::kNotFound) return std::unexpected(there.error());
    return there ? there->partitions : 0;
  };
  const auto batch = replay_batch(store_, seq, c.from, c.to, options_.key, partitions);
  if (!batch && batch.error().code == ErrorCode::kInvalid) return refused(batch.error());
  if (!batch) return told(seq, "reading letters", std::unexpected(batch.error()));
  const auto at = cursor_of(batch->operation);
  if (!at) return told(seq, "reading its cursor", std::unexpected(at.error()));
  if (at->v > c.from && !office_mutant(OfficeMutant::kBrokerCursorIgnored))
    return CommandDone{CommandDone::Result::kFailed, "sent already"};
  if (office_mutant(OfficeMutant::kWrittenDownBeforeSent))
    if (const auto done = write_down(store_, seq, c.from, batch->to, {}, clock_.now().wall); !done)
      return told(seq, "writing down", done);
  const auto written =
      broker_.produce_with(batch->records, {group_of(batch->operation), kCursors, *at, Offset(batch->to)});
  if (!written) {
    const ErrorCode code = written.error().code;
    if (code == ErrorCode::kTooLarge || code == ErrorCode::kInvalid || code == ErrorCode::kNotFound)
      return refused(written.error());
    return told(seq, "sending", std::unexpected(written.error()));
  }
  death_point("operation.sent");
  for (std::size_t i = 0; i < batch->positions.size(); ++i) running.places[batch->positions[i]] = (*written)[i];
  count(OperationKind::kReplay, ItemResult::kSent, static_cast<std::int64_t>(batch->records.size()));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [dlq, letters] : batch->dlqs) counts_.replayed[dlq] += letters;
  }
  return CommandDone{CommandDone::Result::kDone, ""};
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running& running, const WriteDown& c) {
  const auto done = write_down(store_, seq, c.from, c.to, running.places, clock_.now().wall);
  if (done) running.places.clear();
  return told(seq, "writing down what was sent", done);
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running&, const GiveBack& c) {
  return told(seq, "giving letters back", give_back(store_, seq, c.from, c.to, clock_.now().wall));
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running&, const ReturnLetter& c) {
  log_.warning("letter_not_sent", {{"operation", seq}, {"position", c.at}, {"why", c.why}});
  const auto returned = return_letter(store_, seq, c.at, c.why, clock_.now().wall);
  if (returned) count(OperationKind::kReplay, ItemResult::kSkipped, 1);
  return told(seq, "giving a letter back", returned);
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running&, const ChangeSlice& c) {
  const auto dealt = change_slice(store_, seq, c.from, c.to, clock_.now().wall);
  if (dealt) {
    count(c.kind, ItemResult::kSucceeded, dealt->changed);
    count(c.kind, ItemResult::kSkipped, dealt->skipped);
  }
  return told(seq, "changing letters", whether(dealt));
}

RunEvent OperationRunner::carry_out(std::int64_t seq, Running&, const MoveOperation& c) {
  if (c.cause == OperationCause::kHalt)
    log_.warning("operation_halted", {{"operation", seq}, {"why", c.note}});
  else
    log_.info("operation_ends", {{"operation", seq}, {"note", c.note}});
  return told(seq, "ending it", move_by_itself(store_, seq, c.cause, c.note, clock_.now().wall));
}

}  // namespace bartleby
