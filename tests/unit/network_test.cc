// Addresses, networks, and whose request it is behind proxies: the rules that decide whether an address is believed.
#include "codec/network.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

Networks networks(std::initializer_list<const char*> list) {
  Networks out;
  for (const char* text : list) out.push_back(parse_network(text).value());
  return out;
}

TEST(Network, ReadsAddressesAndNothingElse) {
  for (const char* good : {"127.0.0.1", "::1", "fe80::1", "255.255.255.255"}) EXPECT_TRUE(parse_ip(good)) << good;
  for (const char* bad : {"", "localhost", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.4 ", "[::1]", "::1%lo",
                          "0x7f.1", "127.1", "1.2.3.4:80"})
    EXPECT_FALSE(parse_ip(bad)) << bad;
}

TEST(Network, UnwrapsIpv4InIpv6) {
  EXPECT_EQ(parse_ip("::ffff:10.0.0.1"), parse_ip("10.0.0.1"));
  EXPECT_TRUE(parse_network("10.0.0.0/8")->contains(*parse_ip("::ffff:10.9.9.9")));
}

TEST(Network, RefusesBitsAfterThePrefix) {
  for (const char* good : {"10.0.0.0/8", "0.0.0.0/0", "127.0.0.1/32", "127.0.0.1", "fd00::/8", "::/0", "::1/128"})
    EXPECT_TRUE(parse_network(good)) << good;
  for (const char* bad : {"10.1.0.0/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "/8", "fd01::/8",
                          "::/129", "10.0.0.0/255.0.0.0"})
    EXPECT_FALSE(parse_network(bad)) << bad;
}

TEST(Network, KnowsItsOwn) {
  const Network net = *parse_network("172.18.0.0/15");
  EXPECT_TRUE(net.contains(*parse_ip("172.19.255.255")));
  EXPECT_FALSE(net.contains(*parse_ip("172.20.0.0")));
  EXPECT_FALSE(net.contains(*parse_ip("::1")));
  EXPECT_FALSE(parse_network("::/0")->contains(*parse_ip("1.2.3.4")));
}

TEST(Network, BelievesOnlyWhatTrustedProxiesHaveAdded) {
  const Networks trusted = networks({"10.0.0.0/8", "::1"});
  const auto of = [&](std::string_view peer, std::vector<std::string_view> forwarded) {
    const auto address = client_address(peer, forwarded, trusted);
    return address ? address->text() : "nobody";
  };
  EXPECT_EQ(of("203.0.113.9", {}), "203.0.113.9");
  EXPECT_EQ(of("203.0.113.9", {"1.1.1.1"}), "203.0.113.9");                        // says so itself
  EXPECT_EQ(of("10.0.0.1", {"203.0.113.9"}), "203.0.113.9");                       // the proxy says so
  EXPECT_EQ(of("10.0.0.1", {"127.0.0.1, 203.0.113.9"}), "203.0.113.9");            // what it was told does not count
  EXPECT_EQ(of("10.0.0.1", {"203.0.113.9, 10.0.0.2"}), "203.0.113.9");             // two proxies
  EXPECT_EQ(of("10.0.0.1", {"6.6.6.6, 203.0.113.9", "10.0.0.2"}), "203.0.113.9");  // in two headers
  EXPECT_EQ(of("10.0.0.1", {"127.0.0.1", "203.0.113.9"}), "203.0.113.9");
  EXPECT_EQ(of("::ffff:10.0.0.1", {"::ffff:203.0.113.9"}), "203.0.113.9");
  EXPECT_EQ(of("10.0.0.1", {}), "10.0.0.1");
  EXPECT_EQ(of("10.0.0.1", {"10.0.0.2"}), "10.0.0.2");  // nobody but proxies: the farthest
  EXPECT_EQ(of("10.0.0.1", {"what, 203.0.113.9"}), "203.0.113.9");
  EXPECT_EQ(of("10.0.0.1", {"203.0.113.9, unknown"}), "nobody");
  EXPECT_EQ(of("10.0.0.1", {""}), "nobody");
  EXPECT_EQ(of("10.0.0.1", {"203.0.113.9,"}), "nobody");
  EXPECT_EQ(of("", {"203.0.113.9"}), "nobody");
}

}  // namespace
}  // namespace bartleby
