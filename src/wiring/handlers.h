// The code that a user's program brings along, by name.
// Filled before anything runs, then only read.
#pragma once

#include <bartleby/message.h>

#include <map>
#include <string>

namespace bartleby {

struct Handlers {
  std::map<std::string, SyncHandler, std::less<>> sync;
  std::map<std::string, AsyncHandler, std::less<>> async;

  bool has(std::string_view name) const { return sync.contains(name) || async.contains(name); }
};

}  // namespace bartleby
