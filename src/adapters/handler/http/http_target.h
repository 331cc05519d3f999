// One endpoint as the loop sees it: its settings, and the requests that wait for it. Checked when made;
// what changes is touched by the loop's thread alone.
#pragma once

#include <deque>

#include "adapters/handler/http/http_loop.h"

namespace bartleby {

struct HttpTarget {
  HttpTarget(std::uint64_t i, HttpTargetOptions o) : id(i), options(std::move(o)) {}

  const std::uint64_t id;  // from 1, never used again
  const HttpTargetOptions options;
  std::deque<HttpLoop::Job> waiting;
  std::size_t resolving = 0;
  bool listed = false;  // among those that have something waiting
};

}  // namespace bartleby
