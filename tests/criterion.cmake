# Criterion as the tests are linked with it, where its library is used.
pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
# Criterion, without what is loaded at each start and not used: a test is a process. The stand-in has
# the name of the library that it stands for, so that the loader does not look for that one.
target_link_libraries(tests_criterion INTERFACE PkgConfig::CRITERION)
target_link_options(tests_criterion INTERFACE LINKER:--as-needed)
set(CMAKE_LINK_LIBRARY_USING_ALWAYS_LOADED
  LINKER:--push-state,--no-as-needed <LINK_ITEM> LINKER:--pop-state)
set(CMAKE_LINK_LIBRARY_USING_ALWAYS_LOADED_SUPPORTED ON)
list(FILTER CRITERION_LINK_LIBRARIES INCLUDE REGEX criterion)
file(STRINGS ${CRITERION_LINK_LIBRARIES} git_library REGEX "^libgit2\\.so\\.")
if(git_library)
  add_library(tests_no_git SHARED support/no_git.c)
  set_target_properties(tests_no_git PROPERTIES PREFIX "" OUTPUT_NAME ${git_library} SUFFIX "")
  target_link_libraries(tests_no_git PRIVATE lockstep_flags)
  target_link_libraries(tests_criterion INTERFACE $<LINK_LIBRARY:ALWAYS_LOADED,tests_no_git>)
endif()
