# One library per folder of src/: static, or header-only when the folder has no .cc file. A folder without
# any file makes no target. Targets are named bartleby_<folder>, with _ for / where folders are nested.

# Links only those of the named libraries that exist.
function(bartleby_link target)
  get_target_property(type ${target} TYPE)
  set(scope PUBLIC)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  endif()
  foreach(library IN LISTS ARGN)
    if(TARGET ${library})
      target_link_libraries(${target} ${scope} ${library})
    endif()
  endforeach()
endfunction()

function(bartleby_library folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cc)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.h)
  string(REPLACE "/" "_" target bartleby_${folder})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
  elseif(headers)
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  else()
    return()
  endif()
  target_include_directories(
    ${target} ${scope} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  set_property(GLOBAL APPEND PROPERTY BARTLEBY_LIBRARIES ${target})  # what is installed
  list(TRANSFORM ARGN PREPEND bartleby_ OUTPUT_VARIABLE libraries)
  list(TRANSFORM libraries REPLACE "/" "_")
  bartleby_link(${target} ${libraries})
endfunction()

# What every program of ours has in common.
function(bartleby_program target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
endfunction()
