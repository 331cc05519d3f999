// IP addresses and networks (`10.0.0.0/8`, `::1/128`) as text; whose request it is behind proxies.
//
// Addresses that wrap an IPv4 address (`::ffff:10.0.0.1`) are that address. What cannot be read is no address: whoever
// asks refuses then. Pure.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bartleby {

struct IpAddress {
  std::array<unsigned char, 16> bytes{};  // of IPv4 the first four
  bool v6 = false;

  std::string text() const;
  bool loopback() const;
  bool operator==(const IpAddress&) const = default;
};
std::optional<IpAddress> parse_ip(std::string_view text);

struct Network {
  IpAddress base;
  unsigned bits = 0;

  bool contains(const IpAddress& address) const;
};
// An address alone is a network of one. Bits after the prefix must be 0: who writes 10.1.2.3/8 means something else.
std::optional<Network> parse_network(std::string_view text);

using Networks = std::vector<Network>;
bool any_contains(const Networks& networks, const IpAddress& address);

// The address nearest to us that no trusted proxy has. `forwarded` are the values of X-Forwarded-For, in their order;
// nothing where one of them that must be believed is no address.
std::optional<IpAddress> client_address(std::string_view peer, std::span<const std::string_view> forwarded,
                                        const Networks& trusted);

}  // namespace bartleby
