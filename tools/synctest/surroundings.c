#define _DEFAULT_SOURCE
#include "lockstep/tools/synctest/surroundings.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/heap.h"
#include "lockstep/tools/synctest/foreign_locale.h"
#include "lockstep/tools/synctest/noise.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/shims.h"
#include "lockstep/tools/synctest/shims_files.h"

#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

enum {
    STACK_FILL_BYTES = 48 << 10,
    STACK_GAP_BYTES = 128,
    PRETENDED_CORES = 48,
};

/* The reference's clock ticks a microsecond a call from a day in 2023 on; the other one begins in
 * 2039 and makes leaps of 16 minutes. */
static void set_shims(uint32_t changes, uint32_t variant)
{
    bool is_clock_moved = changes & SYNCTEST_CHANGES_CLOCK;
    bool is_other_library = changes & SYNCTEST_CHANGES_LIBRARY;
    synctest_shims_set(&(synctest_shims){
        .is_clock_made_up = true,
        .clock_now_ns = (is_clock_moved ? UINT64_C(2200000000) : UINT64_C(1700000000)) * NS_PER_S,
        .clock_step_ns = is_clock_moved ? 977 * NS_PER_S : 1000,
        .is_environment_turned = changes & SYNCTEST_CHANGES_ENVIRONMENT,
        .are_ties_shuffled = changes & SYNCTEST_CHANGES_TIES,
        .are_copies_backward =
            is_other_library && synctest_library_part_is_changed(variant, SYNCTEST_LIBRARY_COPIES),
        .are_comparisons_scaled = is_other_library && synctest_library_part_is_changed(
                                                          variant, SYNCTEST_LIBRARY_COMPARISONS),
        .heap_noise = changes & SYNCTEST_CHANGES_HEAP ? variant + 1 : 0,
        .cores = changes & SYNCTEST_CHANGES_CORES ? (variant == 0 ? 1 : PRETENDED_CORES) : 0,
    });
}

/* As if other code of the process had drawn random numbers. */
static void use_library(void)
{
    srand(4711);
    srandom(4712);
    srand48(4713);
    for (int i = 0; i < 7; i++) {
        (void)rand();
        (void)random();
        (void)drand48();
    }
}

/* The first that is installed of some that write numbers in other ways. */
static void change_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "de_DE.utf8",
                                        "fr_FR.utf8",  "C.UTF-8",     "C.utf8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_ALL, names[i])) {
            return;
        }
    }
}

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
    set_shims(changes, variant);
    if (changes & SYNCTEST_CHANGES_PAST) {
        use_library();
    }
    if (changes & SYNCTEST_CHANGES_ADDRESSES) {
        move_addresses(variant);
    }
    if (changes & SYNCTEST_CHANGES_ENVIRONMENT) {
        change_locale();
        synctest_foreign_locale_enter();
        synctest_shims_files_turn();
        if (!ls_folder_enter("/")) {
            return; /* stays where it is */
        }
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
