# librdkafka as scripts/librdkafka has built it (make setup calls that): bartleby_rdkafka, with BARTLEBY_KAFKA.
# Without it the program is built without Kafka. The glob is looked at by every build, so one that comes later is found.

execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/librdkafka --where
                OUTPUT_VARIABLE rdkafka_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
file(GLOB rdkafka_library CONFIGURE_DEPENDS ${rdkafka_folder}/lib/librdkafka.a)
set(BARTLEBY_HAS_KAFKA OFF)
if(BARTLEBY_KAFKA AND rdkafka_library)
  set(BARTLEBY_HAS_KAFKA ON)
  find_package(Threads REQUIRED)
  find_package(OpenSSL REQUIRED)
  find_package(CURL REQUIRED)
  find_package(ZLIB REQUIRED)
  add_library(bartleby_rdkafka STATIC IMPORTED)
  set_target_properties(bartleby_rdkafka PROPERTIES
    IMPORTED_LOCATION ${rdkafka_library}
    INTERFACE_INCLUDE_DIRECTORIES ${rdkafka_folder}/include
    INTERFACE_LINK_LIBRARIES
    "sasl2;lz4;zstd;CURL::libcurl;OpenSSL::SSL;OpenSSL::Crypto;ZLIB::ZLIB;Threads::Threads;dl;m")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scripts/librdkafka)
