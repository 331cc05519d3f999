// What a worker is asked and told from other threads: carried out by its own between two turns.
#include <algorithm>
#include <future>
#include <map>
#include <optional>

#include "codec/lane.h"
#include "ports/group_look.h"
#include "ports/log_look.h"
#include "runtime/worker.h"

namespace bartleby {
namespace {

constexpr std::chrono::seconds kAnswerWithin{1};
constexpr std::size_t kMaxTasks = 1000;

PartitionStatus partition_status(const PartitionEngine& p, const TopicPartition& tp) {
  PartitionStatus part{.tp = tp, .state = {}, .committed = p.committed(), .frontier = p.frontier(), .log_end = {}};
  part.state = p.phase() == Phase::kRunning                        ? "running"
               : p.phase() == Phase::kRefused && !p.handing_over() ? "refused"
               : p.handing_over()                                  ? "handing over"
                                                                   : "taking over";
  part.parked = p.parked();
  part.kept = p.kept();
  part.intake_stopped = p.at_limit();
  part.held = p.held();
  part.in_memory = p.in_memory();
  return part;
}

// Where these logs end. A broker across a network is not waited for longer than the limit.
std::map<TopicPartition, Offset> ends_of(Broker& broker, const std::vector<TopicPartition>& tps, Duration limit) {
  if (auto* look = dynamic_cast<LogLook*>(&broker)) return look->ends(tps, limit);
  std::map<TopicPartition, Offset> ends;
  for (const TopicPartition& tp : tps)
    if (const auto range = broker.log_range(tp)) ends[tp] = range->second;
  return ends;
}

// Where the group is, as the broker has it.
std::map<TopicPartition, Offset> begins_of(Broker& broker, const std::string& group,
                                           const std::vector<TopicPartition>& tps, Duration limit) {
  if (tps.empty()) return {};
  if (auto* look = dynamic_cast<GroupLook*>(&broker)) return look->committed_within(group, tps, limit);
  std::map<TopicPartition, Offset> begins;
  for (const TopicPartition& tp : tps)
    if (const auto offsets = broker.group_offsets(group, {tp.topic}))
      for (const CommittedOffset& o : *offsets)
        if (o.tp == tp && o.offset) begins[tp] = *o.offset;
  return begins;
}

}  // namespace

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

bool Worker::is_lane(const TopicPartition& tp) const { return std::ranges::find(lanes_, tp.topic) != lanes_.end(); }

Result<WorkerStatus> Worker::status(Duration limit) {
  Result<WorkerStatus> s = ask<WorkerStatus>([this] {
    WorkerStatus out;
    out.name = spec_.name;
    out.group = spec_.group;
    out.instance = spec_.instance;
    out.state = state_.load();
    out.trouble = trouble_;
    out.running = figures_.running.load();
    if (!pump_) return out;
    out.guard_open = pump_->engine().guard().open();
    out.writes_fail = pump_->engine().writes_fail();
    out.refusing_dlqs = pump_->refusing_dlqs();
    for (const auto& [ref, tp] : pump_->partitions())
      if (const PartitionEngine* p = pump_->engine().partition(ref)) {
        PartitionStatus part = partition_status(*p, tp);
        const WaitingFigures waiting = waiting_figures(pump_->engine(), ref);
        part.held_keys = waiting.held_keys;
        part.dlq_pending = waiting.dying;
        part.metadata_bytes = pump_->metadata_bytes(ref);
        part.lane = is_lane(tp);
        out.partitions.push_back(std::move(part));
      }
    return out;
  });
  if (!s) return s;
  s->last_message_at = last_message_at();
  if (s->writes_fail && s->trouble.empty() && limit > Duration(0)) {  // asked here, like all that the broker is asked
    const auto writable = broker_.writable();
    s->trouble = "begins nothing new: the broker takes no writes" + (writable ? "" : ": " + writable.error().message);
  }
  // Asked here: the worker's thread must not wait for the broker. All at once, with one limit.
  std::vector<TopicPartition> all, beginning;
  for (const PartitionStatus& p : s->partitions) {
    all.push_back(p.tp);
    if (p.state == "taking over") beginning.push_back(p.tp);
  }
  const auto ends = ends_of(broker_, all, limit);
  const auto begins = begins_of(broker_, s->group, beginning, limit);
  const auto told = [](const auto& offsets, const TopicPartition& tp, Offset otherwise) {
    const auto at = offsets.find(tp);
    return at == offsets.end() ? otherwise : at->second;
  };
  for (PartitionStatus& p : s->partitions) {
    p.log_end = std::max(told(ends, p.tp, p.frontier), p.frontier);
    // The engine does not know yet where it begins, and 0 would make the whole topic lag.
    if (p.state == "taking over") p.committed = p.frontier = told(begins, p.tp, p.log_end);
    p.lag = std::max<std::int64_t>(0, p.log_end.v - p.committed.v);
    const auto waiting = static_cast<std::int64_t>(p.parked + p.held);
    p.effective_lag = std::max<std::int64_t>(0, p.log_end.v - p.frontier.v) +
                      std::max<std::int64_t>(0, static_cast<std::int64_t>(p.in_memory) - waiting);
  }
  std::erase_if(s->partitions, [](const PartitionStatus& p) { return p.lane && p.lag == 0; });
  for (const PartitionStatus& p : s->partitions) {
    s->parked += p.parked;
    s->kept += p.kept;
    s->intakes_stopped += p.intake_stopped ? 1U : 0U;
    s->held += p.held;
    s->held_keys += p.held_keys;
    s->dlq_pending += p.dlq_pending;
    s->metadata_bytes_max = std::max(s->metadata_bytes_max, p.metadata_bytes);
    s->effective_lag += p.effective_lag;
    s->pinned = s->pinned || (p.parked > 0 && p.committed < p.frontier);
  }
  return s;
}

std::optional<Timestamp> Worker::last_message_at() const {
  const std::int64_t last = figures_.last_end_ms.load();
  return last == 0 ? std::nullopt : std::optional(timestamp_ms(last));
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
      if (const PartitionEngine* p = pump_->engine().partition(ref); p != nullptr && is_lane(tp)) {
        const PartitionStatus lane = partition_status(*p, tp);
        if (lane.committed == lane.frontier && lane.in_memory == 0) continue;  // nobody asks for what is empty
      }
      const auto e =
          offset ? bartleby::explain(pump_->engine(), ref, *offset, now) : bartleby::explain(pump_->engine(), ref, now);
      if (e) answers.push_back({tp, *e, pump_->pinned(*e)});
    }
    return answers;
  });
}

Result<std::vector<Worker::Answer>> Worker::explain_key(std::string_view key, std::optional<Partition> partition) {
  return ask<std::vector<Answer>>([this, lane = lane_of(key), partition] {
    std::vector<Answer> answers;
    if (!pump_) return answers;
    const Instant now = clock_.now().steady;
    for (const auto& [ref, tp] : pump_->partitions()) {
      if (partition && *partition != tp.partition) continue;
      if (const auto e = bartleby::explain(pump_->engine(), ref, lane, now))
        answers.push_back({tp, *e, pump_->pinned(*e)});
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

Result<void> Worker::apply(const LiveSettings& settings) {
  return ask<void>([this, live = std::make_shared<const LiveSettings>(settings)] {
    live->apply_to(engine_);
    runner_.set_policies(live->cases);
    if (pump_) pump_->tell(SettingsIn{live});
  });
}

}  // namespace bartleby
