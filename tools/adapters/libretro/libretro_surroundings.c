#define _GNU_SOURCE
#include "lockstep/tools/adapters/libretro/libretro_surroundings.h"

#include "lockstep/common/maths/strict_libm.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STACK_BYTES = 64 << 10, /* that a core's call may use of it, and more than most do */
};

/* NULL in a thread of the core's own: what it reads there is anything. */
static _Thread_local libretro_surroundings *around;

void libretro_surroundings_enter(libretro_surroundings *surroundings)
{
    around = surroundings;
}

void libretro_surroundings_leave(void)
{
    around = NULL;
}

/* The assembler's side effect keeps the compiler from leaving the zeros out. */
__attribute__((noinline)) void libretro_surroundings_clear_stack(void)
{
    uint8_t below[STACK_BYTES];
    memset(below, 0, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory");
}

/* ---- memory: as anything may be read that was never written, it is zero ---- */

static void *zeroed(void *memory)
{
    return memory ? memset(memory, 0, malloc_usable_size(memory)) : NULL;
}

static void *zeroed_malloc(size_t bytes)
{
    return zeroed(malloc(bytes));
}

static void *zeroed_calloc(size_t count, size_t bytes)
{
    return zeroed(calloc(count, bytes));
}

static void *zeroed_realloc(void *memory, size_t bytes)
{
    size_t before = memory ? malloc_usable_size(memory) : 0;
    uint8_t *now = realloc(memory, bytes);
    size_t after = now ? malloc_usable_size(now) : 0;
    if (after > before) {
        memset(now + before, 0, after - before);
    }
    return now;
}

static void *zeroed_aligned(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    return posix_memalign(&memory, alignment, bytes) == 0 ? zeroed(memory) : NULL;
}

static int zeroed_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    int error = posix_memalign(memory, alignment, bytes);
    if (error == 0) {
        zeroed(*memory);
    }
    return error;
}

static void *zeroed_new(size_t bytes)
{
    return zeroed(around && around->originals.one ? around->originals.one(bytes) : malloc(bytes));
}

static void *zeroed_new_array(size_t bytes)
{
    return zeroed(around && around->originals.array ? around->originals.array(bytes)
                                                    : malloc(bytes));
}

static void *zeroed_new_or_null(size_t bytes, const void *tag)
{
    bool is_known = around && around->originals.one_or_null;
    return zeroed(is_known ? around->originals.one_or_null(bytes, tag) : malloc(bytes));
}

static void *zeroed_new_array_or_null(size_t bytes, const void *tag)
{
    bool is_known = around && around->originals.array_or_null;
    return zeroed(is_known ? around->originals.array_or_null(bytes, tag) : malloc(bytes));
}

/* ---- the clock: the frames that were played, in Greenwich ---- */

#define NANOSECONDS INT64_C(1000000000)

static int64_t now_ns(void)
{
    if (!around || around->rate.numerator == 0) {
        return 0;
    }
    uint64_t parts = (uint64_t)around->frames * around->rate.denominator;
    uint64_t seconds = parts / around->rate.numerator;
    uint64_t rest = parts % around->rate.numerator * (uint64_t)NANOSECONDS;
    return (around->start_s + (int64_t)seconds) * NANOSECONDS +
           (int64_t)(rest / around->rate.numerator);
}

static time_t frames_time(time_t *out)
{
    time_t seconds = now_ns() / NANOSECONDS;
    if (out) {
        *out = seconds;
    }
    return seconds;
}

/* As a core's machine has struct timeval. */
typedef struct frames_timeval {
    time_t seconds;
    long microseconds;
} frames_timeval;

static int frames_gettimeofday(frames_timeval *out, void *zone)
{
    (void)zone;
    *out = (frames_timeval){now_ns() / NANOSECONDS, now_ns() % NANOSECONDS / 1000};
    return 0;
}

static int frames_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    *out = (struct timespec){.tv_sec = now_ns() / NANOSECONDS, .tv_nsec = now_ns() % NANOSECONDS};
    return 0;
}

static clock_t frames_clock(void)
{
    return (clock_t)(now_ns() / (NANOSECONDS / CLOCKS_PER_SEC));
}

/* Days since 1970 of a day of the calendar that holds for ever, counted in years from March on, of
 * which 400 have 146,097 days. */
static int64_t days_of(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

static int64_t divided_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static struct tm *greenwich_r(const time_t *time, struct tm *out)
{
    int64_t days = divided_down(*time, 86400), second = *time - days * 86400;
    int64_t year = 1970 + divided_down(days * 400, 146097);
    while (days_of(year + 1, 1, 1) <= days) {
        year++;
    }
    while (days_of(year, 1, 1) > days) {
        year--;
    }
    int month = 12;
    while (days_of(year, month, 1) > days) {
        month--;
    }
    *out = (struct tm){
        .tm_sec = (int)(second % 60),
        .tm_min = (int)(second / 60 % 60),
        .tm_hour = (int)(second / 3600),
        .tm_mday = (int)(days - days_of(year, month, 1)) + 1,
        .tm_mon = month - 1,
        .tm_year = (int)(year - 1900),
        .tm_wday = (int)((days % 7 + 11) % 7),
        .tm_yday = (int)(days - days_of(year, 1, 1)),
    };
    return out;
}

static struct tm *greenwich(const time_t *time)
{
    static _Thread_local struct tm shared;
    return greenwich_r(time, &shared);
}

static time_t greenwich_mktime(struct tm *parts)
{
    int64_t months = (int64_t)parts->tm_year * 12 + parts->tm_mon;
    int64_t year = divided_down(months, 12);
    int64_t days = days_of(1900 + year, (int)(months - year * 12) + 1, 1) + parts->tm_mday - 1;
    time_t time =
        days * 86400 + (int64_t)parts->tm_hour * 3600 + (int64_t)parts->tm_min * 60 + parts->tm_sec;
    greenwich_r(&time, parts);
    return time;
}

/* ---- random numbers ---- */

/* A linear congruential generator (Knuth, MMIX), of which the upper bits are used. */
static int saved_rand(void)
{
    if (!around) {
        return 0;
    }
    around->random = around->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)(around->random >> 33);
}

static long saved_random(void)
{
    return saved_rand();
}

static void saved_srand(unsigned seed)
{
    if (around) {
        around->random = seed;
    }
}

static ssize_t saved_getrandom(void *bytes, size_t size, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < size; i++) {
        ((uint8_t *)bytes)[i] = (uint8_t)(saved_rand() >> 8);
    }
    return (ssize_t)size;
}

static int saved_getentropy(void *bytes, size_t size)
{
    saved_getrandom(bytes, size, 0);
    return 0;
}

static char *no_getenv(const char *name)
{
    (void)name;
    return NULL;
}

/* ---- what it would print on a program's output ---- */

static int no_print(const char *format, ...)
{
    (void)format;
    return 0;
}

static int no_checked_print(int level, const char *format, ...)
{
    (void)level;
    (void)format;
    return 0;
}

static int no_character(int character)
{
    return character;
}

/* ---- by name ---- */

typedef void (*any_function)(void);

#define SUBSTITUTE(name, function)                                                                 \
    {                                                                                              \
        name, (any_function)(function)                                                             \
    }
#define STRICT(name) SUBSTITUTE(#name, ls_strict_##name), SUBSTITUTE(#name "f", ls_strict_##name##f)

static const struct {
    const char *name;
    any_function function;
} substitutes[] = {
    SUBSTITUTE("malloc", zeroed_malloc),
    SUBSTITUTE("calloc", zeroed_calloc),
    SUBSTITUTE("realloc", zeroed_realloc),
    SUBSTITUTE("aligned_alloc", zeroed_aligned),
    SUBSTITUTE("memalign", zeroed_aligned),
    SUBSTITUTE("posix_memalign", zeroed_posix_memalign),
    SUBSTITUTE("_Znwm", zeroed_new),
    SUBSTITUTE("_Znam", zeroed_new_array),
    SUBSTITUTE("_ZnwmRKSt9nothrow_t", zeroed_new_or_null),
    SUBSTITUTE("_ZnamRKSt9nothrow_t", zeroed_new_array_or_null),
    SUBSTITUTE("time", frames_time),
    SUBSTITUTE("gettimeofday", frames_gettimeofday),
    SUBSTITUTE("clock_gettime", frames_clock_gettime),
    SUBSTITUTE("clock", frames_clock),
    SUBSTITUTE("_ZNSt6chrono3_V212system_clock3nowEv", now_ns),
    SUBSTITUTE("_ZNSt6chrono3_V212steady_clock3nowEv", now_ns),
    SUBSTITUTE("localtime", greenwich),
    SUBSTITUTE("localtime_r", greenwich_r),
    SUBSTITUTE("mktime", greenwich_mktime),
    SUBSTITUTE("rand", saved_rand),
    SUBSTITUTE("random", saved_random),
    SUBSTITUTE("srand", saved_srand),
    SUBSTITUTE("srandom", saved_srand),
    SUBSTITUTE("getrandom", saved_getrandom),
    SUBSTITUTE("getentropy", saved_getentropy),
    SUBSTITUTE("getenv", no_getenv),
    SUBSTITUTE("secure_getenv", no_getenv),
    SUBSTITUTE("printf", no_print),
    SUBSTITUTE("__printf_chk", no_checked_print),
    SUBSTITUTE("puts", no_print),
    SUBSTITUTE("putchar", no_character),
    SUBSTITUTE("sincos", ls_strict_sincos),
    SUBSTITUTE("sincosf", ls_strict_sincosf),
    STRICT(sin),
    STRICT(cos),
    STRICT(tan),
    STRICT(asin),
    STRICT(acos),
    STRICT(atan),
    STRICT(atan2),
    STRICT(exp),
    STRICT(exp2),
    STRICT(expm1),
    STRICT(log),
    STRICT(log2),
    STRICT(log10),
    STRICT(log1p),
    STRICT(pow),
    STRICT(cbrt),
    STRICT(hypot),
    STRICT(sinh),
    STRICT(cosh),
    STRICT(tanh),
};

void *libretro_surroundings_function(const char *name)
{
    void *found = NULL;
    for (size_t i = 0; i < sizeof substitutes / sizeof substitutes[0]; i++) {
        if (strcmp(substitutes[i].name, name) == 0) {
            memcpy(&found, &substitutes[i].function, sizeof found);
        }
    }
    return found;
}
