# Run by cpack before it packs: puts into each package the files that only packages have: licence,
# changelog, manual pages, completions, the unit and the configuration of the service.
set(source ${CPACK_LOCKSTEP_SOURCE})
set(made ${CPACK_TEMPORARY_DIRECTORY}/../made)
file(REMOVE_RECURSE ${made})
if(CPACK_LOCKSTEP_EMULATOR)
  list(JOIN CPACK_LOCKSTEP_EMULATOR " " emulator)
  file(GLOB programs ${CPACK_LOCKSTEP_BIN}/*)
  foreach(program IN LISTS programs)
    get_filename_component(name ${program} NAME)
    file(WRITE ${made}/bin/${name} "#!/bin/sh\nexec ${emulator} ${program} \"$@\"\n")
    file(CHMOD ${made}/bin/${name} PERMISSIONS OWNER_READ OWNER_EXECUTE)
  endforeach()
  set(CPACK_LOCKSTEP_BIN ${made}/bin)
endif()
execute_process(
  COMMAND ${source}/tools/make-reference --bin ${CPACK_LOCKSTEP_BIN} --man ${made}/man
    --completion ${made}/completion
  COMMAND_ERROR_IS_FATAL ANY)

function(compress from to)
  get_filename_component(folder ${to} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND gzip -9nc ${from} OUTPUT_FILE ${to} COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${to} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# The date is that of SOURCE_DATE_EPOCH, when that is set.
set(ENV{LC_ALL} C)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${made}/changelog "lockstep (${CPACK_LOCKSTEP_VERSION}) unstable; urgency=medium

  * See docs/changelog.md of lockstep-common.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(READ ${source}/LICENSE licence)
string(REGEX MATCH "Copyright [^\n]*" holder "${licence}")
string(REGEX REPLACE "^.*Copyright [^\n]*\n\n" "" licence "${licence}")
string(REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REGEX REPLACE "\n(.)" "\n \\1" licence "${licence}")
string(REGEX REPLACE "^Copyright " "" holder "${holder}")
file(READ ${source}/common/program/name_tables.c unicode)
string(REGEX REPLACE "^.*reserved.\n \\*\n \\* | \\*/.*$" "" unicode "${unicode}")
string(REGEX REPLACE "\n \\*" "\n" unicode " ${unicode}")
string(REPLACE "\n\n" "\n .\n" unicode "${unicode}")
file(WRITE ${made}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Lockstep

Files: *
Copyright: ${holder}
License: Expat
 ${licence}

Files: common/program/name_tables.c
Copyright: 1991-2022 Unicode, Inc.
License: Unicode
${unicode}
")

foreach(part IN ITEMS server client window tools lib dev common)
  set(tree ${CPACK_TEMPORARY_DIRECTORY}/${part})
  set(package lockstep-${part})
  if(part STREQUAL "lib")
    set(package liblockstep0)
  endif()
  file(COPY ${made}/copyright DESTINATION ${tree}/usr/share/doc/${package})
  compress(${made}/changelog ${tree}/usr/share/doc/${package}/changelog.Debian.gz)
  file(GLOB programs ${tree}/usr/bin/*)
  foreach(program IN LISTS programs)
    get_filename_component(name ${program} NAME)
    compress(${made}/man/${name}.1 ${tree}/usr/share/man/man1/${name}.1.gz)
    file(COPY ${made}/completion/${name}
      DESTINATION ${tree}/usr/share/bash-completion/completions)
  endforeach()
endforeach()

set(tree ${CPACK_TEMPORARY_DIRECTORY}/server)
file(COPY ${source}/tools/package/lockstep.toml ${source}/tools/package/relay.conf
  DESTINATION ${tree}/etc/lockstep)
file(COPY ${source}/tools/package/systemd/lockstep-relay.service
    ${source}/tools/package/systemd/lockstep-server.service
    ${source}/tools/package/systemd/lockstep-server.socket
  DESTINATION ${tree}/lib/systemd/system)
