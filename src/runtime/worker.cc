#include "runtime/worker.h"

#include <algorithm>
#include <array>
#include <future>

#include "base/assert.h"
#include "base/death_point.h"
#include "base/hash.h"
#include "codec/topic_name.h"
#include "runtime/flight_recorder.h"

namespace bartleby {
namespace {

constexpr Duration kFirstPause{200};
constexpr Duration kLongestPause{30000};
constexpr Duration kLongestWait{500};
constexpr std::chrono::seconds kAnswerWithin{1};
constexpr std::size_t kMaxTasks = 1000;

struct AlarmText {
  AlarmType type;
  LogLevel level;
  std::string_view event;
};
constexpr std::array kAlarms = {
    AlarmText{AlarmType::kForeignMetadata, LogLevel::kError, "foreign_metadata"},
    AlarmText{AlarmType::kNewerMetadata, LogLevel::kError, "newer_metadata"},
    AlarmText{AlarmType::kDamagedMetadata, LogLevel::kWarning, "damaged_metadata"},
    AlarmText{AlarmType::kJournalDiffers, LogLevel::kWarning, "journal_differs"},
    AlarmText{AlarmType::kOffsetReset, LogLevel::kError, "offset_reset"},
    AlarmText{AlarmType::kLostByRetention, LogLevel::kError, "lost_by_retention"},
    AlarmText{AlarmType::kExpiring, LogLevel::kWarning, "expiring"},
    AlarmText{AlarmType::kLimitParked, LogLevel::kWarning, "limit_parked"},
    AlarmText{AlarmType::kLimitWindow, LogLevel::kWarning, "limit_window"},
    AlarmText{AlarmType::kLimitBytes, LogLevel::kWarning, "limit_bytes"},
    AlarmText{AlarmType::kDestinationRefused, LogLevel::kError, "dlq_publish_failed"},
    AlarmText{AlarmType::kJournalRefused, LogLevel::kError, "journal_refused"},
    AlarmText{AlarmType::kGuardOpened, LogLevel::kWarning, "guard_opened"},
    AlarmText{AlarmType::kGuardClosed, LogLevel::kInfo, "guard_closed"},
    AlarmText{AlarmType::kExhaustedKept, LogLevel::kWarning, "exhausted_kept"},
    AlarmText{AlarmType::kCrashLoop, LogLevel::kError, "crash_loop"},
    AlarmText{AlarmType::kCrashPoison, LogLevel::kError, "crash_poison"},
    AlarmText{AlarmType::kStaleEntry, LogLevel::kInfo, "stale_entry"},
    AlarmText{AlarmType::kDrainExpired, LogLevel::kWarning, "drain_expired"},
};

TopicSpec topic_spec(const std::string& name, std::int32_t partitions) {
  TopicSpec spec;
  spec.name = name;
  spec.partitions = partitions;
  return spec;
}

// The first record at or after a time: times never fall within a partition, so it can be found by halving.
Result<Offset> first_at(Broker& broker, const TopicPartition& tp, Offset from, Offset to, Timestamp time) {
  while (from < to) {
    const Offset middle(from.v + (to.v - from.v) / 2);
    const auto found = broker.read(tp, middle, 1, 1);
    if (!found) return std::unexpected(found.error());
    if (found->empty() || found->front().offset >= to || found->front().timestamp >= time)
      to = middle;
    else
      from = next(found->front().offset);
  }
  return from;
}

Runner::Settings runner_settings(const WorkerSpec& spec) {
  Runner::Settings s{spec.cluster, spec.name, spec.group, {}};
  BARTLEBY_ASSERT(spec.handlers.size() == spec.engine.cases.size());
  for (std::size_t i = 0; i < spec.handlers.size(); ++i) s.cases.push_back({spec.handlers[i], spec.engine.cases[i]});
  return s;
}

}  // namespace

std::string_view name(WorkerState state) {
  constexpr std::array<std::string_view, 5> kNames = {"starting", "running", "paused", "stopping", "stopped"};
  return kNames[static_cast<std::size_t>(state)];
}

Worker::Worker(WorkerSpec spec, Broker& broker, const Clock& clock, Log& log, Broken broken)
    : spec_(std::move(spec)),
      broker_(broker),
      clock_(clock),
      log_(log),
      broken_(std::move(broken)),
      runner_(runner_settings(spec_), clock, [this](std::uint64_t life, HandledRun run) {
        const std::lock_guard lock(mutex_);
        if (life == life_) handled_.push_back(std::move(run));  // else of a member that is no more
        if (awake_ != nullptr) awake_->wake();
        changed_.notify_all();
      }) {
  thread_ = std::jthread([this] { work(); });
}

Worker::~Worker() {
  stop();
  thread_.join();
}

void Worker::stop() {
  stopping_.store(true);
  const std::lock_guard lock(mutex_);
  if (awake_ != nullptr) awake_->wake();
  changed_.notify_all();
}

// ---- from other threads ----------------------------------------------------------------------------------

template <class T>
Result<T> Worker::ask(std::function<T()> question) {
  // Whoever asks may have gone before the answer comes: both hold the place where it is put.
  struct Asked {
    std::promise<T> answer;
    std::atomic<int> state{0};  // 1: it is being carried out; 2: nobody waits for it any more
  };
  auto asked = std::make_shared<Asked>();
  std::future<T> future = asked->answer.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stopped()) return fail(ErrorCode::kUnavailable, "worker " + spec_.name + " has stopped");
    if (tasks_.size() >= kMaxTasks) return fail(ErrorCode::kUnavailable, "worker " + spec_.name + " is too busy");
    tasks_.push_back([asked, question = std::move(question)] {
      int waiting = 0;
      if (!asked->state.compare_exchange_strong(waiting, 1)) return;
      if constexpr (std::is_void_v<T>) {
        question();
        asked->answer.set_value();
      } else {
        asked->answer.set_value(question());
      }
    });
    if (awake_ != nullptr) awake_->wake();
    changed_.notify_all();
  }
  if (future.wait_for(kAnswerWithin) != std::future_status::ready) {
    int waiting = 0;  // an order that is answered with "no" must not be carried out later
    if (asked->state.compare_exchange_strong(waiting, 2))
      return fail(ErrorCode::kUnavailable, "worker " + spec_.name + " does not answer");
    future.wait();
  }
  if constexpr (std::is_void_v<T>) {
    future.get();
    return {};
  } else {
    return future.get();
  }
}

Result<WorkerStatus> Worker::status() {
  Result<WorkerStatus> s = ask<WorkerStatus>([this] {
    WorkerStatus out;
    out.name = spec_.name;
    out.group = spec_.group;
    out.instance = spec_.instance;
    out.state = state_.load();
    out.trouble = trouble_;
    out.running = runner_.counters().running.load();
    if (!pump_) return out;
    out.guard_open = pump_->engine().guard().open();
    for (const auto& [ref, tp] : pump_->partitions()) {
      const PartitionEngine* p = pump_->engine().partition(ref);
      if (p == nullptr) continue;
      PartitionStatus part{
          .tp = tp, .state = {}, .committed = p->committed(), .frontier = p->frontier(), .log_end = {}};
      part.state = p->phase() == Phase::kRunning                                       ? "running"
                   : p->phase() == Phase::kRefused                                     ? "refused"
                   : p->phase() == Phase::kDraining || p->phase() == Phase::kReleasing ? "handing over"
                                                                                       : "taking over";
      part.parked = p->parked();
      part.held = p->held();
      part.in_memory = p->in_memory();
      out.partitions.push_back(std::move(part));
    }
    return out;
  });
  if (!s) return s;
  if (const std::int64_t last = runner_.counters().last_end_ms.load(); last != 0)
    s->last_message_at = timestamp_ms(last);
  for (PartitionStatus& p : s->partitions) {  // asked here: the worker's thread must not wait for the broker
    const auto range = broker_.log_range(p.tp);
    p.log_end = range ? range->second : p.frontier;
    s->parked += p.parked;
    s->held += p.held;
    const auto waiting = static_cast<std::int64_t>(p.parked + p.held);
    s->lag += std::max<std::int64_t>(0, p.log_end.v - p.frontier.v) +
              std::max<std::int64_t>(0, static_cast<std::int64_t>(p.in_memory) - waiting);
  }
  return s;
}

Result<std::vector<ParkedMessage>> Worker::parked(const ParkedFilter& filter, std::size_t limit) {
  return ask<std::vector<ParkedMessage>>([this, filter, limit] {
    return pump_ ? pump_->parked(filter, clock_.now(), limit) : std::vector<ParkedMessage>{};
  });
}

Result<std::vector<Worker::Answer>> Worker::explain(std::optional<Partition> partition, std::optional<Offset> offset) {
  return ask<std::vector<Answer>>([this, partition, offset] {
    std::vector<Answer> answers;
    if (!pump_) return answers;
    const Instant now = clock_.now().steady;
    for (const auto& [ref, tp] : pump_->partitions()) {
      if (partition && *partition != tp.partition) continue;
      const auto e =
          offset ? bartleby::explain(pump_->engine(), ref, *offset, now) : bartleby::explain(pump_->engine(), ref, now);
      if (e) answers.push_back({tp, *e});
    }
    return answers;
  });
}

Result<std::size_t> Worker::order(ParkedOrder::What what, const ParkedFilter& filter) {
  return ask<std::size_t>([this, what, filter]() -> std::size_t {
    if (!pump_) return 0;
    const std::size_t meant = pump_->parked(filter, clock_.now(), SIZE_MAX).size();
    for (const auto& [ref, tp] : pump_->partitions())
      if (!filter.tp || *filter.tp == tp) pump_->tell(ParkedOrder{what, ref, filter.offset, filter.kind});
    return meant;
  });
}

Result<void> Worker::pause(bool paused) {
  return ask<void>([this, paused] {
    paused_ = paused;
    if (pump_) pump_->tell(PauseIn{paused});
    if (state_.load() == WorkerState::kRunning || state_.load() == WorkerState::kPaused)
      set_state(paused ? WorkerState::kPaused : WorkerState::kRunning);
  });
}

// ---- the worker's thread ---------------------------------------------------------------------------------

void Worker::work() {
  FlightRecorder::alternate_stack();  // inline handlers run on this thread
  while (true) {
    take_tasks();
    if (stopping_.load() && !pump_) break;
    if (!pump_) {
      // Questions end the wait but do not shorten it: whoever asks often must not make us try often.
      if (const Instant now = clock_.now().steady; now < next_try_) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, clock_.real(next_try_ - now), [this] { return stopping_.load() || !tasks_.empty(); });
        continue;
      }
      if (!((prepared_ || prepare()) && join())) continue;
    }
    turn();
    if (pump_->failed() || pump_->stopped()) part();
  }
  parted_.store(true);
  // Handlers that outlived the drain still answer into this object.
  {
    std::unique_lock lock(mutex_);
    while (!runner_.idle()) changed_.wait_for(lock, std::chrono::milliseconds(20));
  }
  set_state(WorkerState::kStopped);
  take_tasks();
  log_.info("worker_stopped", {{"worker", spec_.name}});
}

void Worker::set_state(WorkerState state) { state_.store(state); }

void Worker::trouble(const std::string& what, const Error& error) {
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  next_try_ = clock_.now().steady + pause_;
  const std::string text = what + ": " + error.message;
  if (text != trouble_)
    log_.warning("worker_waits", {{"worker", spec_.name}, {"why", text}, {"again_in_ms", pause_.count()}});
  trouble_ = text;
}

// Journal and dead letter topic exist before anything can fail, and the group has a position before anybody joins.
bool Worker::prepare() {
  sources_.clear();
  std::vector<TopicSpec> wanted;
  for (const std::string& topic : spec_.topics) {
    Result<TopicSpec> there = broker_.describe(topic);
    if (!there && there.error().code == ErrorCode::kNotFound && spec_.new_topic_partitions > 0) {
      const auto made = broker_.ensure_topics({topic_spec(topic, spec_.new_topic_partitions)});
      if (!made) return trouble("cannot create topic " + topic, made.error()), false;
      log_.info("topic_created", {{"topic", topic}, {"partitions", spec_.new_topic_partitions}});
      there = made->front();
    }
    if (!there) return trouble("topic " + topic, there.error()), false;
    const TopicWords words{topic, spec_.group, spec_.name, spec_.cluster};
    SourceTopic source;
    source.traits = {there->retention, there->retention_bytes, there->compacted};
    source.journal = topic_name(spec_.journal, words);
    source.dlq.topic = topic_name(spec_.dead_letter, words);
    source.dlq.partitions = there->partitions;
    wanted.push_back(topic_spec(source.journal, there->partitions));
    wanted.back().compacted = true;
    wanted.back().max_message = there->max_message + 65536;
    if (spec_.engine.dead_letters) {
      wanted.push_back(topic_spec(source.dlq.topic, there->partitions));
      wanted.back().max_message = there->max_message + 65536;
    }
    sources_[topic] = std::move(source);
  }
  const auto made = broker_.ensure_topics(wanted);
  if (!made) return trouble("cannot create journal and dead letter topics", made.error()), false;
  for (auto& [topic, source] : sources_)
    for (const TopicSpec& t : *made)
      if (t.name == source.dlq.topic) source.dlq.partitions = t.partitions;

  const auto offsets = broker_.group_offsets(spec_.group, spec_.topics);
  if (!offsets) return trouble("cannot read the group's offsets", offsets.error()), false;
  std::map<TopicPartition, StartRange> ranges;
  for (const CommittedOffset& o : *offsets) {
    const auto range = broker_.log_range(o.tp);
    if (!range) return trouble("cannot read the log's range", range.error()), false;
    ranges[o.tp] = {range->first, range->second, std::nullopt};
    if (spec_.start == StartAt::kTime) {
      const auto at = first_at(broker_, o.tp, range->first, range->second, spec_.start_time);
      if (!at) return trouble("cannot look for where the group begins", at.error()), false;
      if (*at < range->second) ranges[o.tp].at_time = *at;
    }
  }
  if (const auto first = first_offsets(*offsets, ranges, spec_.start); !first.empty()) {
    const auto committed = broker_.commit_first(spec_.group, first);
    if (!committed && committed.error().code != ErrorCode::kFenced)
      return trouble("cannot commit where the group begins", committed.error()), false;
    if (!committed)
      return trouble("waits for the member that commits where the group begins", committed.error()), false;
  }
  prepared_ = true;
  return true;
}

bool Worker::join() {
  Result<std::unique_ptr<Member>> member = broker_.join({spec_.group, spec_.topics, spec_.instance});
  if (!member) return trouble("cannot join the group", member.error()), false;
  member_ = std::move(*member);
  PumpConfig config;
  config.engine = spec_.engine;
  config.engine.seed = hash64(member_->transactional_id());
  config.engine.in_process =
      std::ranges::any_of(spec_.handlers, [](const auto& handler) { return handler->in_process(); });
  config.cluster = spec_.cluster;
  config.group = spec_.group;
  config.worker = spec_.name;
  config.instance = spec_.instance;
  config.topics = sources_;
  config.admit = spec_.admit;
  if (!spec_.record.empty()) config.record = [this](const EngineConfig& engine) { return recorder(engine); };
  pump_ = std::make_unique<Pump>(
      std::move(config), *member_,
      [this](const Run& run, std::span<const RunMessage> messages) {
        runner_.run(life_, run, messages);
        death_point("attempt.begun");
      },
      [this](const Alarm& alarm, const TopicPartition* tp) { told(alarm, tp); },
      [this](PartitionRef ref) { runner_.release(ref); });
  if (paused_) pump_->tell(PauseIn{true});
  stop_told_ = false;
  trouble_.clear();
  {
    const std::lock_guard lock(mutex_);
    awake_ = member_.get();
  }
  set_state(paused_ ? WorkerState::kPaused : WorkerState::kRunning);
  log_.info("worker_started",
            {{"worker", spec_.name}, {"group", spec_.group}, {"transactional_id", member_->transactional_id()}});
  return true;
}

// A recording that cannot be made is no reason to stand still.
std::unique_ptr<EventRecorder> Worker::recorder(const EngineConfig& engine) {
  const auto stopped = [this](const std::string& why) {
    log_.warning("recording_stopped", {{"worker", spec_.name}, {"why", why}});
  };
  auto made = record_to_file(spec_.record, spec_.name, clock_.now().wall, engine, stopped);
  if (made) return std::move(*made);
  stopped(made.error().message);
  return nullptr;
}

void Worker::turn() {
  if (stopping_.load() && !stop_told_) {
    stop_told_ = true;
    death_point("stop.begun");
    set_state(WorkerState::kStopping);
    pump_->tell(StopIn{});
  }
  bool busy = pump_->has_handled() || pump_->has_events();
  {
    const std::lock_guard lock(mutex_);
    busy = busy || !handled_.empty() || !tasks_.empty();
  }
  const Now before = clock_.now();
  const Duration until = std::clamp(pump_->next_wakeup() - before.steady, Duration(0), kLongestWait);
  // Rounded up: a wait that ends a moment before the wakeup would turn in vain.
  pump_->poll(busy ? Duration(0) : std::chrono::ceil<Duration>(clock_.real(until)));
  {
    const std::lock_guard lock(mutex_);
    for (HandledRun& run : handled_) pump_->handled(std::move(run));
    handled_.clear();
  }
  const Now now = clock_.now();
  if (pump_->has_handled()) death_point("attempt.answered");
  pump_->turn(now);
  if (pause_ > Duration(0) && !pump_->partitions().empty()) pause_ = Duration(0);  // it really works again
  watch_overdue(now);
}

void Worker::take_tasks() {
  std::deque<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) task();
}

void Worker::part() {
  const bool failed = pump_->failed();
  for (const auto& [ref, tp] : pump_->partitions()) runner_.release(ref);
  {
    const std::lock_guard lock(mutex_);
    awake_ = nullptr;
    ++life_;
    handled_.clear();
  }
  death_point("stop.released");
  member_->leave();
  pump_.reset();
  member_.reset();
  if (!failed) return;
  set_state(WorkerState::kStarting);
  prepared_ = false;  // topics may have changed meanwhile
  trouble("the member is out of its group", Error{ErrorCode::kUnavailable, "joins again"});
}

void Worker::told(const Alarm& alarm, const TopicPartition* tp) {
  alarms_[static_cast<std::size_t>(alarm.type)].fetch_add(1);
  const auto at = std::ranges::find(kAlarms, alarm.type, &AlarmText::type);
  BARTLEBY_ASSERT(at != kAlarms.end());
  log_.write(at->level, at->event,
             {{"worker", spec_.name},
              {"topic", tp == nullptr ? std::string_view("-") : std::string_view(tp->topic)},
              {"partition", tp == nullptr ? -1 : tp->partition.v},
              {"offset", alarm.offset.v},
              {"number", alarm.number}});
}

// Code that does not come back holds a thread for ever. When half of the pool is gone so is the worker: the process
// says who it was, and ends; the next one knows their names from the flight recorder.
void Worker::watch_overdue(Now now) {
  if (now.steady < next_overdue_look_) return;
  next_overdue_look_ = now.steady + Duration(1000);
  for (const auto& handler : spec_.handlers) {
    const std::uint32_t capacity = handler->capacity();
    if (capacity == 0) continue;
    const std::uint32_t late = handler->overdue(now.steady, spec_.overdue);
    if (late * 2 < capacity || late == 0) continue;
    handler->mark_overdue(now.steady, spec_.overdue);
    log_.error("handlers_overdue", {{"worker", spec_.name}, {"late", late}, {"threads", capacity}});
    if (broken_)
      broken_("worker " + spec_.name + ": " + std::to_string(late) + " of " + std::to_string(capacity) +
              " handlers do not come back");
    return;
  }
}

}  // namespace bartleby
