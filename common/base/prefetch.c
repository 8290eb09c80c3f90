#include "lockstep/common/base/prefetch.h"

#if defined(__ELF__)

/* A linker makes these two for a section with such a name; weak, since a program may have none. */
extern const char __start_ls_tick_code[] __attribute__((weak));
extern const char __stop_ls_tick_code[] __attribute__((weak));

enum {
    READ = 0,
    SECOND_LEVEL = 2, /* the cache that code and data share */
};

void ls_tick_code_fetch(void)
{
    for (const char *at = __start_ls_tick_code; at < __stop_ls_tick_code;
         at += LS_CACHE_LINE_BYTES) {
        __builtin_prefetch(at, READ, SECOND_LEVEL);
    }
}

#else

void ls_tick_code_fetch(void)
{
}

#endif
