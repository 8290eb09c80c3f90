#define _GNU_SOURCE
#include "lockstep/common/system/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ; /* which POSIX leaves to its users to declare */

enum {
    LOW_PRIORITY = 5,
    LOWEST_PRIORITY = 19,
    CROWD_TIMES = 4, /* as many that want a processor as there are leave nothing to the last */
};

uint32_t ls_machine_processors(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (uint32_t)processors : 1;
}

uint64_t ls_machine_cpu_ns(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    int64_t us = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                 used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    return (uint64_t)us * 1000;
}

const char *const *ls_machine_variables(void)
{
    static const char *const none = NULL;
    return environ ? (const char *const *)environ : &none;
}

void ls_machine_set_variable(const char *name, const char *value)
{
    (void)(value ? setenv(name, value, 1) : unsetenv(name));
}

/* How many threads have a processor or wait for one, as Linux says; 0: not known. */
static uint32_t count_runnable(void)
{
    uint32_t runnable = 0;
    FILE *file = fopen("/proc/loadavg", "r");
    if (!file) {
        return 0;
    }
    if (fscanf(file, "%*s %*s %*s %" SCNu32, &runnable) != 1) {
        runnable = 0;
    }
    fclose(file);
    return runnable;
}

void ls_machine_give_way(bool is_last)
{
    if (count_runnable() <= CROWD_TIMES * ls_machine_processors()) {
        (void)setpriority(PRIO_PROCESS, 0, is_last ? LOWEST_PRIORITY : LOW_PRIORITY);
    }
}

/* ---- machine items ---- */

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
    snprintf(text, sizeof text, "%s%s%s", avx512, avx2, fma);
    ls_build_fingerprint_set(out, LS_PRINT_CPU_FEATURES, text);
}

#if defined(__linux__)
static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

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
#endif

void ls_machine_items(ls_build_fingerprint *out)
{
    print_cpu(out);
    print_system(out);
    print_cpu_features(out);
#if defined(__linux__)
    print_cores(out);
    print_preloads(out);
#endif
}
