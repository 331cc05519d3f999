#include "tests/sim/checker.h"

#include <algorithm>

#include "codec/lane.h"
#include "codec/replay_header.h"

namespace bartleby::sim {

std::string Checker::name(const TopicPartition& tp, Offset offset) const {
  return std::to_string(tp.partition.v) + ":" + std::to_string(offset.v);
}

void Checker::fail(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

Story* Checker::find(const TopicPartition& tp, Offset offset) {
  auto& stories = watched_[tp].stories;
  const auto at = stories.find(offset);
  return at == stories.end() ? nullptr : &at->second;
}

void Checker::produced(const TopicPartition& tp, Story story) {
  auto& stories = watched_[tp].stories;
  if (story.key) {
    story.lane = lane_of(*story.key);
    for (const auto& [offset, s] : stories)
      if (s.key && s.key != story.key && s.lane == story.lane && !s.resolved()) {
        coverage_.saw(Seen::kCollision);
        break;
      }
  }
  stories[story.offset] = std::move(story);
}

bool Checker::all_resolved() const {
  return std::ranges::all_of(watched_, [](const auto& w) {
    return std::ranges::all_of(w.second.stories, [](const auto& s) { return s.second.resolved(); });
  });
}

void Checker::process_died(const TopicPartition& tp, Offset offset, bool counts) {
  if (Story* s = find(tp, offset); s != nullptr && counts) ++s->deaths;
}

// ---- what becomes durable ------------------------------------------------------------------------------

void Checker::produced_outside(const Record& record, Now now) {
  const TopicPartition tp{"src", *record.partition};
  auto entry = decode_journal(*record.key, *record.value);
  if (!entry) return fail("an obituary that cannot be read");
  if (const auto* o = std::get_if<Obituary>(&entry->entry))
    if (Story* s = find(tp, o->offset); s != nullptr && s->timestamp == o->timestamp && !s->obituary_at)
      s->obituary_at = now.steady;
  watched_[tp].journal.insert_or_assign(*record.key, std::move(*entry));
}

void Checker::journal_now(const TopicPartition& tp, const std::vector<LogRecord>& records) {
  Watched& w = watched_[tp];
  w.excused = true;
  w.high.reset();
  w.journal.clear();
  for (const LogRecord& r : records) {
    if (!r.value) {
      w.journal.erase(*r.key);
      continue;
    }
    auto entry = decode_journal(*r.key, *r.value);
    if (!entry) return fail("a journal entry that cannot be read: " + *r.key);
    w.journal.insert_or_assign(*r.key, std::move(*entry));
  }
}

void Checker::committed(const std::string& writer, const Write& write, const Sent& sent, Now now) {
  take_letters(write, now);
  for (const Record& r : write.records) {
    if (r.topic == "out") {
      const auto id = static_cast<std::uint32_t>(std::stoul(*r.value));
      for (auto& [tp, w] : watched_)
        for (auto& [offset, s] : w.stories)
          if (s.id == id) {
            ++s.emitted;
            coverage_.saw(Seen::kEmitted);
            if (s.emitted > 1 && !w.excused) fail("emitted twice: " + name(tp, offset));
          }
    }
    if (r.topic == kOutcomesTopic) take_outcome(r);
    if (r.topic != "src.parked.g") continue;
    Watched& w = watched_[{"src", *r.partition}];
    if (!r.value) {
      const auto old = w.journal.find(*r.key);
      if (old != w.journal.end()) {
        if (const auto* m = std::get_if<MessageEntry>(&old->second.entry); m != nullptr && m->done)
          coverage_.saw(Seen::kDoneErased);
        w.journal.erase(old);
      }
      continue;
    }
    auto entry = decode_journal(*r.key, *r.value);
    if (!entry) {
      fail("a journal entry that cannot be read: " + *r.key + " " + entry.error().message);
      continue;
    }
    if (std::holds_alternative<HeadEntry>(entry->entry)) coverage_.saw(Seen::kHeadEntry);
    if (const auto* m = std::get_if<MessageEntry>(&entry->entry)) {
      Story* s = find({"src", *r.partition}, m->offset);
      if (s == nullptr)
        fail("an entry for no message: " + *r.key);
      else if (!m->done && !(s->emits && options_.has(Fault::kEmitDenied))) {
        if (m->attempts > s->failures && !w.excused)
          fail("more attempts journalled than failed: " + name({"src", *r.partition}, m->offset));
        if (m->attempts > 0 && !s->had(entry->story.error) && !w.excused && !m->dead)
          fail("another error's story: " + name({"src", *r.partition}, m->offset));
      }
      if (m->done) coverage_.saw(Seen::kDoneEntry);
      if (m->self) coverage_.saw(Seen::kSelfEntry);
      if (m->dead) coverage_.saw(Seen::kDecision);
    }
    w.journal.insert_or_assign(*r.key, std::move(*entry));
  }
  for (std::size_t i = 0; i < write.offsets.size(); ++i) {
    const OffsetToCommit& o = write.offsets[i];
    check_version(sent.tps[i], o.metadata, sent.release);
    check_cut(sent.tps[i], o.offset, as_version_1(o.metadata), writer, o.ref.epoch, sent.seq);
  }
}

void Checker::take_letters(const Write& write, Now now) {
  std::map<std::string, std::vector<LogRecord>> letters;
  for (const Record& r : write.records) {
    if (r.topic != "src.dlq") continue;
    std::string id;
    for (const auto& [header, value] : r.headers)
      if (header == "bartleby-letter") id = value.value_or("");
    letters[id].push_back({Offset(0), now.wall, r.key, r.value, r.headers});
  }
  for (const auto& [id, records] : letters) {
    const auto letter = join_letter(records);
    if (!letter) {
      fail("a letter that cannot be read: " + letter.error().message);
      continue;
    }
    if (records.size() > 1 ||
        std::ranges::any_of(records[0].headers, [](const auto& h) { return h.first == "bartleby-encoding"; }))
      coverage_.saw(Seen::kLetterCompressed);
    coverage_.saw(Seen::kLetter);
    check_letter({letter->facts.topic, letter->facts.partition}, *letter);
  }
}

// After the letters of the same write.
void Checker::take_outcome(const Record& record) {
  const auto told = outcome_from(*record.value);
  if (!told) return fail("an outcome that cannot be read: " + told.error().message);
  coverage_.saw(Seen::kOutcome);
  for (auto& [tp, w] : watched_)
    for (auto& [offset, s] : w.stories) {
      if ("ltr_" + std::to_string(s.id) != told->letter) continue;
      const std::string who = name(tp, offset);
      if (record.key != told->letter || told->replays != 1) fail("an outcome of another life: " + who);
      if (++s.outcomes > 1 && !w.excused) fail("two outcomes of " + who);
      if (told->verdict == Verdict::kDead && !s.dead) fail("told as dead without its letter: " + who);
      if (told->verdict == Verdict::kApplied && !s.applied) fail("told as applied, but it was not: " + who);
      return;
    }
  fail("an outcome of no message: " + told->letter);
}

void Checker::check_letter(const TopicPartition& tp, const Letter& letter) {
  const LetterFacts& f = letter.facts;
  Story* s = find(tp, f.offset);
  const Watched& w = watched_[tp];
  if (s == nullptr) return fail("a letter of no message");
  // A refused emitted record is a failure that no handler saw.
  const bool unsure = w.excused || (s->emits && options_.has(Fault::kEmitDenied));
  const std::string who = name(tp, f.offset);
  if (s->timestamp != f.timestamp) return fail("a letter with another record's time: " + who);
  s->dead = true;
  ++s->letters;
  if (s->letters > 1 && !w.excused) fail("two letters of " + who);
  if (s->skip) fail("a letter of a message that does not match: " + who);
  const bool lost = f.reason == Reason::kLostByRetention;
  if (!lost && (letter.record.value != s->value || letter.record.key != s->key))
    fail("a letter with other bytes: " + who);
  if (!lost && (f.replays != (s->replayed ? 1U : 0U) || (s->replayed && f.lineage != std::to_string(s->id))))
    fail("a letter of another life: " + who);
  if (f.last_failure < f.first_failure) fail("failed last before first: " + who);
  // Other reasons can meet a success that was never durable: a process died of it, or its time ran out.
  const bool by_handler =
      f.reason == Reason::kExhausted || f.reason == Reason::kRejected || f.reason == Reason::kMalformed;
  if (by_handler && s->applied && !options_.has(Fault::kThrottle) && !options_.has(Fault::kOutage) &&
      !options_.has(Fault::kOrders) && !unsure)
    fail("applied and dead: " + who);
  switch (f.reason) {
    case Reason::kExhausted: {
      std::uint32_t least = UINT32_MAX;
      for (const RetryPolicy& p : options_.policies(s->case_id)) least = std::min(least, p.attempts_for(f.kind));
      if (f.attempts > s->failures && !unsure) fail("died of more failures than it had: " + who);
      if (f.attempts < least && !unsure) fail("died before its attempts were used up: " + who);
      if (!unsure && !s->had(f.error)) fail("a letter with another error: " + who);
      break;
    }
    case Reason::kProcessCrash:
      coverage_.saw(Seen::kCrashPoison);
      if (f.kind != Kind::kCrash) fail("died of a crash, but of another kind: " + who);
      if (s->deaths == 0)
        fail("an innocent died of a crash: " + who);
      else {
        std::uint32_t least = UINT32_MAX;
        for (const RetryPolicy& p : options_.policies(s->case_id)) least = std::min(least, p.max_crashes);
        if (s->deaths < least) fail("died of too few crashes: " + who);
      }
      break;
    case Reason::kMalformed:
      if (f.kind != Kind::kMalformed) fail("malformed, but of another kind: " + who);
      break;
    case Reason::kExpiring:
      coverage_.saw(Seen::kExpiring);
      break;
    case Reason::kLostByRetention:
      coverage_.saw(Seen::kLostByRetention);
      if (!s->deleted) fail("called lost, but it is there: " + who);
      break;
    case Reason::kGivenUp:
      coverage_.saw(Seen::kGivenUp);
      break;
    default:
      break;
  }
}

// ---- every commit, as if the worker crashed right after it ---------------------------------------------

// Who cannot read a version must leave the partition alone.
void Checker::check_version(const TopicPartition& tp, const std::string& metadata, Release release) {
  Watched& w = watched_[tp];
  const bool newer = is_version_2(metadata);
  if (w.newer && release == Release::kOld) fail("an older version wrote over newer metadata: " + name(tp, w.low));
  if (newer) coverage_.saw(Seen::kNewerWritten);
  if (w.newer && !newer) coverage_.saw(Seen::kRolledBack);
  if (w.was_newer && release == Release::kOld) coverage_.saw(Seen::kOldAgain);
  w.newer = newer;
  w.was_newer = w.was_newer || newer;
}

void Checker::check_cut(const TopicPartition& tp, Offset low, const std::string& metadata, const std::string& writer,
                        Epoch epoch, std::uint64_t sent_seq) {
  Watched& w = watched_[tp];
  const DecodedMetadata decoded = decode_metadata(metadata, low);
  if (decoded.origin != MetadataOrigin::kOurs) return fail("committed metadata that is not ours");
  const CommitMetadata& m = decoded.metadata;
  if (!m.writer.empty() && m.writer != writer) fail("somebody else's name in the metadata");
  if (low < w.low && !w.excused) fail("the commit fell: " + name(tp, low));
  w.low = low;
  if (w.added && !w.begun && !w.stories.empty()) coverage_.saw(Seen::kAddedBegun);
  w.begun = true;
  if (w.writer != writer && !w.writer.empty()) coverage_.saw(Seen::kUnclean);
  w.writer = m.writer;

  JournalCheck check;
  std::map<Lane, Offset> from;
  std::set<Offset> solo;
  std::map<Offset, const MessageEntry*> entries;
  const auto begins = [&](Lane lane, Offset at) {
    const auto [it, fresh] = from.try_emplace(lane, at);
    if (!fresh) it->second = std::min(it->second, at);
  };
  for (const auto& [key, e] : w.journal)
    if (!std::holds_alternative<Obituary>(e.entry)) {
      ++check.count;
      check.sum += fingerprint(e.entry);
    }
  const bool trusted = m.check && *m.check == check;
  // A claim that had to be shorter than what it found leaves out the heads: everything above the commit comes again.
  if (m.check && m.check->count == UINT64_MAX && options_.has(Fault::kMetadataRefused)) w.excused = true;
  if (m.check && !trusted && m.check != w.last_check && !w.excused)
    fail("a check that no journal had: " + name(tp, low) + " (" + std::to_string(m.check->count) +
         " entries instead of " + std::to_string(check.count) + ")");
  if (!trusted) coverage_.saw(Seen::kUntrusted);
  w.last_check = m.check;
  const Offset high = trusted ? m.high : low;
  if (trusted && w.high && high < *w.high && !w.excused) fail("H fell: " + name(tp, high));
  w.high = trusted ? std::optional(high) : std::nullopt;
  if (high > low) coverage_.saw(Seen::kLowBelowHigh);
  if (!w.stories.empty() && high <= w.stories.rbegin()->first) coverage_.saw(Seen::kHighBelowEnd);

  if (trusted)
    for (const Head& h : m.heads) {
      if (h.lane)
        begins(*h.lane, h.from);
      else
        solo.insert(h.from);
    }
  for (const auto& [key, e] : w.journal) {
    if (const auto* h = std::get_if<HeadEntry>(&e.entry); h != nullptr && trusted) begins(h->lane, h->from);
    if (const auto* me = std::get_if<MessageEntry>(&e.entry)) {
      if (me->offset < low) continue;
      entries[me->offset] = me;
      if (me->done || me->offset >= high) continue;
      if (me->self || !me->lane)
        solo.insert(me->offset);
      else
        begins(*me->lane, me->offset);
    }
  }
  for (auto& [offset, s] : w.stories) {
    const auto entry = entries.find(offset);
    const MessageEntry* me =
        entry != entries.end() && entry->second->timestamp == s.timestamp ? entry->second : nullptr;
    bool comes_again = offset >= high || solo.contains(offset);
    if (!comes_again && s.key) {
      const auto at = from.find(s.lane);
      comes_again = at != from.end() && at->second <= offset;
    }
    if (offset < low || (me != nullptr && me->done && m.check)) comes_again = false;
    if (!comes_again && !s.resolved()) fail("lost by a commit: " + name(tp, offset));
    const bool can = !s.deleted || me != nullptr;  // what the log has no more comes from its entry, or not at all
    if (comes_again && can && !w.excused) {
      if (s.dead && !s.gone) fail("its letter is written, but it comes again: " + name(tp, offset));
      if (s.emitted > 0) fail("it has emitted, but it comes again: " + name(tp, offset));
      if (s.outcomes > 0) fail("its outcome is told, but it comes again: " + name(tp, offset));
      const bool blocked = s.emits && options_.has(Fault::kEmitDenied);
      if (m.writer.empty() && s.applied && !blocked && s.done_by == writer && s.done_in == epoch &&
          s.done_seq < sent_seq)
        fail("a clean stop repeats " + name(tp, offset));
    }
    s.sealed = !comes_again;
    // A failure is written down by one of the next writes, as an entry or as a letter.
    const bool known = s.dead || s.applied || s.sealed ||
                       (me != nullptr && (me->attempts >= s.failed_attempt || me->dead || me->done));
    const bool may_wait = options_.has(Fault::kTinyWrites) || options_.has(Fault::kJournalDenied) ||
                          options_.has(Fault::kJournalFrozen) || s.emits || w.excused;
    if (s.failed_by == writer && s.failed_in == epoch && s.failed_seq < sent_seq && !known && !may_wait &&
        ++s.passed_over > 3)
      fail("a failure is not written down: " + name(tp, offset));
  }
}

// ---- handlers ------------------------------------------------------------------------------------------

void Checker::started(const Start& start, Now now) {
  Story* s = find(start.tp, start.offset);
  const std::string who = name(start.tp, start.offset);
  if (s == nullptr) return fail("a handler for no message: " + who);
  ++s->starts;
  if (s->starts > 1) coverage_.saw(Seen::kRetried);
  if (start.alone && start.others > 0) fail("a suspect does not run alone: " + who);
  if (start.alone) coverage_.saw(Seen::kSuspectAlone);
  if (start.guard_open && !start.probe) fail("dispatched though the guard is open: " + who);
  if (s->skip) fail("a message that does not match was run: " + who);
  const Watched& w = watched_[start.tp];
  if (w.writer != start.writer) {
    if (start.owner) fail("run by its owner, who has not claimed the partition: " + who);
    coverage_.saw(Seen::kZombieStart);
    return;
  }
  if (w.excused) return;
  if (s->sealed) fail("run again though it was finished: " + who);
  const MessageEntry* entry = nullptr;
  if (const auto at = w.journal.find("m/" + std::to_string(start.offset.v)); at != w.journal.end()) {
    entry = std::get_if<MessageEntry>(&at->second.entry);
    if (entry->timestamp != s->timestamp) entry = nullptr;
  }
  const std::uint32_t expected = 1 + (entry != nullptr ? entry->attempts : 0);
  if (start.attempt != expected)
    fail("attempt " + std::to_string(start.attempt) + " instead of " + std::to_string(expected) + ": " + who);
  std::uint32_t most = 0;
  for (const RetryPolicy& p : options_.policies(s->case_id))
    for (std::size_t k = 0; k < kKinds; ++k) most = std::max(most, p.attempts_for(static_cast<Kind>(k)));
  if (start.attempt > most && !options_.has(Fault::kOrders) && !options_.other)
    fail("attempted more often than its policy allows: " + who);
  if (entry != nullptr && entry->dead && !options_.has(Fault::kOrders))
    fail("run though it was to be a letter: " + who);
  if (entry != nullptr && entry->due > now.wall && !options_.has(Fault::kClockJump) && !options_.has(Fault::kOrders))
    fail("run before it was due: " + who);
  // What was handed out before the death became known cannot be called back, and a takeover may read for long.
  const auto delays = {Fault::kFreeze, Fault::kJournalFrozen, Fault::kLatency};
  const bool slow = std::ranges::any_of(delays, [&](Fault fault) { return options_.has(fault); });
  const Duration known_after(slow ? 45000 : 15000);
  if (s->obituary_at && !start.alone && options_.engine.in_process && start.handed_out - *s->obituary_at > known_after)
    fail("a suspect ran beside others: " + who);
  if (!s->key) return;
  for (const auto& [offset, earlier] : w.stories) {
    if (offset >= start.offset) break;
    if (earlier.resolved() || !earlier.key || earlier.lane != s->lane) continue;
    const auto at = w.journal.find("m/" + std::to_string(offset.v));
    const auto* e = at == w.journal.end() ? nullptr : std::get_if<MessageEntry>(&at->second.entry);
    if (e != nullptr && e->self) continue;
    return fail("out of order: " + who + " before " + name(start.tp, offset));
  }
}

void Checker::told_of(const TopicPartition& tp, Offset from, Offset to) {
  auto& stories = watched_[tp].stories;
  for (auto at = stories.lower_bound(from); at != stories.end() && at->first < to; ++at)
    at->second.told = at->second.told || at->second.gone;
}

void Checker::began_anew(const TopicPartition& tp) {
  for (auto& [offset, s] : watched_[tp].stories) {
    s.done_by.clear();
    s.failed_by.clear();
  }
}

void Checker::stopped_cleanly() {
  for (const auto& [tp, w] : watched_) {
    if (options_.has(Fault::kJournalLost) || options_.has(Fault::kJournalCut))
      continue;                       // who writes may believe in entries that the broker has lost, or the reverse
    if (!w.writer.empty()) continue;  // its last owner died, and the next one was stopped before it had claimed it
    for (const auto& [key, e] : w.journal) {
      const auto* m = std::get_if<MessageEntry>(&e.entry);
      const auto* h = std::get_if<HeadEntry>(&e.entry);
      const auto* o = std::get_if<Obituary>(&e.entry);
      if ((m != nullptr && m->offset < w.low) || (h != nullptr && h->from < w.low) ||
          (o != nullptr && o->offset < w.low))
        fail("an entry below the commit is left in the journal: " + std::to_string(tp.partition.v) + " " + key);
    }
  }
}

void Checker::finish(bool liveness) {
  if (!violation_.empty()) return;
  for (auto& [tp, w] : watched_) {
    for (auto& [offset, s] : w.stories) {
      if (s.gone && !(s.applied || s.dead || s.skip || s.dropped || s.told || options_.has(Fault::kNoDeadLetters)))
        fail("retention took it and nobody said so: " + name(tp, offset));
      if (!s.resolved() && liveness) fail("never ended: " + name(tp, offset));
      const bool refused = options_.has(Fault::kNoDeadLetters) ||  // another life of it failed and is kept
                           options_.has(Fault::kCompaction) || options_.has(Fault::kRetention);  // superseded, gone
      if (s.resolved() && s.emits && s.applied && !s.dead && s.emitted == 0 && !w.excused && !refused)
        fail("applied without its emitted record: " + name(tp, offset));
      const bool ended = s.dead || (s.applied && !refused);
      if (s.resolved() && s.replayed && ended && s.outcomes == 0 && !w.excused && !s.deleted)
        fail("nobody was told what became of it: " + name(tp, offset));
    }
  }
}

}  // namespace bartleby::sim
