// The offsets from the first that matters to the frontier: what became of each, in one byte.
//
// `kOpen` offsets belong to fast lanes (all in memory, nothing failed); everything else is finished or
// looked after by a slow lane. A ring: the base moves up as the front is settled and committed, so its
// size follows the work in hand, not the distance to a parked message. Where many offsets are missing (retention or
// compaction took them) the ring leaves them out: a jump of a thousand million costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "engine/events.h"
#include "model/ids.h"

namespace bartleby {

enum class Mark : std::uint8_t {
  kOpen = 0,  // queued or running in a fast lane
  kHandled,   // plain success, counted once the commit covers it
  kSkipped,
  kElsewhere,  // no record here, or a slow lane, or counted already
};

class Window {
 public:
  void reset(Offset base) {
    base_ = first_open_ = end_ = base;
    open_ = 0;
    shift_ = 0;
    holes_.clear();
  }

  Offset base() const { return base_; }
  Offset end() const { return end_; }
  std::size_t open() const { return open_; }
  std::size_t size() const { return static_cast<std::size_t>(end_.v - base_.v); }

  // Offsets up to `offset` get `kElsewhere`, `offset` gets the mark.
  void append(Offset offset, Mark mark, std::uint32_t entry) {
    BARTLEBY_ASSERT(offset >= end_);
    if (offset.v - end_.v >= kHole) leave_out(offset);
    reserve(static_cast<std::size_t>(place(offset) - place(base_)) + 1);
    for (Offset o = end_; o < offset; o.v++) marks_[at(o)] = Mark::kElsewhere;
    marks_[at(offset)] = mark;
    entries_[at(offset)] = entry;
    end_ = next(offset);
    if (mark == Mark::kOpen) ++open_;
  }

  // Nothing exists up to `end`.
  void skip_to(Offset end) {
    if (end <= end_) return;
    append(Offset(end.v - 1), Mark::kElsewhere, kNone);
  }

  void set(Offset offset, Mark mark) {
    if (offset < base_) return;
    BARTLEBY_ASSERT(offset < end_);
    BARTLEBY_ASSERT(mark != Mark::kOpen);  // what is settled stays so
    Mark& m = marks_[at(offset)];
    if (m == Mark::kOpen) --open_;
    m = mark;
  }

  // Of an offset that was appended.
  Mark mark(Offset offset) const { return marks_[at(offset)]; }
  std::uint32_t entry(Offset offset) const { return entries_[at(offset)]; }
  bool covers(Offset offset) const { return offset >= base_ && offset < end_; }

  // Lowest offset of a fast lane, or the end.
  Offset first_open() { return first_open_ = find_open(first_open_); }
  Offset next_open(Offset after) const { return find_open(next(after)); }

  std::uint64_t count(Mark mark, Offset from, Offset to) const {
    std::uint64_t n = 0;
    to = std::min(to, end_);
    for (Offset o = std::max(from, base_); o < to; o.v++) {
      if (const Hole* hole = hole_at(o); hole != nullptr) {
        o.v = hole->to.v - 1;
        continue;
      }
      n += marks_[at(o)] == mark ? 1u : 0u;
    }
    return n;
  }

  // Forgets what lies below; only settled offsets may be forgotten.
  void trim(Offset base) {
    base = std::min({base, first_open(), end_});
    if (base <= base_) return;
    base_ = base;
    std::size_t passed = 0;
    for (; passed < holes_.size() && holes_[passed].to <= base_; ++passed) shift_ = holes_[passed].shift;
    holes_.erase(holes_.begin(), holes_.begin() + static_cast<std::ptrdiff_t>(passed));
  }

  std::size_t bytes() const {
    return marks_.capacity() + entries_.capacity() * sizeof(std::uint32_t) + holes_.capacity() * sizeof(Hole);
  }

 private:
  static constexpr std::int64_t kHole = 4096;

  // Offsets without a place in the ring; those behind it lie `shift` lower than their number.
  struct Hole {
    Offset from, to;
    std::int64_t shift;
  };

  void leave_out(Offset to) {
    const std::int64_t before = holes_.empty() ? shift_ : holes_.back().shift;
    if (!holes_.empty() && holes_.back().to == end_) {
      holes_.back().to = to;
      holes_.back().shift = before + (to.v - end_.v);
    } else {
      holes_.push_back({end_, to, before + (to.v - end_.v)});
    }
    end_ = to;
  }

  // The first hole that ends above `o`, or none.
  const Hole* hole_from(Offset o) const {
    const auto found = std::ranges::upper_bound(holes_, o, {}, &Hole::to);
    return found == holes_.end() ? nullptr : &*found;
  }
  const Hole* hole_at(Offset o) const {
    if (holes_.empty()) return nullptr;
    const Hole* hole = hole_from(o);
    return hole != nullptr && hole->from <= o ? hole : nullptr;
  }

  // Where an offset lies if the ring had no end; in a hole, where the next one after it lies.
  std::int64_t place(Offset o) const {
    if (holes_.empty()) return o.v - shift_;
    const Hole* hole = hole_from(o);
    if (hole == nullptr) return o.v - holes_.back().shift;
    if (hole->from <= o) return hole->to.v - hole->shift;
    return o.v - (hole == holes_.data() ? shift_ : (hole - 1)->shift);
  }
  std::size_t at(Offset o) const { return static_cast<std::size_t>(place(o)) & (marks_.size() - 1); }

  // The first open one from `o` on, or the end.
  Offset find_open(Offset o) const {
    while (o < end_) {
      Offset until = end_;
      if (!holes_.empty()) {
        if (const Hole* hole = hole_from(o); hole != nullptr) {
          if (hole->from <= o) {
            o = hole->to;
            continue;
          }
          until = std::min(until, hole->from);
        }
      }
      const std::size_t i = at(o);
      const std::size_t run = std::min(marks_.size() - i, static_cast<std::size_t>(until.v - o.v));
      const void* hit = std::memchr(marks_.data() + i, 0, run);
      if (hit != nullptr) return Offset(o.v + (static_cast<const Mark*>(hit) - (marks_.data() + i)));
      o.v += static_cast<std::int64_t>(run);
    }
    return end_;
  }

  void reserve(std::size_t n) {
    if (n <= marks_.size()) return;
    std::size_t size = std::max<std::size_t>(marks_.size(), 64);
    while (size < n) size *= 2;
    std::vector<Mark> marks(size);
    std::vector<std::uint32_t> entries(size, kNone);
    const std::int64_t last = place(end_);
    for (std::int64_t p = place(base_); p < last; ++p) {
      const std::size_t to = static_cast<std::size_t>(p) & (size - 1);
      const std::size_t from = static_cast<std::size_t>(p) & (marks_.size() - 1);
      marks[to] = marks_[from];
      entries[to] = entries_[from];
    }
    marks_ = std::move(marks);
    entries_ = std::move(entries);
  }

  std::vector<Mark> marks_;
  std::vector<std::uint32_t> entries_;
  Offset base_, first_open_, end_;
  std::int64_t shift_ = 0;   // of the base
  std::vector<Hole> holes_;  // above the base, in their order
  std::size_t open_ = 0;
};

}  // namespace bartleby
