# hiredis of the system (make setup installs it for the tests), with BARTLEBY_REDIS. Without it the program is built
# without Redis. The glob is looked at by every build, so one that comes later is found.

file(GLOB hiredis_header CONFIGURE_DEPENDS /usr/include/hiredis/hiredis.h /usr/local/include/hiredis/hiredis.h)
set(BARTLEBY_HAS_REDIS OFF)
if(BARTLEBY_REDIS AND hiredis_header)
  set(BARTLEBY_HAS_REDIS ON)
endif()
