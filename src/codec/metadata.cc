// The layout of version 1, in this order:
//
//   writer      length, bytes
//   serial, unclean, H − L
//   check       0, or 1 + count and the sum as 8 bytes
//   handled, skipped, dead
//   heads       count, then for each ((from − the one before) << 1 | has lane) and 4 bytes of lane if it has one;
//               the first counts from L
//   log         8 bytes, or nothing where it is not known
//   checksum    4 bytes over all of the above and L
//
// Numbers are varints (7 bits a byte, low first, never longer than needed), raw bytes little-endian. L is under
// the checksum because H and the heads are written relative to it: a tool that moves the offset but copies
// the text would otherwise move H too, and with it skip messages.
#include "codec/metadata.h"

#include <bit>

#include "base/assert.h"
#include "base/hash.h"
#include "codec/base64.h"

namespace bartleby {
namespace {

constexpr std::string_view kPrefix = "b1.";
constexpr std::size_t kChecksum = 4;
constexpr std::size_t kLaneBytes = 4;
constexpr std::size_t kSumBytes = 8;
constexpr std::size_t kLogBytes = 8;
constexpr std::size_t kMaxVarint = 10;

std::uint32_t checksum(std::string_view payload, Offset committed) {
  return static_cast<std::uint32_t>(combine(hash64(payload), static_cast<std::uint64_t>(committed.v)) >> 32);
}

std::uint64_t distance(Offset from, Offset to) {
  BARTLEBY_ASSERT(from.v >= 0 && to >= from);
  return static_cast<std::uint64_t>(to.v - from.v);
}

std::uint64_t head_word(const Head& head, Offset before) {
  return distance(before, head.from) << 1 | static_cast<std::uint64_t>(head.lane.has_value());
}

// ---- sizes -------------------------------------------------------------------------------------------

constexpr std::size_t varint_size(std::uint64_t v) { return (static_cast<std::size_t>(std::bit_width(v | 1)) + 6) / 7; }

std::size_t head_size(const Head& head, Offset before) {
  return varint_size(head_word(head, before)) + (head.lane ? kLaneBytes : 0);
}

// Everything but the heads and their count.
std::size_t fixed_size(const CommitMetadata& m, Offset committed) {
  return varint_size(m.writer.size()) + m.writer.size() + varint_size(m.serial.v) + varint_size(m.unclean) +
         varint_size(distance(committed, m.high)) + 1 + (m.check ? varint_size(m.check->count) + kSumBytes : 0) +
         varint_size(m.counters.handled) + varint_size(m.counters.skipped) + varint_size(m.counters.dead) +
         (m.log != 0 ? kLogBytes : 0) + kChecksum;
}

constexpr std::size_t text_size(std::size_t fixed_and_heads, std::size_t heads) {
  return kPrefix.size() + base64_size(fixed_and_heads + varint_size(heads), Base64::kBare);
}

// With every number at its widest.
constexpr std::size_t kWidest =
    2 + kMaxVarint + 5 + kMaxVarint + 1 + kMaxVarint + kSumBytes + 3 * kMaxVarint + kLogBytes + kChecksum;

// ---- writing -----------------------------------------------------------------------------------------

// Writes into room that was made before: checking it at every byte would be half of the time.
class PayloadWriter {
 public:
  explicit PayloadWriter(std::size_t room) : bytes_(room, '\0'), at_(bytes_.data()) {}

  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) *at_++ = static_cast<char>(v | 0x80);
    *at_++ = static_cast<char>(v);
  }

  void number(std::uint64_t v, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) *at_++ = static_cast<char>(v >> (8 * i));
  }

  void bytes(std::string_view text) { at_ += text.copy(at_, text.size()); }

  std::string_view written() const {
    const auto size = static_cast<std::size_t>(at_ - bytes_.data());
    BARTLEBY_ASSERT(size <= bytes_.size());
    return {bytes_.data(), size};
  }

 private:
  std::string bytes_;
  char* at_;
};

// ---- reading -----------------------------------------------------------------------------------------

// Takes the payload apart. After the first thing that is wrong everything reads as 0 and `bad()` stays true.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) : bytes_(bytes) {}

  bool bad() const { return bad_; }
  std::size_t left() const { return bytes_.size() - at_; }

  std::uint64_t varint(std::uint64_t max) {
    std::uint64_t v = 0;
    for (unsigned shift = 0; at_ < bytes_.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      const std::uint64_t bits = byte & 0x7f;
      if (shift == 63 && bits > 1) return wrong();
      v |= bits << shift;
      if (byte >= 0x80) continue;
      const bool longer_than_needed = byte == 0 && shift > 0;
      return longer_than_needed || v > max ? wrong() : v;
    }
    return wrong();
  }

  std::string_view bytes(std::size_t count) {
    if (count > left()) {
      wrong();
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

  std::uint64_t number(std::size_t count) {
    std::uint64_t v = 0;
    std::size_t i = 0;
    for (const char c : bytes(count)) v |= std::uint64_t{static_cast<unsigned char>(c)} << (8 * i++);
    return v;
  }

 private:
  std::uint64_t wrong() {
    bad_ = true;
    at_ = bytes_.size();
    return 0;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool bad_ = false;
};

bool read_heads(PayloadReader& in, Offset committed, CommitMetadata& m) {
  const std::uint64_t count = in.varint(in.left());  // a head has at least one byte
  m.heads.reserve(count);
  Offset before = committed;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t word = in.varint(UINT64_MAX);
    if (in.bad() || word >> 1 >= distance(before, m.high)) return false;
    Head& head = m.heads.emplace_back();
    head.from = Offset(before.v + static_cast<std::int64_t>(word >> 1));
    if ((word & 1) != 0) head.lane = Lane(static_cast<std::uint32_t>(in.number(kLaneBytes)));
    before = head.from;
  }
  return !in.bad();
}

bool read_log(PayloadReader& in, CommitMetadata& m) {
  if (in.left() == 0) return true;
  m.log = in.number(kLogBytes);
  return !in.bad() && in.left() == 0 && m.log != 0;  // one text for each metadata
}

bool read_payload(std::string_view payload, Offset committed, CommitMetadata& m) {
  PayloadReader in(payload);
  m.writer = in.bytes(in.varint(kMaxWriterId));
  m.serial = WriteSerial(in.varint(UINT64_MAX));
  m.unclean = static_cast<std::uint32_t>(in.varint(UINT32_MAX));
  const auto room_above = static_cast<std::uint64_t>(INT64_MAX - committed.v);
  m.high = Offset(committed.v + static_cast<std::int64_t>(in.varint(room_above)));
  if (in.varint(1) == 1) {
    const std::uint64_t count = in.varint(UINT64_MAX);
    m.check = JournalCheck{count, in.number(kSumBytes)};
  }
  m.counters.handled = in.varint(UINT64_MAX);
  m.counters.skipped = in.varint(UINT64_MAX);
  m.counters.dead = in.varint(UINT64_MAX);
  return read_heads(in, committed, m) && read_log(in, m);
}

bool is_newer(std::string_view text) {
  if (!text.starts_with('b')) return false;
  const std::size_t end = text.find_first_not_of("0123456789", 1);
  return end != std::string_view::npos && end > 1 && text[end] == '.';
}

}  // namespace

std::string encode_metadata(const CommitMetadata& metadata, Offset committed, std::size_t limit) {
  BARTLEBY_ASSERT(metadata.writer.size() <= kMaxWriterId);
  PayloadWriter out(fixed_size(metadata, committed) + kMaxVarint + metadata.heads.size() * (kMaxVarint + kLaneBytes));

  out.varint(metadata.writer.size());
  out.bytes(metadata.writer);
  out.varint(metadata.serial.v);
  out.varint(metadata.unclean);
  out.varint(distance(committed, metadata.high));
  out.varint(metadata.check ? 1 : 0);
  if (metadata.check) {
    out.varint(metadata.check->count);
    out.number(metadata.check->sum, kSumBytes);
  }
  out.varint(metadata.counters.handled);
  out.varint(metadata.counters.skipped);
  out.varint(metadata.counters.dead);

  out.varint(metadata.heads.size());
  Offset before = committed;
  for (const Head& head : metadata.heads) {
    BARTLEBY_ASSERT(head.from < metadata.high);
    out.varint(head_word(head, before));
    if (head.lane) out.number(head.lane->v, kLaneBytes);
    before = head.from;
  }
  if (metadata.log != 0) out.number(metadata.log, kLogBytes);
  out.number(checksum(out.written(), committed), kChecksum);

  std::string text;
  text.reserve(kPrefix.size() + base64_size(out.written().size(), Base64::kBare));
  text += kPrefix;
  append_base64(text, out.written(), Base64::kBare);
  BARTLEBY_ASSERT(text.size() <= limit);
  return text;
}

DecodedMetadata decode_metadata(std::string_view text, Offset committed) {
  BARTLEBY_ASSERT(committed.v >= 0);
  DecodedMetadata decoded;
  if (text.empty()) return decoded;
  if (!text.starts_with(kPrefix)) {
    decoded.origin = is_newer(text) ? MetadataOrigin::kNewer : MetadataOrigin::kForeign;
    return decoded;
  }
  decoded.origin = MetadataOrigin::kDamaged;
  std::string bytes;
  if (!append_from_base64(bytes, text.substr(kPrefix.size()), Base64::kBare)) return decoded;
  if (bytes.size() < kChecksum) return decoded;
  const std::string_view payload = std::string_view(bytes).substr(0, bytes.size() - kChecksum);
  PayloadReader tail(std::string_view(bytes).substr(payload.size()));
  if (tail.number(kChecksum) != checksum(payload, committed)) return decoded;
  if (read_payload(payload, committed, decoded.metadata)) {
    decoded.origin = MetadataOrigin::kOurs;
  } else {
    decoded.metadata = {};
  }
  return decoded;
}

MetadataBudget::MetadataBudget(const CommitMetadata& without_heads, Offset committed, std::size_t limit)
    : limit_(limit), bytes_(fixed_size(without_heads, committed)), last_(committed) {}

bool MetadataBudget::add(const Head& head) {
  const std::size_t bytes = bytes_ + head_size(head, last_);
  if (text_size(bytes, heads_ + 1) > limit_) {
    limit_ = 0;  // a shorter head further up must not slip in: H ends at the first that does not fit
    return false;
  }
  bytes_ = bytes;
  ++heads_;
  last_ = head.from;
  return true;
}

std::size_t least_metadata(std::size_t writer) { return text_size(kWidest + writer, 0); }

std::size_t MetadataBudget::characters() const { return text_size(bytes_, heads_); }

}  // namespace bartleby
