// One running process of Bartleby: its broker, workers and server, made from a configuration.
//
// `start` returns when the server listens; workers join their groups by themselves. `reload` changes workers by clean
// stops and starts. `stop` hands everything over and returns when that is done, or when its time is over. One thread
// calls it. It owns everything that runs in the process; the order of its members is the order of their lives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "wiring/config.h"
#include "wiring/handlers.h"

namespace bartleby {

class Instance {
 public:
  // `broken` may be called from any thread, when only the end of the process helps.
  static Result<std::unique_ptr<Instance>> start(Config config, const Handlers& handlers, const Clock& clock, Log& log,
                                                 std::function<void(const std::string&)> broken);
  ~Instance();

  std::string address() const;  // where the server listens
  Result<void> reload(Config config);
  // Whole: everything is handed over and every handler has come back.
  enum class Stopped : std::uint8_t { kWhole, kHandlersLeft, kNotHandedOver };
  Stopped stop();

 private:
  struct Parts;
  explicit Instance(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace bartleby
