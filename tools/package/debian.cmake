# Packages for Debian, one for each part of what is installed, so that a server needs no SDL.
# tools/package/build makes them.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL server client window tools lib dev common)
set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR "Lockstep")
set(CPACK_PACKAGE_CONTACT "The Lockstep authors <lockstep@users.noreply.github.com>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/stage.cmake)

# What the script puts beside the files that are installed.
set(CPACK_LOCKSTEP_SOURCE ${CMAKE_CURRENT_SOURCE_DIR})
set(CPACK_LOCKSTEP_BIN ${PROJECT_BINARY_DIR}/bin)

# For another processor: what dpkg-shlibdeps looks into, and how programs are asked for their help.
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
  set(CPACK_LOCKSTEP_ADMIN ${CMAKE_SYSROOT}/var/lib/dpkg)
  set(CPACK_LOCKSTEP_EMULATOR ${CMAKE_CROSSCOMPILING_EMULATOR})
endif()

# Versions, and what depends on them, are those of the commit that is packed.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/version.cmake)
foreach(part IN ITEMS server client window tools dev common)
  string(TOUPPER ${part} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME lockstep-${part})
endforeach()
set(CPACK_DEBIAN_LIB_PACKAGE_NAME liblockstep0) # as its soname
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/lib/shlibs
  ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/lib/triggers)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_LOCKSTEP_DEV_DEPENDS
  "libenet-dev, libuv1-dev, libsodium-dev, libxxhash-dev, libzstd-dev")
set(CPACK_LOCKSTEP_TOOLS_DEPENDS ${LS_CAPSTONE_PACKAGE}) # which they load, and do not link
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "lockstep-tools")
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "lockstep-window")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "lockstep-window")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/tools/package/conffiles)

set(CPACK_COMPONENT_SERVER_DESCRIPTION
  "server for deterministic lockstep matches\nHosts matches in which every machine advances the same simulation, and says\nwhich machine diverged, on which tick, in which field. Runs as a service with\nmany rooms; lockstep-admin steers it, and lockstep-token lets players in.\nlockstep-relay introduces players to servers behind routers.")
set(CPACK_COMPONENT_CLIENT_DESCRIPTION
  "client for deterministic lockstep matches\nPlays or watches a match of a Lockstep server, in a window or on a terminal.")
set(CPACK_COMPONENT_WINDOW_DESCRIPTION
  "windows for deterministic lockstep matches\nWhat lockstep-client and lockstep-replay load to show a match in a window, with\nsounds. Without it they play, and show matches on a terminal.")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
  "tools for deterministic lockstep simulations\nVerify journals of matches, explain desyncs, test that a simulation is\ndeterministic, make networks bad, and measure.")
set(CPACK_COMPONENT_LIB_DESCRIPTION
  "lockstep matches in a game of your own (library)\nA shared library that hosts matches, plays in them and steps simulations. Games\nthat were built with lockstep-dev need it.")
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "lockstep matches in a game of your own (development)\nHeaders and libraries to write a simulation, and to host and play matches in a\ngame.")
set(CPACK_COMPONENT_COMMON_DESCRIPTION
  "documentation and simulations of Lockstep\nThe documentation, and the plug-ins that server, client and tools share.")
include(CPack)
