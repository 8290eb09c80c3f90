#define _GNU_SOURCE
#include "lockstep/common/base/text.h"
#include "lockstep/common/loader/plugin_statics.h"
#include "lockstep/common/program/symbol_name.h"
#include "lockstep/tools/synctest/lint.h"
#include "lockstep/tools/synctest/lint_rules.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/player.h"
#include "lockstep/tools/synctest/process_changes.h"
#include "lockstep/tools/synctest/shims.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* ==== lint ==== */

/* ---- the rules ---- */

static void expect_rule(const char *name, const char *topic, bool is_error)
{
    const synctest_lint_rule *rule = synctest_lint_rule_of_function(name);
    cr_assert_not_null(rule, "%s", name);
    cr_expect_str_eq(rule->topic, topic, "%s: %s", name, rule->topic);
    cr_expect_eq(rule->is_error, is_error, "%s", name);
    cr_expect(rule->why[0] != '\0' && rule->instead[0] != '\0');
}

Test(synctest_lint, functions_that_differ_between_machines_are_errors)
{
    expect_rule("sin", "libm", true);
    expect_rule("sinf", "libm", true);
    expect_rule("atan2l", "libm", true);
    expect_rule("__pow_finite", "libm", true);
    expect_rule("rand", "random", true);
    expect_rule("arc4random_uniform", "random", true);
    expect_rule("time", "clock", true);
    expect_rule("getenv", "environment", true);
    expect_rule("qsort", "sort", true);
    expect_rule("strtod", "locale", true);
    expect_rule("__isoc99_sscanf", "locale", false);
}

Test(synctest_lint, a_function_of_libm_that_has_a_strict_one_is_told_so)
{
    static const char *const strict[] = {"sin", "powf", "sincosf", "__log2_finite", "hypot"};
    for (size_t i = 0; i < sizeof strict / sizeof strict[0]; i++) {
        const synctest_lint_rule *rule = synctest_lint_rule_of_function(strict[i]);
        cr_assert_not_null(rule);
        cr_expect_not_null(strstr(rule->instead, "lockstep/strict_libm.h"), "%s", strict[i]);
    }
    cr_expect_null(strstr(synctest_lint_rule_of_function("erf")->instead, "strict_libm.h"));
}

Test(synctest_lint, functions_that_only_may_are_warnings)
{
    expect_rule("malloc", "allocation", false);
    expect_rule("snprintf", "locale", false);
    expect_rule("__snprintf_chk", "locale", false);
    expect_rule("pthread_create", "threads", false);
    expect_rule("sigaction", "signals", false);
    expect_rule("fopen", "files", false);
}

Test(synctest_lint, flags_that_let_a_build_compute_otherwise_are_warnings)
{
    static const char *const warned[] = {"-ffast-math", "-Ofast",        "-ffp-contract=fast",
                                         "-mfma",       "-march=native", "-march=x86-64-v3",
                                         "-mfpmath=387"};
    static const char *const fine[] = {"-O2",           "-O3",    "-ffp-contract=off",
                                       "-march=x86-64", "-msse2", "-fno-fast-math"};
    for (size_t i = 0; i < sizeof warned / sizeof warned[0]; i++) {
        const synctest_lint_rule *rule = synctest_lint_rule_of_flag(warned[i]);
        cr_assert(rule && !rule->is_error, "%s", warned[i]);
        cr_expect_str_eq(rule->topic, "compiler flag");
    }
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        cr_expect_null(synctest_lint_rule_of_flag(fine[i]), "%s", fine[i]);
    }
}

Test(synctest_lint, what_the_machine_is_asked_for_is_named)
{
    expect_rule("sched_getaffinity", "environment", true);
    expect_rule("getauxval", "environment", true);
    expect_rule("sysinfo", "environment", true);
    expect_rule("environ", "environment", true);
    expect_rule("syscall", "system call", true);
    expect_rule("pthread_self", "threads", true);
    expect_rule("getrusage", "clock", true);
    expect_rule("popen", "files", false);
    expect_rule("fgets", "files", false);
    expect_rule("lseek64", "files", false);
    expect_rule("strcasecmp", "locale", true);
    expect_rule("lgamma_r", "libm", true);
    expect_rule("lgammaf_r", "libm", true);
    expect_rule("sincosf", "libm", true);
    expect_rule("_ZGVbN2v_sin", "libm", true);
    expect_rule("_ZnwmRKSt9nothrow_t", "allocation", false);
    expect_rule("__cpu_model", "environment", false);
}

Test(synctest_lint, functions_that_are_the_same_everywhere_are_left_alone)
{
    const char *good[] = {"sqrt",          "sqrtf",          "fma",
                          "floor",         "fmod",           "__isnanf",
                          "memcpy",        "memset",         "__memcpy_chk",
                          "strlen",        "strtol",         "__isoc23_strtol",
                          "printf",        "__printf_chk",   "stderr",
                          "ls_rng_next",   "__cxa_finalize", "__gmon_start__",
                          "__divti3",      "__gesf2",        "_ZSt20__throw_length_errorPKc",
                          "_Unwind_Resume"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect_null(synctest_lint_rule_of_function(good[i]), "%s", good[i]);
    }
}

Test(synctest_lint, a_function_that_is_not_known_to_be_safe_is_a_warning)
{
    const char *unknown[] = {"strtof_", "timer",  "",      "si",     "sinfl",      "__chk",
                             "fenv",    "times_", "cosmo", "__gesf", "getnothing", "memcpy_s"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        expect_rule(unknown[i], SYNCTEST_LINT_TOPIC_UNKNOWN, false);
    }
}

Test(synctest_lint, fused_instructions_are_known_on_each_processor)
{
    static const struct {
        synctest_lint_processor processor;
        const char *fused;
        const char *harmless;
    } cases[] = {
        {SYNCTEST_PROCESSOR_X86_64, "vfmadd213sd", "mulsd"},
        {SYNCTEST_PROCESSOR_I386, "vfnmsub132ss", "addsd"},
        {SYNCTEST_PROCESSOR_ARM64, "fmadd", "fmul"},
        {SYNCTEST_PROCESSOR_ARM, "vfma.f64", "vmla.f64"},
        {SYNCTEST_PROCESSOR_PPC64, "xsmaddadp", "xsmuldp"},
        {SYNCTEST_PROCESSOR_S390X, "madbr", "mdbr"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const synctest_lint_rule *rule =
            synctest_lint_rule_of_instruction(cases[i].processor, cases[i].fused);
        cr_assert_not_null(rule, "%s", cases[i].fused);
        cr_expect_str_eq(rule->topic, SYNCTEST_LINT_TOPIC_FUSED);
        cr_expect_null(synctest_lint_rule_of_instruction(cases[i].processor, cases[i].harmless));
    }
    cr_assert_null(synctest_lint_rule_of_instruction(SYNCTEST_PROCESSOR_UNKNOWN, "fmadd"));
}

Test(synctest_lint, a_call_of_the_system_in_the_code_itself_is_an_error)
{
    const synctest_lint_rule *rule =
        synctest_lint_rule_of_instruction(SYNCTEST_PROCESSOR_X86_64, "syscall");
    cr_assert(rule && rule->is_error);
    rule = synctest_lint_rule_of_instruction(SYNCTEST_PROCESSOR_ARM64, "svc");
    cr_assert(rule && rule->is_error);
}

/* ---- machine code ---- */

Test(synctest_lint, counts_instructions_and_passes_over_bytes_that_are_none)
{
    static const uint8_t code[] = {
        0xc4, 0xe2, 0xf1, 0xb9, 0xc2, /* vfmadd231sd xmm0, xmm1, xmm2 */
        0x06,                         /* no instruction of 64-bit code */
        0xf2, 0x0f, 0x58, 0xc1,       /* addsd xmm0, xmm1 */
        0xc4, 0xe2, 0xf1, 0xb9, 0xc2, /* the first once more */
        0x0f, 0x31,                   /* rdtsc */
        0xc3,                         /* ret */
    };
    synctest_lint_code *reader = NULL;
    synctest_lint_code_count counts[SYNCTEST_LINT_CODE_COUNTS_MAX];
    uint64_t instructions = 0;
    cr_assert_eq(synctest_lint_code_open(SYNCTEST_PROCESSOR_X86_64, &reader), LS_OK);
    cr_assert_eq(synctest_lint_code_read(reader, code, sizeof code, 0x1000, counts, &instructions),
                 2);
    cr_assert_str_eq(counts[0].mnemonic, "vfmadd231sd");
    cr_assert_eq(counts[0].count, 2);
    cr_assert_str_eq(counts[1].mnemonic, "rdtsc");
    cr_assert_geq(instructions, 5);
    cr_assert_eq(synctest_lint_code_read(reader, code, 0, 0, counts, &instructions), 0);
    synctest_lint_code_close(reader);
    synctest_lint_code_close(NULL);
}

Test(synctest_lint, reads_the_code_of_other_processors)
{
    static const struct {
        synctest_lint_processor processor;
        uint8_t code[4]; /* one fused instruction */
        const char *mnemonic;
    } cases[] = {
        {SYNCTEST_PROCESSOR_I386, {0xc4, 0xe2, 0xf1, 0xb9}, NULL}, /* the last byte is missing */
        {SYNCTEST_PROCESSOR_ARM64, {0x20, 0x0c, 0x42, 0x1f}, "fmadd"},
        {SYNCTEST_PROCESSOR_ARM, {0x02, 0x0b, 0xa1, 0xee}, "vfma.f64"},
        {SYNCTEST_PROCESSOR_PPC64, {0xfa, 0x20, 0x22, 0xfc}, "fmadd"},
        {SYNCTEST_PROCESSOR_S390X, {0xb3, 0x1e, 0x10, 0x23}, "madbr"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        synctest_lint_code *reader = NULL;
        synctest_lint_code_count counts[SYNCTEST_LINT_CODE_COUNTS_MAX];
        uint64_t instructions = 0;
        cr_assert_eq(synctest_lint_code_open(cases[i].processor, &reader), LS_OK);
        uint32_t used = synctest_lint_code_read(reader, cases[i].code, 4, 0, counts, &instructions);
        cr_expect_eq(used, cases[i].mnemonic != NULL, "case %zu", i);
        if (used == 1) {
            cr_expect_str_eq(counts[0].mnemonic, cases[i].mnemonic);
            cr_expect_str_eq(counts[0].rule->topic, SYNCTEST_LINT_TOPIC_FUSED);
        }
        synctest_lint_code_close(reader);
    }
}

Test(synctest_lint, the_code_of_an_unknown_processor_is_not_read)
{
    synctest_lint_code *reader = NULL;
    cr_assert_eq(synctest_lint_code_open(SYNCTEST_PROCESSOR_UNKNOWN, &reader), LS_UNSUPPORTED);
    cr_assert_null(reader);
}

/* ---- files ---- */

static synctest_lint_report report;
static uint8_t plugin_bytes[1 << 20]; /* of the plug-in */
static char path[] = "/tmp/lockstep-lint-XXXXXX";
static int file;

static size_t read_plugin(void)
{
    FILE *whole = fopen(LS_TEST_PLUGIN, "rb");
    cr_assert_not_null(whole);
    size_t size = fread(plugin_bytes, 1, sizeof plugin_bytes, whole);
    fclose(whole);
    cr_assert(size > 4096 && size < sizeof plugin_bytes);
    return size;
}

static void make_file(void)
{
    file = mkstemp(path);
    cr_assert_geq(file, 0);
}

static void remove_file(void)
{
    close(file);
    unlink(path);
}

static void expect_refused(const char *name, ls_status status, const char *words)
{
    ls_text why = {""};
    cr_expect_eq(synctest_lint_file(name, &report, &why), status, "%s", name);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
}

Test(synctest_lint, a_file_that_is_no_shared_object_is_refused)
{
    make_file();
    expect_refused("/does/not/exist.so", LS_IO, "/does/not/exist.so");
    expect_refused(path, LS_PLUGIN, "no shared object");
    static const char nonsense[] = {0x7f, 'E', 'L', 'F', 'n', 'o', 'n', 's', 'e', 'n', 's', 'e'};
    cr_assert_eq(write(file, nonsense, sizeof nonsense), (ssize_t)sizeof nonsense);
    expect_refused(path, LS_PLUGIN, "no shared object");
    remove_file();
}

Test(synctest_lint, a_file_that_was_cut_short_is_refused_or_read_as_far_as_it_goes)
{
    size_t size = read_plugin();
    make_file();
    for (size_t kept = size; kept > 0; kept -= kept > 1997 ? 1997 : kept) {
        cr_assert_eq(ftruncate(file, 0), 0);
        cr_assert_eq(pwrite(file, plugin_bytes, kept, 0), (ssize_t)kept);
        ls_status status = synctest_lint_file(path, &report, NULL);
        cr_assert(status == LS_OK || status == LS_PLUGIN);
    }
    remove_file();
}

/* Section tables and symbols of any content. */
Test(synctest_lint, a_file_with_flipped_bytes_is_survived)
{
    size_t size = read_plugin();
    make_file();
    uint32_t read_well = 0;
    for (size_t i = 0; i < 160; i++) {
        size_t at = i < 64 ? i : size - 1 - i * 17 % 4000; /* the header, and the sections' table */
        plugin_bytes[at] ^= 0xff;
        cr_assert_eq(pwrite(file, plugin_bytes, size, 0), (ssize_t)size);
        read_well += synctest_lint_file(path, &report, NULL) == LS_OK;
        plugin_bytes[at] ^= 0xff;
    }
    cr_assert_gt(read_well, 0);
    remove_file();
}

Test(synctest_lint, a_good_plug_in_is_read_and_clean)
{
    ls_text why = {""};
    cr_assert_eq(synctest_lint_file(LS_TEST_PLUGIN, &report, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(report.errors, 0);
    cr_assert(report.is_code_read);
    cr_assert_gt(report.functions_read, 10);
    cr_assert_gt(report.instructions_read, 100);
}

static const synctest_lint_item *find_item(const char *name)
{
    for (uint32_t i = 0; i < report.count; i++) {
        if (strcmp(report.items[i].name, name) == 0) {
            return &report.items[i];
        }
    }
    return NULL;
}

static void expect_name(const char *symbol, const char *name, size_t capacity)
{
    char read[64];
    ls_symbol_name_read(read, capacity, symbol);
    cr_expect_str_eq(read, name);
}

Test(synctest_lint, names_of_cpp_and_rust_are_those_of_the_source)
{
    expect_name("blend.arch_haswell", "blend.arch_haswell", 64);
    expect_name("_Z", "_Z", 64);
    expect_name("think_of_all", "thi", 4);
#if !defined(LS_HAS_LIBIBERTY)
    cr_skip_test("libiberty was not there when this was built");
#endif
    expect_name("_ZN4game5thinkERKNS_4unitE", "game::think", 64);
    expect_name("_ZN4gameL5hivesE", "game::hives", 64);
    expect_name("_ZZN4game5thinkEvE5turns", "game::think()::turns", 64);
    expect_name("_ZN4game5thinkEv.arch_haswell", "game::think.arch_haswell", 64);
    expect_name("_ZN4game5think17h0123456789abcdefE.llvm.12", "game::think", 64);
    expect_name("_RNvNtCs1234_4game4hive5think", "game::hive::think", 64);
    expect_name("_ZnwmRKSt9nothrow_t", "operator new", 64);
    cr_assert_eq(synctest_lint_file(LS_TEST_NAMED, &report, NULL), LS_OK);
    cr_expect_not_null(find_item("memory::walked"));
}

Test(synctest_lint, the_libraries_that_a_plug_in_needs_are_read_as_well)
{
    ls_text why = {""};
    cr_assert_eq(synctest_lint_file(LS_TEST_NEEDING, &report, &why), LS_OK, "%s", why.bytes);
    cr_assert_eq(report.libraries_read, 2, "one of them needs another one");
    const synctest_lint_item *sine = find_item("sin");
    const synctest_lint_item *kept = find_item("needed_turns");
    cr_assert(sine && kept);
    cr_assert_str_eq(sine->library, "libneeded_deeper.so");
    cr_assert_str_eq(kept->library, "libneeded.so");
    cr_assert_not(sine->is_error, "nobody knows that a step gets there");
    cr_assert_null(find_item("needed_turn"), "what is read itself is no unknown call");
    cr_assert_null(find_item("needed_turn_further"));
}

Test(synctest_lint, a_library_that_is_not_there_is_told)
{
    cr_assert_eq(synctest_lint_file(LS_TEST_MISSING, &report, NULL), LS_OK);
    const synctest_lint_item *missing = find_item("libneeded.so");
    cr_assert(missing && missing->kind == SYNCTEST_LINT_LIBRARY && !missing->is_error);
    cr_assert_not_null(find_item("needed_turn"), "nor is known what its functions do");
}

static void expect_folded(uint32_t index, bool is_folded, const char *expected)
{
    ls_text line = {"old"};
    cr_expect_eq(synctest_lint_text_fold(&report, index, &line), is_folded);
    cr_expect_str_eq(line.bytes, expected);
}

Test(synctest_lint, all_calls_of_a_library_are_one_line)
{
    static const synctest_lint_item items[] = {
        {.kind = SYNCTEST_LINT_CALL, .name = "free", .topic = "allocation"},
        {.kind = SYNCTEST_LINT_CALL, .name = "srand", .library = "libode.so.8"},
        {.kind = SYNCTEST_LINT_CALL, .name = "fopen", .library = "libode.so.8"},
        {.kind = SYNCTEST_LINT_STATIC, .name = "cache", .library = "libode.so.8"},
        {.kind = SYNCTEST_LINT_CALL, .name = "sin", .library = "libother.so"},
        {.kind = SYNCTEST_LINT_CALL, .name = "rand", .library = "libode.so.8"},
        {.kind = SYNCTEST_LINT_CALL, .name = "time", .library = "libode.so.8"},
    };
    memset(&report, 0, sizeof report);
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        synctest_lint_add(&report, &items[i]);
    }
    expect_folded(0, false, "");
    expect_folded(1, true,
                  "lint: libode.so.8 calls 4 functions that are not known to be safe, "
                  "such as srand, fopen, rand (all: -v)");
    expect_folded(2, true, "");
    expect_folded(3, false, "");
    expect_folded(4, true,
                  "lint: libother.so calls 1 function that is not known to be safe: sin "
                  "(all: -v)");
    expect_folded(5, true, "");
    expect_folded(6, true, "");
}

Test(synctest_lint, items_beyond_the_last_are_counted)
{
    static synctest_lint_report full;
    const synctest_lint_item item = {.is_error = true, .topic = "libm"};
    for (uint32_t i = 0; i < SYNCTEST_LINT_ITEMS_MAX + 3; i++) {
        synctest_lint_add(&full, &item);
    }
    cr_assert_eq(full.count, SYNCTEST_LINT_ITEMS_MAX);
    cr_assert_eq(full.left_out, 3);
    cr_assert_eq(full.errors, SYNCTEST_LINT_ITEMS_MAX + 3);
    cr_assert(synctest_lint_has_topic(&full, "libm"));
    cr_assert_not(synctest_lint_has_topic(&full, "clock"));
}

/* ==== shims ==== */

static int affinity_count(void)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    cr_assert_eq(sched_getaffinity(0, sizeof cores, &cores), 0);
    return CPU_COUNT(&cores);
}

Test(synctest_shims, the_number_of_cores_is_what_it_is_told)
{
    int real = affinity_count();
    long page_bytes = sysconf(_SC_PAGESIZE);
    cr_assert_gt(real, 0);
    synctest_shims_set(&(synctest_shims){.cores = 48});
    cr_expect_eq(get_nprocs(), 48);
    cr_expect_eq(get_nprocs_conf(), 48);
    cr_expect_eq(sysconf(_SC_NPROCESSORS_ONLN), 48);
    cr_expect_eq(affinity_count(), 48);
    cr_expect_eq(sysconf(_SC_PAGESIZE), page_bytes, "nothing else is changed");
    synctest_shims_set(&(synctest_shims){.cores = 0});
    cr_expect_eq(affinity_count(), real);
}

#if !SYNCTEST_IS_SANITIZED

enum {
    BLOCK_BYTES = 4000,
};

/* Hardly two neighbours are the same. */
static bool is_noise(const uint8_t *bytes, size_t byte_count)
{
    uint32_t repeated = 0;
    for (size_t i = 1; i < byte_count; i++) {
        repeated += bytes[i] == bytes[i - 1];
    }
    return repeated < byte_count / 8;
}

Test(synctest_shims, memory_from_malloc_holds_other_bytes_each_time)
{
    synctest_process_changes_fill_heap(SYNCTEST_CHANGES_HEAP, 0);
    uint8_t *volatile first = malloc(BLOCK_BYTES);
    uint8_t *volatile second = malloc(BLOCK_BYTES);
    uint8_t *volatile zeroed = calloc(1, BLOCK_BYTES);
    void *aligned = NULL;
    cr_assert_eq(posix_memalign(&aligned, 256, BLOCK_BYTES), 0);
    cr_expect(is_noise(first, BLOCK_BYTES) && is_noise(second, BLOCK_BYTES));
    cr_expect(is_noise(aligned, BLOCK_BYTES));
    cr_expect_neq(memcmp(first, second, BLOCK_BYTES), 0);
    cr_expect(zeroed[0] == 0 && zeroed[BLOCK_BYTES - 1] == 0);
    free(first);
    free(second);
    free(zeroed);
    free(aligned);
}

Test(synctest_shims, a_block_that_grows_keeps_its_bytes)
{
    synctest_process_changes_fill_heap(SYNCTEST_CHANGES_HEAP, 0);
    uint8_t *block = malloc(BLOCK_BYTES);
    memset(block, 7, BLOCK_BYTES);
    uint8_t *grown = realloc(block, 8 * (size_t)BLOCK_BYTES);
    cr_assert_not_null(grown);
    cr_expect(grown[0] == 7 && grown[BLOCK_BYTES - 1] == 7);
    cr_expect(is_noise(grown + BLOCK_BYTES + 64, BLOCK_BYTES));
    free(grown);
}

Test(synctest_shims, a_copy_that_begins_at_the_end_shows_that_memory_overlaps)
{
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    char text[] = "abcdef", apart[8] = "";
    copy(text, text + 1, 5);
    cr_expect_str_eq(text, "bcdeff", "as memmove, otherwise");
    synctest_shims_set(&(synctest_shims){.are_copies_backward = true});
    copy(apart, "abcdef", 7);
    cr_expect_str_eq(apart, "abcdef");
    copy(apart, apart + 1, 5);
    cr_expect_str_eq(apart, "ffffff");
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

Test(synctest_shims, scaled_comparisons_have_the_same_sign)
{
    int (*volatile of_bytes)(const void *, const void *, size_t) = memcmp;
    int (*volatile of_texts)(const char *, const char *) = strcmp;
    static const char *const texts[] = {"",        "a",           "b",         "ab",
                                        "abcdefg", "abcdefg\xff", "abcdefghi", "abcdefghijkl"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) {
            size_t bytes = 1 + (i < j ? strlen(texts[i]) : strlen(texts[j]));
            synctest_shims_set(&(synctest_shims){0});
            int plain = of_texts(texts[i], texts[j]),
                plain_bytes = of_bytes(texts[i], texts[j], bytes);
            synctest_shims_set(&(synctest_shims){.are_comparisons_scaled = true});
            int scaled = of_texts(texts[i], texts[j]);
            cr_expect_eq(sign(scaled), sign(plain));
            cr_expect(scaled == 0 || scaled != plain);
            cr_expect_eq(sign(of_bytes(texts[i], texts[j], bytes)), sign(plain_bytes));
        }
    }
}

Test(synctest_shims, a_file_without_a_folder_is_there_only_where_it_was_not)
{
    char folder[] = "/tmp/test-shims-XXXXXX", absolute[64];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(absolute, sizeof absolute, "%s/here", folder);
    cr_assert_eq(chdir(folder), 0);
    fclose(fopen("here", "w"));
    synctest_shims_files_turn();
    cr_expect_null(fopen("here", "r"));
    cr_expect_neq(access("here", F_OK), 0);
    FILE *absolute_file = fopen(absolute, "r");
    cr_expect_not_null(absolute_file, "a path is as it was");
    FILE *missing = fopen("missing", "r");
    cr_assert_not_null(missing);
    cr_expect_eq(fgetc(missing), '1');
    cr_expect_eq(access("missing", F_OK), 0);
    fclose(missing);
    fclose(absolute_file);
    unlink(absolute);
    rmdir(folder);
}

#endif

Test(synctest_shims, the_foreign_locale_writes_and_reads_a_decimal_comma)
{
    char text[16] = "";
    synctest_foreign_locale_enter();
    cr_assert_str_eq(localeconv()->decimal_point, ",");
    snprintf(text, sizeof text, "%.1f", 2.5);
    cr_expect_str_eq(text, "2,5");
    cr_expect_eq(strtod("2.5", NULL), 2.0);
}

/* ==== plugin_statics ==== */

static volatile uint8_t near_by[64];
static volatile uint8_t far_away[4096] = {1};
static _Thread_local volatile uint8_t own_to_thread[64];
static volatile uint8_t of_gcc[64] __asm__("turns.lto_priv.0");
static volatile uint8_t of_cpp[64] __asm__("_ZZN4game5thinkEvE5turns");

/* In this program. */
static const void *code(void)
{
    return (const void *)(uintptr_t)code;
}

Test(plugin_statics, a_write_to_a_variable_is_noticed_once)
{
    ls_plugin_statics statics; /* not static: it would watch itself */
    uint64_t addresses[4];
    ls_plugin_statics_begin(&statics, code(), false, ls_allocator_heap());
    cr_assert_gt(statics.segment_count, 0);
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 0);
    near_by[3] = 1;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 0);
    near_by[3] = 1; /* no change */
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 0);
    ls_plugin_statics_end(&statics);
}

Test(plugin_statics, neighbouring_bytes_are_one_write_and_distant_ones_are_not)
{
    ls_plugin_statics statics;
    uint64_t addresses[4];
    ls_plugin_statics_begin(&statics, code(), false, ls_allocator_heap());
    far_away[100] = far_away[103] = far_away[111] = 7;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    far_away[200] = far_away[230] = 8;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 2);
    cr_assert_eq(addresses[1] - addresses[0], 30);
    for (size_t i = 0; i < 10; i++) {
        far_away[1000 + 50 * i] = 9;
    }
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 4, "there is no room for more");
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 0, "those are forgotten");
    far_away[sizeof far_away - 1] = 1;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    ls_plugin_statics_end(&statics);
}

Test(plugin_statics, a_write_to_a_thread_local_variable_is_noticed)
{
    ls_plugin_statics statics;
    uint64_t addresses[4];
    ls_plugin_statics_begin(&statics, code(), false, ls_allocator_heap());
    own_to_thread[40] = 1;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    cr_assert(addresses[0] & LS_PLUGIN_STATICS_THREAD_LOCAL);
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 0);
    ls_plugin_statics_end(&statics);
}

/* As the file of this program has it, of which the symbols are not stripped. */
Test(plugin_statics, a_variable_is_named_by_an_address_in_it)
{
    ls_plugin_statics statics;
    uint64_t addresses[4];
    ls_plugin_variable named;
    ls_plugin_statics_begin(&statics, code(), false, ls_allocator_heap());
    far_away[2000]++;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    cr_assert(ls_plugin_statics_variable("/proc/self/exe", addresses[0], NULL, &named));
    cr_expect_str_eq(named.name, "far_away");
    cr_expect_eq(named.size, sizeof far_away);
    cr_expect_eq(addresses[0] - named.address, 2000);
    (void)ls_plugin_statics_changes(&statics, addresses, 4); /* of what reads files here */
    own_to_thread[40]++;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    cr_assert(ls_plugin_statics_variable("/proc/self/exe", addresses[0], NULL, &named));
    cr_expect_str_eq(named.name, "own_to_thread");
    cr_expect_not(ls_plugin_statics_variable("/proc/self/exe", UINT64_C(1) << 48, NULL, &named));
    cr_expect_not(ls_plugin_statics_variable("/no/such/file", addresses[0], NULL, &named));
    ls_plugin_statics_end(&statics);
}

Test(plugin_statics, a_variable_is_set_back_and_its_neighbours_are_not)
{
    ls_plugin_statics statics;
    uint64_t addresses[4];
    near_by[8] = 5;
    ls_plugin_statics_begin(&statics, code(), false, ls_allocator_heap());
    near_by[8] = near_by[16] = near_by[24] = 6;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    uint64_t at = addresses[0] / 8 * 8;
    ls_plugin_statics_reset(&statics, at, 8);
    cr_expect_eq(near_by[8], 5);
    cr_expect_eq(near_by[16], 6);
    ls_plugin_statics_reset(&statics, at + 8, 9);
    cr_expect_eq(near_by[16], 0);
    cr_expect_eq(near_by[24], 0);
    cr_expect_str_eq(ls_plugin_statics_path(&statics, at), "/proc/self/exe");
    ls_plugin_statics_end(&statics);
}

Test(plugin_statics, code_that_is_in_no_object_has_none)
{
    ls_plugin_statics statics;
    uint64_t addresses[4];
    ls_plugin_statics_begin(&statics, NULL, false, ls_allocator_heap());
    cr_assert_eq(statics.segment_count, 0);
    near_by[3]++;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 0);
}

static void *allocate_nothing(void *user, size_t bytes)
{
    (void)user;
    (void)bytes;
    return NULL;
}

Test(plugin_statics, without_memory_nothing_is_watched)
{
    const ls_allocator empty = {allocate_nothing, NULL, NULL, NULL};
    ls_plugin_statics statics;
    ls_plugin_statics_begin(&statics, code(), false, &empty);
    cr_assert_eq(statics.segment_count, 0);
}

static void shorten(char *name, size_t capacity, const char *symbol)
{
    ls_name_copy(name, capacity, symbol + 2);
}

static void expect_name_of(volatile uint8_t *variable, ls_plugin_symbol_reader *reader,
                           const char *wanted)
{
    ls_plugin_statics statics;
    uint64_t addresses[4];
    ls_plugin_variable named;
    ls_plugin_statics_begin(&statics, code(), false, ls_allocator_heap());
    variable[32]++;
    cr_assert_eq(ls_plugin_statics_changes(&statics, addresses, 4), 1);
    cr_assert(ls_plugin_statics_variable("/proc/self/exe", addresses[0], reader, &named));
    cr_expect_str_eq(named.name, wanted);
    ls_plugin_statics_end(&statics);
}

Test(plugin_statics, names_of_cpp_are_read_by_the_reader_and_others_are_not)
{
    expect_name_of(of_gcc, shorten, "turns");
    expect_name_of(of_cpp, NULL, "_ZZN4game5thinkEvE5turns");
    expect_name_of(of_cpp, shorten, "ZN4game5thinkEvE5turns");
}
