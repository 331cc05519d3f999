#include "model/retry_policy.h"

#include <algorithm>

#include "base/assert.h"

namespace bartleby {
namespace {

constexpr std::int64_t kLongest = 365LL * 24 * 3600 * 1000;  // keeps every product below overflow

Duration step_of(const Schedule& s, std::uint32_t failed) {
  BARTLEBY_ASSERT(!s.steps.empty());
  return s.steps[std::min<std::size_t>(failed, s.steps.size()) - 1];
}

Duration step_of(const Linear& l, std::uint32_t failed) {
  return Duration(std::min(kLongest, std::min(kLongest, l.step.count()) * std::min<std::int64_t>(failed, 100000)));
}

Duration step_of(const Exponential& e, std::uint32_t failed) {
  std::int64_t wait = e.initial.count();
  for (std::uint32_t i = 1; i < failed && wait < e.max.count(); ++i) wait = std::min(kLongest, wait * e.factor);
  return std::min(Duration(wait), e.max);
}

}  // namespace

std::uint32_t RetryPolicy::attempts_for(Kind kind) const {
  const auto& own = max_attempts_by_kind[static_cast<std::size_t>(kind)];
  if (is_final(kind)) return 1;
  return std::max<std::uint32_t>(1, own.value_or(max_attempts));
}

Duration RetryPolicy::delay(std::uint32_t failed, Random& random) const {
  BARTLEBY_ASSERT(failed >= 1);
  const Duration wait = std::visit([failed](const auto& b) { return step_of(b, failed); }, backoff);
  if (jitter_percent == 0) return wait;
  const std::int64_t spread = wait.count() * std::min<std::uint32_t>(jitter_percent, 100) / 100;
  return Duration(wait.count() + random.between(-spread, spread));
}

}  // namespace bartleby
