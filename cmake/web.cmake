# The pages are built by npm into one pack, once for all presets, and become bytes of the program.

set(BARTLEBY_PAGES ${CMAKE_SOURCE_DIR}/build/web/ui.pack)
file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/* ${CMAKE_SOURCE_DIR}/web/scripts/*)
list(FILTER web_sources EXCLUDE REGEX "/schema\\.d\\.ts$")  # written by the build itself
list(APPEND web_sources ${CMAKE_SOURCE_DIR}/web/index.html ${CMAKE_SOURCE_DIR}/web/package.json
     ${CMAKE_SOURCE_DIR}/web/package-lock.json ${CMAKE_SOURCE_DIR}/web/tsconfig.json
     ${CMAKE_SOURCE_DIR}/web/vite.config.ts ${CMAKE_SOURCE_DIR}/docs/open-api-spec/api-spec.yaml)
add_custom_command(
  OUTPUT ${BARTLEBY_PAGES}
  COMMAND ${CMAKE_SOURCE_DIR}/scripts/web
  DEPENDS ${web_sources} ${CMAKE_SOURCE_DIR}/scripts/web
  COMMENT "Building the pages"
  VERBATIM)
set_source_files_properties(
  ${CMAKE_SOURCE_DIR}/src/server/pages_embedded.cc PROPERTIES OBJECT_DEPENDS ${BARTLEBY_PAGES} COMPILE_DEFINITIONS
                                                                          "BARTLEBY_PAGES=\"${BARTLEBY_PAGES}\"")
