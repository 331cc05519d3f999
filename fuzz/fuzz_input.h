// Helps fuzz targets to get past the first check: valid text made from the input, then changed by it.
//
// From nothing but random bytes a fuzzer seldom finds a right checksum or a whole JSON object. Runs out of input
// quietly: what is not there reads as zero.
#pragma once

#include <bartleby/types.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace bartleby::fuzz {

// A number of any length, so that every length of a varint is met.
inline std::uint64_t any_number(FuzzedDataProvider& in) {
  return in.ConsumeIntegral<std::uint64_t>() >> in.ConsumeIntegralInRange(0, 63);
}

inline Bytes maybe_text(FuzzedDataProvider& in, std::size_t max) {
  if (in.ConsumeBool()) return std::nullopt;
  return in.ConsumeRandomLengthString(max);
}

// A few bytes of `text` overwritten, cut out or put in.
inline void damage(FuzzedDataProvider& in, std::string& text) {
  for (int i = in.ConsumeIntegralInRange(0, 4); i > 0 && !text.empty(); --i) {
    const std::size_t at = in.ConsumeIntegralInRange<std::size_t>(0, text.size() - 1);
    switch (in.ConsumeIntegralInRange(0, 2)) {
      case 0:
        text[at] = static_cast<char>(in.ConsumeIntegral<std::uint8_t>());
        break;
      case 1:
        text.erase(at, in.ConsumeIntegralInRange<std::size_t>(1, 8));
        break;
      default:
        text.insert(at, in.ConsumeRandomLengthString(16));
    }
  }
}

inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace bartleby::fuzz
