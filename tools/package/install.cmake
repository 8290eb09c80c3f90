# What an embedding game gets: the libraries, the headers, the programs, a CMake package and
# pkg-config files.
include(CMakePackageConfigHelpers)

# The headers that are promised, and without a promise those that they include and these few, which
# docs/embedding.md and docs/writing-a-simulation.md name.
install(CODE "
  set(LS_SOURCE_DIR ${PROJECT_SOURCE_DIR})
  set(LS_STAGED ${PROJECT_BINARY_DIR}/package/include/lockstep)
  set(LS_PROMISED_HEADERS ${LS_PROMISED_HEADERS})
  set(LS_OTHER_HEADERS
    common/diagnosis/rerun_local.h
    common/runtime/rerun/rerun_process.h
    common/simulation/strict_double.h
    common/simulation/text_file.h
    common/system/machine_fingerprint.h
    common/system/machine_fingerprint.h
    server/journal/recorder.h
    server/journal/resume.h
    server/investigation/desync_finding.h)"
  COMPONENT dev)
install(SCRIPT tools/package/stage_headers.cmake COMPONENT dev)
install(DIRECTORY ${PROJECT_BINARY_DIR}/package/include/lockstep
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
install(CODE "
  set(LS_SOURCE_DIR ${PROJECT_SOURCE_DIR})
  set(LS_STAGED ${PROJECT_BINARY_DIR}/package/doc)"
  COMPONENT common)
install(SCRIPT tools/package/stage_docs.cmake COMPONENT common)
install(DIRECTORY ${PROJECT_BINARY_DIR}/package/doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT common PATTERN LICENSE EXCLUDE)

# What an embedding game names, and what that uses: a library stands behind all that it uses. The
# linker wants the static ones the other way round, each before those that it uses.
set(LS_PUBLIC_LIBRARIES bundle client core journal loader rerun_process resume server tokens
  transport_memory transport_udp)
function(ls_order_libraries library)
  get_property(ordered GLOBAL PROPERTY LS_ORDERED_LIBRARIES)
  if(library IN_LIST ordered)
    return()
  endif()
  get_target_property(uses ${library} INTERFACE_LINK_LIBRARIES)
  set(packages "")
  foreach(use IN LISTS uses)
    if(use MATCHES "^lockstep_")
      ls_order_libraries(${use})
      get_property(more GLOBAL PROPERTY LS_PACKAGES_OF_${use})
      list(APPEND packages ${more})
    elseif(use MATCHES "^PkgConfig::(.*)")
      list(APPEND packages ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES packages)
  set_property(GLOBAL PROPERTY LS_PACKAGES_OF_${library} ${packages})
  set_property(GLOBAL APPEND PROPERTY LS_ORDERED_LIBRARIES ${library})
endfunction()
foreach(name IN LISTS LS_PUBLIC_LIBRARIES)
  ls_order_libraries(lockstep_${name})
endforeach()
get_property(libraries GLOBAL PROPERTY LS_ORDERED_LIBRARIES)

install(TARGETS ${libraries} EXPORT LockstepTargets COMPONENT dev)

# The one library. Its static form is one object: what it is made of is put together, and is hidden
# from whoever links it.
install(TARGETS lockstep EXPORT LockstepTargets
  LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
install(DIRECTORY tools/bindings/python tools/bindings/csharp tools/bindings/mono
  DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep COMPONENT dev PATTERN __pycache__ EXCLUDE)
install(DIRECTORY tools/bindings/rust/lockstep tools/bindings/rust/lockstep-sys
  DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/rust COMPONENT dev PATTERN tests EXCLUDE)
install(FILES tools/liblockstep/lockstep.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
ls_order_libraries(lockstep_liblockstep)
get_property(inside GLOBAL PROPERTY LS_ORDERED_LIBRARIES)
get_property(packages GLOBAL PROPERTY LS_PACKAGES_OF_lockstep_liblockstep)
set(LS_PC_LIBS_PRIVATE "")
foreach(package IN LISTS packages)
  foreach(library IN LISTS ${package}_LIBRARIES)
    string(APPEND LS_PC_LIBS_PRIVATE "-l${library} ")
  endforeach()
endforeach()
if(NOT LS_SANITIZE)
  set(whole ${PROJECT_BINARY_DIR}/lib/liblockstep)
  list(TRANSFORM inside REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
  add_custom_command(OUTPUT ${whole}.a
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -fno-lto -o ${whole}.o
      $<TARGET_OBJECTS:lockstep_liblockstep> -Wl,--start-group ${archives} -Wl,--end-group
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --remove-section=.gnu.lto_*
      --remove-section=.gnu.debuglto_* ${whole}.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${whole}.a
    COMMAND ${CMAKE_AR} rcs ${whole}.a ${whole}.o
    DEPENDS lockstep_liblockstep ${inside} COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(lockstep_archive ALL DEPENDS ${whole}.a)
  install(FILES ${whole}.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()
if(LS_LTO AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # gcc's bytecode is of one version of gcc: who embeds the libraries may have another.
  foreach(library IN LISTS libraries)
    install(CODE "execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --wildcard --remove-section=.gnu.lto_*
      --remove-section=.gnu.debuglto_*
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:${library}>\"
      COMMAND_ERROR_IS_FATAL ANY)" COMPONENT dev)
  endforeach()
endif()
get_property(programs GLOBAL PROPERTY LS_PROGRAMS)
foreach(program IN LISTS programs)
  if(program STREQUAL "lockstep-client")
    install(TARGETS ${program} COMPONENT client)
  elseif(program MATCHES "^lockstep-(server|admin|relay|token)$")
    install(TARGETS ${program} COMPONENT server)
  else()
    install(TARGETS ${program} COMPONENT tools)
  endif()
endforeach()

# For the CMake package: of each component the packages of other people that it needs; for pkg-config
# those of all.
set(LS_COMPONENT_PACKAGES "")
set(LS_PC_LIBS "")
foreach(library IN LISTS libraries)
  string(REPLACE "lockstep_" "" component ${library})
  get_property(packages GLOBAL PROPERTY LS_PACKAGES_OF_${library})
  list(JOIN packages " " words)
  string(APPEND LS_COMPONENT_PACKAGES "set(_lockstep_packages_${component} ${words})\n")
  list(APPEND LS_COMPONENTS ${component})
  list(APPEND all_packages ${packages})
  string(PREPEND LS_PC_LIBS "-l${library} ")
endforeach()
list(REMOVE_DUPLICATES all_packages)
foreach(package IN LISTS all_packages)
  set(module ${${package}_MODULE_NAME})
  string(APPEND LS_COMPONENT_PACKAGES "set(_lockstep_module_${package} ${module})\n")
  list(APPEND LS_PC_REQUIRES ${module})
endforeach()
list(JOIN LS_PC_REQUIRES " " LS_PC_REQUIRES)
list(APPEND LS_COMPONENTS lockstep) # which needs nothing
list(JOIN LS_COMPONENTS " " LS_COMPONENTS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(
  tools/package/LockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/package/LockstepConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/package/LockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/LockstepConfig.cmake
  ${PROJECT_BINARY_DIR}/package/LockstepConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)
install(FILES common/maths/strict_archive.cmake DESTINATION ${package_dir}
  RENAME LockstepStrictArchive.cmake COMPONENT dev)

# The files find themselves by their own place, so that an installed tree can be moved.
file(RELATIVE_PATH LS_PC_PREFIX
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" LS_PC_PREFIX "${LS_PC_PREFIX}")
foreach(package IN ITEMS lockstep lockstep-core lockstep-parts lockstep-static)
  configure_file(tools/package/${package}.pc.in ${PROJECT_BINARY_DIR}/package/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/${package}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

include(tools/package/debian.cmake)
