# Warnings are errors, on both compilers.

add_compile_options(
  -Werror -Wall -Wextra -Wpedantic
  -Wconversion -Wsign-conversion -Wdouble-promotion
  -Wshadow -Wformat=2 -Wformat-security -Wimplicit-fallthrough
  -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wextra-semi -Wvla)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wtrampolines -Wbidi-chars=any)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 warns of std::string's own operator+ (its bug 105651).
    add_compile_options(-Wno-restrict)
  endif()
endif()
