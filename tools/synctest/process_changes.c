#define _GNU_SOURCE
#include "lockstep/tools/synctest/process_changes.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/foreign_calls.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/shims.h"

#include <locale.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- before it starts ---- */

enum {
    VARIABLES_MAX = 1024,
    PADDING_BYTES_MAX = 64 << 10,
    PRETENDED_CORES = 48,
    /* malloc fills with this byte's complement: nothing in the reference. */
    REFERENCE_FILL = 0xff,
    MOVED_FILL = 0xa5, /* as many digits: the stack begins where it did */
};

/* The variables of the new process. */
typedef struct surroundings {
    char *variables[VARIABLES_MAX + 1];
    size_t count;
    size_t bytes; /* of all, with their ends */
    char tunables[256];
    char padding[PADDING_BYTES_MAX];
} surroundings;

static bool has_name(const char *variable, const char *name)
{
    size_t size = strlen(name);
    return strncmp(variable, name, size) == 0 && variable[size] == '=';
}

static bool is_kept(const char *variable, bool is_turned)
{
    static const char *const needed[] = {"PATH",         "LD_LIBRARY_PATH", "LD_PRELOAD",
                                         "ASAN_OPTIONS", "UBSAN_OPTIONS",   "TSAN_OPTIONS"};
    if (!is_turned) {
        return !has_name(variable, "GLIBC_TUNABLES");
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (has_name(variable, needed[i])) {
            return true;
        }
    }
    return false;
}

static void add(surroundings *new, char *variable)
{
    if (new->count < VARIABLES_MAX) {
        new->variables[new->count++] = variable;
        new->bytes += strlen(variable) + 1;
    }
}

/* Variables without a meaning, so many that there are `count` variables of `bytes` bytes, and the
 * stack begins where it does with those. */
static void pad(surroundings *new, size_t count, size_t bytes)
{
    size_t missing = count > new->count ? count - new->count : 0;
    size_t room = bytes > new->bytes ? bytes - new->bytes : 0;
    if (missing == 0 || room < 3 * missing || room > sizeof new->padding) {
        return; /* as good as it gets */
    }
    char *variable = new->padding;
    for (size_t i = 0; i < missing; i++) {
        size_t size = i + 1 < missing ? 3 : room; /* with its end; the last takes what is left */
        memset(variable, 'P', size - 1);
        variable[1] = '=';
        variable[size - 1] = '\0';
        add(new, variable);
        variable += size;
        room -= size;
    }
}

/* The inherited variables, and those that take their place in an environment that is turned. */
static void add_inherited(surroundings *new, bool is_turned)
{
    static char foreign[][32] = {"LANG=de_DE.UTF-8",  "LC_ALL=de_DE.UTF-8", "TZ=Pacific/Chatham",
                                 "HOME=/nonexistent", "USER=somebody",      "LOGNAME=somebody"};
    new->count = new->bytes = 0;
    for (char **variable = environ; *variable; variable++) {
        if (is_kept(*variable, is_turned)) {
            add(new, *variable);
        }
    }
    for (size_t i = 0; is_turned && i < sizeof foreign / sizeof foreign[0]; i++) {
        add(new, foreign[i]);
    }
}

/* Features that the C library chooses its functions by: those that variant 0 leaves out, and those
 * that variant 1 leaves out as well. Names that it does not know are passed over. */
static const char *const features[] = {"AVX2",       "FMA", "FMA4",   "AVX512F", "AVX2_Usable",
                                       "FMA_Usable", "AVX", "SSE4_1", "SSE4_2"};
enum {
    FIRST_LEFT_OUT = 6,
};

/* As many bytes in every process, and in the reference without an effect: the stack begins where it
 * did. */
static void add_features(const synctest_launch *launch, char *text, size_t capacity)
{
    bool is_moved = launch->changes & SYNCTEST_CHANGES_CPU;
    size_t left_out =
        launch->exchange->variant == 0 ? FIRST_LEFT_OUT : sizeof features / sizeof features[0];
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        size_t used = strlen(text);
        snprintf(text + used, capacity - used, "%s%c%s",
                 i > 0 ? "," : ":glibc.cpu.hwcaps=", is_moved && i < left_out ? '-' : 'x',
                 features[i]);
    }
}

static void keep_one_core(void)
{
    cpu_set_t cores, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        return;
    }
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++) {
        if (CPU_ISSET(core, &cores)) {
            CPU_SET(core, &one);
        }
    }
    sched_setaffinity(0, sizeof one, &one);
}

/* Tunables, without the cache that would hand out memory as it is. */
static void make_surroundings(const synctest_launch *launch, surroundings *new)
{
    add_inherited(new, false);
    if (launch->changes & SYNCTEST_CHANGES_ENVIRONMENT) {
        size_t count = new->count, bytes = new->bytes;
        add_inherited(new, true);
        pad(new, count, bytes);
    }
    int fill = launch->changes & SYNCTEST_CHANGES_HEAP ? MOVED_FILL : REFERENCE_FILL;
    snprintf(new->tunables, sizeof new->tunables,
             "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=%d", fill);
    add_features(launch, new->tunables, sizeof new->tunables);
    add(new, new->tunables);
    if (launch->changes & SYNCTEST_CHANGES_ADDRESSES) {
        size_t moved_bytes = 777 + 1789 * (size_t)launch->exchange->variant;
        pad(new, new->count + 1, new->bytes + moved_bytes);
    }
    new->variables[new->count] = NULL;
}

static void change_process(const void *user)
{
    const synctest_launch *launch = user;
    if (launch->changes & SYNCTEST_CHANGES_CORES && launch->exchange->variant == 0) {
        keep_one_core();
    }
    if (!(launch->changes & SYNCTEST_CHANGES_ADDRESSES)) {
        personality(ADDR_NO_RANDOMIZE);
    }
}

void synctest_process_changes_prepare(const synctest_launch *launch,
                                      ls_child_process_config *config)
{
    static _Thread_local surroundings new;
    make_surroundings(launch, &new);
    config->environment = (const char *const *)(uintptr_t) new.variables;
    config->prepare = change_process;
    config->user = launch;
}

bool synctest_process_changes_can_fix_addresses(void)
{
    int kept = personality(0xffffffff);
    bool can = kept >= 0 && personality((unsigned long)kept | ADDR_NO_RANDOMIZE) >= 0;
    if (can) {
        personality((unsigned long)kept);
    }
    return can;
}

bool synctest_process_changes_can_change_cpu(void)
{
#if defined(__x86_64__) && defined(__GLIBC__)
    return __builtin_cpu_supports("fma");
#else
    return false; /* the C library has one set of functions there */
#endif
}

/* ---- in it ---- */

/* The reference's clock ticks a microsecond a call from a day in 2023 on; the other one begins in
 * 2039 and makes leaps of 16 minutes. */
static void set_shims(uint32_t changes, uint32_t variant)
{
    bool is_clock_moved = changes & SYNCTEST_CHANGES_CLOCK;
    bool is_other_library = changes & SYNCTEST_CHANGES_LIBRARY;
    synctest_shims_set(&(synctest_shims){
        .is_clock_made_up = true,
        .clock_begin_ns = (is_clock_moved ? UINT64_C(2200000000) : UINT64_C(1700000000)) * NS_PER_S,
        .clock_step_ns = is_clock_moved ? 977 * NS_PER_S : 1000,
        .is_environment_turned = changes & SYNCTEST_CHANGES_ENVIRONMENT,
        .are_ties_shuffled = changes & SYNCTEST_CHANGES_TIES,
        .are_copies_backward =
            is_other_library && synctest_library_part_is_changed(variant, SYNCTEST_LIBRARY_COPIES),
        .are_comparisons_scaled = is_other_library && synctest_library_part_is_changed(
                                                          variant, SYNCTEST_LIBRARY_COMPARISONS),
        .cores = changes & SYNCTEST_CHANGES_CORES ? (variant == 0 ? 1 : PRETENDED_CORES) : 0,
    });
}

void synctest_process_changes_begin_tick(ls_tick tick)
{
    synctest_shims_begin_tick(tick);
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

static uint32_t heap_noise; /* 0: zeroes */

/* Other bytes in every block. */
static void fill_block(uint8_t *bytes, size_t size)
{
    static uint32_t count;
    uint32_t number = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
    synctest_noise_fill(bytes, size, synctest_noise(heap_noise > 0, heap_noise, number, 0));
}

void synctest_process_changes_fill_heap(uint32_t changes, uint32_t variant)
{
    heap_noise = changes & SYNCTEST_CHANGES_HEAP ? variant + 1 : 0;
    ls_foreign_calls_fill_heap(fill_block);
}

void synctest_process_changes_enter(uint32_t changes, uint32_t variant)
{
    set_shims(changes, variant);
    if (changes & SYNCTEST_CHANGES_PAST) {
        use_library();
    }
    if (changes & SYNCTEST_CHANGES_ENVIRONMENT) {
        change_locale();
        synctest_foreign_locale_enter();
        synctest_shims_files_turn();
        (void)ls_folder_enter("/"); /* else it stays where it is */
    }
}

/* ---- foreign locale ---- */

enum {
    PATH_BYTES = 96,
};

/* A compiled LC_NUMERIC of the GNU C library, as localedef writes it: a number that tells the
 * category, the count of entries, and where each lies. */
typedef struct numeric_file {
    uint32_t kind;
    uint32_t count;
    uint32_t starts[6];
    uint32_t wide_point;
    uint32_t wide_separator;
    char point[4];
    char separator[4];
    char grouping[4];
    char codeset[8];
} numeric_file;

#define START(member) ((uint32_t)offsetof(numeric_file, member))

static bool write_numeric(const char *path)
{
    const numeric_file content = {.kind = UINT32_C(0x20031115) ^ LC_NUMERIC,
                                  .count = 6,
                                  .starts = {START(point), START(separator), START(grouping),
                                             START(wide_point), START(wide_separator),
                                             START(codeset)},
                                  .wide_point = ',',
                                  .wide_separator = '.',
                                  .point = ",",
                                  .separator = ".",
                                  .grouping = "\3\3",
                                  .codeset = "UTF-8"};
    FILE *file = fopen(path, "wb");
    bool is_written = file && fwrite(&content, sizeof content, 1, file) == 1;
    return file && fclose(file) == 0 && is_written;
}

static bool has_comma(void)
{
    return strcmp(localeconv()->decimal_point, ",") == 0;
}

void synctest_foreign_locale_enter(void)
{
    char folder[] = "/tmp/lockstep-synctest-XXXXXX";
    char name[PATH_BYTES / 2], path[PATH_BYTES];
    if (has_comma() || !mkdtemp(folder)) {
        return;
    }
    snprintf(name, sizeof name, "%s/foreign", folder);
    snprintf(path, sizeof path, "%s/LC_NUMERIC", name);
    if (mkdir(name, 0700) == 0 && write_numeric(path)) {
        setenv("LOCPATH", folder, 1); /* read by the next call alone */
        setlocale(LC_NUMERIC, "foreign");
        unsetenv("LOCPATH");
    }
    unlink(path);
    rmdir(name);
    rmdir(folder);
}
