// Which addresses lie on the public internet, decided on the address itself when a connection is made.
//
// A name says nothing: it can resolve to the machine's own network, today or on the second look. Everything that is
// not known to be public is refused: private, shared, loopback, link-local, unique local, multicast, unspecified,
// reserved and documentation ranges, and IPv6 forms that carry such an IPv4 address inside (mapped, NAT64).
#pragma once

#include <string_view>

struct sockaddr;

namespace bartleby {

bool is_public_address(const sockaddr* address);

// The same of an address as text, `192.0.2.1` or `2001:db8::1` (with or without a zone); what is none is not public.
bool is_public_address(std::string_view text);

}  // namespace bartleby
