#define _GNU_SOURCE
#include "lockstep/common/base/build_fingerprint.h"

#include "lockstep/common/base/case_function.h"

#include <fenv.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <link.h>
#include <sched.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define HAS_ACTIVE_FEATURES 1
#endif
#endif

/* ---- pure ---- */

#define CUT '~' /* the end of a text that was longer */

/* Those of version 0.1.0 are always written, so that files without newer ones stay as they were. */
#define FIRST_ITEMS (LS_PRINT_LOCALE + 1)

#define CASE_ITEM(name, text, kind) LS_CASE(LS_PRINT_##name, text)
#define CASE_KIND(name, text, kind) LS_CASE(LS_PRINT_##name, LS_FINGERPRINT_OF_##kind)
LS_CASE_FUNCTION(const char *, ls_fingerprint_item_name, ls_fingerprint_item, LS_PRINT_ITEM_MAP,
                 CASE_ITEM, "unknown")
LS_CASE_FUNCTION(ls_fingerprint_kind, ls_fingerprint_item_kind, ls_fingerprint_item,
                 LS_PRINT_ITEM_MAP, CASE_KIND, LS_FINGERPRINT_OF_BUILD)

void ls_build_fingerprint_set(ls_build_fingerprint *print, ls_fingerprint_item item,
                              const char *text)
{
    ls_name_copy(print->items[item], sizeof print->items[item], text);
}

/* The part of a text that is compared: of a simulation's file its hash and size, not its name; of a
 * text that was cut what is left of it. */
static size_t compared_bytes(const char *text, ls_fingerprint_item item, bool *is_cut)
{
    size_t size = strlen(text);
    const char *bytes = item == LS_PRINT_SIMULATION ? strstr(text, " bytes, ") : NULL;
    *is_cut = size > 0 && text[size - 1] == CUT && !bytes;
    return bytes ? (size_t)(bytes - text) : size - *is_cut;
}

bool ls_build_fingerprint_differs(const ls_build_fingerprint *a, const ls_build_fingerprint *b,
                                  ls_fingerprint_item item)
{
    const char *left = a->items[item];
    const char *right = b->items[item];
    bool is_left_cut = false;
    bool is_right_cut = false;
    size_t left_bytes = compared_bytes(left, item, &is_left_cut);
    size_t right_bytes = compared_bytes(right, item, &is_right_cut);
    bool is_same = memcmp(left, right, LS_MIN(left_bytes, right_bytes)) == 0 &&
                   (left_bytes >= right_bytes || is_left_cut) &&
                   (right_bytes >= left_bytes || is_right_cut);
    return left[0] != '\0' && right[0] != '\0' && !is_same;
}

/* The most that a text may have for all of them to fit, each with its NUL. */
static size_t text_bytes_max(const ls_build_fingerprint *print)
{
    for (size_t most = LS_PRINT_TEXT_BYTES_MAX;; most--) {
        size_t size = 0;
        for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
            size += LS_MIN(strlen(print->items[item]) + 1, most);
        }
        if (size <= LS_PRINT_BYTES_MAX) {
            return most;
        }
    }
}

size_t ls_build_fingerprint_write(const ls_build_fingerprint *print,
                                  uint8_t bytes[LS_PRINT_BYTES_MAX])
{
    size_t most = text_bytes_max(print);
    uint32_t count = LS_PRINT_ITEM_COUNT;
    size_t size = 0;
    while (count > FIRST_ITEMS && print->items[count - 1][0] == '\0') {
        count--;
    }
    for (uint32_t item = 0; item < count; item++) {
        size_t text_bytes = strlen(print->items[item]) + 1;
        size_t kept = LS_MIN(text_bytes, most);
        memcpy(bytes + size, print->items[item], kept);
        size += kept;
        bytes[size - 1] = '\0';
        if (kept < text_bytes) {
            bytes[size - 2] = CUT;
        }
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

/* ---- what the processor is used for ---- */

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

/* The maths library has several versions of a function, and takes one by what the processor can.
 * Some values of each come out with another last bit. */
static uint32_t maths_results(void)
{
    static double (*const functions[])(double) = {sin, cos, tan, exp, log, atan};
    uint32_t hash = 0;
    for (int i = 1; i <= 100; i++) {
        double x = unknown_number(i * 0.37);
        double results[sizeof functions / sizeof functions[0] + 2];
        size_t count = 0;
        while (count < sizeof functions / sizeof functions[0]) {
            results[count] = functions[count](x);
            count++;
        }
        results[count++] = pow(x, unknown_number(1.7));
        results[count++] = (double)sinf((float)x);
        hash = hash_text(results, sizeof results, FNV_OFFSET ^ hash);
    }
    return hash;
}

/* Those that the C library chooses its functions by: GLIBC_TUNABLES can turn them off. */
static void print_cpu_features(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    const char *avx512 = "";
    const char *avx2 = "";
    const char *fma = "";
#if defined(HAS_ACTIVE_FEATURES)
    avx512 = CPU_FEATURE_ACTIVE(AVX512F) ? "avx512f, " : "no avx512f, ";
    avx2 = CPU_FEATURE_ACTIVE(AVX2) ? "avx2, " : "no avx2, ";
    fma = CPU_FEATURE_ACTIVE(FMA) ? "fma, " : "no fma, ";
#endif
    snprintf(text, sizeof text, "%s%s%smaths library %08x", avx512, avx2, fma, maths_results());
    ls_build_fingerprint_set(out, LS_PRINT_CPU_FEATURES, text);
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#if defined(__linux__)
static void print_cores(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
        snprintf(text, sizeof text, "%ld online, %d usable", sysconf(_SC_NPROCESSORS_ONLN),
                 CPU_COUNT(&usable));
        ls_build_fingerprint_set(out, LS_PRINT_CORES, text);
    }
}

/* ---- libraries that were put before the program's own ---- */

typedef struct preloads {
    const ElfW(Dyn) * needed; /* of the program */
    const char *names;        /* its strings */
    uint32_t objects;
    bool is_over; /* the first library that the program needs itself has come */
    char text[LS_PRINT_TEXT_BYTES_MAX];
} preloads;

static void find_needed(const struct dl_phdr_info *object, preloads *out)
{
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            out->needed = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        }
    }
    for (const ElfW(Dyn) *entry = out->needed; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB) {
            ElfW(Addr) at = entry->d_un.d_ptr;
            out->names = (const void *)(at < object->dlpi_addr ? object->dlpi_addr + at : at);
        }
    }
}

static bool is_needed(const preloads *found, const char *file)
{
    bool is_found = false;
    for (const ElfW(Dyn) *entry = found->needed; entry->d_tag != DT_NULL; entry++) {
        is_found = is_found || (entry->d_tag == DT_NEEDED &&
                                strcmp(file_of(found->names + entry->d_un.d_val), file) == 0);
    }
    return is_found;
}

/* The linker lists the program, what was preloaded, and then what the program needs. */
static int add_preload(struct dl_phdr_info *object, size_t size, void *user)
{
    preloads *out = user;
    const char *file = file_of(object->dlpi_name);
    (void)size;
    if (out->objects++ == 0) {
        find_needed(object, out);
        out->is_over = !out->needed || !out->names;
        return 0;
    }
    out->is_over = out->is_over || is_needed(out, file);
    if (!out->is_over && file[0] != '\0' && strncmp(file, "linux-vdso", 10) != 0 &&
        strncmp(file, "linux-gate", 10) != 0) {
        size_t used = strlen(out->text);
        snprintf(out->text + used, sizeof out->text - used, "%s%s", used > 0 ? ", " : "", file);
    }
    return 0;
}

static void print_preloads(ls_build_fingerprint *out)
{
    preloads found = {.needed = NULL};
    dl_iterate_phdr(add_preload, &found);
    ls_build_fingerprint_set(out, LS_PRINT_PRELOADS, found.text[0] != '\0' ? found.text : "none");
}
#else
static void print_cores(ls_build_fingerprint *out)
{
    (void)out;
}

static void print_preloads(ls_build_fingerprint *out)
{
    (void)out;
}
#endif

/* Of a player's folders others only learn the last name. */
static void print_directory(ls_build_fingerprint *out)
{
    char path[4096];
    char text[LS_PRINT_TEXT_BYTES_MAX];
    if (getcwd(path, sizeof path)) {
        snprintf(text, sizeof text, "%.60s, path %08x", file_of(path),
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
    print_cpu(out);
    print_system(out);
    print_locale(out);
    print_cpu_features(out);
    print_cores(out);
    print_preloads(out);
    print_directory(out);
}
