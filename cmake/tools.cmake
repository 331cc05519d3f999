# ccache remembers compilations, mold links in half the time. Neither is needed.

find_program(BARTLEBY_CCACHE ccache)
if(BARTLEBY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths are made relative, so that a second clone of the project finds what the first one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${BARTLEBY_CCACHE})
endif()

find_program(BARTLEBY_MOLD mold)
if(BARTLEBY_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Assertions and debug information name files as they are called in the project, however the compiler was told
# about them (ccache makes paths relative to the build folder). Coverage needs the real paths.
if(NOT BARTLEBY_COVERAGE)
  file(RELATIVE_PATH from_build ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${from_build}=)
endif()
