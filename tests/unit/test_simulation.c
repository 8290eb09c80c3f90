#include "lockstep/common/simulation/simulation.h"

#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A copy of the counter, to break in one place. */
static ls_simulation copy(void)
{
    return *counter_simulation();
}

static void expect_refused(const ls_simulation *simulation, ls_status status, const char *word)
{
    ls_text why = {""};
    cr_expect_eq(ls_simulation_check(simulation, &why), status, "%s: %s", word, why.bytes);
    cr_expect(strstr(why.bytes, word), "no \"%s\" in: %s", word, why.bytes);
    cr_expect_neq(ls_simulation_check(simulation, NULL), LS_OK);
}

static void expect_good(const ls_simulation *simulation)
{
    ls_text why = {""};
    cr_expect_eq(ls_simulation_check(simulation, &why), LS_OK, "%s", why.bytes);
}

Test(simulation, a_good_one_passes)
{
    expect_good(counter_simulation());
}

Test(simulation, none_at_all_is_refused)
{
    expect_refused(NULL, LS_PLUGIN, "no simulation");
}

Test(simulation, another_abi_is_refused_before_anything_else_is_read)
{
    ls_simulation simulation = {.abi = LS_SIMULATION_ABI + 1};
    expect_refused(&simulation, LS_PLUGIN, "abi 5");
}

Test(simulation, names_are_short_and_plain)
{
    char long_name[LS_NAME_BYTES_MAX + 1];
    memset(long_name, 'a', sizeof long_name);
    long_name[LS_NAME_BYTES_MAX] = '\0';
    const char *bad[] = {NULL, "", "Arena", "a b", "a.b", "a=b", "\xc3\xa4", "a\n", long_name};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_simulation simulation = copy();
        simulation.name = bad[i];
        expect_refused(&simulation, LS_BAD_ARGUMENT, "name");
    }
    long_name[LS_NAME_BYTES_MAX - 1] = '\0';
    const char *good[] = {"a", "my-game_2", long_name};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ls_simulation simulation = copy();
        simulation.name = good[i];
        expect_good(&simulation);
    }
}

Test(simulation, numbers_are_held_to_their_ranges)
{
    ls_simulation base = copy();
    struct {
        uint32_t *number;
        const char *name;
        uint32_t min;
        uint32_t max;
    } rules[] = {
        {&base.default_tick_rate_hz, "default_tick_rate_hz", 1, 1000},
        {&base.players_max, "players_max", 2, LS_PLAYERS_MAX}, /* default_players is 2 */
        {&base.default_players, "default_players", 1, COUNTER_PLAYERS_MAX},
        {&base.input_bytes_max, "input_bytes_max", 0, 1024},
        {&base.workers_max, "workers_max", 0, 64},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        uint32_t kept = *rules[i].number;
        *rules[i].number = rules[i].min;
        expect_good(&base);
        *rules[i].number = rules[i].max;
        expect_good(&base);
        *rules[i].number = rules[i].max + 1;
        expect_refused(&base, LS_BAD_ARGUMENT, rules[i].name);
        *rules[i].number = rules[i].min - 1;
        expect_refused(&base, LS_BAD_ARGUMENT, i == 1 ? "default_players" : rules[i].name);
        *rules[i].number = kept;
    }
    base.players_max = 0;
    expect_refused(&base, LS_BAD_ARGUMENT, "players_max");
    base.players_max = 33;
    base.input_bytes_max = 992;
    expect_good(&base);
    base.input_bytes_max = 993;
    expect_refused(&base, LS_BAD_ARGUMENT, "players_max times input_bytes_max");
}

Test(simulation, counts_above_the_limits_are_refused)
{
    ls_simulation simulation = copy();
    simulation.param_count = LS_PARAMS_MAX + 1;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "param_count");
    simulation = copy();
    simulation.pass_count = LS_PASSES_MAX + 1;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "pass_count");
    simulation.pass_count = 0;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "pass_count");
}

Test(simulation, missing_lists_and_functions_are_named)
{
    ls_simulation simulation = copy();
    simulation.summary = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "summary");
    simulation = copy();
    simulation.params = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "params");
    simulation.param_count = 0;
    expect_good(&simulation);
    simulation = copy();
    simulation.passes = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "passes");
    simulation = copy();
    simulation.state_bytes = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "state_bytes");
    simulation = copy();
    simulation.init = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "init");
    simulation = copy();
    simulation.fields = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "fields");
    simulation = copy();
    simulation.check = NULL;
    simulation.scratch_bytes = NULL;
    expect_good(&simulation);
}

static uint64_t any_hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    (void)state;
    return 1;
}

static size_t any_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                       size_t capacity)
{
    (void)config;
    (void)state;
    (void)bytes;
    (void)capacity;
    return 0;
}

static ls_status any_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                          size_t size)
{
    (void)config;
    (void)state;
    (void)bytes;
    (void)size;
    return LS_OK;
}

static void any_deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    (void)state;
}

Test(simulation, callbacks_of_a_wrapped_engine_come_in_sets)
{
    ls_simulation simulation = copy();
    simulation.hash = any_hash;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "fields and hash");
    simulation.fields = NULL;
    expect_good(&simulation);
    simulation.save = any_save;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "save and load");
    simulation.load = any_load;
    simulation.deinit = any_deinit;
    expect_good(&simulation);
    simulation.save = NULL;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "save and load");

    simulation = copy();
    simulation.deinit = any_deinit;
    expect_refused(&simulation, LS_BAD_ARGUMENT, "deinit");
}

Test(simulation, parameters_are_checked_one_by_one)
{
    const ls_param good = LS_PARAM_INTEGER_OF("speed", "m/s", "how fast", 5, 0, 10);
    static const struct {
        ls_param param;
        const char *word;
    } bad[] = {
        {LS_PARAM_INTEGER_OF(NULL, "", "", 5, 0, 10), "name"},
        {LS_PARAM_INTEGER_OF("a=b", "", "", 5, 0, 10), "name"},
        {LS_PARAM_INTEGER_OF("a", NULL, "", 5, 0, 10), "unit"},
        {LS_PARAM_INTEGER_OF("a", "", NULL, 5, 0, 10), "help"},
        {LS_PARAM_INTEGER_OF("a", "", "", 11, 0, 10), "default"},
        {LS_PARAM_INTEGER_OF("a", "", "", -1, 0, 10), "default"},
        {LS_PARAM_INTEGER_OF("a", "", "", 5, 10, 0), "default"},
        {LS_PARAM_INTEGER_OF("speed", "", "", 5, 0, 10), "earlier"},
        {LS_PARAM_STRING_OF("a", "", "four", 0, 3), "default that it cannot take"},
        {LS_PARAM_STRING_OF("a", "", NULL, 1, 3), "default that it cannot take"},
        {LS_PARAM_STRING_OF("a", "", "a\nb", 0, 3), "default that it cannot take"},
        {LS_PARAM_STRING_OF("a", "", NULL, 0, 256), "0 <= min <= max <= 255"},
        {LS_PARAM_FILE_OF("a", "", -1, 3), "0 <= min <= max <= 64 MiB"},
        {LS_PARAM_FILE_OF("a", "", 0, LS_FILE_BYTES_MAX + 1), "0 <= min <= max <= 64 MiB"},
        {{"a", "", "", 0, 0, 0, LS_PARAM_KIND_COUNT, NULL}, "no kind"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const ls_param params[] = {good, bad[i].param};
        ls_simulation simulation = copy();
        simulation.params = params;
        simulation.param_count = 2;
        expect_refused(&simulation, LS_BAD_ARGUMENT, bad[i].word);
        expect_refused(&simulation, LS_BAD_ARGUMENT, "params[1]");
    }
}

static void run_nothing(const ls_step *step)
{
    (void)step;
}

Test(simulation, passes_are_checked_one_by_one)
{
    static const struct {
        ls_pass pass;
        const char *word;
    } bad[] = {
        {{NULL, run_nothing}, "name"},
        {{"b c", run_nothing}, "name"},
        {{"b", NULL}, "run"},
        {{"a", run_nothing}, "earlier"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const ls_pass passes[] = {{"a", run_nothing}, bad[i].pass};
        ls_simulation simulation = copy();
        simulation.passes = passes;
        expect_refused(&simulation, LS_BAD_ARGUMENT, bad[i].word);
        expect_refused(&simulation, LS_BAD_ARGUMENT, "passes[1]");
    }
}

Test(simulation, the_default_configuration_is_the_simulations_and_passes)
{
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    cr_assert_eq(config.seed, 1);
    cr_assert_eq(config.tick_rate_hz, 60);
    cr_assert_eq(config.players, 2);
    cr_assert_eq(config.param_count, COUNTER_PARAM_COUNT);
    cr_assert_eq(config.params[COUNTER_PARAM_CELLS], 8);
    cr_assert_eq(config.params[COUNTER_PARAM_SPEED], 3);
    cr_assert_eq(config.params[COUNTER_PARAM_COUNT], 0);
    cr_assert_eq(ls_sim_config_check(counter_simulation(), &config, NULL), LS_OK);
}

static ls_status set(ls_sim_config *config, const char *assignment, ls_text *why)
{
    return ls_sim_config_set(counter_simulation(), config, assignment, why);
}

Test(simulation, parameters_are_set_by_name)
{
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    cr_assert_eq(set(&config, "cells=1", NULL), LS_OK);
    cr_assert_eq(config.params[COUNTER_PARAM_CELLS], 1);
    cr_assert_eq(set(&config, "cells=20000", NULL), LS_OK);
    cr_assert_eq(config.params[COUNTER_PARAM_CELLS], 20000);
    cr_assert_eq(set(&config, "speed=-100", NULL), LS_OK);
    cr_assert_eq(config.params[COUNTER_PARAM_SPEED], -100);
    cr_assert_eq(set(&config, "speed=-0", NULL), LS_OK);
    cr_assert_eq(config.params[COUNTER_PARAM_SPEED], 0);
    cr_assert_eq(set(&config, "speed=0000000000000000000000012", NULL), LS_OK);
    cr_assert_eq(config.params[COUNTER_PARAM_SPEED], 12);
}

static void expect_set_refused(const char *assignment, ls_status status, const char *sentence)
{
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    const ls_sim_config before = config;
    ls_text why = {""};
    cr_expect_eq(set(&config, assignment, &why), status, "%s", assignment);
    cr_expect_str_eq(why.bytes, sentence);
    cr_expect_eq(memcmp(&config, &before, sizeof config), 0, "a refusal changed the config");
}

Test(simulation, an_unknown_parameter_is_refused_with_the_names_there_are)
{
    static const char *const unknown[][2] = {
        {"x=1", "x"}, {"x=", "x"},          {"x=a=b", "x"},        {"cell=1", "cell"},
        {"=1", ""},   {"Cells=1", "Cells"}, {"cellsx=1", "cellsx"}};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        ls_text sentence;
        ls_text_set(&sentence, "unknown parameter '%s'; 'counter' has: cells, speed",
                    unknown[i][1]);
        expect_set_refused(unknown[i][0], LS_NOT_FOUND, sentence.bytes);
    }
}

Test(simulation, a_simulation_without_parameters_says_so)
{
    ls_simulation simulation = copy();
    simulation.param_count = 0;
    ls_sim_config config = ls_sim_config_default(&simulation);
    ls_text why;
    cr_assert_eq(ls_sim_config_set(&simulation, &config, "cells=1", &why), LS_NOT_FOUND);
    cr_assert_str_eq(why.bytes, "unknown parameter 'cells'; 'counter' has none");
}

Test(simulation, a_value_one_past_the_range_is_refused_with_the_range)
{
    expect_set_refused("cells=20001", LS_BAD_ARGUMENT,
                       "parameter 'cells' of 'counter' takes 1..20000, not 20001");
    expect_set_refused("cells=0", LS_BAD_ARGUMENT,
                       "parameter 'cells' of 'counter' takes 1..20000, not 0");
    expect_set_refused("speed=-101", LS_BAD_ARGUMENT,
                       "parameter 'speed' of 'counter' takes -100..100 m/s, not -101");
    expect_set_refused("cells=9223372036854775808", LS_BAD_ARGUMENT,
                       "parameter 'cells' of 'counter' takes 1..20000, not 9223372036854775808");
    expect_set_refused("cells=18446744073709551617", LS_BAD_ARGUMENT,
                       "parameter 'cells' of 'counter' takes 1..20000, not 18446744073709551617");
}

Test(simulation, only_whole_decimal_numbers_are_values)
{
    static const char *const values[] = {"a",   " 1",  "1 ",  "+1",  "--1", "-",  "0x10",
                                         "1.5", "1,5", "1e3", "1\n", "\t1", "1=2"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char assignment[32];
        ls_text shown;
        snprintf(assignment, sizeof assignment, "cells=%s", values[i]);
        char clean[32];
        ls_name_copy(clean, sizeof clean, values[i]);
        ls_text_set(&shown, "parameter 'cells' of 'counter' takes a whole number 1..20000, not %s",
                    clean);
        expect_set_refused(assignment, LS_BAD_ARGUMENT, shown.bytes);
    }
    expect_set_refused("cells=", LS_BAD_ARGUMENT,
                       "parameter 'cells' of 'counter' takes a whole number 1..20000, not nothing");
}

Test(simulation, text_that_assigns_nothing_is_refused)
{
    expect_set_refused("cells", LS_BAD_ARGUMENT, "'cells' is not of the form name=value");
    expect_set_refused("", LS_BAD_ARGUMENT, "'' is not of the form name=value");
    expect_set_refused("\x1b[2J", LS_BAD_ARGUMENT, "'?[2J' is not of the form name=value");
}

Test(simulation, the_whole_range_of_64_bits_can_be_set)
{
    static const ls_param params[] = {LS_PARAM_INTEGER_OF("n", "", "any", 0, INT64_MIN, INT64_MAX)};
    ls_simulation simulation = copy();
    simulation.params = params;
    simulation.param_count = 1;
    ls_sim_config config = ls_sim_config_default(&simulation);
    ls_text why;
    cr_assert_eq(ls_sim_config_set(&simulation, &config, "n=9223372036854775807", &why), LS_OK);
    cr_assert_eq(config.params[0], INT64_MAX);
    cr_assert_eq(ls_sim_config_set(&simulation, &config, "n=-9223372036854775808", &why), LS_OK);
    cr_assert_eq(config.params[0], INT64_MIN);
    cr_assert_eq(ls_sim_config_set(&simulation, &config, "n=9223372036854775808", &why),
                 LS_BAD_ARGUMENT);
    cr_assert_eq(ls_sim_config_set(&simulation, &config, "n=-9223372036854775809", &why),
                 LS_BAD_ARGUMENT);
    cr_assert_eq(config.params[0], INT64_MIN);
}

Test(simulation, a_very_long_assignment_is_refused_in_few_words)
{
    char assignment[4096];
    memset(assignment, 'n', sizeof assignment);
    assignment[sizeof assignment - 1] = '\0';
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    ls_text why;
    cr_assert_eq(set(&config, assignment, &why), LS_BAD_ARGUMENT);
    assignment[4000] = '=';
    cr_assert_eq(set(&config, assignment, &why), LS_NOT_FOUND);
    cr_assert(strstr(why.bytes, "'counter' has: cells, speed"), "%s", why.bytes);
}

static void expect_config_refused(const ls_sim_config *config, const char *sentence)
{
    ls_text why = {""};
    cr_expect_eq(ls_sim_config_check(counter_simulation(), config, &why), LS_BAD_ARGUMENT);
    cr_expect_str_eq(why.bytes, sentence);
}

Test(simulation, configurations_out_of_range_are_refused_by_field)
{
    const ls_sim_config good = ls_sim_config_default(counter_simulation());
    ls_sim_config config = good;
    config.tick_rate_hz = 0;
    expect_config_refused(&config, "the tick rate takes 1..1000 Hz, not 0");
    config.tick_rate_hz = 1001;
    expect_config_refused(&config, "the tick rate takes 1..1000 Hz, not 1001");
    config = good;
    config.players = 9;
    expect_config_refused(&config, "'counter' takes 1..8 players, not 9");
    config.players = 0;
    expect_config_refused(&config, "'counter' takes 1..8 players, not 0");
    config = good;
    config.param_count = 1;
    expect_config_refused(&config, "'counter' has 2 parameters, not 1");
    config = good;
    config.params[COUNTER_PARAM_SPEED] = 101;
    expect_config_refused(&config, "parameter 'speed' of 'counter' takes -100..100 m/s, not 101");
}

Test(simulation, values_that_cannot_go_together_are_refused_by_the_simulation)
{
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    config.params[COUNTER_PARAM_CELLS] = 1;
    expect_config_refused(&config,
                          "'counter' refuses its configuration: 1 cells are too few for 2 players");
}

static ls_status refuse_silently(const ls_sim_config *config, ls_text *why)
{
    (void)config;
    (void)why;
    return LS_UNSUPPORTED;
}

Test(simulation, a_check_that_gives_no_reason_still_gives_a_sentence)
{
    ls_simulation simulation = copy();
    simulation.check = refuse_silently;
    ls_sim_config config = ls_sim_config_default(&simulation);
    ls_text why;
    cr_assert_eq(ls_sim_config_check(&simulation, &config, &why), LS_UNSUPPORTED);
    cr_assert_str_eq(why.bytes, "'counter' refuses its configuration: "
                                "not supported by this simulation or build");
}
