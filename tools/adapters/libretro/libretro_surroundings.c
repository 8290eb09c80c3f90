#define _GNU_SOURCE
#include "lockstep/tools/adapters/libretro/libretro_surroundings.h"

#include "lockstep/common/maths/strict_libm.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- quirks of cores ---- */

#define ALL_BUTTONS 0xffffu

/* ---- Gambatte ---- */

/* A save is u16 version, the size of a small picture in three bytes, and then members: a name with
 * its final NUL, a size in three bytes, a value, highest byte first. */
typedef struct member {
    size_t head; /* bytes of name and size */
    size_t value;
    size_t size;
} member;

enum {
    MEMBERS_AT = 5,
};

/* The one at this place; false at the end, and for one that does not fit. */
static bool read_member(const uint8_t *save, size_t size, size_t at, member *out)
{
    const uint8_t *end = at < size ? memchr(save + at, '\0', size - at) : NULL;
    size_t head = end ? (size_t)(end - (save + at)) + 4 : 0;
    if (!end || head > size - at) {
        return false;
    }
    size_t bytes = (size_t)end[1] << 16 | (size_t)end[2] << 8 | end[3];
    *out = (member){head, at + head, bytes};
    return bytes <= size - at - head;
}

static member find_member(const uint8_t *save, size_t size, const char *name)
{
    member found;
    for (size_t at = MEMBERS_AT; read_member(save, size, at, &found);
         at = found.value + found.size) {
        if (strcmp((const char *)save + at, name) == 0) {
            return found;
        }
    }
    return (member){0, 0, 0};
}

/* The same members, of the same sizes. */
static bool is_alike(const uint8_t *save, const uint8_t *own, size_t size)
{
    member found;
    size_t at = MEMBERS_AT;
    bool is_same = memcmp(save, own, MEMBERS_AT) == 0;
    for (; is_same && read_member(own, size, at, &found); at = found.value + found.size) {
        is_same = memcmp(save + at, own + at, found.head) == 0;
    }
    return is_same;
}

static uint32_t number_in(const uint8_t *save, size_t size, const char *name)
{
    member found = find_member(save, size, name);
    uint32_t number = 0;
    for (size_t i = 0; i < found.size; i++) {
        number = number << 8 | save[found.value + i];
    }
    return number;
}

enum {
    LINES_CYCLES = 144 * 456, /* of a picture, before the pause in which nothing is drawn */
    LINE_END = 168,
};

/* Sprites of a line of the picture, when none is being drawn. */
static void clean_gambatte(uint8_t *save, size_t size)
{
    static const char *const sprites[] = {"csprite", "nsprite", "spattr", "spbyte0", "spbyte1"};
    bool is_line =
        number_in(save, size, "vcycles") < LINES_CYCLES && number_in(save, size, "xpos") < LINE_END;
    for (size_t i = 0; !is_line && i < sizeof sprites / sizeof sprites[0]; i++) {
        member found = find_member(save, size, sprites[i]);
        memset(save + found.value, 0, found.size);
    }
}

static bool is_safe_gambatte(const uint8_t *save, const uint8_t *own, size_t size)
{
    uint32_t now = number_in(save, size, "cc"), copied = number_in(save, size, "lodmaup");
    bool is_copying = copied != UINT32_MAX; /* sprites: it goes on from there, a step at a time */
    return is_alike(save, own, size) &&
           (!is_copying || (copied <= now && now - copied < LINES_CYCLES * 4u));
}

/* ---- by name ---- */

static const struct {
    const char *name; /* begins with it */
    libretro_quirks quirks;
} known[] = {
    /* While X and Y are held it presses A and B by itself, by a count that it saves and does not
     * load. */
    {"Nestopia", {.buttons = ALL_BUTTONS ^ (1u << LIBRETRO_PAD_X | 1u << LIBRETRO_PAD_Y)}},
    /* Where a line ends comes back rounded up; a count of samples since it was started says when a
     * frame is passed over. */
    {"Gambatte",
     {.buttons = ALL_BUTTONS,
      .is_settled = true,
      .may_pass_over_frames = true,
      .clean = clean_gambatte,
      .is_safe = is_safe_gambatte}},
};

libretro_quirks libretro_quirks_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(name, known[i].name, strlen(known[i].name)) == 0) {
            return known[i].quirks;
        }
    }
    return (libretro_quirks){.buttons = ALL_BUTTONS};
}

/* ---- surroundings ---- */

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
