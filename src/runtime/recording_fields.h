// How the engine's events, configuration and commands become bytes, and how bytes become them again.
//
// Each struct is listed once, for both ways, and by structured binding: a field that is added to one of them does not
// compile until it is listed here, and the version in recording.h then goes up. Numbers are varints, so most take a
// byte or two. `ByteReader` believes nothing: every count, length, number and enumerator is checked against its bounds
// and against what is left, and after the first mistake it reads nothing more. Not thread-safe; owns only its buffer.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/commands.h"
#include "engine/events.h"

namespace bartleby::recording {

// Enumerators of what is read back.
template <class E>
constexpr std::uint64_t kValues = 0;
template <>
inline constexpr std::uint64_t kValues<Kind> = kKinds;
template <>
inline constexpr std::uint64_t kValues<Reason> = kReasonNames.size();
template <>
inline constexpr std::uint64_t kValues<Fate> = 5;
template <>
inline constexpr std::uint64_t kValues<Stability> = 2;
template <>
inline constexpr std::uint64_t kValues<WriteResult> = 4;
template <>
inline constexpr std::uint64_t kValues<Refusal> = 4;
template <>
inline constexpr std::uint64_t kValues<KeyPolicy> = 2;
template <>
inline constexpr std::uint64_t kValues<ParkedOrder::What> = 2;

template <class T, class... Of>
constexpr bool kOneOf = (std::is_same_v<std::remove_const_t<T>, Of> || ...);

// The fields of a struct, in the order they are written.
template <class Archive, class T>
void fields(Archive& a, T& x) {
  if constexpr (requires { std::remove_const_t<T>::v; }) {
    a(x.v);
  } else if constexpr (kOneOf<T, RevokedIn, LostIn, ReadLog, ReadJournal, ForgetRuns, ReleasePartition>) {
    a(x.ref);
  } else if constexpr (kOneOf<T, StopIn, Stopped>) {
  } else if constexpr (kOneOf<T, Schedule, Linear, PauseIn, SettingsIn, ResolveWrite>) {
    auto& [one] = x;
    a(one);
  } else if constexpr (kOneOf<T, Now, PartitionRef, EndIn, FencedIn, HeadEntry, RecordsIn, ReadOffsets, FenceWriter,
                              StartReading, SetIntake, CancelSweep>) {
    auto& [one, two] = x;
    a(one, two);
  } else if constexpr (kOneOf<T, Token, Completion, AssignedIn, OutOfRangeIn, RefusedItem, WriteIn, ResolvedIn,
                              ResolvedPartition, Exponential, RunItem, JournalItem, LetterPlan, PlannedCut,
                              WritePlan>) {
    auto& [one, two, three] = x;
    a(one, two, three);
  } else if constexpr (kOneOf<T, ParkedOrder, ReadMessage, Alarm>) {
    auto& [one, two, three, four] = x;
    a(one, two, three, four);
  } else if constexpr (kOneOf<T, OffsetsIn, JournalIn, Obituary, Sweep, LiveSettings, TopicTraits>) {
    auto& [one, two, three, four, five] = x;
    a(one, two, three, four, five);
  } else if constexpr (kOneOf<T, LogIn, GuardConfig, Run>) {
    auto& [one, two, three, four, five, six] = x;
    a(one, two, three, four, five, six);
  } else if constexpr (kOneOf<T, ReadIn, RetryPolicy, Commands>) {
    auto& [one, two, three, four, five, six, seven] = x;
    a(one, two, three, four, five, six, seven);
  } else if constexpr (kOneOf<T, RecordRef>) {
    auto& [offset, timestamp, lane, slot, size, case_id, flags, reason] = x;
    a(offset, timestamp, lane, slot, size, case_id, flags, reason);
  } else if constexpr (kOneOf<T, Ending>) {
    auto& [fate, kind, reason, after, story, emit, emit_records, emit_bytes, emit_topic] = x;
    a(fate, kind, reason, after, story, emit, emit_records, emit_bytes, emit_topic);
  } else if constexpr (kOneOf<T, PlannedRecord>) {
    auto& [type, partition, entry, source, story, slot, emit, letter, fate] = x;
    a(type, partition, entry, source, story, slot, emit, letter, fate);
  } else if constexpr (kOneOf<T, MessageEntry>) {
    auto& [offset, timestamp, lane, self, done, dead, attempts, kind, due, first, last, throttled] = x;
    a(offset, timestamp, lane, self, done, dead, attempts, kind, due, first, last, throttled);
  } else if constexpr (kOneOf<T, EngineConfig>) {
    auto& [writer, cases, key_policy, guard, dead_letters, drop, adopt, in_process, concurrency, max_stretch, drain,
           max_bytes, max_message, max_queued, lane_messages, lane_bytes, max_parked, max_window, max_ahead,
           write_records, write_bytes, linger, offsets_linger, metadata_limit, writer_room, seed] = x;
    a(writer, cases, key_policy, guard, dead_letters, drop, adopt, in_process);
    a(concurrency, max_stretch, drain, max_bytes, max_message, max_queued, lane_messages, lane_bytes);
    a(max_parked, max_window, max_ahead, write_records, write_bytes, linger, offsets_linger);
    a(metadata_limit, writer_room, seed);
  } else {
    static_assert(kOneOf<T>, "a struct whose fields are not listed");
  }
}

template <class T>
constexpr bool kIsDuration = false;
template <class Rep, class Period>
inline constexpr bool kIsDuration<std::chrono::duration<Rep, Period>> = true;

class ByteWriter {
 public:
  template <class... T>
  void operator()(const T&... all) {
    (put(all), ...);
  }

  std::string bytes;

 private:
  void number(std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) bytes.push_back(static_cast<char>(n | 0x80));
    bytes.push_back(static_cast<char>(n));
  }

  template <class T>
  void put(const T& x) {
    if constexpr (std::unsigned_integral<T>) {  // bool too
      number(x);
    } else if constexpr (std::signed_integral<T>) {
      const auto wide = static_cast<std::int64_t>(x);
      number((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
    } else if constexpr (std::is_enum_v<T>) {
      number(static_cast<std::uint64_t>(x));
    } else if constexpr (kIsDuration<T>) {
      put(x.count());
    } else if constexpr (requires { x.time_since_epoch(); }) {
      put(x.time_since_epoch().count());
    } else {
      put_whole(x);
    }
  }
  template <class T>
  void put_whole(const T& x) {
    fields(*this, x);
  }
  void put_whole(const std::string& x) {
    number(x.size());
    bytes += x;
  }
  template <class T>
  void put_whole(const std::optional<T>& x) {
    put(x.has_value());
    if (x) put(*x);
  }
  void put_whole(const std::shared_ptr<const LiveSettings>& x) { put(*x); }
  template <class T>
  void put_whole(const std::vector<T>& x) {
    put_whole(std::span<const T>(x));
  }
  template <class T>
  void put_whole(const std::span<const T>& x) {
    number(x.size());
    for (const T& item : x) put(item);
  }
  template <class T, std::size_t N>
  void put_whole(const std::array<T, N>& x) {
    for (const T& item : x) put(item);
  }
  template <class... T>
  void put_whole(const std::variant<T...>& x) {
    number(x.index());
    std::visit([this](const auto& in) { this->put(in); }, x);
  }
};

class ByteReader {
 public:
  // Records of a `RecordsIn` are put into `batches`, which must outlive the events.
  ByteReader(std::string_view bytes, std::vector<std::vector<RecordRef>>* batches) : left_(bytes), batches_(batches) {}

  template <class... T>
  void operator()(T&... all) {
    (get(all), ...);
  }

  bool good() const { return good_; }
  std::string_view left() const { return left_; }

  std::uint64_t number() {
    std::uint64_t n = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      n |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return n;
    }
    return wrong();
  }

 private:
  std::uint64_t wrong() {
    good_ = false;
    left_ = {};
    return 0;
  }

  std::uint64_t number_below(std::uint64_t limit) {
    const std::uint64_t n = number();
    return n < limit ? n : wrong();
  }

  template <class T>
  void get(T& x) {
    if constexpr (std::is_same_v<T, bool>) {
      x = number_below(2) == 1;
    } else if constexpr (std::unsigned_integral<T>) {
      const std::uint64_t n = number();
      x = static_cast<T>(n <= std::numeric_limits<T>::max() ? n : wrong());
    } else if constexpr (std::signed_integral<T>) {
      const std::uint64_t n = number();
      const auto wide = static_cast<std::int64_t>((n >> 1) ^ (~(n & 1) + 1));
      const bool fits = wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max();
      x = fits ? static_cast<T>(wide) : static_cast<T>(wrong());
    } else if constexpr (std::is_enum_v<T>) {
      static_assert(kValues<T> > 0, "an enumeration without its number of values");
      x = static_cast<T>(number_below(kValues<T>));
    } else if constexpr (kIsDuration<T>) {
      typename T::rep count{};
      get(count);
      x = T(count);
    } else if constexpr (requires { x.time_since_epoch(); }) {
      typename T::duration since{};
      get(since);
      x = T(since);
    } else {
      get_whole(x);
    }
  }
  template <class T>
  void get_whole(T& x) {
    fields(*this, x);
  }
  void get_whole(std::string& x) {
    const std::uint64_t size = number_below(left_.size() + 1);
    if (size > left_.size()) return;
    x = left_.substr(0, size);
    left_.remove_prefix(size);
  }
  template <class T>
  void get_whole(std::optional<T>& x) {
    bool there = false;
    get(there);
    x.reset();  // a default may have set it
    if (there) get(x.emplace());
  }
  void get_whole(std::shared_ptr<const LiveSettings>& x) {
    LiveSettings settings{EngineConfig{}};
    get(settings);
    x = std::make_shared<const LiveSettings>(std::move(settings));
  }
  template <class T>
  void get_whole(std::vector<T>& x) {
    const std::uint64_t count = number_below(left_.size() + 1);  // an item takes at least a byte
    x.clear();
    for (std::uint64_t i = 0; i < count && good_; ++i) get(x.emplace_back());
  }
  void get_whole(std::span<const RecordRef>& x) {
    std::vector<RecordRef> records;
    get_whole(records);
    batches_->push_back(std::move(records));  // moving a vector leaves its items where they are
    x = batches_->back();
  }
  template <class T, std::size_t N>
  void get_whole(std::array<T, N>& x) {
    for (T& item : x) get(item);
  }
  template <class... T>
  void get_whole(std::variant<T...>& x) {
    get_alternative(x, number_below(sizeof...(T)), std::index_sequence_for<T...>());
  }
  template <class V, std::size_t... I>
  void get_alternative(V& x, std::uint64_t index, std::index_sequence<I...>) {
    ((index == I ? get(x.template emplace<I>()) : void()), ...);
  }

  std::string_view left_;
  std::vector<std::vector<RecordRef>>* batches_;
  bool good_ = true;
};

}  // namespace bartleby::recording
