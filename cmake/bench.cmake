# bench/*.cc -> bench. Meaningful in an optimised build without test code: `make bench` uses the release preset.

file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.cc)
find_package(benchmark QUIET)
if(bench_sources AND NOT BARTLEBY_TESTING AND NOT BARTLEBY_FUZZ)
  add_executable(bench ${bench_sources} ${CMAKE_SOURCE_DIR}/tests/support/http_server.cc)  # an endpoint to push to
  set_target_properties(bench PROPERTIES EXCLUDE_FROM_ALL ON)
  bartleby_program(bench)
  target_include_directories(bench PRIVATE ${CMAKE_SOURCE_DIR})
  bartleby_link(bench benchmark::benchmark bartleby_server_routes bartleby_server bartleby_office
                bartleby_adapters_store_sqlite bartleby_adapters_broker_embedded bartleby_adapters_broker_kafka
                bartleby_adapters_counters_embedded bartleby_adapters_counters_redis
                bartleby_adapters_handler_http bartleby_runtime bartleby_engine bartleby_codec bartleby_ports
                bartleby_model bartleby_base)
endif()
