#include "tests/sim/bare_engine.h"

#include <algorithm>

namespace bartleby::sim {

BareEngine::BareEngine(EngineConfig config, BareLog& log, Now now, Handler handler)
    : engine_(std::move(config)), log_(log), now_(now), handler_(std::move(handler)) {
  events_.push_back(AssignedIn{kRef, TopicTraits{}, 0});
}

std::uint32_t BareEngine::story(std::string text) {
  stories_[++last_story_] = std::move(text);
  return last_story_;
}

bool BareEngine::feed(std::size_t batch) {
  if (!intake_ || fed_ >= log_.records.size()) return false;
  const std::size_t n = std::min(batch, log_.records.size() - fed_);
  events_.push_back(RecordsIn{kRef, std::span(log_.records).subspan(fed_, n)});
  fed_ += n;
  slots_out_ += n;
  work();
  return true;
}

void BareEngine::work() {
  do step();
  while (!events_.empty() || !completions_.empty());
}

void BareEngine::pass(Duration time) {
  const Instant end = now_.steady + time;
  const auto move_to = [this](Instant at) {
    now_.wall += at - now_.steady;
    now_.steady = at;
    work();
  };
  for (Instant at = engine_.next_wakeup(); at <= end && at != kNever; at = engine_.next_wakeup())
    move_to(std::max(at, now_.steady));
  move_to(end);
}

void BareEngine::step() {
  commands_.clear();
  engine_.step(events_, completions_, now_, commands_);
  events_.clear();
  completions_.clear();
  for (const Run& run : commands_.runs) {
    Completion c{.token = run.token, .done = 0, .last = {}};
    for (std::uint32_t i = 0; i < run.count && !c.last; ++i) {
      c.last = handler_(run, commands_.items[run.first + i], now_);
      if (!c.last) ++c.done;
    }
    completions_.push_back(c);
  }
  for (Command& command : commands_.others) answer(command);
  if (sweep_) next_slice();
  slots_out_ -= commands_.free_slots.size();
  for (const std::uint32_t s : commands_.free_stories) stories_.erase(s);
}

void BareEngine::answer(Command& command) {
  const Offset end(static_cast<std::int64_t>(log_.records.size()));
  if (const auto* plan = std::get_if<WritePlan>(&command)) {
    write(*plan);
  } else if (const auto* read = std::get_if<ReadMessage>(&command)) {
    ++slots_out_;
    events_.push_back(ReadIn{
        kRef, read->serial, true, {log_.records[static_cast<std::size_t>(read->offset.v)]}, next(read->offset), true});
  } else if (auto* sweep = std::get_if<Sweep>(&command)) {
    sweep_ = std::move(*sweep);
  } else if (std::holds_alternative<CancelSweep>(command)) {
    sweep_.reset();
  } else if (const auto* intake = std::get_if<SetIntake>(&command)) {
    intake_ = intake->open;
  } else if (const auto* start = std::get_if<StartReading>(&command)) {
    fed_ = static_cast<std::size_t>(start->from.v);
  } else if (const auto* offsets = std::get_if<ReadOffsets>(&command)) {
    events_.push_back(OffsetsIn{kRef, offsets->stability, true, log_.offset, log_.metadata});
  } else if (std::holds_alternative<FenceWriter>(command)) {
    events_.push_back(FencedIn{kRef, true});
  } else if (std::holds_alternative<ReadLog>(command)) {
    events_.push_back(LogIn{kRef, Offset(0), end});
  } else if (std::holds_alternative<ReadJournal>(command)) {
    read_journal();
  } else {
    BARTLEBY_UNREACHABLE();
  }
}

void BareEngine::read_journal() {
  JournalIn in{kRef, true, {}, true};
  for (const auto& [key, value] : log_.journal) {
    auto decoded = decode_journal(key, value);
    BARTLEBY_ASSERT(decoded);
    const std::string& text = decoded->story.error.message;
    in.items.push_back({decoded->entry, text.empty() ? kNone : story(text)});
  }
  events_.push_back(std::move(in));
}

void BareEngine::write(const WritePlan& plan) {
  for (const PlannedRecord& r : plan.records) {
    const std::string text = r.story == kNone ? std::string() : stories_.at(r.story);
    if (r.type == RecordType::kJournalPut)
      log_.journal[journal_key(r.entry)] = journal_value(r.entry, {{"Error", text, ""}, {}});
    else if (r.type == RecordType::kJournalErase)
      log_.journal.erase(journal_key(r.entry));
    else if (r.type == RecordType::kLetter && on_letter_)
      on_letter_(r, text);
  }
  log_.offset = plan.cuts.front().offset;
  log_.metadata = plan.cuts.front().metadata;
  events_.push_back(WriteIn{plan.serial, WriteResult::kDone, {}});
}

void BareEngine::next_slice() {
  constexpr std::size_t kSlice = 500;
  ReadIn in{kRef, sweep_->serial, true, {}, sweep_->from, false};
  for (; in.next < sweep_->to && in.records.size() < kSlice; in.next = next(in.next)) {
    const RecordRef& r = log_.records[static_cast<std::size_t>(in.next.v)];
    if (std::ranges::binary_search(sweep_->lanes, r.lane)) in.records.push_back(r);
  }
  slots_out_ += in.records.size();
  in.end = in.next == sweep_->to;
  sweep_->from = in.next;
  if (in.end) sweep_.reset();
  events_.push_back(std::move(in));
}

}  // namespace bartleby::sim
