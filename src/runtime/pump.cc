#include "runtime/pump.h"

#include <algorithm>
#include <array>
#include <set>

#include "codec/lane.h"

namespace bartleby {
namespace {

constexpr std::size_t kRecordsPerPoll = 1000;

// What the engine calls the dlq of a topic.
std::uint32_t dlq_number(const SourceTopic& source) { return static_cast<std::uint32_t>(hash64(source.dlq.topic)); }

}  // namespace

Pump::Pump(PumpConfig config, Member& member, OnRun run, OnAlarm alarm, OnGone gone)
    : config_(std::move(config)),
      member_(member),
      run_(std::move(run)),
      alarm_(std::move(alarm)),
      gone_(std::move(gone)),
      engine_([this] {
        EngineConfig c = config_.engine;
        c.writer = member_.transactional_id();
        return c;
      }()),
      recorder_(config_.record ? config_.record(engine_.config()) : nullptr),
      held_([this](std::vector<LogRecord> records) { member_.reuse(std::move(records)); }) {}

Pump::Place* Pump::place(PartitionRef ref) {
  const auto at = places_.find(ref.index);
  return at == places_.end() || at->second.ref != ref ? nullptr : &at->second;
}

const TopicPartition* Pump::where(PartitionRef ref) const {
  const auto at = places_.find(ref.index);
  return at == places_.end() || at->second.ref != ref ? nullptr : &at->second.tp;
}

std::size_t Pump::metadata_bytes(PartitionRef ref) const {
  const auto at = places_.find(ref.index);
  return at == places_.end() || at->second.ref != ref ? 0 : at->second.metadata_bytes;
}

std::vector<std::string> Pump::refusing_dlqs() const {
  std::set<std::string> names;
  for (const auto& [topic, source] : config_.topics)
    if (engine_.rests({DestinationType::kDlq, dlq_number(source)})) names.insert(source.dlq.topic);
  for (const auto& [index, p] : engine_.partitions())
    if (p->has_stuck() && places_.contains(index)) names.insert(places_.at(index).topic->dlq.topic);
  return {names.begin(), names.end()};
}

std::uint32_t Pump::new_story(JournalStory story, bool though_empty) {
  if (story.error == ErrorText{} && !story.record && !though_empty) return kNone;
  const std::uint32_t i = stories_.make();
  stories_[i] = std::move(story);
  return i;
}

std::vector<std::pair<PartitionRef, TopicPartition>> Pump::partitions() const {
  std::vector<std::pair<PartitionRef, TopicPartition>> all;
  for (const auto& [index, p] : places_) all.emplace_back(p.ref, p.tp);
  return all;
}

std::vector<ParkedMessage> Pump::parked(const ParkedFilter& filter, Now now, std::size_t limit) const {
  std::map<TopicPartition, PartitionRef> in_order;
  for (const auto& [index, p] : places_)
    if ((!filter.tp || *filter.tp == p.tp) && (!filter.after || p.tp >= filter.after->first)) in_order[p.tp] = p.ref;
  std::vector<ParkedMessage> found;
  for (const auto& [tp, ref] : in_order) {
    const bool within = filter.after && tp == filter.after->first;
    const std::size_t wanted = within ? SIZE_MAX : limit - found.size();
    for (WaitingMessage& w : waiting_messages(engine_, ref, now, filter.offset, filter.kind, wanted)) {
      if (within && w.offset <= filter.after->second) continue;
      if (found.size() >= limit) return found;
      ParkedMessage m{.tp = tp, .waiting = w, .key = {}, .in_memory = w.slot != kNone, .error = {}};
      if (m.in_memory) m.key = held_[w.slot].key;
      if (w.story != kNone) m.error = stories_[w.story].error;
      found.push_back(std::move(m));
    }
    if (found.size() >= limit) break;
  }
  return found;
}

std::vector<PinnedMessage> Pump::pinned(const Explanation& explanation) const {
  std::vector<PinnedMessage> found;
  for (const Pin& pin : explanation.pinned_by) {
    PinnedMessage m{.pin = pin, .key = {}, .error = {}};
    if (pin.slot != kNone) m.key = held_[pin.slot].key;
    if (pin.story != kNone) m.error = stories_[pin.story].error;
    found.push_back(std::move(m));
  }
  return found;
}

// What the broker has read ahead stays with it while there is enough that could run at once: a message that is taken
// long before its turn has left the processor's cache when it comes, and a busy key would have more than it may keep.
void Pump::poll(Duration wait) {
  std::size_t ready = config_.immediate ? engine_.running() : 0;  // these are through, and what is behind them can run
  for (const auto& [index, p] : engine_.partitions()) ready += p->ready_lanes();
  const std::size_t enough = config_.immediate ? 1 : 2 * std::size_t{engine_.config().concurrency};
  member_.limit_records(ready >= enough ? 0 : kRecordsPerPoll);
  member_.poll(polled_, wait);
}

void Pump::step(Now now) {
  now_ = now;
  for (BrokerEvent& event : polled_) take(event);
  polled_.clear();
  // Written where they stay: made on the stack they would be read back before they are there.
  for (HandledRun& h : handled_) {
    Completion& c = completions_.emplace_back();
    c.token = h.token;
    c.done = h.done;
    if (h.last) {
      Ending o{.fate = h.last->fate, .kind = h.last->kind, .reason = h.last->reason, .after = h.last->after};
      const bool failed = h.last->fate == Fate::kRetry || h.last->fate == Fate::kReject;
      o.story = new_story({bounded(std::move(h.last->error)), {}}, failed);
      if (!h.last->emit.empty()) {
        o.emit = emits_.make();
        o.emit_records = static_cast<std::uint32_t>(h.last->emit.size());
        o.emit_topic = topics_of(h.last->emit);
        for (const Record& r : h.last->emit) o.emit_bytes += payload_size(r);
        emits_[o.emit].records = std::move(h.last->emit);
      }
      c.last = o;
    }
  }
  handled_.clear();
  tail_journals(now);

  commands_.clear();
  const std::uint64_t resolved = engine_.counters().resolved_done;
  if (recorder_) recorder_->before(events_, completions_, now);
  engine_.step(events_, completions_, now, commands_);
  if (recorder_) recorder_->after(commands_);
  // Whether a write in doubt was done only the engine can say.
  if (engine_.counters().resolved_done > resolved) count_write(true);
  if (config_.figures != nullptr) count_runs();
  events_.clear();
  completions_.clear();
  batches_.clear();

  PartitionRef last{};
  const TopicPartition* tp = nullptr;
  for (const Run& r : commands_.runs) {
    messages_.clear();
    if (tp == nullptr || r.token.ref != last) tp = where(last = r.token.ref);
    for (std::uint32_t i = r.first; i < r.first + r.count; ++i) {
      const RunItem& item = commands_.items[i];
      RunMessage& m = messages_.emplace_back();
      m.tp = tp;
      m.record = &held_[item.slot];
      m.held = &held_;
      m.slot = item.slot;
      m.case_id = item.case_id;
    }
    run_(r, messages_);
  }
  for (const Alarm& a : commands_.alarms) alarm_(a, where(a.ref));  // first: a partition that is released has no name
  for (Command& c : commands_.others) carry_out(c);
  // Last: a plan of this very step may have named them.
  for (const std::uint32_t s : commands_.free_slots) held_.free(s);
  for (const std::uint32_t s : commands_.free_stories) {
    stories_[s] = {};
    stories_.free(s);
  }
  for (const std::uint32_t s : commands_.free_emits) {
    emits_[s] = {};
    emits_.free(s);
  }
}

void Pump::count_runs() const {
  for (const Run& r : commands_.runs) {
    if (r.alone) config_.figures->suspects.fetch_add(1, std::memory_order_relaxed);
    if (r.attempt == 1) continue;
    if (const auto due = due_of(engine_, r.token))
      config_.figures->timer_lateness.observe(std::max(Duration(0), now_.steady - *due));
  }
}

void Pump::tell_letters(bool done) {
  if (done) {
    for (const WrittenLetter& letter : told_letters_)
      for (const auto& watcher : config_.watchers) watcher->letter_written(letter.record, letter.facts);
    if (config_.letters_written)
      for (const auto& [topic, n] : write_letters_) config_.letters_written(topic, n);
  }
  told_letters_.clear();
}

void Pump::count_write(bool done) {
  if (!write_began_) return;
  tell_letters(done);
  if (config_.figures != nullptr) {
    config_.figures->commit_time.observe(now_.steady - *write_began_);
    if (done)
      for (const auto& [topic, n] : write_letters_)
        if (const auto at = config_.figures->letters.find(topic); at != config_.figures->letters.end())
          at->second.fetch_add(n, std::memory_order_relaxed);
  }
  write_began_.reset();
  write_letters_.clear();
}

Instant Pump::next_wakeup() const {
  Instant at = engine_.next_wakeup();
  for (const auto& [index, p] : places_) at = std::min(at, p.next_tail);
  return events_.empty() ? at : now_.steady;
}

// ---- from the broker -----------------------------------------------------------------------------------

RecordRef Pump::ref_of(const Place& place, const LogRecord& record, std::uint32_t slot) const {
  const Admission a = config_.admit ? config_.admit(place.tp.topic, record) : Admission{};
  RecordRef r;
  r.offset = record.offset;
  r.timestamp = record.timestamp;
  if (record.key)
    r.lane = lane_of(*record.key);
  else
    r.flags |= kKeyless;
  r.size = static_cast<std::uint32_t>(payload_size(record) + 64);
  r.case_id = a.case_id;
  const bool replayed = replay_of(place, record).has_value();
  if (replayed) r.flags |= kReplayed;
  if (a.skip && !replayed) r.flags |= kSkip;
  if (a.refuse || (a.skip && replayed)) {
    r.flags |= kRefuse;
    // A letter of this worker that is not for it any more: skipped, it would be lost without a word.
    r.reason = a.refuse.value_or(Reason::kMalformed);
  }
  r.slot = slot;
  return r;
}

std::vector<RecordRef> Pump::refs_of(const Place& place, std::vector<LogRecord> records) {
  slots_.clear();
  held_.take(std::move(records), slots_);
  std::vector<RecordRef> refs;
  refs.reserve(slots_.size());
  for (const std::uint32_t slot : slots_) refs.push_back(ref_of(place, held_[slot], slot));
  return refs;
}

void Pump::take(BrokerEvent& event) {
  std::visit(
      [this](auto& in) {
        using T = std::decay_t<decltype(in)>;
        if constexpr (std::is_same_v<T, PartitionAssigned>) {
          const auto topic = config_.topics.find(in.tp.topic);
          BARTLEBY_ASSERT(topic != config_.topics.end());
          places_[in.ref.index] = Place{.ref = in.ref, .tp = in.tp, .topic = &topic->second};
          TopicTraits traits = topic->second.traits;
          traits.first = traits.first && assigned_.insert(in.tp).second;  // the second time there is an offset
          events_.push_back(AssignedIn{in.ref, traits, dlq_number(topic->second)});
        } else if constexpr (std::is_same_v<T, PartitionRevoked>) {
          events_.push_back(RevokedIn{in.ref});
        } else if constexpr (std::is_same_v<T, PartitionLost>) {
          events_.push_back(LostIn{in.ref});
          if (gone_) gone_(in.ref);
          if (place(in.ref) != nullptr) places_.erase(in.ref.index);
        } else if constexpr (std::is_same_v<T, RecordsFetched>) {
          const Place* p = place(in.ref);
          if (p == nullptr) return;
          batches_.push_back(refs_of(*p, std::move(in.records)));
          events_.push_back(RecordsIn{in.ref, batches_.back()});
        } else if constexpr (std::is_same_v<T, EndReached>) {
          events_.push_back(EndIn{in.ref, in.next});
        } else if constexpr (std::is_same_v<T, PositionOutOfRange>) {
          events_.push_back(OutOfRangeIn{in.ref, in.log_start, in.log_end});
        } else if constexpr (std::is_same_v<T, WriteAnswered>) {
          WriteIn out{in.serial, in.result, {}};
          if (in.serial == write_serial_ && in.result != WriteResult::kUnknown)
            count_write(in.result == WriteResult::kDone);
          if (in.serial == write_serial_)
            for (const RefusedRecord& r : in.refused)
              if (r.index < planned_of_.size()) {
                const Planned& planned = planned_of_[r.index];
                out.refused.push_back({planned.plan, r.why, refusal_story(planned.topic, r.why)});
                if (planned.letter)
                  for (const auto& watcher : config_.watchers) watcher->letter_refused(r.why);
              }
          events_.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, WriteResolved>) {
          ResolvedIn out{in.serial, in.answered, {}};
          for (const CommittedOffset& o : in.offsets)
            for (const auto& [ref, tp] : write_partitions_)
              if (tp == o.tp) out.partitions.push_back({ref, o.offset, o.metadata});
          events_.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, OffsetsRead>) {
          const auto at = requests_.find(in.request);
          if (at == requests_.end()) return;
          OffsetsIn out{at->second.ref, at->second.stability, in.answered, {}, {}};
          if (in.answered && !in.offsets.empty()) {
            out.offset = in.offsets.front().offset;
            out.metadata = in.offsets.front().metadata;
          }
          requests_.erase(at);
          events_.push_back(std::move(out));
        } else if constexpr (std::is_same_v<T, WriterFenced>) {
          const auto at = requests_.find(in.request);
          if (at == requests_.end()) return;
          events_.push_back(FencedIn{at->second.ref, in.answered});
          requests_.erase(at);
        } else if constexpr (std::is_same_v<T, RangeRead>) {
          range_read(in);
        } else if constexpr (std::is_same_v<T, LogRangeRead>) {
          log_range_read(in);
        } else if constexpr (std::is_same_v<T, MemberFailed>) {
          failed_ = true;
          failure_ = in.message;
          topic_made_anew_ = in.topic_made_anew;
        }
      },
      event);
}

// The topics of one outcome are one destination: when one of them is silent, outcomes to others go on.
std::uint32_t Pump::topics_of(const std::vector<Record>& emitted) {
  std::set<std::string_view> names;
  for (const Record& r : emitted) names.insert(r.topic);
  std::string all;
  for (const std::string_view name : names) all.append(name).push_back('\0');
  return static_cast<std::uint32_t>(hash64(all));
}

// Only an emitted record's refusal is the handler's business; its topic is known here alone.
std::uint32_t Pump::refusal_story(const std::string& topic, Refusal why) {
  if (topic.empty()) return kNone;
  constexpr std::array<const char*, 4> kTexts = {"too large for", "not allowed to write to", "there is no topic",
                                                 "timed out writing to"};
  return new_story({{"EmitRefused", std::string(kTexts[static_cast<std::size_t>(why)]) + " " + topic, ""}, {}});
}

void Pump::range_read(RangeRead& in) {
  const auto at = requests_.find(in.request);
  if (at == requests_.end()) return;
  Request& request = at->second;
  Place* p = place(request.ref);
  const bool over = in.end || !in.answered;
  if (p == nullptr) {
    if (over) requests_.erase(at);
    return;
  }
  if (request.asked == Asked::kMessage || request.asked == Asked::kSweep) {
    ReadIn out{request.ref, request.serial, in.answered, refs_of(*p, std::move(in.records)),
               in.next,     in.end,         in.log_start};
    events_.push_back(std::move(out));
  } else {
    journal_slice(request, in);
    if (over && request.asked == Asked::kTail) p->tailing = false;
  }
  if (over) requests_.erase(at);
}

// The journal is a compacted topic: of each key the last record counts, and none if that is a tombstone.
void Pump::journal_slice(Request& request, RangeRead& in) {
  const bool tail = request.asked == Asked::kTail;
  Place& p = *place(request.ref);
  for (LogRecord& r : in.records) {
    if (!r.key) continue;
    if (!r.value) {
      request.journal.erase(*r.key);
      continue;
    }
    auto entry = decode_journal(*r.key, *r.value);
    if (!entry) continue;  // not ours: the check will differ if it should have been
    request.journal.insert_or_assign(*r.key, std::move(*entry));
  }
  // A takeover that asks twice goes on from the first answer: what only the second one has is for the tail.
  if (tail && in.answered)
    p.tail_from = std::max(p.tail_from, in.next);
  else if (in.answered && in.end && !std::exchange(p.journal_read, true))
    p.tail_from = in.next;
  if (!in.answered || in.end) {
    JournalIn out{request.ref, in.answered, {}, in.end, tail};
    // A tail that breaks off goes on where it stopped, so what it has seen must be told now.
    if (in.answered || tail)
      for (auto& [key, decoded] : request.journal) {
        if (tail && !std::holds_alternative<Obituary>(decoded.entry)) continue;
        const bool with_record = decoded.story.record.has_value();
        out.items.push_back({decoded.entry, tail ? kNone : new_story(std::move(decoded.story)), !tail && with_record});
      }
    if (!tail || !out.items.empty()) events_.push_back(std::move(out));
    // At once: the read of a long journal takes its time, and somebody may have died meanwhile.
    if (!tail && in.answered) p.next_tail = now_.steady;
  }
}

void Pump::log_range_read(const LogRangeRead& in) {
  const auto at = requests_.find(in.request);
  if (at == requests_.end()) return;
  const Request request = std::move(at->second);
  requests_.erase(at);
  Place* p = place(request.ref);
  if (p == nullptr) return;
  const TopicPartition journal{p->topic->journal, p->tp.partition};
  if (request.asked == Asked::kLog) {
    // Where it ends, not where committed reads end: people and others commit beyond a transaction that is still open.
    events_.push_back(LogIn{request.ref, in.start, in.high_watermark, in.bytes, in.answered, in.log});
  } else if (request.asked == Asked::kJournalEnd) {
    if (!in.answered) {
      events_.push_back(JournalIn{request.ref, false, {}, true});
    } else {
      // To the high watermark as it stands now: what was written before the stable read lies below it.
      member_.read_range(ask({.asked = Asked::kJournal, .ref = request.ref, .journal = {}}), journal, in.start,
                         in.high_watermark, {});
    }
  } else if (request.asked == Asked::kTailEnd) {
    // A journal that ends before what was read of it is another one, or was cut back: all it says may be new.
    if (in.answered && in.high_watermark < p->tail_from) p->tail_from = in.start;
    if (in.answered && in.end > p->tail_from)
      member_.read_range(ask({.asked = Asked::kTail, .ref = request.ref, .journal = {}}), journal, p->tail_from, in.end,
                         {});
    else
      p->tailing = false;
  }
}

void Pump::tail_journals(Now now) {
  for (auto& [index, p] : places_) {
    if (p.next_tail > now.steady) continue;
    p.next_tail = now.steady + config_.tail;
    if (p.tailing) continue;
    p.tailing = true;
    member_.read_log_range(ask({.asked = Asked::kTailEnd, .ref = p.ref, .journal = {}}),
                           {p.topic->journal, p.tp.partition});
  }
}

}  // namespace bartleby
