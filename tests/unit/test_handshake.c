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

/* ---- which field it is ---- */

typedef struct wide_state {
    uint32_t cells[100];
} wide_state;

static uint32_t wide_field_count, wide_cell;
static uint32_t wide_unit = UINT32_MAX; /* the field of this number has another one */

static size_t wide_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(wide_state);
}

/* The last field takes the rest. */
static uint32_t wide_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    static char names[100][16];
    (void)config;
    for (uint32_t i = 0; i < wide_field_count && i < capacity; i++) {
        snprintf(names[i], sizeof names[i], "cell%u", i);
        out[i] = (ls_field){names[i], i == wide_unit ? "m" : "", LS_FIELD_U32, 1, 1, 4 * i, 4};
    }
    out[wide_field_count - 1].count = 100 - (wide_field_count - 1);
    return wide_field_count;
}

static ls_status wide_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    ((wide_state *)state)->cells[wide_cell] = 7;
    return LS_OK;
}

static void wide_step(const ls_step *step)
{
    (void)step;
}

static ls_sim_instance *wide_open(uint32_t field_count, uint32_t cell, uint32_t unit)
{
    static const ls_pass passes[] = {{"step", wide_step}};
    static const ls_simulation wide = {.abi = LS_SIMULATION_ABI,
                                       .size = sizeof wide,
                                       .version = 1,
                                       .name = "wide",
                                       .summary = "many fields",
                                       .default_tick_rate_hz = 60,
                                       .default_players = 1,
                                       .players_max = 1,
                                       .passes = passes,
                                       .pass_count = 1,
                                       .state_bytes = wide_bytes,
                                       .fields = wide_fields,
                                       .init = wide_init};
    ls_sim_config config = ls_sim_config_default(&wide);
    ls_sim_instance *instance = NULL;
    ls_text why = {{0}};
    wide_field_count = field_count;
    wide_cell = cell;
    wide_unit = unit;
    cr_assert_eq(ls_sim_instance_create(&wide, &config, ls_allocator_heap(), &instance, &why),
                 LS_OK, "%s", why.bytes);
    return instance;
}

/* The text that a client reads, which has another instance than the server. */
static ls_text named(ls_sim_instance *server, ls_sim_instance *client, ls_status status)
{
    const ls_ready_parts parts = ls_ready_parts_make(server);
    ls_text text = ls_ready_parts_with(&parts, status, "it differs");
    ls_ready_parts_name(client, status, &text);
    ls_sim_instance_destroy(client);
    ls_sim_instance_destroy(server);
    return text;
}

Test(handshake, refusal_names_the_first_field_that_differs)
{
    for (uint32_t cell = 0; cell < 20; cell++) {
        ls_text expected, text;
        ls_text_set(&expected, "it differs; the first field that differs is cell%u here", cell);
        text = named(wide_open(20, cell, UINT32_MAX), wide_open(20, 99, UINT32_MAX),
                     LS_INITIAL_STATE_MISMATCH);
        cr_expect_str_eq(text.bytes, expected.bytes);
        text = named(wide_open(20, 0, UINT32_MAX), wide_open(20, 0, cell), LS_SCHEMA_MISMATCH);
        cr_expect_str_eq(text.bytes, expected.bytes);
    }
}

Test(handshake, refusal_names_a_few_of_many_fields)
{
    ls_text text = named(wide_open(100, 71, UINT32_MAX), wide_open(100, 99, UINT32_MAX),
                         LS_INITIAL_STATE_MISMATCH);
    cr_expect_str_eq(text.bytes, "it differs; the first field that differs is cell69, or one of "
                                 "those behind it, here");
    text = named(wide_open(100, 0, UINT32_MAX), wide_open(40, 0, UINT32_MAX), LS_SCHEMA_MISMATCH);
    cr_expect_str_eq(text.bytes, "it differs; the server has 100 fields, and 40 are here");
}

Test(handshake, refusal_of_another_status_or_with_odd_hashes_is_left_as_it_is)
{
    static const char *const odd[] = {
        "it differs fields ",      "it differs fields 20",
        "it differs fields 20:",   "it differs fields 20:zzzz",
        "it differs fields 20:12", "it differs fields 99999999999:1234"};
    ls_sim_instance *client = wide_open(20, 3, UINT32_MAX);
    const ls_ready_parts parts = ls_ready_parts_make(client);
    ls_text text = ls_ready_parts_with(&parts, LS_CONTENT_MISMATCH, "it differs");
    ls_ready_parts_name(client, LS_CONTENT_MISMATCH, &text);
    cr_expect_str_eq(text.bytes, "it differs");
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        ls_text_set(&text, "%s", odd[i]);
        ls_ready_parts_name(client, LS_INITIAL_STATE_MISMATCH, &text);
        cr_expect_eq(strncmp(text.bytes, "it differs", 10), 0);
        cr_expect_null(strstr(text.bytes, "first field"), "%s", text.bytes);
    }
    ls_sim_instance_destroy(client);
}
