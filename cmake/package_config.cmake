# find_package(bartleby): the target bartleby::bartleby is a program that only lacks its handlers.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(simdjson)
find_dependency(OpenSSL COMPONENTS Crypto)
find_dependency(zstd)
find_dependency(yaml-cpp)
find_dependency(Boost 1.81 COMPONENTS json)
find_dependency(CURL 7.85)

if(NOT TARGET bartleby::bartleby)
  add_library(bartleby_sqlite3 STATIC IMPORTED)
  set_target_properties(bartleby_sqlite3 PROPERTIES
    IMPORTED_LOCATION ${CMAKE_CURRENT_LIST_DIR}/libbartleby_sqlite3.a
    INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/libbartleby_rdkafka.a)
    find_dependency(OpenSSL)
    find_dependency(ZLIB)
    add_library(bartleby_rdkafka STATIC IMPORTED)
    set_target_properties(bartleby_rdkafka PROPERTIES
      IMPORTED_LOCATION ${CMAKE_CURRENT_LIST_DIR}/libbartleby_rdkafka.a
      INTERFACE_LINK_LIBRARIES
      "sasl2;lz4;zstd;CURL::libcurl;OpenSSL::SSL;OpenSSL::Crypto;ZLIB::ZLIB;Threads::Threads;dl;m")
  endif()
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/libbartleby_adapters_sink_mongodb.a)
    find_dependency(bson-1.0 CONFIG)
  endif()
  include(${CMAKE_CURRENT_LIST_DIR}/targets.cmake)
  add_library(bartleby::bartleby INTERFACE IMPORTED)
  set_target_properties(bartleby::bartleby PROPERTIES INTERFACE_LINK_LIBRARIES bartleby_wiring)
  target_compile_features(bartleby::bartleby INTERFACE cxx_std_23)
endif()
