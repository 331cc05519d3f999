#include "adapters/handler/http/address_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <cstring>

namespace bartleby {
namespace {

TEST(AddressGuard, RefusesWhatIsNotPublic) {
  for (const char* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.1",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.8.8.8",
                              "169.254.169.254",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.0.2.1",
                              "192.88.99.1",
                              "192.168.1.1",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.7",
                              "203.0.113.9",
                              "224.0.0.1",
                              "239.1.1.1",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::7f00:1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.1.2.3",
                              "::ffff:169.254.169.254",
                              "64:ff9b::10.0.0.1",
                              "64:ff9b::7f00:1",
                              "64:ff9b:1::1",
                              "100::1",
                              "2001::1",
                              "2001:10::1",
                              "2001:db8::1",
                              "2002:7f00:1::",
                              "2002:808:808::1",
                              "3fff::1",
                              "5f00::1",
                              "fc00::1",
                              "fd12:3456::1",
                              "fe80::1",
                              "fe80::1%eth0",
                              "fec0::1",
                              "ff02::1",
                              "ff0e::1",
                              "",
                              "localhost",
                              "1.2.3",
                              "8.8.8.8.8"})
    EXPECT_FALSE(is_public_address(std::string_view(address))) << address;
}

TEST(AddressGuard, LetsPublicAddressesPass) {
  for (const char* address :
       {"1.1.1.1",         "8.8.8.8",        "9.255.255.255",   "11.0.0.1",        "100.63.255.255", "100.128.0.1",
        "126.255.255.255", "128.0.0.1",      "169.253.0.1",     "172.15.0.1",      "172.32.0.1",     "192.0.1.1",
        "192.169.0.1",     "198.17.0.1",     "198.20.0.1",      "223.255.255.255", "2600::1",        "2001:200::1",
        "2a00:1450::1",    "::ffff:8.8.8.8", "64:ff9b::808:808"})
    EXPECT_TRUE(is_public_address(std::string_view(address))) << address;
}

TEST(AddressGuard, ReadsSocketAddresses) {
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  inet_pton(AF_INET, "169.254.169.254", &four.sin_addr);
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr*>(&four)));
  inet_pton(AF_INET, "8.8.8.8", &four.sin_addr);
  EXPECT_TRUE(is_public_address(reinterpret_cast<const sockaddr*>(&four)));
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "::ffff:192.168.0.1", &six.sin6_addr);
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr*>(&six)));
  sockaddr_un local = {};
  local.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr*>(&local)));
}

}  // namespace
}  // namespace bartleby
