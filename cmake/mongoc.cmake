# libmongoc as Debian has it (libmongoc-dev), for the MongoDB sink, with BARTLEBY_MONGODB. Without it the program is
# built without that sink.
set(BARTLEBY_HAS_MONGODB OFF)
if(BARTLEBY_MONGODB)
  find_package(mongoc-1.0 1.17 CONFIG QUIET)
  if(TARGET mongo::mongoc_shared)
    set(BARTLEBY_HAS_MONGODB ON)
  endif()
endif()
