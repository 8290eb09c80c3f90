#include "lockstep/protocol/wire/handshake.h"

#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void expect_words(const ls_text *why, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert_not_null(strstr(why->bytes, words[i]), "'%s' lacks '%s'", why->bytes, words[i]);
    }
}

/* ---- HELLO ---- */

Test(handshake, a_hello_of_this_build_is_good)
{
    ls_text why = {"untouched"};
    ls_hello hello = ls_hello_make("Ada");
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_OK);
    cr_assert_str_eq(why.bytes, "untouched");
    cr_assert_str_eq(hello.name, "Ada");
    cr_assert_str_eq(hello.token, "");
    cr_assert_eq(hello.magic, 0x5453434c);
    cr_assert_eq(hello.protocol_version, LS_PROTOCOL_VERSION);
    cr_assert_eq(hello.arithmetic, ls_arithmetic_check());
}

Test(handshake, a_name_is_cut_and_made_printable)
{
    ls_hello hello = ls_hello_make("0123456789012345678901234567890123456789");
    cr_assert_str_eq(hello.name, "0123456789012345678901234567890");
    hello = ls_hello_make("a\nb");
    cr_assert_str_eq(hello.name, "a?b");
}

Test(handshake, a_hello_is_refused_for_the_first_item_that_differs_with_both_values)
{
    ls_text why;
    ls_hello hello = ls_hello_make("Ada");
    char expected[17];
    char altered[17];
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)hello.arithmetic);
    snprintf(altered, sizeof altered, "%016llx", (unsigned long long)hello.arithmetic + 1);

    hello.arithmetic++;
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_ARITHMETIC_MISMATCH);
    expect_words(&why, (const char *const[]){"arithmetic", expected, altered}, 3);

    hello.protocol_version = 77;
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_PROTOCOL_MISMATCH);
    expect_words(&why, (const char *const[]){"protocol version", "client 77", "server 8"}, 3);

    hello.magic = 0x474f4c44;
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_MALFORMED);
    expect_words(&why, (const char *const[]){"474f4c44", "5453434c"}, 2);
}

Test(handshake, results_of_the_maths_library_are_compared_where_they_are_used)
{
    ls_text why = {""};
    ls_hello hello = ls_hello_make("Ada");
    uint64_t plain = hello.arithmetic;
    ls_hello_cover_maths(&hello, 0);
    cr_assert_eq(hello.arithmetic, plain);

    cr_assert_eq(ls_hello_check(&hello, 7, &why), LS_OK, "OFFER tells what the client lacks");
    ls_hello_cover_maths(&hello, 7);
    cr_assert_eq(ls_hello_check(&hello, 7, &why), LS_OK);
    cr_assert_eq(ls_hello_check(&hello, 0, &why), LS_ARITHMETIC_MISMATCH);
    cr_assert_null(strstr(why.bytes, "maths"));
    cr_assert_eq(ls_hello_check(&hello, 8, &why), LS_ARITHMETIC_MISMATCH);
    expect_words(&why, (const char *const[]){"maths functions, some of which the simulation"}, 1);
}

/* ---- READY ---- */

static const ls_ready server_ready = {3, 0x1111, 0x2222, 0x3333, 0x4444};

Test(handshake, equal_readies_are_good)
{
    ls_text why = {"untouched"};
    ls_ready client = server_ready;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why), LS_OK);
    cr_assert_str_eq(why.bytes, "untouched");
}

Test(handshake, a_ready_is_refused_for_the_first_item_that_differs_with_both_values)
{
    ls_text why;
    ls_ready client = server_ready;
    client.initial_hash = 0xaaaa;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_INITIAL_STATE_MISMATCH);
    expect_words(&why,
                 (const char *const[]){"initial state", "000000000000aaaa", "0000000000004444"}, 3);
    client.content_digest = 0xbbbb;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_CONTENT_MISMATCH);
    expect_words(&why, (const char *const[]){"content", "000000000000bbbb", "0000000000003333"}, 3);
    client.schema_digest = 0xcccc;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_SCHEMA_MISMATCH);
    expect_words(&why, (const char *const[]){"schema", "000000000000cccc", "0000000000002222"}, 3);
    client.parameter_digest = 0xdddd;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_PARAMETER_MISMATCH);
    expect_words(&why, (const char *const[]){"parameter", "000000000000dddd", "0000000000001111"},
                 3);
    client.simulation_version = 9;
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server_ready, &why),
                 LS_SIMULATION_VERSION_MISMATCH);
    expect_words(&why, (const char *const[]){"simulation version", "client 9", "server 3"}, 3);
}

static ls_ready ready_of(ls_sim_config config, uint64_t *state_hash)
{
    ls_text why = {{0}};
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(counter_simulation(), &config, ls_allocator_heap(), &instance, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    ls_ready ready = ls_ready_make(instance);
    *state_hash = ls_sim_instance_hash(instance);
    ls_sim_instance_destroy(instance);
    return ready;
}

Test(handshake, readies_of_instances_differ_where_their_configs_do)
{
    ls_text why;
    uint64_t state_hash = 0;
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    ls_ready server = ready_of(config, &state_hash);
    cr_assert_eq(server.simulation_version, counter_simulation()->version);
    cr_assert_eq(server.initial_hash, state_hash);
    cr_assert_neq(server.schema_digest, 0);

    ls_ready client = ready_of(config, &state_hash);
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server, &why), LS_OK);
    config.seed++;
    client = ready_of(config, &state_hash);
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server, &why),
                 LS_PARAMETER_MISMATCH);
    config.seed--;
    config.params[COUNTER_PARAM_CELLS]++;
    client = ready_of(config, &state_hash);
    cr_assert_eq(ls_ready_check(counter_simulation(), &client, &server, &why),
                 LS_PARAMETER_MISMATCH);
    cr_assert_neq(client.schema_digest, server.schema_digest);
}
