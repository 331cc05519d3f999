// The engine's commands as requests, and a planned write as records.
#include <algorithm>

#include "codec/lane.h"
#include "runtime/pump.h"

namespace bartleby {

std::uint64_t Pump::ask(Request request) {
  requests_.emplace(++last_request_, std::move(request));
  return last_request_;
}

void Pump::carry_out(Command& command) {
  std::visit(
      [this](auto& c) {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, Stopped>) {
          stopped_ = true;
        } else if constexpr (std::is_same_v<T, WritePlan>) {
          write(c);
        } else if constexpr (std::is_same_v<T, ResolveWrite>) {
          member_.resolve(c.serial);
        } else if constexpr (std::is_same_v<T, ReleasePartition>) {
          if (gone_) gone_(c.ref);
          if (place(c.ref) != nullptr) places_.erase(c.ref.index);
          member_.release(c.ref);
        } else if constexpr (std::is_same_v<T, ForgetRuns>) {
          if (gone_) gone_(c.ref);
        } else if constexpr (std::is_same_v<T, CancelSweep>) {  // also of a partition that is lost: nobody wants it now
          for (auto at = requests_.begin(); at != requests_.end(); ++at)
            if (at->second.asked == Asked::kSweep && at->second.ref == c.ref && at->second.serial == c.serial) {
              member_.cancel_range(at->first);
              requests_.erase(at);
              break;
            }
        } else {
          Place* p = place(c.ref);
          if (p == nullptr) return;
          if constexpr (std::is_same_v<T, ReadOffsets>) {
            member_.read_offsets(ask({.asked = Asked::kOffsets, .ref = c.ref, .stability = c.stability, .journal = {}}),
                                 {p->tp}, c.stability);
          } else if constexpr (std::is_same_v<T, FenceWriter>) {
            member_.fence_writer(ask({.asked = Asked::kFence, .ref = c.ref, .journal = {}}), c.writer);
          } else if constexpr (std::is_same_v<T, ReadLog>) {
            member_.read_log_range(ask({.asked = Asked::kLog, .ref = c.ref, .journal = {}}), p->tp);
          } else if constexpr (std::is_same_v<T, ReadJournal>) {
            member_.read_log_range(ask({.asked = Asked::kJournalEnd, .ref = c.ref, .journal = {}}),
                                   {p->topic->journal, p->tp.partition});
          } else if constexpr (std::is_same_v<T, StartReading>) {
            member_.start(c.ref, c.from);
          } else if constexpr (std::is_same_v<T, SetIntake>) {
            member_.set_intake(c.ref, c.open);
          } else if constexpr (std::is_same_v<T, ReadMessage>) {
            if (c.story != kNone && stories_[c.story].record) {
              std::vector<LogRecord> kept{*stories_[c.story].record};
              events_.push_back(ReadIn{c.ref, c.serial, true, refs_of(*p, std::move(kept)), next(c.offset), true});
              return;
            }
            member_.read_range(ask({.asked = Asked::kMessage, .ref = c.ref, .serial = c.serial, .journal = {}}), p->tp,
                               c.offset, next(c.offset), {});
          } else if constexpr (std::is_same_v<T, Sweep>) {
            auto lanes = std::make_shared<const std::vector<Lane>>(std::move(c.lanes));
            member_.read_range(
                ask({.asked = Asked::kSweep, .ref = c.ref, .serial = c.serial, .journal = {}}), p->tp, c.from, c.to,
                [lanes](const LogRecord& r) { return r.key && std::ranges::binary_search(*lanes, lane_of(*r.key)); });
          }
        }
      },
      command);
}

void Pump::write(WritePlan& plan) {
  Write w;
  w.serial = plan.serial;
  write_serial_ = plan.serial;
  write_partitions_.clear();
  planned_of_.clear();
  write_began_ = now_.steady;
  write_letters_.clear();
  told_letters_.clear();
  for (PlannedCut& cut : plan.cuts) {
    Place* p = place(cut.ref);
    BARTLEBY_ASSERT(p != nullptr);
    p->metadata_bytes = cut.metadata.size();
    write_partitions_.push_back({cut.ref, p->tp});
    w.offsets.push_back({cut.ref, cut.offset, std::move(cut.metadata)});
  }
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlannedRecord& planned = plan.records[i];
    const Place& p = *place(plan.cuts[planned.partition].ref);
    // The log will not have it much longer; from now on it is read from here.
    if (planned.type == RecordType::kJournalPut && planned.slot != kNone && planned.story != kNone)
      stories_[planned.story].record = held_[planned.slot];
    write_record(planned, p, w.records);
    if (planned.type == RecordType::kLetter) ++write_letters_[p.topic->dlq.topic];
    while (planned_of_.size() < w.records.size())
      planned_of_.push_back({static_cast<std::uint32_t>(i),
                             planned.type == RecordType::kEmit ? w.records[planned_of_.size()].topic : "",
                             planned.type == RecordType::kLetter});
  }
  member_.write(std::move(w));
}

std::optional<ReplayMark> Pump::replay_of(const Place& place, const LogRecord& record) const {
  return config_.replay_of ? config_.replay_of(place.tp.topic, record) : std::nullopt;
}

void Pump::write_record(const PlannedRecord& planned, const Place& place, std::vector<Record>& out) {
  const auto story_of = [&]() -> JournalStory {
    return planned.story == kNone ? JournalStory{} : stories_[planned.story];
  };
  const auto record_of = [&](const JournalStory& story) {
    if (planned.slot != kNone) return held_[planned.slot];
    return story.record ? *story.record : LogRecord{};
  };
  const auto facts_of = [&](const LogRecord& record) {
    const auto& m = std::get<MessageEntry>(planned.entry);
    LetterFacts f;
    f.cluster = config_.cluster;
    f.topic = place.tp.topic;
    f.partition = place.tp.partition;
    f.offset = m.offset;
    f.timestamp = m.timestamp;
    f.group = config_.group;
    f.worker = config_.worker;
    f.instance = config_.instance;
    f.reason = planned.letter.reason;
    f.kind = m.kind;
    f.attempts = m.attempts;
    f.first_failure = m.first_failure;
    f.last_failure = m.last_failure;
    if (const auto mark = replay_of(place, record)) {
      f.lineage = mark->lineage;
      f.replays = mark->replays;
    }
    return f;
  };
  switch (planned.type) {
    case RecordType::kJournalPut: {
      JournalStory story = story_of();
      if (planned.slot != kNone) story.record = held_[planned.slot];
      out.push_back({place.topic->journal,
                     place.tp.partition,
                     journal_key(planned.entry),
                     journal_value(planned.entry, story),
                     {}});
      return;
    }
    case RecordType::kJournalErase:
      out.push_back({place.topic->journal, place.tp.partition, journal_key(planned.entry), std::nullopt, {}});
      return;
    case RecordType::kLetter: {
      const JournalStory story = story_of();
      const LogRecord record = record_of(story);
      LetterFacts facts = facts_of(record);
      facts.error = story.error;
      const auto form = static_cast<LetterForm>(planned.letter.form);
      for (Record& r : letter_records(facts, record, form, place.topic->dlq, now_.wall)) out.push_back(std::move(r));
      if (!config_.watchers.empty())
        told_letters_.push_back(
            {planned.slot != kNone ? held_.keep(planned.slot) : std::make_shared<const LogRecord>(record),
             std::move(facts)});
      return;
    }
    case RecordType::kEmit:
      for (const Record& r : emits_[planned.emit].records) out.push_back(r);
      return;
    case RecordType::kOutcome: {
      // Without its bytes nobody can tell which letter it was: retention took them, and the letter says so.
      const auto mark = replay_of(place, record_of(story_of()));
      if (!mark) return;
      const Verdict verdict = planned.fate == Fate::kReject ? Verdict::kDead
                              : planned.fate == Fate::kSkip ? Verdict::kSkipped
                                                            : Verdict::kApplied;
      out.push_back({kOutcomesTopic,
                     std::nullopt,
                     mark->letter,
                     outcome_value({mark->letter, mark->replays, verdict, now_.wall}),
                     {}});
      return;
    }
  }
}

}  // namespace bartleby
