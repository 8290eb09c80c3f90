/* The states that a match keeps reach back far enough for its desyncs to be looked into: in fast
 * matches, and in those with large states. */
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/match/match_test.h"

/* ---- a large state of which little changes ---- */

#define LARGE_STATE_BYTES ((size_t)17 << 20)
#define LARGE_WORDS (LARGE_STATE_BYTES / sizeof(uint64_t))

enum {
    CHANGES = 500, /* words a tick, all over the state */
};

static size_t large_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return LARGE_STATE_BYTES;
}

static uint32_t large_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = (ls_field){"words", "", LS_FIELD_U64, LARGE_WORDS, 1, 0, 0};
    }
    return 1;
}

static ls_status large_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    memset(state, (int)config->seed, LARGE_STATE_BYTES);
    return LS_OK;
}

static void change_words(const ls_step *step)
{
    uint64_t *words = step->state;
    for (uint32_t i = 0; i < CHANGES; i++) {
        words[(step->inputs->tick + i * 5003) % LARGE_WORDS] += i;
    }
}

static const ls_simulation *large_simulation(void)
{
    static const ls_pass passes[] = {{"change", change_words}};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "large",
        .summary = "changes some words of a large state",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = 2,
        .input_bytes_max = 8,
        .passes = passes,
        .pass_count = 1,
        .state_bytes = large_state_bytes,
        .fields = large_fields,
        .init = large_init,
    };
    return &simulation;
}

/* ---- a state of which all changes ---- */

#define DENSE_STATE_BYTES ((size_t)2 << 20)
#define DENSE_WORDS (DENSE_STATE_BYTES / sizeof(uint64_t))

static size_t dense_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return DENSE_STATE_BYTES;
}

static uint32_t dense_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity > 0) {
        out[0] = (ls_field){"words", "", LS_FIELD_U64, DENSE_WORDS, 1, 0, 0};
    }
    return 1;
}

static ls_status dense_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)config;
    (void)why;
    memset(state, 0, DENSE_STATE_BYTES);
    return LS_OK;
}

static void change_all(const ls_step *step)
{
    uint64_t *words = step->state;
    for (size_t i = 0; i < DENSE_WORDS; i++) {
        words[i] += step->inputs->tick + i;
    }
}

static const ls_simulation *dense_simulation(void)
{
    static const ls_pass passes[] = {{"change", change_all}};
    static ls_simulation simulation;
    simulation = *large_simulation();
    simulation.name = "dense";
    simulation.summary = "changes every word of its state";
    simulation.passes = passes;
    simulation.state_bytes = dense_state_bytes;
    simulation.fields = dense_fields;
    simulation.init = dense_init;
    return &simulation;
}

/* ---- tests ---- */

static virtual_setup setup_at_100_ms(const ls_simulation *simulation, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(simulation, 2, ticks);
    setup.link.delay_ns = 50 * MS;
    setup.link.loss_ppm = 50000;
    return setup;
}

/* Plays until it is known why this client differs, or to the end: what comes later shows nothing of
 * that, and each tick of a large state costs. */
static const ls_desync_finding *find_out(virtual_match *run, const virtual_client *client)
{
    const ls_desync_finding *finding = NULL;
    while (!virtual_match_is_over(run) &&
           (!finding || finding->verdict.kind == LS_DESYNC_CLASS_UNKNOWN)) {
        virtual_match_run(run, 50 * MS);
        finding = ls_match_desync_of(run->match, ls_session_report_of(client->session).slot);
    }
    cr_assert_not_null(finding, "nothing was found out");
    return finding;
}

/* A bit of the second client's state is flipped. */
static virtual_match *open_flipped(const virtual_setup *setup, ls_tick tick, size_t byte)
{
    virtual_match *run = checked_match_create(setup);
    flip_bit(run->clients[1], tick, byte);
    return run;
}

Test(recent_states, a_match_at_1000_hz_tells_the_field_that_differs)
{
    virtual_setup setup = setup_at_100_ms(ls_rope_simulation(), 5500);
    setup.match.sim.tick_rate_hz = 1000;
    virtual_match *run = open_flipped(&setup, 2500, 100);
    const ls_desync_finding *finding = find_out(run, run->clients[1]);
    cr_assert_eq(finding->tick, 2500);
    cr_assert_geq(finding->place_count, 1);
    cr_assert_eq(finding->elements, 1);
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 2 * SECOND, "%lu ms", (unsigned long)(finding->took_ns / MS));
    virtual_match_destroy(run);
}

Test(recent_states, a_match_of_large_states_tells_the_field_that_differs)
{
    virtual_setup setup = setup_at_100_ms(large_simulation(), 240);
    size_t word = 3 * LARGE_WORDS / 4;
    virtual_match *run = open_flipped(&setup, 130, word * sizeof(uint64_t));
    const ls_desync_finding *finding = find_out(run, run->clients[1]);
    cr_assert_eq(finding->tick, 130);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "words[1671168]");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

static void check_dense(uint32_t predict_ticks)
{
    virtual_setup setup = setup_at_100_ms(dense_simulation(), 240);
    setup.predict_ticks = predict_ticks;
    virtual_match *run = open_flipped(&setup, 130, 4321 * sizeof(uint64_t));
    const ls_desync_finding *finding = find_out(run, run->clients[1]);
    cr_assert_eq(finding->tick, 130);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "words[4321]");
    cr_assert_gt(finding->values_tick, 130, "state 130 is kept nowhere");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_leq(finding->took_ns, 2 * SECOND, "%lu ms", (unsigned long)(finding->took_ns / MS));
    virtual_match_destroy(run);
}

Test(recent_states, a_match_in_which_all_changes_tells_the_field_by_a_state_to_come)
{
    check_dense(0);
    check_dense(8);
}

enum {
    OTHER_TICK = 111,
};

static void change_otherwise(const ls_step *step)
{
    uint64_t *words = step->state;
    change_all(step);
    words[99] += step->inputs->tick == OTHER_TICK;
}

/* Both sides get their own state again, and compare those. */
Test(recent_states, a_match_in_which_all_changes_tells_what_another_build_makes_of_the_bad_tick)
{
    static const ls_pass passes[] = {{"change", change_otherwise}};
    virtual_setup setup = setup_at_100_ms(dense_simulation(), 240);
    setup.clients = 1;
    virtual_match *run = checked_match_create(&setup);
    ls_simulation other = *dense_simulation();
    other.passes = passes;
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &other;
    const virtual_client *bad = virtual_match_add_client(run, &client);
    const ls_desync_finding *finding = find_out(run, bad);
    cr_assert_eq(finding->first_tick, OTHER_TICK + 1);
    cr_assert_eq(finding->values_tick, OTHER_TICK + 1);
    cr_assert_eq(finding->elements, 1);
    cr_assert_str_eq(finding->places[0].name, "words[99]");
    cr_assert_str_eq(finding->pass, "change");
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_BUILD, "%s", finding->verdict.why.bytes);
    virtual_match_destroy(run);
}

Test(recent_states, a_fast_match_is_healed)
{
    virtual_setup setup = setup_at_100_ms(ls_rope_simulation(), 5500);
    setup.match.sim.tick_rate_hz = 1000;
    setup.match.on_desync = LS_ON_DESYNC_HEAL;
    const virtual_client *bad = play_flipped(&setup, 2500, 100);
    cr_assert_eq(ls_session_report_of(bad->session).healed, 1);
    check_played_to_the_end(bad->run, bad);
    virtual_match_destroy(bad->run);
}

Test(recent_states, a_match_of_large_states_is_healed)
{
    virtual_setup setup = setup_at_100_ms(large_simulation(), 240);
    setup.match.on_desync = LS_ON_DESYNC_HEAL;
    const virtual_client *bad = play_flipped(&setup, 130, LARGE_STATE_BYTES / 2);
    cr_assert_eq(ls_session_report_of(bad->session).healed, 1);
    check_played_to_the_end(bad->run, bad);
    virtual_match_destroy(bad->run);
}
