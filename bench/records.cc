#include "bench/records.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace bartleby::bench {
namespace {

// As scattered as a hash of the key, but no two keys share a lane (the finaliser of MurmurHash3).
Lane lane_of_key(std::uint64_t key) {
  auto h = static_cast<std::uint32_t>(key + 1);
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  return Lane(h ^ (h >> 16));
}

}  // namespace

RecordRef record(std::int64_t offset, std::uint64_t key) {
  RecordRef r;
  r.offset = Offset(offset);
  r.timestamp = timestamp_ms(kWallStart);
  r.lane = lane_of_key(key);
  r.slot = static_cast<std::uint32_t>(offset);
  r.size = kMessageSize;
  return r;
}

std::vector<RecordRef> uniform_log(std::size_t records, std::size_t keys) {
  Random random(1);
  std::vector<RecordRef> log;
  log.reserve(records);
  for (std::size_t i = 0; i < records; ++i) log.push_back(record(static_cast<std::int64_t>(i), random.below(keys)));
  return log;
}

std::vector<RecordRef> zipf_log(std::size_t records, std::size_t keys) {
  std::vector<double> up_to(keys);  // sum of the weights of the keys so far
  double sum = 0;
  for (std::size_t k = 0; k < keys; ++k) up_to[k] = sum += std::pow(static_cast<double>(k + 1), -0.99);
  Random random(1);
  std::vector<RecordRef> log;
  log.reserve(records);
  for (std::size_t i = 0; i < records; ++i) {
    const double at = static_cast<double>(random.next() >> 11) * 0x1p-53 * sum;
    const auto key = std::ranges::lower_bound(up_to, at) - up_to.begin();
    log.push_back(record(static_cast<std::int64_t>(i), static_cast<std::uint64_t>(key)));
  }
  return log;
}

}  // namespace bartleby::bench
