#define _GNU_SOURCE
#include "lockstep/tools/synctest/noise.h"
#include "lockstep/tools/synctest/shims.h"

#include <criterion/criterion.h>
#include <sched.h>
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
    synctest_shims_set(&(synctest_shims){.heap_noise = 1});
    uint8_t *volatile first = malloc(BLOCK_BYTES);
    uint8_t *volatile second = malloc(BLOCK_BYTES);
    uint8_t *volatile zeroed = calloc(1, BLOCK_BYTES);
    void *aligned = NULL;
    cr_assert_eq(posix_memalign(&aligned, 256, BLOCK_BYTES), 0);
    cr_expect(is_noise(first, BLOCK_BYTES) && is_noise(second, BLOCK_BYTES));
    cr_expect(is_noise(aligned, BLOCK_BYTES));
    cr_expect_neq(memcmp(first, second, BLOCK_BYTES), 0);
    cr_expect(zeroed[0] == 0 && zeroed[BLOCK_BYTES - 1] == 0);
    synctest_shims_set(&(synctest_shims){.heap_noise = 0});
    free(first);
    free(second);
    free(zeroed);
    free(aligned);
}

Test(synctest_shims, a_block_that_grows_keeps_its_bytes)
{
    synctest_shims_set(&(synctest_shims){.heap_noise = 1});
    uint8_t *block = malloc(BLOCK_BYTES);
    memset(block, 7, BLOCK_BYTES);
    uint8_t *grown = realloc(block, 8 * (size_t)BLOCK_BYTES);
    cr_assert_not_null(grown);
    cr_expect(grown[0] == 7 && grown[BLOCK_BYTES - 1] == 7);
    cr_expect(is_noise(grown + BLOCK_BYTES + 64, BLOCK_BYTES));
    synctest_shims_set(&(synctest_shims){.heap_noise = 0});
    free(grown);
}

#endif
