#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/machine_fingerprint.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/machine.h"

#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const char *instruction_set(void)
{
#if defined(__x86_64__)
    return "x86-64";
#elif defined(__i386__)
    return "i386";
#elif defined(__aarch64__)
    return "aarch64";
#elif defined(__arm__)
    return "arm";
#elif defined(__riscv)
    return "riscv";
#elif defined(__powerpc64__)
    return "ppc64";
#elif defined(__s390x__)
    return "s390x";
#elif defined(__wasm__)
    return "wasm";
#else
    return "other";
#endif
}

static void print_architecture(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    const uint16_t one = 1;
    uint8_t first = 0;
    memcpy(&first, &one, 1);
    snprintf(text, sizeof text, "%s, %s-endian, %zu-bit pointers, %s char", instruction_set(),
             first == 1 ? "little" : "big", sizeof(void *) * 8,
             (char)-1 < 0 ? "signed" : "unsigned");
    ls_build_fingerprint_set(out, LS_PRINT_ARCHITECTURE, text);
}

/* For the compiler a number that it cannot know: what is computed with it is computed here. */
static double unknown_number(double value)
{
    __asm__ __volatile__("" : : "r"(&value) : "memory");
    return value;
}

static const char *denormals(void)
{
    const uint64_t one = 1;
    uint64_t bits = 0;
    double denormal = 0.0;
    memcpy(&denormal, &one, sizeof one);
    bool is_read = unknown_number(denormal) * 0x1p1000 > 0.0;
    double half = unknown_number(DBL_MIN) * 0.5;
    memcpy(&bits, &half, sizeof bits); /* a comparison would read it as zero */
    return is_read && bits != 0 ? "kept"
           : is_read            ? "flushed to zero"
           : bits != 0          ? "read as zero"
                                : "flushed to and read as zero";
}

static const char *rounding_mode(void)
{
    switch (ls_float_mode_now().rounding) {
    case FE_TONEAREST:
        return "to nearest";
#if defined(FE_UPWARD)
    case FE_UPWARD:
        return "upward";
#endif
#if defined(FE_DOWNWARD)
    case FE_DOWNWARD:
        return "downward";
#endif
#if defined(FE_TOWARDZERO)
    case FE_TOWARDZERO:
        return "toward zero";
#endif
    default:
        return "unknown";
    }
}

static void print_float(ls_build_fingerprint *out)
{
    char text[2 * LS_PRINT_TEXT_BYTES_MAX]; /* cut when it is set */
#if defined(__FAST_MATH__)
    const char *math = ", fast-math";
#else
    const char *math = "";
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    const char *fused = ", fused multiply-add at hand";
#else
    const char *fused = "";
#endif
    snprintf(text, sizeof text, "rounding %s, denormals %s, evaluation method %d%s%s",
             rounding_mode(), denormals(), (int)FLT_EVAL_METHOD, fused, math);
    ls_build_fingerprint_set(out, LS_PRINT_FLOAT, text);
}

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

static uint32_t hash_text(const void *bytes, size_t size, uint64_t hash)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ byte[i]) * FNV_PRIME;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

enum {
    HALF_YEARS = 160, /* from 1970 on */
    HALF_YEAR_S = 15778800,
};

/* Two zones of one name may have other rules. */
static void print_locale(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    char zone[16] = "";
    uint32_t rules = 0;
    const struct lconv *numbers = localeconv();
    for (time_t i = 0; i < HALF_YEARS; i++) {
        struct tm broken;
        time_t when = i * HALF_YEAR_S;
        if (localtime_r(&when, &broken)) {
            size_t size = strftime(zone, sizeof zone, "%Z%z", &broken);
            rules = hash_text(zone, size, FNV_OFFSET ^ rules);
        }
    }
    snprintf(text, sizeof text, "decimal point '%s', time zone %s, rules %08x",
             numbers->decimal_point, zone, rules);
    ls_build_fingerprint_set(out, LS_PRINT_LOCALE, text);
}

/* ---- what the processor is used for ---- */

#define MATHS_MAP(X) X(sin) X(cos) X(tan) X(exp) X(log) X(atan)

typedef struct maths_functions {
    double (*of_one[6])(double);
    double (*pow)(double, double);
    float (*sinf)(float);
} maths_functions;

#ifdef LS_LIBRARY_OF_MATHS
/* The library is here for these results alone: it takes 670 KB as long as it is loaded. */
static void *open_maths(maths_functions *out)
{
#define MATHS_NAME(name) #name,
    static const char *const names[] = {MATHS_MAP(MATHS_NAME) "pow", "sinf"};
    void *maths = ls_library_open_installed(LS_LIBRARY_OF_MATHS);
    void *found[sizeof names / sizeof names[0]];
    _Static_assert(sizeof *out == sizeof found, "functions are found as void *");
    for (size_t i = 0; maths && i < sizeof names / sizeof names[0]; i++) {
        found[i] = ls_library_find(maths, names[i]);
    }
    memcpy(out, found, maths ? sizeof found : 0);
    return maths;
}
#else
static void *open_maths(maths_functions *out)
{
#define MATHS_FUNCTION(name) name,
    static int nothing;
    *out = (maths_functions){{MATHS_MAP(MATHS_FUNCTION)}, pow, sinf};
    return &nothing;
}
#define ls_library_close(library) (void)(library)
#endif

/* The maths library has several versions of a function, and takes one by what the processor can.
 * Some values of each come out with another last bit. */
static uint32_t maths_results(void)
{
    maths_functions functions;
    void *maths = open_maths(&functions);
    uint32_t hash = 0;
    for (int i = 1; maths && i <= 100; i++) {
        double x = unknown_number(i * 0.37);
        double results[sizeof functions.of_one / sizeof functions.of_one[0] + 2];
        size_t count = 0;
        while (count < sizeof functions.of_one / sizeof functions.of_one[0]) {
            results[count] = functions.of_one[count](x);
            count++;
        }
        results[count++] = functions.pow(x, unknown_number(1.7));
        results[count++] = (double)functions.sinf((float)x);
        hash = hash_text(results, sizeof results, FNV_OFFSET ^ hash);
    }
    ls_library_close(maths);
    return hash;
}

/* The processor's are those that the C library chooses its functions by. */
static void print_cpu_features(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    snprintf(text, sizeof text, "%.64smaths library %08x", out->items[LS_PRINT_CPU_FEATURES],
             maths_results());
    ls_build_fingerprint_set(out, LS_PRINT_CPU_FEATURES, text);
}

/* Of a player's folders others only learn the last name. */
static void print_directory(ls_build_fingerprint *out)
{
    char path[4096];
    char text[LS_PRINT_TEXT_BYTES_MAX];
    if (ls_folder_current(path, sizeof path)) {
        const char *slash = strrchr(path, '/');
        snprintf(text, sizeof text, "%.60s, path %08x", slash ? slash + 1 : path,
                 hash_text(path, strlen(path), FNV_OFFSET));
        ls_build_fingerprint_set(out, LS_PRINT_DIRECTORY, text);
    }
}

void ls_build_fingerprint_here(ls_build_fingerprint *out)
{
    *out = (ls_build_fingerprint){0};
    ls_build_fingerprint_set(out, LS_PRINT_LOCKSTEP, LS_BUILD_VERSION);
    ls_build_fingerprint_set(out, LS_PRINT_COMPILER, COMPILER);
    ls_build_fingerprint_set(out, LS_PRINT_FLAGS, LS_BUILD_FLAGS);
    print_architecture(out);
    print_float(out);
    print_locale(out);
    ls_machine_items(out);
    print_cpu_features(out);
    print_directory(out);
}
