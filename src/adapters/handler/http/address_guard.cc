#include "adapters/handler/http/address_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace bartleby {
namespace {

struct Range4 {
  std::uint32_t base;
  int bits;
};

constexpr std::uint32_t v4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// IANA's special-purpose registry: what is not globally reachable, and 6to4 relays.
constexpr Range4 kClosed4[] = {
    {v4(0, 0, 0, 0), 8},      {v4(10, 0, 0, 0), 8},     {v4(100, 64, 0, 0), 10}, {v4(127, 0, 0, 0), 8},
    {v4(169, 254, 0, 0), 16}, {v4(172, 16, 0, 0), 12},  {v4(192, 0, 0, 0), 24},  {v4(192, 0, 2, 0), 24},
    {v4(192, 88, 99, 0), 24}, {v4(192, 168, 0, 0), 16}, {v4(198, 18, 0, 0), 15}, {v4(198, 51, 100, 0), 24},
    {v4(203, 0, 113, 0), 24}, {v4(224, 0, 0, 0), 4},    {v4(240, 0, 0, 0), 4},
};

bool is_public4(std::uint32_t address) {
  return std::ranges::none_of(kClosed4, [&](Range4 range) { return (address ^ range.base) >> (32 - range.bits) == 0; });
}

using Bytes6 = std::array<std::uint8_t, 16>;

bool starts_with(const Bytes6& address, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), address.begin());
}

bool is_public6(const Bytes6& a) {
  const std::uint32_t inside = v4(a[12], a[13], a[14], a[15]);
  if (starts_with(a, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) return is_public4(inside);     // ::ffff:0:0/96
  if (starts_with(a, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return is_public4(inside);  // 64:ff9b::/96
  if ((a[0] & 0xe0) != 0x20) return false;                               // only 2000::/3 is handed out
  if (starts_with(a, {0x20, 0x01}) && (a[2] & 0xfe) == 0) return false;  // 2001::/23, Teredo among it
  if (starts_with(a, {0x20, 0x01, 0x0d, 0xb8})) return false;            // documentation
  if (starts_with(a, {0x20, 0x02})) return false;                        // 6to4: an IPv4 address of anybody's choice
  if (starts_with(a, {0x3f, 0xff}) && (a[2] & 0xf0) == 0) return false;  // documentation
  return true;
}

}  // namespace

bool is_public_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    return is_public4(ntohl(in.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, address, sizeof in);
    Bytes6 bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return is_public6(bytes);
  }
  return false;
}

bool is_public_address(std::string_view text) {
  const std::string plain(text.substr(0, text.find('%')));
  in_addr four = {};
  if (inet_pton(AF_INET, plain.c_str(), &four) == 1) return is_public4(ntohl(four.s_addr));
  Bytes6 six;
  if (inet_pton(AF_INET6, plain.c_str(), six.data()) == 1) return is_public6(six);
  return false;
}

}  // namespace bartleby
