#include "lockstep/tools/synctest/surroundings.h"

#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tools/synctest/noise.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/process_changes.h"

#include <errno.h>
#include <fenv.h>
#include <stdlib.h>

enum {
    STACK_FILL_BYTES = 48 << 10,
    STACK_GAP_BYTES = 128,
};

/* A block that is mapped now takes the addresses that libraries and blocks would have had. */
static void move_addresses(uint32_t variant)
{
    size_t bytes = ((size_t)variant * 5 + 3) << 20;
    ls_heap_leave_hole(bytes);
    for (size_t i = 1; i < 40; i++) {
        void *block = malloc(i * (24 + 40 * variant)); /* kept: the heap begins elsewhere */
        if (block && i % 3 == 0) {
            free(block);
        }
    }
}

void synctest_surroundings_enter(uint32_t changes, uint32_t variant)
{
    synctest_process_changes_enter(changes, variant);
    if (changes & SYNCTEST_CHANGES_ADDRESSES) {
        move_addresses(variant);
    }
    if (changes & SYNCTEST_CHANGES_FLUSH) {
        ls_float_mode_flush();
    }
}

/* Empty, for the compiler a use of the bytes and of all memory. */
#define TOUCH(bytes) __asm__ volatile("" : : "r"(bytes) : "memory")

__attribute__((noinline)) static void fill_stack(uint64_t noise)
{
    uint8_t region[STACK_FILL_BYTES];
    synctest_noise_fill(region, sizeof region, noise);
    TOUCH(region);
}

/* Further down than the first bytes of a frame, which fill_stack itself uses and leaves alone. */
__attribute__((noinline)) static void run_deeper(void (*run)(void *user), void *user)
{
    uint8_t gap[STACK_GAP_BYTES];
    TOUCH(gap);
    run(user);
    TOUCH(gap);
}

void synctest_surroundings_run_on_stack(uint64_t noise, void (*run)(void *user), void *user)
{
    fill_stack(noise);
    run_deeper(run, user);
}

void synctest_surroundings_leave_behind(bool is_set)
{
    feclearexcept(FE_ALL_EXCEPT);
    if (is_set) {
        feraiseexcept(FE_ALL_EXCEPT);
    }
    errno = is_set ? ERANGE : 0;
}
