# tests/unit        -> unit_tests
# tests/sim         -> bartleby_sim (library), sim (main.cc), sim_tests (*_test.cc)
# tests/contract    -> contract_tests
# tests/scenario    -> scenario_tests: every *.scenario on every broker
# tests/integration -> integration_tests: parts of the program with real files, processes and threads

find_package(GTest REQUIRED)
set(tests ${CMAKE_SOURCE_DIR}/tests)

# A test program; none when it has no sources.
function(bartleby_test_program target)
  if(NOT ARGN)
    return()
  endif()
  add_executable(${target} ${ARGN})
  bartleby_program(${target})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})  # "tests/sim/..."
  bartleby_link(${target} GTest::gmock GTest::gtest_main
                bartleby_wiring bartleby_runtime bartleby_engine bartleby_codec bartleby_ports bartleby_model
                bartleby_base)
  # Reading the framework's headers is half of a test's compilation. The first program precompiles them for all.
  get_property(first GLOBAL PROPERTY BARTLEBY_PCH_TARGET)
  if(BARTLEBY_PCH AND first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  elseif(BARTLEBY_PCH)
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <gmock/gmock.h>)
    set_property(GLOBAL PROPERTY BARTLEBY_PCH_TARGET ${target})
  endif()
endfunction()

file(GLOB unit_sources CONFIGURE_DEPENDS ${tests}/unit/*.cc)
file(GLOB contract_sources CONFIGURE_DEPENDS ${tests}/contract/*.cc)
file(GLOB scenario_sources CONFIGURE_DEPENDS ${tests}/scenario/*.cc)
file(GLOB integration_sources CONFIGURE_DEPENDS ${tests}/integration/*.cc)
file(GLOB sim_sources CONFIGURE_DEPENDS ${tests}/sim/*.cc)
set(sim_test_sources ${sim_sources})
list(FILTER sim_test_sources INCLUDE REGEX "_test\\.cc$")
set(sim_main ${sim_sources})
list(FILTER sim_main INCLUDE REGEX "/main\\.cc$")
list(FILTER sim_sources EXCLUDE REGEX "(_test|/main)\\.cc$")

if(sim_sources)
  find_package(Threads REQUIRED)
  add_library(bartleby_sim STATIC ${sim_sources})
  target_include_directories(
    bartleby_sim PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  bartleby_link(bartleby_sim Threads::Threads bartleby_office bartleby_adapters_store_sqlite
                bartleby_runtime bartleby_engine bartleby_codec bartleby_ports bartleby_model bartleby_base)
endif()

if(sim_main)
  add_executable(sim ${sim_main})
  bartleby_program(sim)
  bartleby_link(sim bartleby_sim)
endif()

# Some tests read tables of cases, or compare a document with what the program would write.
set_source_files_properties(${tests}/unit/config_text_test.cc ${tests}/unit/config_mistakes_test.cc
                            ${tests}/scenario/scenario_test.cc
                            PROPERTIES COMPILE_DEFINITIONS BARTLEBY_SOURCE="${CMAKE_SOURCE_DIR}")
set_source_files_properties(${tests}/contract/kafka_broker_rig.cc ${tests}/contract/mongodb_sink_rig.cc
                            PROPERTIES COMPILE_DEFINITIONS BARTLEBY_SOURCE="${CMAKE_SOURCE_DIR}")
# Servers that tests start, and other things that more than one test needs.
file(GLOB support_sources CONFIGURE_DEPENDS ${tests}/support/*.cc)
bartleby_test_program(unit_tests ${unit_sources} ${support_sources})
bartleby_link(unit_tests bartleby_adapters_handler_http)
bartleby_test_program(contract_tests ${contract_sources})
bartleby_test_program(scenario_tests ${scenario_sources})
bartleby_test_program(sim_tests ${sim_test_sources})
bartleby_test_program(integration_tests ${integration_sources})
foreach(target unit_tests contract_tests scenario_tests integration_tests)
  if(TARGET ${target})
    bartleby_link(${target} bartleby_office bartleby_adapters_store_sqlite bartleby_adapters_broker_embedded
                  bartleby_adapters_broker_kafka
                  bartleby_adapters_counters_embedded bartleby_adapters_counters_redis bartleby_adapters_sink_mongodb)
  endif()
endforeach()
if(BARTLEBY_HAS_MONGODB AND TARGET contract_tests)
  bartleby_link(contract_tests mongo::mongoc_shared)  # looks at what a sink wrote
endif()
foreach(target contract_tests scenario_tests sim_tests)
  if(TARGET ${target})
    bartleby_link(${target} bartleby_sim)
  endif()
endforeach()

# A program with handlers that kill it, for tests/robustness/crashes.py.
if(TARGET bartleby_wiring)
  add_executable(crashing ${tests}/robustness/crashing.cc)
  bartleby_program(crashing)
  bartleby_link(crashing bartleby_wiring)
endif()

# Feeds recordings of real runs to a fresh engine, for tests/robustness/processes.py and for bug reports.
if(TARGET bartleby_sim)
  add_executable(replay ${tests}/robustness/replay.cc)
  bartleby_program(replay)
  bartleby_link(replay bartleby_sim)
endif()

# What `make quick` builds.
add_custom_target(quick)
foreach(target unit_tests sim_tests)
  if(TARGET ${target})
    add_dependencies(quick ${target})
  endif()
endforeach()
