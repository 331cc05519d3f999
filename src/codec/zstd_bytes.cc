#include "codec/zstd_bytes.h"

#include <zstd.h>

#include <memory>

#include "base/assert.h"

namespace bartleby {
namespace {

constexpr int kFastLevel = 1, kUsualLevel = 3;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

}  // namespace

std::string zstd_compressed(std::string_view bytes, ZstdEffort effort) {
  // One for each thread: making it takes longer than compressing a small value. Every frame begins anew.
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  BARTLEBY_ASSERT(context != nullptr);
  ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel,
                         effort == ZstdEffort::kFast ? kFastLevel : kUsualLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  BARTLEBY_ASSERT(ZSTD_isError(size) == 0);
  frame.resize(size);
  return frame;
}

Result<std::string> zstd_decompressed(std::string_view frame, std::size_t limit) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
    return fail(ErrorCode::kMalformed, "not a zstd frame with a size");
  }
  if (size > limit) return fail(ErrorCode::kTooLarge, "larger than " + std::to_string(limit) + " bytes when unpacked");
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    return fail(ErrorCode::kMalformed, "not exactly one zstd frame");
  }
  std::string bytes(size, '\0');
  const std::size_t unpacked = ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size());
  if (unpacked != size) return fail(ErrorCode::kMalformed, "a damaged zstd frame");
  return bytes;
}

}  // namespace bartleby
