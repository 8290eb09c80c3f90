# The browser's client, one module of WebAssembly, by Debian's clang, lld and wasi-libc.
# tools/platforms/web-libraries has filled LS_WEB_LIBRARIES, which alone is looked for libraries.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)

set(LS_WEB ON CACHE BOOL "")
set(LS_WEB_LIBRARIES ${CMAKE_CURRENT_LIST_DIR}/../../build/web-libraries
  CACHE PATH "Libraries for WebAssembly, by tools/platforms/web-libraries")
set(LS_ENET_SOURCES ${LS_WEB_LIBRARIES}/share/enet CACHE PATH "")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LS_WEB_LIBRARIES)
set(ENV{PKG_CONFIG_LIBDIR} ${LS_WEB_LIBRARIES}/lib/pkgconfig)

# What every browser of today has. One thread: no variable is a thread's own.
set(CMAKE_C_FLAGS_INIT "-flto -mbulk-memory -mnontrapping-fptoint -msign-ext -D_Thread_local= \
-ffunction-sections -fdata-sections -D_WASI_EMULATED_SIGNAL -Wno-cast-align")
set(CMAKE_BUILD_TYPE MinSizeRel CACHE STRING "")
set(CMAKE_C_FLAGS_MINSIZEREL "-Oz -DNDEBUG" CACHE STRING "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-mexec-model=reactor -Wl,--gc-sections")
