# Read by cpack before it packs: the version of the packages is that of the project, and of the
# commit, unless it is the one that the project's version was given to (its tag, v0.1.0) or there is
# no repository: 0.1.0+git1234.0a1b2c3d-1, which grows with each commit.
set(CPACK_DEBIAN_PACKAGE_VERSION ${CPACK_PACKAGE_VERSION})

function(ls_ask_git out)
  execute_process(COMMAND git -C ${CPACK_LOCKSTEP_SOURCE} ${ARGN}
    OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failure)
  if(failure)
    set(answer "")
  endif()
  set(${out} "${answer}" PARENT_SCOPE)
endfunction()

ls_ask_git(commit rev-parse --short=8 HEAD)
ls_ask_git(count rev-list --count HEAD)
ls_ask_git(tags tag --points-at HEAD)
ls_ask_git(changes status --porcelain --untracked-files=no)
string(REPLACE "\n" ";" tags "${tags}")
list(FIND tags v${CPACK_PACKAGE_VERSION} at)
if(commit AND (changes OR at EQUAL -1))
  string(APPEND CPACK_DEBIAN_PACKAGE_VERSION "+git${count}.${commit}")
endif()
if(commit AND changes)
  string(APPEND CPACK_DEBIAN_PACKAGE_VERSION ".modified")
endif()

# Packages of one build belong together.
set(CPACK_LOCKSTEP_VERSION ${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(common "lockstep-common (= ${CPACK_LOCKSTEP_VERSION})")
foreach(name IN ITEMS SERVER CLIENT WINDOW TOOLS DEV)
  set(CPACK_DEBIAN_${name}_PACKAGE_DEPENDS "${common}")
endforeach()
string(APPEND CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS ", ${CPACK_LOCKSTEP_TOOLS_DEPENDS}")
string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  ", liblockstep0 (= ${CPACK_LOCKSTEP_VERSION}), ${CPACK_LOCKSTEP_DEV_DEPENDS}")

if(CPACK_LOCKSTEP_ADMIN)
  set(ENV{DPKG_ADMINDIR} ${CPACK_LOCKSTEP_ADMIN})
  set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})
endif()
