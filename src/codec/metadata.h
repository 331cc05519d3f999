// Commit metadata, version 1: the hints written beside every committed offset.
//
// Text `b1.` + base64 of {writer, serial, unclean, H − L, check, counters, heads, log, checksum}, at most 4096
// characters. They are hints: without them reading starts at the committed offset and costs repetitions,
// never a message. Only this file knows the layout; the engine asks `MetadataBudget` what still fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace bartleby {

constexpr std::size_t kMaxMetadata = 4096;
constexpr std::size_t kMaxWriterId = 600;  // bytes; longer ids are refused when the worker is configured

// An open lane: what it has below `from` is finished, from there on it is not.
struct Head {
  Offset from;
  std::optional<Lane> lane;  // absent: one message alone, named by its offset

  bool operator==(const Head&) const = default;
};

// Count and sum of the fingerprints of the live `m` and `h` entries of a journal.
struct JournalCheck {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;

  bool operator==(const JournalCheck&) const = default;
};

// Verdicts since the group began, as of the commit.
struct VerdictCounters {
  std::uint64_t handled = 0;
  std::uint64_t skipped = 0;
  std::uint64_t dead = 0;

  bool operator==(const VerdictCounters&) const = default;
};

struct CommitMetadata {
  std::string writer;  // transactional id of the last writer; empty = released
  WriteSerial serial;
  std::uint32_t unclean = 0;  // takeovers from a writer that did not release, since L last moved
  Offset high;                // H
  std::optional<JournalCheck> check;
  VerdictCounters counters;
  std::vector<Head> heads;  // by `from`, ascending; every `from` in [L, H)
  std::uint64_t log = 0;    // which log L is of: another one may have its name later. 0: not known

  bool operator==(const CommitMetadata&) const = default;
};

enum class MetadataOrigin : std::uint8_t { kEmpty, kOurs, kDamaged, kForeign, kNewer };

struct DecodedMetadata {
  MetadataOrigin origin = MetadataOrigin::kEmpty;
  CommitMetadata metadata;  // meaningful for kOurs
};

// `committed` is L. The result is at most `limit` characters or the call asserts: ask the budget first.
std::string encode_metadata(const CommitMetadata& metadata, Offset committed, std::size_t limit = kMaxMetadata);
DecodedMetadata decode_metadata(std::string_view text, Offset committed);

// Of text that holds no head and everything else, whatever it is, with a writer's id of so many bytes.
std::size_t least_metadata(std::size_t writer);

// Room for heads in one commit. Heads are offered by ascending `from`; once one does not fit, none does.
class MetadataBudget {
 public:
  MetadataBudget(const CommitMetadata& without_heads, Offset committed, std::size_t limit = kMaxMetadata);

  // True, and the room is taken, if the head still fits.
  bool add(const Head& head);
  std::size_t characters() const;  // of the text so far

 private:
  std::size_t limit_;
  std::size_t bytes_;
  std::size_t heads_ = 0;
  Offset last_;
};

}  // namespace bartleby
