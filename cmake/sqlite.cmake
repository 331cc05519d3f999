# SQLite as scripts/sqlite has built it (make setup calls that): bartleby_sqlite3. Debian's is too old; see there.

execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/sqlite --where
                OUTPUT_VARIABLE sqlite_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${sqlite_folder}/lib/libsqlite3.a)
  message(FATAL_ERROR "SQLite is not built yet: scripts/setup run")
endif()
find_package(Threads REQUIRED)
add_library(bartleby_sqlite3 STATIC IMPORTED)
set_target_properties(bartleby_sqlite3 PROPERTIES
  IMPORTED_LOCATION ${sqlite_folder}/lib/libsqlite3.a
  INTERFACE_INCLUDE_DIRECTORIES ${sqlite_folder}/include
  INTERFACE_LINK_LIBRARIES "Threads::Threads;m")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scripts/sqlite)
