// One partition of a worker: from admission to verdict to commit.
//
// Every message belongs to a lane and every lane is fast or slow. A fast lane is wholly in memory and nothing of
// it has failed: it costs a link in a list and a byte in the window. The first failure, letter, emitted record
// or overflow makes a lane slow: from then on it has a place in `order_` by its first unsettled offset, and
// that place is all a cut needs to know. So what is committed is read off two things: the lowest open offset
// of the window and the lowest slow lane.
//
// The hardest idea: the live state runs ahead of what is durable. A message whose end must leave something
// behind (a letter, an emitted record, a journal entry) stays in its lane as `kSettling` or `kDying` until the
// write that carries it is answered, and a cut counts it as finished only if this very write carries it.
//
// No thread, clock or I/O; driven by Engine. Broken invariants assert.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codec/journal.h"
#include "codec/metadata.h"
#include "engine/entry.h"
#include "engine/lane_table.h"
#include "engine/offset_order.h"
#include "engine/shared.h"
#include "engine/slab.h"
#include "engine/timer_wheel.h"
#include "engine/window.h"

namespace bartleby {

constexpr Duration kLastWrite{5000};  // beyond the drain, until a partition is handed over without it
constexpr Duration kReadRetry{100};   // after a read that failed or found no room

// A single message that is being read again.
struct ReadOnItsWay {
  std::uint32_t entry = 0;
  std::uint64_t size = 0;  // counted in Shared::reading; 0: it lives on the reserve
};

// What one write says about this partition, until it is answered.
struct CutInFlight {
  bool claim = false;
  bool release = false;
  Offset low, high;
  JournalCheck check;
  std::vector<std::uint32_t> items;                           // entries whose item the write carries
  std::vector<std::pair<std::uint32_t, std::uint64_t>> puts;  // entry, fingerprint of its new live entry
  std::vector<std::uint32_t> erased;                          // entries whose live entry goes
  std::vector<MessageEntry> done_puts;
  std::vector<Offset> done_erases;
  std::vector<HeadEntry> head_puts;
  std::vector<Lane> head_erases;
  std::map<Offset, std::size_t> obituaries;  // how many of a message are erased
  std::size_t strays = 0;
  bool more = false;      // entries are left that the next write erases
  VerdictCounters extra;  // finished messages that only a `done` entry of this cut covers
};

enum class Phase : std::uint8_t {
  kReadUnstable,
  kFencing,
  kReadStable,
  kReadLog,
  kReadJournal,
  kClaiming,
  kRunning,
  kDraining,
  kReleasing,
  kRefused,
};

// An item chosen for a write.
struct WriteItem {
  std::uint32_t entry;
  bool decision;  // journal the decision instead of publishing the letter
};

class PartitionEngine {
 public:
  PartitionEngine(PartitionRef ref, TopicTraits traits, std::uint32_t dlq, Shared& shared);
  PartitionEngine(const PartitionEngine&) = delete;
  PartitionEngine& operator=(const PartitionEngine&) = delete;

  // ---- takeover (partition_takeover.cc)
  void begin();
  void offsets_read(const OffsetsIn& in);
  void writer_fenced(bool answered);
  void log_read(const LogIn& in);
  void journal_read(const JournalIn& in);

  // ---- admission and the log (partition_admit.cc, partition_sweep.cc)
  void admit(std::span<const RecordRef> records);
  void end_reached(Offset next);
  void out_of_range(const OutOfRangeIn& in);
  void begin_anew_on_shorter(Offset log_end);
  void range_read(const ReadIn& in);

  // ---- attempts (partition_attempts.cc)
  void completed(const Completion& c);
  void due_timers();
  // Starts up to `room` runs; each takes one. Returns how many.
  std::uint32_t dispatch(std::uint32_t room);
  bool dispatch_probe();
  bool run_suspect();
  void order(const ParkedOrder& order);

  // ---- writes (partition_items.cc, partition_cut.cc, partition_cut_journal.cc, partition_written.cc)
  void choose_items(std::uint32_t& records, std::uint64_t& bytes, std::vector<WriteItem>& items);
  // The one that tries whether a destination takes records again; none: nothing waits for it.
  std::optional<WriteItem> choose_probe(DestinationId probe);
  // Adds this partition's part of a write. False: nothing to say, or not now. `into_journal`: it tries the journal, and
  // offsets alone say nothing about that.
  bool build_cut(const std::vector<WriteItem>& items, WriteSerial serial, WritePlan& plan, bool into_journal);
  void written(bool done);
  // Returns true if it took the story.
  bool item_refused(std::uint32_t entry, RecordType type, const RefusedItem& refused, WriteSerial write);
  void retry_blocked();

  // ---- end (partition_stop.cc)
  void drain();
  void begin_release();
  bool may_release() const;
  bool last_write_waits() const;
  void lost();  // gives back what it holds
  bool handing_over() const { return handing_over_; }
  // It was about to begin anew, and handlers of its earlier life are still at work.
  bool waits_for_orphans() const {
    return phase_ == Phase::kRefused && orphans_ > 0 && shared_.now.steady < drain_until_;
  }

  void look_at_retention();
  void give_up_guard();
  void tick();
  Instant next_wakeup() const;
  bool wants_write(Instant& at) const;
  void update_intake();
  void serve_reads();
  void end_pass_at(Offset told);
  void read_ends_early(const ReadIn& in);
  bool short_for_long(std::uint32_t answers);
  // What is not known counts as the topic's largest, but a topic that takes anything must not keep all others out.
  std::uint64_t read_size(const Entry& e) const {
    if (e.size != 0) return e.size;
    const std::uint64_t usual = shared_.config.max_message;
    return std::min(traits_.max_message.value_or(usual), std::max(usual, shared_.config.max_bytes / 8));
  }
  bool may_read() const {  // the first of those that wait, without anything else having to go
    return shared_.reserve_users == 0 || shared_.room_for(read_size(entries_[room_queue_.front()]));
  }
  void evict_held(std::uint64_t wanted);
  void evict_blocked(std::uint64_t wanted);

  PartitionRef ref() const { return ref_; }
  Phase phase() const { return phase_; }
  std::uint32_t runs() const { return runs_ + orphans_; }
  bool waits_for_journal() const { return waits_for_journal_ && shared_.suspended(journal_destination()); }
  // What would be tried there waits for the journal first.
  bool waits_for_journal_and(DestinationId destination) const;
  bool has_cut() const { return cut_.has_value(); }
  const CutInFlight& cut() const { return *cut_; }
  bool ready() const { return !ready_.empty(); }
  std::size_t ready_lanes() const { return ready_.size(); }
  bool has_suspects() const { return !suspects_.empty(); }
  Offset frontier() const { return window_.end(); }
  Offset committed() const { return low_; }
  Offset high() const { return high_; }
  std::size_t parked() const { return timers_.size() + kept_; }
  std::size_t kept() const { return kept_; }                          // for people, because there are no dead letters
  bool at_limit() const { return at_limit_; }                         // its intake is stopped
  std::size_t waiting() const { return parked() + blocked_.size(); }  // for their time, for people or for a topic
  std::size_t held() const;
  std::size_t in_memory() const { return entries_.size(); }
  std::size_t memory_bytes() const;
  std::uint32_t dlq() const { return dlq_; }
  bool has_stuck() const { return stuck_until_ != kNever; }  // a letter that its dlq takes in no form
  const TopicTraits& traits() const { return traits_; }
  DestinationId journal_destination() const { return {DestinationType::kJournal, ref_.index}; }

  friend class Explainer;

  // TimerWheel's view of the facts.
  TimerLink& link(std::uint32_t i) { return facts_[i].timer; }
  Instant due(std::uint32_t i) const { return facts_[i].due_steady; }

 private:
  // lanes
  std::uint32_t open_lane(Lane hash, bool solo);
  void close_if_empty(std::uint32_t lane);
  void make_slow(std::uint32_t lane);
  void place(std::uint32_t lane);
  bool has_entry(const LaneState& l) const;
  bool any_slow() const { return !order_.empty() || !listed_.empty(); }
  std::size_t slow_lanes() const { return order_.size() + listed_.size(); }
  std::uint32_t lowest_slow() const;
  template <class F>
  void each_slow(F&& f) const {
    listed_.walk([&](Offset, std::uint32_t lane) { return f(lane), true; });
    order_.walk([&](Offset, std::uint32_t lane) { return f(lane), true; });
  }
  Offset lane_from(const LaneState& l) const;
  bool spilled(const LaneState& l) const { return l.log_from != kNoOffset; }
  void append(std::uint32_t lane, std::uint32_t entry);
  void unlink(std::uint32_t entry);
  std::uint32_t move_to_solo(std::uint32_t entry);
  void pop_settled(std::uint32_t lane);
  void spill_after(std::uint32_t lane, std::uint32_t last_kept);
  void leave_queue(std::uint32_t lane);
  void set_ready(std::uint32_t lane);
  std::uint32_t new_entry(const RecordRef& r);
  void free_entry(std::uint32_t e);
  void free_bytes(Entry& e);
  void release_bytes(Entry& e);
  void set_bytes(Entry& e, std::uint32_t slot, std::uint32_t size);
  std::uint32_t facts_of(std::uint32_t e);
  void drop_facts(Entry& e);
  void drop_emitted(Facts& f);

  // admission
  bool admit_plain(const RecordRef& r);
  void admit_one(const RecordRef& r);
  bool has_room(const LaneState& l, std::uint32_t size) const;
  // What the journal knows of this record; takes the note.
  std::optional<JournalItem> take_note(Offset offset, Timestamp timestamp);
  void add_obituary(const Obituary& o);
  void add_stray(const JournalEntry& entry) { strays_.push_back({entry, fingerprint(entry)}); }
  void drop_notes(Offset from, Offset to, std::optional<Lane> lane);
  void open_kept(const JournalItem& note);
  void attach_note(std::uint32_t lane, std::uint32_t entry, const JournalItem& note);

  // attempts
  void advance(std::uint32_t lane);
  std::uint32_t take_lane(std::deque<std::uint32_t>& queue);
  void run(std::uint32_t lane, bool alone, bool probe);
  std::uint32_t finish_plainly(std::uint32_t lane, std::uint32_t n, std::uint32_t& i);
  void finish(std::uint32_t e, Fate fate);
  void failed(std::uint32_t e, const Ending& o);
  void wait_for(std::uint32_t e, Duration wait);
  void die(std::uint32_t e, Reason reason);
  void settle(std::uint32_t e);
  void park(std::uint32_t e);
  void parked_durably(std::uint32_t e);
  void add_pending(std::uint32_t e);
  void doom(std::uint32_t e, Reason reason);
  bool retention_between(const Entry& e, Timestamp time, Offset offset, std::int64_t tenths) const;
  bool size_between(const Entry& e, Offset offset, std::int64_t tenths) const;
  bool half_over(const Entry& e) const;
  bool expiring(const Entry& e) const;
  void fetch(std::uint32_t e);
  void message_read(std::uint32_t e, const ReadIn& in);
  void read_letter_again(std::uint32_t e);
  bool suspicious(const Entry& e) const;
  bool must_run_alone(const Entry& e) const;
  std::uint32_t deaths(const Entry& e) const;
  bool died_too_often(const Entry& e) const;
  std::uint32_t fewest_crashes() const;  // of all cases
  // Its bytes are in the log only, and there they are.
  bool unread(const Entry& e) const { return e.slot == kNone && !(e.facts != kNone && facts_[e.facts].lost); }
  void count_plain(const Entry& e, Fate fate);

  // sweep
  void start_pass();
  void end_pass();
  void leave_pass(std::uint32_t lane, Offset stopped_at, bool again);
  void sweep_one(const RecordRef& r);
  void lost_up_to(Offset log_start, Offset first);

  // cuts
  struct HeadInCut {
    Offset from;
    std::uint32_t lane;
    bool in_journal;
  };
  DestinationId destination_of(const Entry& e) const;
  bool suspended_for(const Entry& e, std::optional<DestinationId> probe = {}) const;
  bool also_outcome(const Entry& e) const;
  bool held_by_guard(const Entry& e);
  bool is_stuck(const Entry& e) const {
    return e.facts != kNone && facts_[e.facts].stuck && facts_[e.facts].due_steady > shared_.now.steady;
  }
  bool has_live(const Entry& e) const { return e.facts != kNone && facts_[e.facts].has_live; }  // in the journal
  bool has_bytes(const Entry& e) const { return e.state != State::kDying || !unread(e); }       // that a letter needs
  void unblock();
  std::uint32_t item_size(const Entry& e, bool decision, std::uint64_t& bytes) const;
  MessageEntry entry_of(const Entry& e) const;
  Offset from_in_cut(const LaneState& l, bool& in_journal) const;
  Offset collect_heads(std::vector<HeadInCut>& heads, Offset floor, bool all);
  std::size_t longest_metadata() const;
  void build_claim(WriteSerial serial, WritePlan& plan);
  std::vector<HeadInCut> list_heads(const std::vector<HeadInCut>& heads, Offset floor, CommitMetadata& m) const;
  void journal_surplus(const std::vector<HeadInCut>& surplus, WritePlan& plan, std::uint32_t index);
  void erase_heads(WritePlan& plan, std::uint32_t index);
  void erase_done(WritePlan& plan, std::uint32_t index);
  void say_all_at_the_end(WritePlan& plan, std::uint32_t index);
  void erase_strays(bool rests, WritePlan& plan, std::uint32_t index);
  void plan_message(std::uint32_t e, Offset high, WritePlan& plan, std::uint32_t cut_index);
  bool lane_open_at(std::optional<Lane> lane, Offset offset) const;
  void add_done(const MessageEntry& m, bool replaces_live, std::uint64_t live, WritePlan& plan,
                std::uint32_t cut_index);
  bool journal_rests() const;
  bool without_journal(const std::vector<WriteItem>& items, WriteSerial serial, WritePlan& plan);
  bool replaced_in_cut(const JournalEntry& stray) const;
  bool misleads(const JournalEntry& stray) const;
  std::size_t bring_forward();
  VerdictCounters counters_in_cut(Offset high) const;
  void apply_cut();
  void revert_cut();

  // takeover
  void take_over();
  void keep_what_the_journal_has();
  void sort_entries(bool trusted);
  void open_listed();
  void start_running();
  void ask();
  void ask_later();
  void restart();
  void forget_live();

  PartitionRef ref_;
  TopicTraits traits_;
  std::uint32_t dlq_;
  Shared& shared_;
  Phase phase_ = Phase::kReadStable;
  Instant retry_at_ = kNever;
  Duration retry_pause_{0};
  Instant fence_at_{};

  // takeover
  DecodedMetadata found_;
  std::optional<Offset> found_offset_;
  std::vector<JournalItem> found_entries_;
  Offset log_start_{0}, log_end_{0};
  std::uint64_t log_bytes_ = 0;
  std::uint64_t log_ = 0;     // which one; 0: the broker does not say
  bool another_log_ = false;  // than that of the offset which was found: nothing is committed of this one
  Instant next_log_look_{};
  std::optional<Timestamp> last_read_;  // of the record that was admitted last
  bool half_over_ = false;              // from what waits to there, at the last look
  Offset lost_from_ = kNoOffset;        // from here on, below the next, messages were said to be gone
  Offset lost_below_{0};
  bool trusted_ = false;  // metadata and journal agree
  std::map<Lane, Offset> heads_found_;
  std::set<Offset> solos_found_;
  std::vector<JournalItem> heads_now_;
  std::vector<std::uint32_t> opened_;

  // durable
  Offset low_{0}, high_{0};
  JournalCheck check_;
  std::uint32_t unclean_ = 0;
  VerdictCounters base_;  // verdicts below the window, and those with entries
  std::map<Offset, MessageEntry> live_done_;
  std::map<Lane, Offset> live_heads_;
  struct Stray {
    JournalEntry entry;
    std::uint64_t mark;  // its fingerprint as it was written
  };
  std::vector<Stray> strays_;       // in the journal, belong to nothing
  bool waits_for_journal_ = false;  // while it takes nothing, nothing is committed: the last cut itself needed it
  bool emptied_ = false;            // people have emptied the metadata, and what they undid is still in the journal

  // live
  Slab<Entry> entries_;
  Slab<Facts> facts_;
  Slab<LaneState> lanes_;
  LaneTable<LaneState> table_;
  OffsetOrder order_;   // slow lanes by where they begin
  OffsetOrder listed_;  // those whose first message has an entry in the journal: a cut need not look at them
  Slab<Emitted> emitted_;
  Window window_;
  TimerWheel<PartitionEngine> timers_;
  std::deque<std::uint32_t> ready_;
  std::deque<std::uint32_t> suspects_;
  std::deque<std::uint32_t> pending_;
  std::vector<std::uint32_t> blocked_;           // items whose destination is suspended, or that are stuck
  Instant stuck_until_ = kNever;                 // of the first that is
  std::deque<std::uint32_t> room_queue_;         // entries whose bytes must be read again
  std::map<std::uint32_t, ReadOnItsWay> reads_;  // by serial
  Instant fetch_retry_at_{};
  Instant evict_again_{};                // there was too little to evict: not before this is it looked for again
  std::set<std::uint32_t> wanting_;      // lanes whose messages lie in the log and have room
  std::map<Offset, JournalItem> notes_;  // entries whose message has not come by yet
  std::set<Offset> self_offsets_;        // messages that left their lane before this takeover
  std::map<Offset, std::vector<Obituary>> obituaries_;
  std::vector<std::uint32_t> due_;  // lanes; kept for its memory
  std::size_t kept_ = 0;
  std::uint32_t runs_ = 0;     // Run commands without their completion
  std::uint32_t orphans_ = 0;  // of these, those of an earlier life
  std::uint32_t serial_ = 0;
  bool unblock_ = false;
  bool intake_open_ = false;
  bool intake_known_ = false;
  bool at_limit_ = false;

  // sweep
  struct After {
    std::vector<RecordRef> records;  // admitted beyond the end of the pass
    Offset overflow = kNoOffset;
    std::uint32_t bytes = 0;
  };
  bool sweeping_ = false;
  std::uint32_t sweep_serial_ = 0;
  Offset pass_end_{0};
  std::vector<std::uint32_t> pass_lanes_;
  std::map<std::uint32_t, After> after_;
  Instant sweep_retry_at_{};

  // writes
  std::optional<CutInFlight> cut_;
  bool dirty_ = false;
  Instant dirty_since_ = kNever;
  Instant items_since_ = kNever;

  // stop
  Instant drain_until_ = kNever;
  Instant short_since_ = kNever;  // the log is said to end before what is known of it
  Instant short_last_ = kNever;
  std::uint32_t short_answers_ = 0;
  bool lacks_room_ = false;  // a message that the last sweep brought found no memory
  bool pass_lacked_ = false;
  bool anew_ = false;  // it begins again when the write in flight is over
  bool handing_over_ = false;
};

}  // namespace bartleby
