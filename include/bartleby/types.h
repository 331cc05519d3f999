// The numbers, times and bytes that handlers and the runtime share.
//
// Numbers of the domain are types of their own, so that one cannot be passed for another; arithmetic is written out
// with `.v`. Keys, values and header values are bytes and may be absent (null), which is not the same as empty.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bartleby {

template <class Tag, class T>
struct Strong {
  T v{};

  constexpr Strong() = default;
  constexpr explicit Strong(T value) : v(value) {}
  constexpr auto operator<=>(const Strong&) const = default;
};

// Position of a record in a partition.
using Offset = Strong<struct OffsetTag, std::int64_t>;

// Number of a partition within its topic.
using Partition = Strong<struct PartitionTag, std::int32_t>;

using Duration = std::chrono::milliseconds;

// The calendar (Unix ms), which can jump.
struct WallTag {
  using rep = std::int64_t;
  using period = std::milli;
  using duration = Duration;
  using time_point = std::chrono::time_point<WallTag>;
  static constexpr bool is_steady = false;
};
using Timestamp = WallTag::time_point;

constexpr std::int64_t ms(Timestamp t) { return t.time_since_epoch().count(); }
constexpr Timestamp timestamp_ms(std::int64_t v) { return Timestamp(Duration(v)); }

// Bytes or null.
class Bytes : public std::optional<std::string> {
 public:
  using std::optional<std::string>::optional;
  // NOLINTNEXTLINE(google-explicit-constructor): texts are bytes
  Bytes(std::string_view text) : std::optional<std::string>(std::in_place, text) {}

  friend bool operator==(const Bytes& a, const Bytes& b) { return a.same(b); }
  friend bool operator==(const Bytes& a, std::string_view b) { return a.has_value() && std::string_view(*a) == b; }
  friend bool operator==(const Bytes& a, const std::string& b) { return a == std::string_view(b); }
  friend bool operator==(const Bytes& a, const char* b) { return a == std::string_view(b); }
  friend bool operator==(const Bytes& a, std::nullopt_t) { return !a.has_value(); }

 private:
  bool same(const std::optional<std::string>& other) const {
    return static_cast<const std::optional<std::string>&>(*this) == other;
  }
};

// Names repeat and keep their order.
using Headers = std::vector<std::pair<std::string, Bytes>>;

// A record that is about to be written.
struct Record {
  std::string topic;
  std::optional<Partition> partition;  // absent: by key, as Kafka's default partitioner does
  Bytes key;
  Bytes value;  // null = tombstone
  Headers headers;
};

}  // namespace bartleby
