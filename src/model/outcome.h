// What one attempt decided, with its texts and the records it wants written.
// Bounded by whoever makes it: see `ErrorText`, and one outcome emits at most 500 records and 8 MB.
#pragma once

#include <bartleby/outcome.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "model/failure.h"
#include "model/record.h"

namespace bartleby {

struct Decision {
  Fate fate = Fate::kDone;
  Kind kind = Kind::kTransient;       // of a retry or reject
  Reason reason = Reason::kRejected;  // of a reject
  std::optional<Duration> after;      // the other side asked to wait this long
  ErrorText error;
  std::vector<Record> emit;
  bool unrun = false;  // the process stops: the attempt did not take place, whatever the rest says

  static Decision not_run() {
    Decision d;
    d.unrun = true;
    return d;
  }
};

constexpr std::size_t kMaxEmitRecords = 500;
constexpr std::size_t kMaxEmitBytes = std::size_t{8} << 20;

}  // namespace bartleby
