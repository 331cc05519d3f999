// The numbers of the domain, each a type of its own, so that one cannot be passed for another.
// Arithmetic is written out with `.v`.
#pragma once

#include <bartleby/types.h>

#include <cstdint>

namespace bartleby {

// One assignment of a partition to a member. Grows with every assignment this member ever got; a reply
// that carries an older epoch belongs to a life that is over and is ignored.
using Epoch = Strong<struct EpochTag, std::uint32_t>;

// 32-bit hash of a message key (codec/lane.h). Messages of one lane run one at a time, in offset order.
using Lane = Strong<struct LaneTag, std::uint32_t>;

// Number of a write of one member; names the write whose reply was lost.
using WriteSerial = Strong<struct WriteSerialTag, std::uint64_t>;

// A partition as one member knows it: a small index, reused, made unique by the epoch.
struct PartitionRef {
  std::uint32_t index = 0;
  Epoch epoch;

  constexpr auto operator<=>(const PartitionRef&) const = default;
};

constexpr Offset next(Offset o) { return Offset(o.v + 1); }

}  // namespace bartleby
