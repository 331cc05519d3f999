// The offsets from the first that matters to the frontier: what became of each, in one byte.
//
// `kOpen` offsets belong to fast lanes (all in memory, nothing failed); everything else is finished or
// looked after by a slow lane. A ring: the base moves up as the front is settled and committed, so its
// size follows the work in hand, not the distance to a parked message.
#pragma once

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
  }

  Offset base() const { return base_; }
  Offset end() const { return end_; }
  std::size_t open() const { return open_; }
  std::size_t size() const { return static_cast<std::size_t>(end_.v - base_.v); }

  // Offsets up to `offset` get `kElsewhere`, `offset` gets the mark.
  void append(Offset offset, Mark mark, std::uint32_t entry) {
    BARTLEBY_ASSERT(offset >= end_);
    reserve(static_cast<std::size_t>(offset.v - base_.v) + 1);
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

  Mark mark(Offset offset) const { return marks_[at(offset)]; }
  std::uint32_t entry(Offset offset) const { return entries_[at(offset)]; }
  bool covers(Offset offset) const { return offset >= base_ && offset < end_; }

  // Lowest offset of a fast lane, or the end.
  Offset first_open() {
    while (first_open_ < end_) {
      const std::size_t i = at(first_open_);
      const std::size_t run = std::min(marks_.size() - i, static_cast<std::size_t>(end_.v - first_open_.v));
      const void* hit = std::memchr(marks_.data() + i, 0, run);
      if (hit != nullptr) {
        first_open_.v += static_cast<const Mark*>(hit) - (marks_.data() + i);
        return first_open_;
      }
      first_open_.v += static_cast<std::int64_t>(run);
    }
    return first_open_;
  }

  Offset next_open(Offset after) const {
    Offset o = next(after);
    while (o < end_) {
      const std::size_t i = at(o);
      const std::size_t run = std::min(marks_.size() - i, static_cast<std::size_t>(end_.v - o.v));
      const void* hit = std::memchr(marks_.data() + i, 0, run);
      if (hit != nullptr) return Offset(o.v + (static_cast<const Mark*>(hit) - (marks_.data() + i)));
      o.v += static_cast<std::int64_t>(run);
    }
    return end_;
  }

  std::uint64_t count(Mark mark, Offset from, Offset to) const {
    std::uint64_t n = 0;
    for (Offset o = std::max(from, base_); o < std::min(to, end_); o.v++) n += marks_[at(o)] == mark ? 1u : 0u;
    return n;
  }

  // Forgets what lies below; only settled offsets may be forgotten.
  void trim(Offset base) {
    base = std::min({base, first_open(), end_});
    if (base > base_) base_ = base;
  }

  std::size_t bytes() const { return marks_.capacity() + entries_.capacity() * sizeof(std::uint32_t); }

 private:
  std::size_t at(Offset o) const { return static_cast<std::size_t>(o.v) & (marks_.size() - 1); }

  void reserve(std::size_t n) {
    if (n <= marks_.size()) return;
    std::size_t size = std::max<std::size_t>(marks_.size(), 64);
    while (size < n) size *= 2;
    std::vector<Mark> marks(size);
    std::vector<std::uint32_t> entries(size, kNone);
    for (Offset o = base_; o < end_; o.v++) {
      const std::size_t to = static_cast<std::size_t>(o.v) & (size - 1);
      marks[to] = marks_[at(o)];
      entries[to] = entries_[at(o)];
    }
    marks_ = std::move(marks);
    entries_ = std::move(entries);
  }

  std::vector<Mark> marks_;
  std::vector<std::uint32_t> entries_;
  Offset base_, first_open_, end_;
  std::size_t open_ = 0;
};

}  // namespace bartleby
