// The one write: when it begins, what it carries, and what its answer means.
//
// At most one is in flight, and while the outcome of one is unknown there is no other: it is resolved by the broker
// (which shuts out a late request) and the metadata then says whether our serial took effect. A record that is
// refused fails alone; its destination is left alone for a while and then tried with one item in a write of
// its own.
#include <algorithm>

#include "engine/engine.h"
#include "engine/mutants.h"

namespace bartleby {
namespace {

constexpr Duration kWriteRetry{20};
constexpr Duration kWriteRetryMax{1000};
constexpr std::size_t kLeastMetadata = 78;  // beside a writer's name: counts and a few heads
constexpr std::uint32_t kFailing = 3;       // writes in a row: one or two are a rebalance, or bad luck

}  // namespace

// What would run now could not be written down: each success would be repeated after a crash, and nothing bounds them
// but memory. Somebody must want to write, or nobody would ever find out that it works again.
bool Engine::writes_fail() const {
  if (failed_writes_ < kFailing) return false;
  return inflight_ || std::ranges::any_of(partitions_, [](const auto& p) {
           Instant at = kNever;
           return p.second->wants_write(at);
         });
}

void Engine::maybe_write() {
  const Instant now = shared_.now.steady;
  if (inflight_) {
    if (inflight_->unknown && now >= inflight_->resolve_at) {
      inflight_->resolve_at = kNever;
      shared_.out->others.push_back(ResolveWrite{inflight_->serial});
    }
    return;
  }
  if (now < write_not_before_) return;
  for (auto& [id, d] : shared_.destinations) {
    if (!d.suspended || d.probing || now < d.suspended_until) continue;
    d.probing = true;
    if (build_write(id)) return;
    if (std::ranges::any_of(partitions_, [&](const auto& p) { return p.second->waits_for_journal_and(id); })) {
      d.probing = false;  // it was not tried
      d.suspended_until = now + kWriteRetryMax;
      continue;
    }
    // Nothing waits for it any more: it is as good as new.
    shared_.works(id);
    for (auto& [index, p] : partitions_) p->retry_blocked();
    break;
  }
  const bool due = std::ranges::any_of(partitions_, [&](const auto& p) {
    Instant at = kNever;
    return p.second->wants_write(at) && at <= now;
  });
  // Everything that wants to be written waits for a destination: look again a little later.
  if (due && !build_write(std::nullopt)) write_not_before_ = now + kWriteRetry;
}

bool Engine::build_write(std::optional<DestinationId> probe) {
  WritePlan plan;
  plan.serial = WriteSerial(++serial_);
  InFlight flight;
  flight.serial = plan.serial;
  flight.probe = probe;
  std::uint32_t records = 0;
  std::uint64_t bytes = 0;
  const auto n = static_cast<std::uint32_t>(partitions_.size());
  if (n == 0) return false;
  auto at = partitions_.begin();
  std::advance(at, turn_ % n);
  for (std::uint32_t k = 0; k < n; ++k) {
    PartitionEngine& p = *at->second;
    if (++at == partitions_.end()) at = partitions_.begin();
    if (probe && p.phase() == Phase::kReleasing) continue;  // its last write carries everything
    std::vector<WriteItem> items;
    const bool own_journal = probe && *probe == p.journal_destination();
    if (!probe)
      p.choose_items(records, bytes, items);
    else if (const auto item = p.choose_probe(*probe))
      items.push_back(*item);
    else if (!own_journal)  // heads and ends of lanes are in the journal too
      continue;
    if (p.build_cut(items, plan.serial, plan, own_journal)) flight.refs.push_back(p.ref());
    if (probe && !flight.refs.empty()) break;
  }
  if (flight.refs.empty()) return false;
  flight.records = plan.records;
  inflight_ = std::move(flight);
  ++shared_.counters.writes;
  shared_.out->others.push_back(std::move(plan));
  return true;
}

void Engine::take(const WriteIn& in) {
  if (!inflight_ || inflight_->serial != in.serial || inflight_->unknown) {
    ++shared_.counters.stale_replies;
    return;
  }
  switch (in.result) {
    case WriteResult::kDone:
      finish_write(true);
      return;
    case WriteResult::kUnknown:
      if (mutant(Mutant::kUnknownTakenForDone)) {
        finish_write(true);
        return;
      }
      if (mutant(Mutant::kUnknownTakenForNotDone)) {
        finish_write(false);
        return;
      }
      inflight_->unknown = shared_.in_doubt = true;
      inflight_->resolve_at = shared_.now.steady;
      return;
    case WriteResult::kNotDone:
      finish_write(false);
      return;
    case WriteResult::kRefused:
      break;
  }
  if (mutant(Mutant::kRefusedTakenForDone)) {
    finish_write(true);
    return;
  }
  if (in.refused.empty()) return metadata_refused();
  const std::vector<PlannedRecord> records = std::move(inflight_->records);
  const std::vector<PartitionRef> refs = inflight_->refs;
  // Who has begun anew meanwhile has other messages under the same numbers.
  std::vector<bool> knows;
  for (const PartitionRef ref : refs) knows.push_back(find(ref) != nullptr && find(ref)->has_cut());
  finish_write(false);
  failed_writes_ = 0;                      // it answers
  write_not_before_ = shared_.now.steady;  // the rest goes at once
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const RefusedItem& refused : in.refused) {
    BARTLEBY_ASSERT(refused.index < records.size());
    const PlannedRecord& r = records[refused.index];
    const std::pair<std::uint32_t, std::uint32_t> who{r.partition, r.source};
    PartitionEngine* p = find(refs[r.partition]);
    bool took_story = false;
    if (p != nullptr && knows[r.partition] &&
        std::ranges::find(seen, who) == seen.end()) {  // one refusal per message is enough
      seen.push_back(who);
      took_story = p->item_refused(r.source, r.type, refused, in.serial);
    }
    if (!took_story) shared_.free_story(refused.story);
  }
}

// No record was at fault: the broker takes no commits with metadata as long as ours. What does not fit into shorter
// metadata goes into the journal.
void Engine::metadata_refused() {
  std::size_t& limit = shared_.config.metadata_limit;
  shared_.alarm(AlarmType::kMetadataRefused, inflight_->refs.front(), Offset(0), limit);
  limit = std::max(limit / 2, std::min(limit, kLeastMetadata + shared_.config.writer_room));
  finish_write(false);
}

void Engine::take(const ResolvedIn& in) {
  if (!inflight_ || inflight_->serial != in.serial || !inflight_->unknown) {
    ++shared_.counters.stale_replies;
    return;
  }
  if (!in.answered) {
    ++failed_writes_;
    inflight_->resolve_at = shared_.now.steady + Duration(100);
    return;
  }
  // Whoever still owns a partition of the write reads there what became of it; the others do not care.
  std::optional<bool> done;
  for (const ResolvedPartition& r : in.partitions) {
    const PartitionEngine* p = find(r.ref);
    if (p == nullptr || !r.offset) continue;
    const DecodedMetadata m = decode_metadata(r.metadata, *r.offset);
    // Serials are numbers of one writer. A released partition names nobody, so its serial may be anybody's, unless
    // the release was ours.
    const bool released = p->has_cut() && p->cut().release;
    const std::string_view writer = released ? std::string_view() : std::string_view(shared_.config.writer);
    const bool ours =
        m.origin == MetadataOrigin::kOurs && m.metadata.serial == in.serial && m.metadata.writer == writer;
    done = done.value_or(false) || ours;
  }
  ++(done.value_or(false) ? shared_.counters.resolved_done : shared_.counters.resolved_not_done);
  finish_write(done.value_or(false));
}

void Engine::finish_write(bool done) {
  const InFlight flight = std::move(*inflight_);
  inflight_.reset();
  shared_.in_doubt = false;
  if (done) {
    failed_writes_ = 0;
    write_pause_ = Duration(0);
    write_not_before_ = shared_.now.steady;
  } else {
    ++failed_writes_;
    write_pause_ = std::clamp(write_pause_ * 2, kWriteRetry, kWriteRetryMax);
    write_not_before_ = shared_.now.steady + write_pause_;
  }
  if (flight.probe) {
    if (done) {
      shared_.works(*flight.probe);
      for (auto& [index, p] : partitions_) p->retry_blocked();
    } else if (const auto at = shared_.destinations.find(*flight.probe); at != shared_.destinations.end()) {
      at->second.probing = false;
    }
  }
  for (const PartitionRef ref : flight.refs) {
    PartitionEngine* p = find(ref);
    if (p == nullptr) continue;
    const bool release = p->has_cut() && p->cut().release;
    p->written(done);
    if (!done || !release) continue;
    remove(ref);
    shared_.out->others.push_back(ReleasePartition{ref});
  }
}

}  // namespace bartleby
