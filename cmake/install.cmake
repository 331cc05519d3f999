# make install: the program, the public headers, and the libraries that a program with handlers of its own links:
# find_package(bartleby), target bartleby::bartleby. Others' libraries are found as this build found them; SQLite and
# librdkafka, which Debian does not have in versions that keep our promises, come along.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(folder ${CMAKE_INSTALL_LIBDIR}/bartleby)

get_property(libraries GLOBAL PROPERTY BARTLEBY_LIBRARIES)
install(TARGETS bartleby RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${libraries} EXPORT bartleby ARCHIVE DESTINATION ${folder})
install(EXPORT bartleby FILE targets.cmake DESTINATION ${folder})
install(DIRECTORY include/bartleby DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
get_target_property(sqlite bartleby_sqlite3 IMPORTED_LOCATION)
install(FILES ${sqlite} DESTINATION ${folder} RENAME libbartleby_sqlite3.a)
if(TARGET bartleby_rdkafka)
  get_target_property(rdkafka bartleby_rdkafka IMPORTED_LOCATION)
  install(FILES ${rdkafka} DESTINATION ${folder} RENAME libbartleby_rdkafka.a)
endif()
write_basic_package_version_file(bartleby-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/package_config.cmake DESTINATION ${folder} RENAME bartleby-config.cmake)
install(FILES ${CMAKE_BINARY_DIR}/bartleby-config-version.cmake DESTINATION ${folder})
