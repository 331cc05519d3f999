# fuzz/*_fuzz.cc -> one libFuzzer program each.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "BARTLEBY_FUZZ needs clang")
endif()

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(target ${source} NAME_WE)
  add_executable(${target} ${source})
  bartleby_program(${target})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  bartleby_link(${target} bartleby_wiring bartleby_engine bartleby_codec bartleby_ports bartleby_model bartleby_base)
endforeach()
