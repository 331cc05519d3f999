// Bytes compressed as one zstd frame that knows its size and carries a checksum.
//
// Decompression believes nothing: a frame without a size, larger than `limit`, damaged or with anything
// behind it is an error, and no more memory is taken than the frame says and `limit` allows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace bartleby {

// Small and often wants to be fast; large and for good wants to be small.
enum class ZstdEffort : std::uint8_t { kFast, kUsual };

std::string zstd_compressed(std::string_view bytes, ZstdEffort effort = ZstdEffort::kUsual);
Result<std::string> zstd_decompressed(std::string_view frame, std::size_t limit);

}  // namespace bartleby
