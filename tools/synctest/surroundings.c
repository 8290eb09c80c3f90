#include "lockstep/tools/synctest/surroundings.h"

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
        synctest_float_mode_flush();
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

/* ---- floating point ---- */

#if defined(__SSE__)
#define FLUSH_BITS 0x8040u   /* flush to zero, denormals are zero */
#define CONTROL_BITS 0xffc0u /* all but the flags that say what has happened */
static uint32_t control(void)
{
    return __builtin_ia32_stmxcsr() & CONTROL_BITS;
}

static void set_control(uint32_t bits)
{
    __builtin_ia32_ldmxcsr(bits);
}
#elif defined(__aarch64__)
#define FLUSH_BITS (UINT32_C(1) << 24) /* flush to zero, of the control register */
static uint32_t control(void)
{
    uint64_t bits = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    return (uint32_t)bits;
}

static void set_control(uint32_t bits)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)bits));
}
#else
#define FLUSH_BITS 0u
static uint32_t control(void)
{
    return 0;
}

static void set_control(uint32_t bits)
{
    (void)bits;
}
#endif

synctest_float_mode synctest_float_mode_now(void)
{
    return (synctest_float_mode){fegetround(), control()};
}

void synctest_float_mode_set(synctest_float_mode mode)
{
    set_control(mode.control);
    fesetround(mode.rounding);
}

bool synctest_float_mode_equal(synctest_float_mode a, synctest_float_mode b)
{
    return a.rounding == b.rounding && a.control == b.control;
}

synctest_float_mode synctest_float_mode_moved(uint32_t tick)
{
    static const int roundings[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    return (synctest_float_mode){roundings[tick % 3], control()};
}

void synctest_float_mode_flush(void)
{
    set_control(control() | FLUSH_BITS);
}

void synctest_surroundings_leave_behind(bool is_set)
{
    feclearexcept(FE_ALL_EXCEPT);
    if (is_set) {
        feraiseexcept(FE_ALL_EXCEPT);
    }
    errno = is_set ? ERANGE : 0;
}

bool synctest_surroundings_can_flush(void)
{
    return FLUSH_BITS != 0;
}
