// The pack of pages as bytes of this program. g++ 12 has no #embed; the assembler has had .incbin all along.
#include "server/pages.h"

// clang-format off
asm(".section .rodata\n"
    ".balign 16\n"
    ".globl bartleby_pages_begin\n"
    ".hidden bartleby_pages_begin\n"
    "bartleby_pages_begin:\n"
    ".incbin \"" BARTLEBY_PAGES "\"\n"
    ".globl bartleby_pages_end\n"
    ".hidden bartleby_pages_end\n"
    "bartleby_pages_end:\n"
    ".byte 0\n"
    ".text\n");
// clang-format on

// NOLINTBEGIN(readability-identifier-naming): names of the assembler's labels above
extern "C" {
__attribute__((visibility("hidden"))) extern const char bartleby_pages_begin[];
__attribute__((visibility("hidden"))) extern const char bartleby_pages_end[];
}
// NOLINTEND(readability-identifier-naming)

namespace bartleby {

std::string_view embedded_pages() {
  return {bartleby_pages_begin, static_cast<std::size_t>(bartleby_pages_end - bartleby_pages_begin)};
}

}  // namespace bartleby
