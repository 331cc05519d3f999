// The words of a configuration: sizes `2MB` (2 × 2^20), percentages `50%`, rates `50/s`, addresses, URLs, JSON
// pointers, templates; durations are those of the codec. Text in, value out; nullopt where it is no such thing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "codec/duration_text.h"
#include "engine/start.h"

namespace bartleby {

struct Address {
  std::string host;
  std::uint16_t port = 0;

  bool loopback() const;
  std::string text() const;  // IPv6 in brackets
  bool operator==(const Address&) const = default;
};

// A server and how to greet it.
struct RedisAddress {
  Address at;
  std::string user, password;  // empty: none is said
  std::uint32_t database = 0;

  bool operator==(const RedisAddress&) const = default;
};

// Where a group without offsets begins.
struct StartPoint {
  StartAt at = StartAt::kEarliest;
  Timestamp time{};  // with kTime

  bool operator==(const StartPoint&) const = default;
};

std::optional<std::int64_t> parse_number(std::string_view text);
std::optional<std::uint64_t> parse_size(std::string_view text);
std::optional<std::uint32_t> parse_percent(std::string_view text);
std::optional<std::uint32_t> parse_rate(std::string_view text);  // per second
std::optional<bool> parse_bool(std::string_view text);
std::optional<Address> parse_address(std::string_view text);
// `redis://[user[:password]@]host[:port][/database]`, user and password with `%XX` for what a URL may not have.
std::optional<RedisAddress> parse_redis_url(std::string_view text);
std::optional<StartPoint> parse_start(std::string_view text);

// In the largest unit that loses nothing.
std::string size_text(std::uint64_t bytes);

bool is_name(std::string_view text);
bool is_url(std::string_view text);
// `http://me:***@host/`
std::string without_password(const std::string& url);
bool is_pointer(std::string_view text);

// nullopt: well-formed; else what is wrong with it.
std::optional<std::string> template_mistake(std::string_view text);

}  // namespace bartleby
