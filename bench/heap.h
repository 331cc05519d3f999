// How much of the heap is in use, as the allocator itself counts it: every live block with its own overhead,
// large ones that were mapped apart included.
#pragma once

#include <malloc.h>

#include <cstddef>

namespace bartleby::bench {

inline std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace bartleby::bench
