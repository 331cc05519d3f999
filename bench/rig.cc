#include "bench/rig.h"

#include <algorithm>

#include "base/assert.h"
#include "bench/records.h"

namespace bartleby::bench {

EngineConfig plain_config() {
  EngineConfig config;
  config.writer = "bartleby.bench.host-1.1";
  return config;
}

Rig::Rig(EngineConfig config, std::span<const RecordRef> log, Handler handler)
    : engine_(std::move(config)), log_(log), handler_(std::move(handler)) {
  completions_.reserve(4096);
  set_now(Instant(Duration(1000)));
  events_.push_back(AssignedIn{kRef, TopicTraits{}, 0});
  settle();
  work();
  BARTLEBY_ASSERT(partition().phase() == Phase::kRunning);
}

void Rig::set_now(Instant now) { now_ = {now, timestamp_ms(kWallStart + ms(now))}; }

bool Rig::sleep() {
  const Instant at = engine_.next_wakeup();
  if (at == kNever) return false;
  set_now(std::max(at, now_.steady));
  return true;
}

bool Rig::feed() {
  if (!intake_ || fed_ == log_.size()) return false;
  const std::size_t n = std::min(kBatch, log_.size() - fed_);
  events_.push_back(RecordsIn{kRef, log_.subspan(fed_, n)});
  fed_ += n;
  slots_out_ += n;
  work();
  return true;
}

void Rig::work() {
  do settle();
  while (!completions_.empty() || !events_.empty());
}

// One step: what was answered goes in, what is wanted comes out and is answered for the next step.
void Rig::settle() {
  commands_.clear();
  engine_.step(events_, completions_, now_, commands_);
  events_.clear();
  completions_.clear();
  carry_out();
}

void Rig::carry_out() {
  static const Completion plain{};
  for (const Run& run : commands_.runs) {
    const RunItem* items = &commands_.items[run.first];
    if (handler_)
      if (const std::optional<Ending> outcome = handler_(run, items[0], now_)) {
        completions_.push_back({run.token, 0, outcome});
        continue;
      }
    for (std::uint32_t i = 0; i < run.count; ++i) checksum_ += static_cast<std::uint64_t>(items[i].offset.v);
    handled_ += run.count;
    Completion& c = completions_.emplace_back(plain);
    c.token = run.token;
    c.done = run.count;
  }
  for (const Command& command : commands_.others) answer(command);
  if (sweep_) next_slice();
  slots_out_ -= commands_.free_slots.size();
}

void Rig::answer(const Command& command) {
  const Offset end(static_cast<std::int64_t>(log_.size()));
  if (const auto* write = std::get_if<WritePlan>(&command)) {
    committed_ = write->cuts.front().offset;
    events_.push_back(WriteIn{write->serial, WriteResult::kDone, {}});
  } else if (const auto* read = std::get_if<ReadMessage>(&command)) {
    ++slots_out_;
    events_.push_back(
        ReadIn{kRef, read->serial, true, {log_[static_cast<std::size_t>(read->offset.v)]}, next(read->offset), true});
  } else if (const auto* sweep = std::get_if<Sweep>(&command)) {
    sweep_ = *sweep;
  } else if (std::holds_alternative<CancelSweep>(command)) {
    sweep_.reset();
  } else if (const auto* intake = std::get_if<SetIntake>(&command)) {
    intake_ = intake->open;
  } else if (const auto* offsets = std::get_if<ReadOffsets>(&command)) {
    events_.push_back(OffsetsIn{kRef, offsets->stability, true, Offset(0), {}});
  } else if (std::holds_alternative<ReadLog>(command)) {
    events_.push_back(LogIn{kRef, Offset(0), end});
  } else if (std::holds_alternative<ReadJournal>(command)) {
    events_.push_back(JournalIn{kRef, true, {}, true});
  } else {
    BARTLEBY_ASSERT(std::holds_alternative<StartReading>(command));
  }
}

void Rig::next_slice() {
  ReadIn in{kRef, sweep_->serial, true, {}, sweep_->from, false};
  in.records.reserve(kBatch);
  for (; in.next < sweep_->to && in.records.size() < kBatch; in.next = next(in.next)) {
    const RecordRef& r = log_[static_cast<std::size_t>(in.next.v)];
    if (std::ranges::binary_search(sweep_->lanes, r.lane)) in.records.push_back(r);
  }
  slots_out_ += in.records.size();
  in.end = in.next == sweep_->to;
  sweep_->from = in.next;
  if (in.end) sweep_.reset();
  events_.push_back(std::move(in));
}

}  // namespace bartleby::bench
