#include "codec/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace bartleby {
namespace {

constexpr std::size_t kLongest = 45;
constexpr unsigned kBits4 = 32, kBits6 = 128;

constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool bit(const IpAddress& address, unsigned at) {
  return ((static_cast<unsigned>(address.bytes[at / 8]) >> (7 - at % 8)) & 1U) != 0;
}

}  // namespace

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> out{};
  ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), out.data(), out.size());
  return out.data();
}

bool IpAddress::loopback() const {
  if (!v6) return bytes[0] == 127;
  return bytes[15] == 1 && std::all_of(bytes.begin(), bytes.end() - 1, [](unsigned char b) { return b == 0; });
}

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.empty() || text.size() > kLongest) return std::nullopt;
  const std::string copy(text);
  IpAddress address;
  if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
  if (::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) != 1) return std::nullopt;
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
    IpAddress inner;
    std::copy_n(address.bytes.begin() + kMapped.size(), 4, inner.bytes.begin());
    return inner;
  }
  address.v6 = true;
  return address;
}

bool Network::contains(const IpAddress& address) const {
  if (address.v6 != base.v6) return false;
  for (unsigned i = 0; i < bits; ++i)
    if (bit(address, i) != bit(base, i)) return false;
  return true;
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto base = parse_ip(text.substr(0, slash));
  if (!base) return std::nullopt;
  Network network{*base, base->v6 ? kBits6 : kBits4};
  if (slash == std::string_view::npos) return network;
  const std::string_view length = text.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, failed] = std::from_chars(length.data(), length.data() + length.size(), bits);
  if (failed != std::errc() || end != length.data() + length.size() || bits > network.bits) return std::nullopt;
  for (unsigned i = bits; i < network.bits; ++i)
    if (bit(*base, i)) return std::nullopt;
  network.bits = bits;
  return network;
}

bool any_contains(const Networks& networks, const IpAddress& address) {
  return std::ranges::any_of(networks, [&](const Network& n) { return n.contains(address); });
}

std::optional<IpAddress> client_address(std::string_view peer, std::span<const std::string_view> forwarded,
                                        const Networks& trusted) {
  auto at = parse_ip(peer);
  // From the right: what a proxy that we trust has added is true, what stands before it is what it was told.
  for (auto list = forwarded.rbegin(); list != forwarded.rend() && at; ++list) {
    std::string_view rest = *list;
    while (at && any_contains(trusted, *at)) {
      const std::size_t comma = rest.rfind(',');
      const std::string_view last = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
      at = parse_ip(trimmed(last));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(0, comma);
    }
  }
  return at;
}

}  // namespace bartleby
