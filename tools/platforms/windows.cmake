# Windows on x86-64, by Debian's mingw-w64. tools/platforms/windows-libraries has filled
# LS_WINDOWS_LIBRARIES, which alone is looked for libraries, so that none of this machine's is taken.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(triple x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${triple}-gcc-posix)
set(CMAKE_CXX_COMPILER ${triple}-g++-posix)
set(CMAKE_RC_COMPILER ${triple}-windres)

set(LS_WINDOWS_LIBRARIES ${CMAKE_CURRENT_LIST_DIR}/../../build/windows-libraries
  CACHE PATH "Libraries for Windows, by tools/platforms/windows-libraries")
set(LS_ENET_SOURCES ${LS_WINDOWS_LIBRARIES}/share/enet CACHE PATH "")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LS_WINDOWS_LIBRARIES)
set(CMAKE_FIND_ROOT_PATH ${LS_WINDOWS_LIBRARIES} /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${LS_WINDOWS_LIBRARIES}/lib/pkgconfig)

# Windows 10 and later. printf as C17 has it, in place of the system's, which the compiler does not
# know: it warns of %zu, and that formats are right is seen on other systems. No DLL of the compiler's,
# and a stack of 8 MiB, as Linux has it.
set(CMAKE_C_FLAGS_INIT
  "-D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1 -Wno-format -Wno-format-extra-args")
set(CMAKE_CXX_FLAGS_INIT "-D_WIN32_WINNT=0x0A00")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -Wl,--stack,8388608")
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
