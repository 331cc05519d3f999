# Sanitizers and coverage counters: for the whole program, or their reports mean nothing.

if(BARTLEBY_SANITIZE)
  add_compile_options(-fsanitize=${BARTLEBY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BARTLEBY_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes the checks that it inserts itself for uses of variables without a value.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()

if(BARTLEBY_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "BARTLEBY_COVERAGE needs g++")
  endif()
  # Without atomic counters two threads of the simulation lose counts, and a line that ran looks as if it had not.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
