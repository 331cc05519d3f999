// Who may use the API, and what of messages is shown, as the configuration says it. Plain data.
// What it means is in server/access.h and server/redaction.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codec/network.h"
#include "model/access.h"

namespace bartleby {

struct ProxyOptions {
  std::string user, groups;  // names of headers, in lower case
  Networks trusted;
  std::map<std::string, Scopes> roles;  // by group
};

struct InternalOptions {
  std::string key;
  Networks networks;
};

struct AccessOptions {
  bool keys = false;                    // API keys and sessions, of the store
  std::vector<std::string> open_paths;  // of routes with `Access::listed`
  Networks trusted_proxies;             // whose X-Forwarded-For is believed
  std::optional<ProxyOptions> proxy;
  std::optional<InternalOptions> internal;
};

struct RedactionRules {
  std::vector<std::string> json;     // pointers such as /**/password
  std::vector<std::string> headers;  // names
};

}  // namespace bartleby
