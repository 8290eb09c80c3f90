# ls_strict_archive(<target> <archive> [options of objcopy...])
#
# A copy of a static library of somebody else's, compiled as it is, that calls the functions of
# strict_math.h where it called those of libm: <target> is what a plug-in links in its place. The
# archive is a path, or $<TARGET_FILE:...>, of machine code: bytecode of link-time optimisation
# is left out. What the library exports stays inside the plug-in. Floats (sinf), and functions that
# have no strict one, stay libm's: lockstep-synctest's lint names them.
#
# Part of the installed package as well.
set(LS_STRICT_LIBM_NAMES
  acos asin atan atan2 cbrt cos cosh exp exp2 expm1 fmod hypot log log10 log1p log2 pow remainder
  sin sincos sinh tan tanh)

function(ls_strict_archive target archive)
  set(names ${CMAKE_CURRENT_BINARY_DIR}/${target}.names)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/lib${target}.a)
  list(TRANSFORM LS_STRICT_LIBM_NAMES REPLACE "(.+)" "\\1 ls_strict_\\1" OUTPUT_VARIABLE lines)
  list(JOIN lines "\n" lines)
  file(CONFIGURE OUTPUT ${names} CONTENT "${lines}\n" @ONLY)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${names} --remove-section=.gnu.lto_*
      --remove-section=.gnu.debuglto_* ${ARGN} ${archive} ${out}
    DEPENDS ${archive} ${names}
    VERBATIM)
  add_custom_target(${target}_made DEPENDS ${out})
  add_library(${target} STATIC IMPORTED GLOBAL)
  add_dependencies(${target} ${target}_made)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${out})
  target_link_libraries(${target} INTERFACE Lockstep::core m)
  target_link_options(${target} INTERFACE LINKER:--exclude-libs,lib${target}.a)
endfunction()
