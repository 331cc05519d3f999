#include "wiring/config_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "codec/percent.h"
#include "codec/time_text.h"
#include "wiring/config_node.h"

namespace bartleby {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::array kSizes{Unit{"TB", std::int64_t{1} << 40}, Unit{"GB", 1 << 30}, Unit{"MB", 1 << 20},
                            Unit{"KB", 1 << 10}, Unit{"B", 1}};
constexpr std::array<std::string_view, 4> kPlaceholders{"topic", "group", "worker", "cluster_id"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, is_name_character);
}

bool is_ipv6(std::string_view host) {
  return host.size() >= 2 && host.size() <= 45 && host.contains(':') && std::ranges::all_of(host, [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' || c == '.';
         });
}

bool is_ipv4_loopback(std::string_view host) {
  int parts = 0;
  for (std::string_view rest = host; parts < 4; ++parts) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const auto number = parse_number(rest.substr(0, end));
    if (!number || *number > 255 || (parts == 0 && *number != 127)) return false;
    if ((end == rest.size()) != (parts == 3)) return false;
    if (parts < 3) rest.remove_prefix(end + 1);
  }
  return true;
}

std::optional<std::uint32_t> number_before(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  const auto value = parse_number(text.substr(0, text.size() - unit.size()));
  if (!value || *value < 0 || *value > 1000000) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

bool Address::loopback() const { return host == "localhost" || host == "::1" || is_ipv4_loopback(host); }

std::string Address::text() const {
  return (host.contains(':') ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  const auto number = parse_number(text.substr(0, digits));
  const auto unit = std::ranges::find(kSizes, text.substr(digits), &Unit::name);
  if (!number || unit == kSizes.end() || *number > std::numeric_limits<std::int64_t>::max() / unit->factor)
    return std::nullopt;
  return static_cast<std::uint64_t>(*number * unit->factor);
}

std::optional<std::uint32_t> parse_percent(std::string_view text) { return number_before(text, "%"); }
std::optional<std::uint32_t> parse_rate(std::string_view text) { return number_before(text, "/s"); }

std::optional<bool> parse_bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const auto port = parse_number(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535 || !is_digit(text[colon + 1])) return std::nullopt;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed ? !is_ipv6(host) : !is_host(host)) return std::nullopt;
  return Address{std::string(host), static_cast<std::uint16_t>(*port)};
}

std::optional<RedisAddress> parse_redis_url(std::string_view text) {
  constexpr std::string_view kScheme = "redis://";
  if (!text.starts_with(kScheme) || text.size() > 2000) return std::nullopt;
  text.remove_prefix(kScheme.size());
  RedisAddress out;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = text.substr(0, at);
    const std::size_t colon = who.find(':');
    const auto user = percent_decoded(who.substr(0, colon));
    const auto password = percent_decoded(colon == std::string_view::npos ? "" : who.substr(colon + 1));
    if (!user || !password || (password->empty() && !user->empty())) return std::nullopt;
    out.user = *user;
    out.password = *password;
    text.remove_prefix(at + 1);
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && slash + 1 < text.size()) {
    const auto database = parse_number(text.substr(slash + 1));
    if (!database || *database < 0 || *database > 100000) return std::nullopt;
    out.database = static_cast<std::uint32_t>(*database);
  }
  const std::string_view where = text.substr(0, slash);
  const bool has_port = where.ends_with(']') ? false : where.contains(':');
  const auto address = parse_address(has_port ? std::string(where) : std::string(where) + ":6379");
  if (!address || address->port == 0) return std::nullopt;
  out.at = *address;
  return out;
}

std::optional<StartPoint> parse_start(std::string_view text) {
  if (text == "earliest") return StartPoint{StartAt::kEarliest, {}};
  if (text == "latest") return StartPoint{StartAt::kLatest, {}};
  std::string full(text);
  if (full.size() == 10) full += "T00:00:00Z";
  if (full.size() == 20 && full.back() == 'Z') full.replace(19, 1, ".000Z");
  if (full.size() != 24) return std::nullopt;  // never plain milliseconds
  const auto time = time_from_text(full);
  return time ? std::optional(StartPoint{StartAt::kTime, *time}) : std::nullopt;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0B";
  const auto value = static_cast<std::int64_t>(bytes);
  const auto unit = std::ranges::find_if(kSizes, [&](const Unit& u) { return value % u.factor == 0; });
  return std::to_string(value / unit->factor) + std::string(unit->name);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::ranges::all_of(text, is_name_character) && text != "." &&
         text != "..";
}

bool is_url(std::string_view text) {
  if (text.size() > 2000) return false;
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else {
    return false;
  }
  if (std::ranges::any_of(text, [](char c) { return c <= ' ' || c >= 0x7f || c == '#' || c == '\\' || c == '"'; }))
    return false;
  std::string_view authority = text.substr(0, std::min(text.find_first_of("/?"), text.size()));
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) authority.remove_prefix(at + 1);
  return is_host(authority) || authority.ends_with(']') ? parse_address(std::string(authority) + ":80").has_value()
                                                        : parse_address(authority).has_value();
}

std::string without_password(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t at = url.substr(0, url.find_first_of("/?", begin)).rfind('@');
  const std::size_t colon = url.find(':', begin);
  if (at == std::string::npos || colon > at) return url;
  return url.substr(0, colon + 1) + "***" + url.substr(at);
}

bool is_pointer(std::string_view text) {
  if (!text.starts_with('/') || text.size() > 1000) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1'))) return false;
  return true;
}

std::optional<std::string> template_mistake(std::string_view text) {
  if (text.empty() || text.size() > 249) return "wants 1 to 249 characters";
  while (!text.empty()) {
    if (text.front() != '{') {
      if (!is_name_character(text.front())) return "wants letters, digits, . _ - and placeholders";
      text.remove_prefix(1);
      continue;
    }
    const std::size_t end = text.find('}');
    if (end == std::string_view::npos) return "a { without its }";
    const std::string_view name = text.substr(1, end - 1);
    if (std::ranges::find(kPlaceholders, name) == kPlaceholders.end()) {
      const std::string meant = nearest(name, {kPlaceholders.begin(), kPlaceholders.end()});
      const std::string end_of_sentence =
          meant.empty() ? "; there are {topic} {group} {worker} {cluster_id}" : "; did you mean {" + meant + "}?";
      return "no placeholder is called " + quote(name) + end_of_sentence;
    }
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

}  // namespace bartleby
