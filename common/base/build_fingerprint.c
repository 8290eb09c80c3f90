#define _GNU_SOURCE
#include "lockstep/common/base/build_fingerprint.h"

#include "lockstep/common/base/case_function.h"

#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

/* ---- pure ---- */

#define CASE_ITEM(name, text) LS_CASE(LS_PRINT_##name, text)
LS_CASE_FUNCTION(const char *, ls_fingerprint_item_name, ls_fingerprint_item, LS_PRINT_ITEM_MAP,
                 CASE_ITEM, "unknown")

void ls_build_fingerprint_set(ls_build_fingerprint *print, ls_fingerprint_item item,
                              const char *text)
{
    ls_name_copy(print->items[item], sizeof print->items[item], text);
}

bool ls_build_fingerprint_differs(const ls_build_fingerprint *a, const ls_build_fingerprint *b,
                                  ls_fingerprint_item item)
{
    const char *left = a->items[item];
    const char *right = b->items[item];
    return left[0] != '\0' && right[0] != '\0' && strcmp(left, right) != 0;
}

size_t ls_build_fingerprint_write(const ls_build_fingerprint *print,
                                  uint8_t bytes[LS_PRINT_BYTES_MAX])
{
    size_t size = 0;
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        size_t text_bytes = strlen(print->items[item]) + 1;
        memcpy(bytes + size, print->items[item], text_bytes);
        size += text_bytes;
    }
    return size;
}

void ls_build_fingerprint_read(const uint8_t *bytes, size_t size, ls_build_fingerprint *out)
{
    *out = (ls_build_fingerprint){0};
    size_t at = 0;
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT && at < size; item++) {
        char text[LS_PRINT_TEXT_BYTES_MAX] = "";
        size_t length = strnlen((const char *)bytes + at, size - at);
        memcpy(text, bytes + at, length < sizeof text - 1 ? length : sizeof text - 1);
        ls_build_fingerprint_set(out, (ls_fingerprint_item)item, text);
        at += length + 1;
    }
}

/* ---- this machine ---- */

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

static const char *rounding_mode(void)
{
    switch (fegetround()) {
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
    char text[LS_PRINT_TEXT_BYTES_MAX];
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
    snprintf(text, sizeof text, "rounding %s, evaluation method %d%s%s", rounding_mode(),
             (int)FLT_EVAL_METHOD, fused, math);
    ls_build_fingerprint_set(out, LS_PRINT_FLOAT, text);
}

/* The value of the first line "key : value" of a file like /proc/cpuinfo. */
static bool find_line(const char *path, const char *key, char *value, size_t capacity)
{
    FILE *file = fopen(path, "r");
    char line[512];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        is_found = colon && strncmp(line, key, strlen(key)) == 0;
        if (is_found) {
            colon += strspn(colon, ": \t");
            snprintf(value, capacity, "%.*s", (int)strcspn(colon, "\n"), colon);
        }
    }
    if (file) {
        fclose(file);
    }
    return is_found;
}

static void print_cpu(ls_build_fingerprint *out)
{
    static const char *const keys[] = {"model name", "Processor", "cpu", "uarch", "isa"};
    char value[LS_PRINT_TEXT_BYTES_MAX];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (find_line("/proc/cpuinfo", keys[i], value, sizeof value)) {
            ls_build_fingerprint_set(out, LS_PRINT_CPU, value);
            return;
        }
    }
}

static void print_system(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(text, sizeof text, "%.24s %.40s %.20s", name.sysname, name.release, name.machine);
        ls_build_fingerprint_set(out, LS_PRINT_SYSTEM, text);
    }
#if defined(__GLIBC__)
    snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
    ls_build_fingerprint_set(out, LS_PRINT_LIBC, text);
#endif
}

static void print_locale(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    char zone[16] = "";
    const struct lconv *numbers = localeconv();
    time_t zero = 0;
    struct tm broken;
    if (localtime_r(&zero, &broken)) {
        strftime(zone, sizeof zone, "%Z", &broken);
    }
    snprintf(text, sizeof text, "decimal point '%s', time zone %s", numbers->decimal_point, zone);
    ls_build_fingerprint_set(out, LS_PRINT_LOCALE, text);
}

void ls_build_fingerprint_here(ls_build_fingerprint *out)
{
    *out = (ls_build_fingerprint){0};
    ls_build_fingerprint_set(out, LS_PRINT_LOCKSTEP, LS_BUILD_VERSION);
    ls_build_fingerprint_set(out, LS_PRINT_COMPILER, COMPILER);
    ls_build_fingerprint_set(out, LS_PRINT_FLAGS, LS_BUILD_FLAGS);
    print_architecture(out);
    print_float(out);
    print_cpu(out);
    print_system(out);
    print_locale(out);
}
