// Takeover: how the next owner learns what the last one knew.
//
// (1) offsets stable. Where a pending transaction holds them back, (2) offsets unstable, only to learn the last
// writer's id, and (3) fence it; then stable again. (4) where the log begins and ends; (5) the journal; (6) claim,
// before the first handler runs: the metadata as found with our name; (7) start at H with every listed lane open.
// A writer is fenced only when it keeps us waiting: it may be alive and busy with other partitions. What the
// metadata or the journal lack costs repetitions, never a message. What is not answered is asked again.
#include <algorithm>

#include "engine/mutants.h"
#include "engine/partition.h"

namespace bartleby {
namespace {

constexpr std::uint32_t kShortAnswers = 10;  // up to a second apart
constexpr Duration kPatience{300};           // with a pending transaction, before its writer is fenced

}  // namespace

void PartitionEngine::begin() {
  phase_ = Phase::kReadStable;
  retry_pause_ = Duration(0);
  fence_at_ = shared_.now.steady + kPatience;
  short_since_ = kNever;
  ask();
}

void PartitionEngine::ask() {
  retry_at_ = kNever;
  switch (phase_) {
    case Phase::kReadUnstable:
      shared_.out->others.push_back(ReadOffsets{ref_, Stability::kUnstable});
      break;
    case Phase::kFencing:
      shared_.out->others.push_back(FenceWriter{ref_, found_.metadata.writer});
      break;
    case Phase::kReadStable:
      shared_.out->others.push_back(
          ReadOffsets{ref_, mutant(Mutant::kOffsetsReadUnstable) ? Stability::kUnstable : Stability::kStable});
      break;
    case Phase::kReadLog:
      shared_.out->others.push_back(ReadLog{ref_});
      break;
    case Phase::kReadJournal:
      shared_.out->others.push_back(ReadJournal{ref_});
      break;
    default:
      break;
  }
}

void PartitionEngine::ask_later() {
  retry_pause_ = std::clamp(retry_pause_ * 2, Duration(20), Duration(1000));
  retry_at_ = shared_.now.steady + retry_pause_;
}

void PartitionEngine::offsets_read(const OffsetsIn& in) {
  if (phase_ != Phase::kReadUnstable && phase_ != Phase::kReadStable) return;
  if (!in.answered) {
    if (phase_ == Phase::kReadStable && shared_.now.steady >= fence_at_) phase_ = Phase::kReadUnstable;
    ask_later();
    return;
  }
  found_offset_ = in.offset;
  found_ = decode_metadata(in.metadata, in.offset.value_or(Offset(0)));
  if (phase_ == Phase::kReadUnstable) {
    const std::string& writer = found_.metadata.writer;
    const bool foreign_hand =
        found_.origin == MetadataOrigin::kOurs && !writer.empty() && writer != shared_.config.writer;
    phase_ = foreign_hand ? Phase::kFencing : Phase::kReadStable;
    fence_at_ = shared_.now.steady + kPatience;
  } else {
    phase_ = Phase::kReadLog;
  }
  ask();
}

void PartitionEngine::writer_fenced(bool answered) {
  if (phase_ != Phase::kFencing) return;
  // A fence only shortens the wait: what protects is the stable read that follows.
  if (!answered && retry_pause_ < Duration(200)) {
    ask_later();
    return;
  }
  phase_ = Phase::kReadStable;
  ask();
}

void PartitionEngine::log_read(const LogIn& in) {
  if (!in.answered) {
    if (phase_ == Phase::kReadLog) ask_later();  // else it is looked at again by itself
    return;
  }
  log_start_ = in.log_start;
  log_end_ = in.log_end;
  log_bytes_ = in.bytes;
  if (phase_ == Phase::kReadLog) {
    const std::uint64_t known_log = found_.origin == MetadataOrigin::kOurs ? found_.metadata.log : 0;
    log_ = in.log == 0 && !another_log_ ? known_log : in.log;  // who comes next may be told, and compares
    if (known_log != 0 && in.log != 0 && known_log != in.log && !mutant(Mutant::kLogNotCompared)) another_log_ = true;
    // A log that is shorter than what was committed is another one, or whoever answers has fallen behind: all would run
    // again because of one answer, so it is asked for some seconds.
    const Offset known = std::max(found_offset_.value_or(Offset(0)),
                                  found_.origin == MetadataOrigin::kOurs ? found_.metadata.high : Offset(0));
    if (known > in.log_end && !another_log_ && !short_for_long(kShortAnswers)) {
      ask_later();
      return;
    }
    phase_ = Phase::kReadJournal;
    found_entries_.clear();
    ask();
  } else if (phase_ == Phase::kRunning) {
    // What the journal has with its bytes does not need the log.
    const auto look = [this](Offset from, std::uint32_t lane) {
      if (from >= log_start_) return false;
      const std::uint32_t head = lanes_[lane].head;
      const std::uint32_t facts = head == kNone ? kNone : entries_[head].facts;
      if (facts != kNone && facts_[facts].with_record) return true;
      lost_up_to(log_start_, from);
      return false;
    };
    order_.walk(look);
    listed_.walk(look);
  }
}

// A death is told once, however often it is read.
void PartitionEngine::add_obituary(const Obituary& o) {
  auto& known = obituaries_[o.offset];
  if (std::ranges::none_of(known, [&](const Obituary& k) { return k.incarnation == o.incarnation; }))
    known.push_back(o);
}

void PartitionEngine::journal_read(const JournalIn& in) {
  const auto drop_stories = [this](const std::vector<JournalItem>& items) {
    for (const JournalItem& item : items) shared_.free_story(item.story);
  };
  if (in.tail || phase_ == Phase::kRunning) {  // somebody else's death
    drop_stories(in.items);
    for (const JournalItem& item : in.items) {
      const auto* o = std::get_if<Obituary>(&item.entry);
      if (o == nullptr || mutant(Mutant::kObituariesNotTailed)) continue;
      if (o->offset < low_ && phase_ == Phase::kRunning) {  // over before its death was told
        add_stray(*o);
        dirty_ = true;
        continue;
      }
      add_obituary(*o);
    }
    return;
  }
  if (phase_ != Phase::kReadJournal) {  // what was found is kept for the claim; a late answer must not touch it
    ++shared_.counters.stale_replies;
    drop_stories(in.items);
    if (mutant(Mutant::kLateJournalTaken)) {
      drop_stories(found_entries_);
      found_entries_.clear();
    }
    return;
  }
  found_entries_.insert(found_entries_.end(), in.items.begin(), in.items.end());
  if (!in.answered) {
    drop_stories(found_entries_);
    found_entries_.clear();
    ask_later();
    return;
  }
  if (in.end) take_over();
}

void PartitionEngine::take_over() {
  if (found_.origin == MetadataOrigin::kNewer && mutant(Mutant::kNewerMetadataTaken))
    found_.origin = MetadataOrigin::kDamaged;
  if ((found_.origin == MetadataOrigin::kForeign && !shared_.config.adopt) || found_.origin == MetadataOrigin::kNewer) {
    phase_ = Phase::kRefused;
    shared_.alarm(found_.origin == MetadataOrigin::kForeign ? AlarmType::kForeignMetadata : AlarmType::kNewerMetadata,
                  ref_, found_offset_.value_or(Offset(0)));
    return;
  }
  if (found_.origin == MetadataOrigin::kDamaged)
    shared_.alarm(AlarmType::kDamagedMetadata, ref_, found_offset_.value_or(Offset(0)));
  low_ = found_offset_.value_or(mutant(Mutant::kAddedPartitionAtEnd) ? log_end_ : log_start_);
  bool trusted = found_.origin == MetadataOrigin::kOurs;
  const auto believe_nothing = [&](AlarmType why) {
    shared_.alarm(why, ref_, low_, static_cast<std::uint64_t>(log_end_.v));
    low_ = log_start_;
    trusted = false;
    // As where people have emptied it: what is called done may be another record with the same time.
    found_.origin = mutant(Mutant::kDoneOfAnotherLog) ? MetadataOrigin::kDamaged : MetadataOrigin::kEmpty;
    if (why == AlarmType::kOffsetReset) keep_what_the_journal_has();
  };
  if (another_log_ && found_offset_) {  // the offset is an earlier topic's; or the same one was cut, and has grown
    const bool same = trusted && log_ != 0 && found_.metadata.log == log_;
    believe_nothing(same ? AlarmType::kOffsetReset : AlarmType::kTopicMadeAnew);
  } else if (!found_offset_) {
    // A partition that was added, or an offset that was lost: from the log's start, and said where that may repeat.
    if ((log_start_ > Offset(0) && !traits_.first) || !found_entries_.empty())
      shared_.alarm(AlarmType::kOffsetReset, ref_, low_);
    keep_what_the_journal_has();
  } else if (low_ > log_end_ || (trusted && found_.metadata.high > log_end_ && !mutant(Mutant::kCutLogBelieved))) {
    // A log that was cut, or another one that nobody can tell from it: what lies below H now may have come since.
    believe_nothing(AlarmType::kOffsetReset);
  } else if (low_ < log_start_) {
    shared_.alarm(AlarmType::kOffsetReset, ref_, low_, static_cast<std::uint64_t>(log_start_.v));
  }
  base_ = found_.metadata.counters;
  unclean_ = found_.metadata.unclean;
  const std::string& writer = found_.metadata.writer;
  if (found_.origin == MetadataOrigin::kOurs && !writer.empty() && writer != shared_.config.writer) {
    ++unclean_;
    if (unclean_ >= 3) shared_.alarm(AlarmType::kCrashLoop, ref_, low_, unclean_);
  }
  check_ = {};
  for (const JournalItem& item : found_entries_)
    if (!std::holds_alternative<Obituary>(item.entry)) {
      ++check_.count;
      check_.sum += fingerprint(item.entry);
    }
  const bool agrees =
      trusted && found_.metadata.check && (*found_.metadata.check == check_ || mutant(Mutant::kJournalCheckIgnored));
  if (trusted && !agrees && found_.metadata.check) shared_.alarm(AlarmType::kJournalDiffers, ref_, low_, check_.count);
  high_ = agrees ? found_.metadata.high : low_;
  if (mutant(Mutant::kCutLogBelieved)) high_ = std::clamp(high_, low_, std::max(low_, log_end_));
  trusted_ = agrees;
  phase_ = Phase::kClaiming;
  if (mutant(Mutant::kRunsBeforeClaim)) start_running();
}

// It begins at the log's start, and lower still for a message that the log has lost and the journal has with its bytes:
// below the commit its entry would be erased, and there is no other copy.
void PartitionEngine::keep_what_the_journal_has() {
  for (const JournalItem& item : found_entries_) {
    const auto* m = std::get_if<MessageEntry>(&item.entry);
    if (m == nullptr || !item.with_record || !m->self || m->done) continue;
    low_ = std::min(low_, m->offset);
  }
}

// Claimed. What belongs to nothing is erased by the first full write; the rest becomes lanes, parked messages
// and notes.
void PartitionEngine::start_running() {
  phase_ = Phase::kRunning;
  window_.reset(high_);
  sort_entries(trusted_);
  shared_.out->others.push_back(StartReading{ref_, mutant(Mutant::kStartsBehindHigh) ? next(high_) : high_});
  next_log_look_ = shared_.now.steady + Duration(1000);
  dirty_ = true;
  start_pass();
}

void PartitionEngine::sort_entries(bool trusted) {
  const auto begins_lane = [this](const MessageEntry& m) {
    const auto at = heads_found_.find(*m.lane);
    return at == heads_found_.end() || at->second == m.offset;
  };
  // A claim without a check: somebody found the metadata empty and did not live to erase what must go.
  const bool claimed_empty = found_.origin == MetadataOrigin::kOurs && !found_.metadata.check;
  const bool reset_by_people = ((found_.origin == MetadataOrigin::kEmpty && !mutant(Mutant::kResetKeepsDone)) ||
                                (claimed_empty && !mutant(Mutant::kClaimEndsReset)));
  emptied_ = reset_by_people;
  if (mutant(Mutant::kPolicyDecidesSelf)) {
    for (JournalItem& item : found_entries_)
      if (auto* m = std::get_if<MessageEntry>(&item.entry); m != nullptr && m->lane && !m->done)
        m->self = shared_.config.key_policy == KeyPolicy::kBypass;
  }
  if (trusted)
    for (const Head& h : found_.metadata.heads) {
      if (h.lane)
        heads_found_[*h.lane] = h.from;
      else
        solos_found_.insert(h.from);
    }
  for (const JournalItem& item : found_entries_) {
    if (const auto* h = std::get_if<HeadEntry>(&item.entry)) {
      if (trusted) {
        live_heads_[h->lane] = h->from;
        const auto [at, fresh] = heads_found_.try_emplace(h->lane, h->from);
        if (!fresh) at->second = std::min(at->second, h->from);
      } else {
        add_stray(item.entry);
      }
    } else if (const auto* o = std::get_if<Obituary>(&item.entry)) {
      if (o->offset < low_)
        add_stray(item.entry);
      else
        add_obituary(*o);
    }
  }
  // A parked message begins its lane, unless the lane is known to begin earlier.
  for (const JournalItem& item : found_entries_) {
    const auto* m = std::get_if<MessageEntry>(&item.entry);
    if (m == nullptr || m->done || m->self || !m->lane || m->offset < low_ || m->offset >= high_) continue;
    const auto [at, fresh] = heads_found_.try_emplace(*m->lane, m->offset);
    if (!fresh) at->second = std::min(at->second, m->offset);
  }
  Offset first_skipped = kNoOffset;
  std::uint64_t skipped = 0;
  for (JournalItem& item : found_entries_) {
    const auto* m = std::get_if<MessageEntry>(&item.entry);
    if (m == nullptr) continue;
    const bool below = m->offset < low_ || (m->done && reset_by_people);
    if (m->offset < low_ && !m->done) {
      ++skipped;
      ++shared_.counters.stale_entries;
      first_skipped = std::min(first_skipped, m->offset);
    }
    bool covered = false;
    if (m->done && m->offset < high_) {
      const auto at = m->lane ? heads_found_.find(*m->lane) : heads_found_.end();
      covered = at == heads_found_.end() || at->second > m->offset;
    }
    if (below || covered) {
      shared_.free_story(item.story);
      if (!below || !mutant(Mutant::kEntriesBelowLowKept)) add_stray(item.entry);
      continue;
    }
    const bool above = m->offset >= high_ && !mutant(Mutant::kEntriesAboveHighAreHeads);
    const bool alone = m->self || !m->lane;
    if (m->done && m->offset < high_) {
      live_done_[m->offset] = *m;
    } else if (above || m->done || (!alone && !begins_lane(*m))) {
      notes_[m->offset] = item;
    } else {
      heads_now_.push_back(item);
    }
  }
  if (skipped > 0) shared_.alarm(AlarmType::kParkedSkipped, ref_, first_skipped, skipped);
  open_listed();
  found_entries_.clear();
  found_entries_.shrink_to_fit();
}

void PartitionEngine::open_listed() {
  for (const JournalItem& item : heads_now_) {
    const auto& m = std::get<MessageEntry>(item.entry);
    const bool alone = m.self || !m.lane;
    const std::uint32_t lane = open_lane(m.lane.value_or(Lane(0)), alone);
    lanes_[lane].slow = true;
    RecordRef r{.offset = m.offset,
                .timestamp = m.timestamp,
                .lane = m.lane.value_or(Lane(0)),
                .flags = static_cast<std::uint8_t>(m.lane ? 0 : kKeyless)};
    const std::uint32_t e = new_entry(r);
    if (m.timestamp == Timestamp{} && m.attempts == 0) entries_[e].flags |= kUnread;  // as its last owner left it
    append(lane, e);
    attach_note(lane, e, item);
    if (m.self) self_offsets_.insert(m.offset);
    if (!m.lane) solos_found_.erase(m.offset);
    if (!alone) {
      lanes_[lane].log_from = next(m.offset);
      heads_found_.erase(*m.lane);
      if (lanes_[lane].log_from >= high_ || mutant(Mutant::kFollowersForgotten))
        lanes_[lane].log_from = kNoOffset;
      else
        wanting_.insert(lane);
    }
    opened_.push_back(lane);
  }
  for (const auto& [hash, from] : heads_found_) {
    if (from >= high_ || mutant(Mutant::kListedLanesForgotten)) continue;
    const std::uint32_t lane = open_lane(hash, false);
    lanes_[lane].slow = true;
    lanes_[lane].log_from = from;
    place(lane);
    wanting_.insert(lane);
  }
  for (const Offset o : solos_found_) {  // no key and no story: it is read again by its offset
    const std::uint32_t lane = open_lane(Lane(0), true);
    lanes_[lane].slow = true;
    const std::uint32_t e = new_entry({.offset = o, .timestamp = {}, .lane = Lane(0), .flags = kKeyless});
    entries_[e].flags |= kUnread;
    append(lane, e);
    opened_.push_back(lane);
  }
  heads_now_.clear();
  heads_found_.clear();
  solos_found_.clear();
  for (const std::uint32_t lane : std::exchange(opened_, {})) advance(lane);
}

// The log is not the one we knew: drop everything and take over again.
void PartitionEngine::restart() {
  anew_ = cut_.has_value();
  if (runs_ > 0) shared_.out->others.push_back(ForgetRuns{ref_});
  forget_live();
  shared_.guard.probe_gone();  // if it was one of ours, nobody will answer it
  shared_.guard.forget(ref_);
  found_ = {};
  found_offset_.reset();
  phase_ = Phase::kReadStable;
  retry_at_ = kNever;
  if (!anew_) begin();
}

}  // namespace bartleby
