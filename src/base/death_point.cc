#include "base/death_point.h"

#ifdef BARTLEBY_TESTING

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace bartleby {
namespace {

struct Place {
  std::string name;
  std::atomic<int> left{1};

  Place() {
    const char* text = std::getenv("BARTLEBY_DIE_AT");  // NOLINT(concurrency-mt-unsafe): nothing here sets one
    if (text == nullptr) return;
    name = text;
    if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
      left = std::atoi(name.c_str() + colon + 1);
      name.resize(colon);
    }
  }
};

}  // namespace

void death_point(std::string_view name) {
  static Place place;
  if (place.name.empty() || place.name != name || place.left.fetch_sub(1) != 1) return;
  ::kill(::getpid(), SIGKILL);
  ::pause();
}

}  // namespace bartleby

#endif
