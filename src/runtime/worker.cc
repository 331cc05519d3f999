#include "runtime/worker.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/assert.h"
#include "base/death_point.h"
#include "base/hash.h"
#include "base/thread_name.h"
#include "codec/topic_name.h"
#include "runtime/flight_recorder.h"
#include "runtime/group_begin.h"

namespace bartleby {
namespace {

constexpr Duration kFirstPause{200};
constexpr Duration kLongestPause{30000};
constexpr Duration kLongestWait{500};
constexpr Duration kStopWord{30000};  // until it is said what a stop waits for, and again
constexpr std::size_t kStopWords = 10;
constexpr std::uint32_t kImmediateStretch = 256;
constexpr std::size_t kManyAnswers = 4;  // in one turn: more are on their way
constexpr std::uint32_t kMostAwaited = 64;
constexpr Duration kAwaitedFor{1};

Runner::Settings runner_settings(const WorkerSpec& spec, Log& log) {
  return {spec.cluster,      spec.name,      spec.group,    spec.handlers,
          spec.engine.cases, spec.replay_of, spec.watchers, std::make_shared<FailureLog>(spec.name, log)};
}

// As `prepare` names them.
std::vector<std::string> dead_letter_topics(const WorkerSpec& spec) {
  std::vector<std::string> names;
  if (!spec.engine.dead_letters) return names;
  for (const std::string& topic : spec.topics)
    names.push_back(topic_name(spec.dead_letter, {topic, spec.group, spec.name, spec.cluster}));
  return names;
}

std::set<std::string> journals_of(const WorkerSpec& spec) {
  std::set<std::string> names;
  const auto add = [&](const std::string& topic) {
    names.insert(topic_name(spec.journal, {topic, spec.group, spec.name, spec.cluster}));
  };
  for (const std::string& topic : spec.topics) {
    add(topic);
    if (!spec.replay_topic.empty()) add(topic_name(spec.replay_topic, {topic, spec.group, spec.name, spec.cluster}));
  }
  return names;
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
      started_at_(clock.now().wall),
      journals_(journals_of(spec_)),
      engine_(spec_.engine),
      figures_(dead_letter_topics(spec_)),
      runner_(runner_settings(spec_, log), clock, figures_, [this](std::uint64_t life, HandledRun run) {
        // Of an inline handler: answered inside this very turn, and the next one takes it.
        if (std::this_thread::get_id() == turning_) {
          if (life == life_) answered_.push_back(std::move(run));
          return;
        }
        const std::lock_guard lock(mutex_);
        if (life == life_) handled_.push_back(std::move(run));  // else of a member that is no more
        // Who comes later finds the worker awake, or about to be: it takes them all.
        if (awake_ != nullptr && handled_.size() == wake_at_) awake_->wake();
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

// ---- the worker's thread ---------------------------------------------------------------------------------

void Worker::work() {
  name_thread("worker " + spec_.name);
  FlightRecorder::alternate_stack();  // inline handlers run on this thread
  turning_ = std::this_thread::get_id();
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
  if (spec_.may_begin)
    if (const auto may = spec_.may_begin(); !may) return trouble("may not begin", may.error()), false;
  // Nothing of a private lane may be passed over: what lies there was sent to this group.
  prepared_ = make_topics() && commit_begin(spec_.topics, spec_.start) && commit_begin(lanes_, StartAt::kEarliest);
  return prepared_;
}

bool Worker::commit_begin(const std::vector<std::string>& topics, StartAt start) {
  if (has_begun(broker_, spec_.group, topics)) return true;
  const auto offsets = broker_.group_offsets(spec_.group, topics);
  if (!offsets) return trouble("cannot read the group's offsets", offsets.error()), false;
  std::map<TopicPartition, StartRange> ranges;
  for (const CommittedOffset& o : *offsets) {
    const auto range = broker_.log_range(o.tp);
    if (!range) return trouble("cannot read the log's range", range.error()), false;
    ranges[o.tp] = {range->first, range->second, std::nullopt};
    if (start == StartAt::kTime) {
      const auto at = first_at(broker_, o.tp, range->first, range->second, spec_.start_time);
      if (!at) return trouble("cannot look for where the group begins", at.error()), false;
      if (*at < range->second) ranges[o.tp].at_time = *at;
    }
  }
  if (const auto first = first_offsets(*offsets, ranges, start); !first.empty()) {
    // Asked before the commit: whoever joins after it writes to the journals.
    const auto begun = begun_before(broker_, sources_, first);
    const auto committed = broker_.commit_first(spec_.group, first);
    if (!committed && committed.error().code != ErrorCode::kFenced)
      return trouble("cannot commit where the group begins", committed.error()), false;
    if (!committed) {
      // Others are at work in the group, which may not have heard of a topic that was added: they would never commit
      // it. A partition without an offset begins at its log's start, which is what is wanted.
      const bool again = std::ranges::any_of(begun, [](const auto& one) { return one.second; });
      if (start == StartAt::kEarliest && !again) return begin_without_offsets(first), true;
      return trouble(first.front().tp.topic + " begins for the group when the members that do not read it have left",
                     committed.error()),
             false;
    }
    // Told once, when it is so, and loudly where the group has begun before: its offsets have expired or were deleted,
    // and what it has done is not known any more.
    for (const auto& [topic, again] : begun) {
      if (again) count(AlarmType::kOffsetReset);
      log_.write(again ? LogLevel::kError : LogLevel::kInfo, again ? "offsets_gone" : "group_begins",
                 {{"worker", spec_.name}, {"group", spec_.group}, {"topic", topic}});
    }
  }
  return true;
}

void Worker::begin_without_offsets(const std::vector<CommittedOffset>& first) {
  std::set<std::string> topics;
  for (const CommittedOffset& o : first) topics.insert(o.tp.topic);
  for (const std::string& topic : topics) {
    const auto source = sources_.find(topic);
    BARTLEBY_ASSERT(source != sources_.end());
    source->second.traits.first = true;
    log_.info("topic_added", {{"worker", spec_.name}, {"group", spec_.group}, {"topic", topic}});
  }
}

bool Worker::join() {
  std::vector<std::string> topics = spec_.topics;
  topics.insert(topics.end(), lanes_.begin(), lanes_.end());
  Result<std::unique_ptr<Member>> member = broker_.join({spec_.group, std::move(topics), spec_.instance});
  if (!member) return trouble("cannot join the group", member.error()), false;
  member_ = std::move(*member);
  PumpConfig config;
  config.engine = engine_;
  config.engine.seed = hash64(member_->transactional_id());
  config.engine.in_process =
      std::ranges::any_of(spec_.handlers, [](const auto& handler) { return handler->in_process(); });
  // Nothing else could run meanwhile: the more of a busy key at once, the less of it waits. The runner ends long ones.
  config.immediate = std::ranges::all_of(spec_.handlers, [](const auto& handler) { return handler->immediate(); });
  if (config.immediate) config.engine.max_stretch = std::max(config.engine.max_stretch, kImmediateStretch);
  config.cluster = spec_.cluster;
  config.group = spec_.group;
  config.worker = spec_.name;
  config.instance = spec_.instance;
  config.topics = sources_;
  config.admit = spec_.admit;
  config.replay_of = spec_.replay_of;
  if (!spec_.record.empty()) config.record = [this](const EngineConfig& engine) { return recorder(engine); };
  config.figures = &figures_;
  config.watchers = spec_.watchers;
  config.letters_written = [this](const std::string& dlq, std::uint64_t letters) {
    log_.info("dlq_publish_ok", {{"worker", spec_.name}, {"dlq", dlq}, {"letters", letters}});
  };
  pump_ = std::make_unique<Pump>(
      std::move(config), *member_,
      [this](const Run& run, std::span<const RunMessage> messages) {
        runner_.run(life_, run, messages);
        death_point("attempt.begun");
      },
      [this](const Alarm& alarm, const TopicPartition* tp) { told(alarm, tp); },
      [this](PartitionRef ref) { runner_.release(ref); });
  for (auto& [topic, source] : sources_) source.traits.first = false;  // who joins anew finds what this one commits
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
    next_stop_word_ = clock_.now().steady + kStopWord;
  }
  bool busy = pump_->has_handled() || pump_->has_events() || !answered_.empty();
  // Where many answers come one after the other, to be woken by each of them would cost more than they do: half of
  // those that are out end the wait, or a moment.
  const bool awaits = many_answers_;
  {
    const std::lock_guard lock(mutex_);
    busy = busy || !handled_.empty() || !tasks_.empty();
    wake_at_ = awaits ? std::clamp(figures_.running.load() / 2, 1u, kMostAwaited) : 1;
  }
  const Now before = clock_.now();
  const Duration until = std::clamp(pump_->next_wakeup() - before.steady, Duration(0), kLongestWait);
  // Rounded up: a wait that ends a moment before the wakeup would turn in vain.
  const auto wait = std::chrono::ceil<Duration>(clock_.real(until));
  pump_->poll(busy ? Duration(0) : awaits ? std::min(wait, kAwaitedFor) : wait);
  {
    const std::lock_guard lock(mutex_);
    handled_.swap(taken_);
  }
  many_answers_ = taken_.size() >= kManyAnswers;
  for (std::vector<HandledRun>* runs : {&answered_, &taken_}) {
    for (HandledRun& run : *runs) {
      if (run.last) look_at_emitted(*run.last);
      pump_->handled(std::move(run));
    }
    runs->clear();
  }
  const Now now = clock_.now();
  if (pump_->has_handled()) death_point("attempt.answered");
  runner_.begin_turn(now);
  pump_->step(now);
  runner_.end_turn();
  const EngineCounters& counters = pump_->engine().counters();
  figures_.stale_replies.store(before_.stale_replies + counters.stale_replies, std::memory_order_relaxed);
  figures_.dropped.store(before_.dropped + counters.dropped, std::memory_order_relaxed);
  if (pause_ > Duration(0) && !pump_->partitions().empty()) pause_ = Duration(0);  // it really works again
  watch_overdue(now);
  follow_growth(now);
  if (stop_told_ && now.steady >= next_stop_word_) tell_stop_waits(now);
}

// Who is told to stop and does not is asked why, mostly by somebody who is about to end it.
void Worker::tell_stop_waits(Now now) {
  next_stop_word_ = now.steady + kStopWord;
  const auto left = pump_->partitions();
  for (const auto& [ref, tp] : std::span(left).first(std::min(left.size(), kStopWords)))
    if (const auto why = bartleby::explain(pump_->engine(), ref, now.steady))
      log_.warning("stop_waits", {{"worker", spec_.name},
                                  {"topic", tp.topic},
                                  {"partition", tp.partition.v},
                                  {"offset", why->committed.v},
                                  {"why", why->answer},
                                  {"partitions_left", left.size()}});
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
  const std::string why = pump_->failure();
  if (pump_->topic_made_anew()) {
    count(AlarmType::kTopicMadeAnew);
    log_.error("topic_made_anew", {{"worker", spec_.name}, {"group", spec_.group}, {"why", why}});
  }
  for (const auto& [ref, tp] : pump_->partitions()) runner_.release(ref);
  {
    const std::lock_guard lock(mutex_);
    awake_ = nullptr;
    ++life_;
    handled_.clear();
    answered_.clear();
  }
  death_point("stop.released");
  before_.stale_replies += pump_->engine().counters().stale_replies;
  before_.dropped += pump_->engine().counters().dropped;
  member_->leave();
  pump_.reset();
  member_.reset();
  if (!failed) return;
  set_state(WorkerState::kStarting);
  prepared_ = false;  // topics may have changed meanwhile
  trouble("the member is out of its group and joins again", Error{ErrorCode::kUnavailable, why});
}

// Code that does not come back holds a thread for ever. When half of the pool is gone so is the worker, and so it is
// when what does not come back runs alone: the process says who it was, and ends; the next one knows their names from
// the flight recorder.
void Worker::watch_overdue(Now now) {
  if (now.steady < next_overdue_look_) return;
  next_overdue_look_ = now.steady + Duration(1000);
  for (const auto& handler : spec_.handlers) {
    const std::uint32_t capacity = handler->capacity();
    const Handler::Overdue found = handler->overdue(now.steady, spec_.overdue);
    if (found.late == 0 || (!found.alone && found.late * 2 < capacity)) continue;
    handler->mark_overdue(now.steady, spec_.overdue);
    log_.error("handlers_overdue",
               {{"worker", spec_.name}, {"late", found.late}, {"threads", capacity}, {"alone", found.alone}});
    if (broken_)
      broken_("worker " + spec_.name + ": " +
              (found.alone
                   ? "a handler that runs alone does not come back"
                   : std::to_string(found.late) + " of " + std::to_string(capacity) + " handlers do not come back"));
    return;
  }
}

}  // namespace bartleby
