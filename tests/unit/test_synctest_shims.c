#define _GNU_SOURCE
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/perturbation.h"
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
