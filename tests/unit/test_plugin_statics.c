#include "lockstep/common/loader/plugin_statics.h"

#include "lockstep/common/base/text.h"

#include <criterion/criterion.h>
#include <string.h>

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
