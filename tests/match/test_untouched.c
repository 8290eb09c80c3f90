/* A diagnosis leaves the live simulations alone: with a plug-in that has state outside its state
 * block, every machine makes the same calls of it, in the same order, whether causes are looked for
 * or not. Ticks are run again by the host alone, which here runs nothing. */
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/match/match_test.h"

enum {
    TICKS = 300,
    DIFFERS_AT = 100,
};

static ls_simulation counting_simulation;
static uint64_t inits; /* statics: part of no state */
static uint64_t steps;
static uint64_t calls_digest; /* of all calls, in their order */

static void note_call(uint64_t what)
{
    calls_digest = (calls_digest ^ what) * UINT64_C(0x9e3779b97f4a7c15);
}

static ls_status counted_init(const ls_sim_config *config, void *state, ls_text *why)
{
    inits++;
    note_call(1);
    return test_simulation()->init(config, state, why);
}

static void count_step(const ls_step *step)
{
    steps++;
    note_call(2 + step->inputs->tick);
}

static const ls_simulation *make_counting_simulation(void)
{
    static ls_pass passes[2] = {{"note", count_step}};
    counting_simulation = *test_simulation();
    cr_assert_eq(counting_simulation.pass_count, 1);
    passes[1] = counting_simulation.passes[0];
    counting_simulation.passes = passes;
    counting_simulation.pass_count = 2;
    counting_simulation.init = counted_init;
    inits = 0;
    steps = 0;
    calls_digest = 0;
    return &counting_simulation;
}

/* A host that takes every request and never comes to an end. */
static ls_status start_nothing(void *context, const ls_rerun_request *request, uint32_t *ticket)
{
    uint32_t *started = context;
    cr_assert_not_null(request->stretch->snapshot);
    *ticket = ++*started;
    return LS_OK;
}

static const ls_rerun_outcome *poll_nothing(void *context, uint32_t ticket, uint64_t now_ns)
{
    (void)context;
    (void)ticket;
    (void)now_ns;
    return NULL;
}

static void release_nothing(void *context, uint32_t ticket)
{
    (void)context;
    (void)ticket;
}

typedef struct played {
    uint64_t inits;
    uint64_t steps;
    uint64_t calls_digest;
    uint64_t state_hashes[TICKS + 1];
    uint32_t desyncs;
    uint32_t causes;
    uint32_t reruns;
} played;

static played play(uint32_t predict_ticks, bool finds_causes)
{
    uint32_t started = 0;
    const ls_rerun_host idle = {&started, start_nothing, poll_nothing, release_nothing};
    virtual_setup setup = virtual_setup_default(make_counting_simulation(), 0, TICKS);
    setup.match.sim.players = 3;
    setup.match.finds_causes = finds_causes;
    setup.match.rerun_host = &idle;
    setup.match.investigation_timeout_ms = 1000;
    setup.runs_nothing_again = true;
    setup.predict_ticks = predict_ticks;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 3; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        client.session.finds_causes = finds_causes;
        client.session.rerun_host = &idle;
        virtual_match_add_client(run, &client);
    }
    run->clients[1]->flip.tick = DIFFERS_AT;
    run->clients[1]->flip.byte = offsetof(test_simulation_state, slots[9].sum);
    played all = {0};
    while (!virtual_match_is_over(run)) {
        virtual_match_run(run, 10 * MS);
        ls_tick tick = ls_match_tick(run->match);
        ls_match_hash_of_tick(run->match, tick, &all.state_hashes[tick]);
    }
    check_sound(run);
    all.inits = inits;
    all.steps = steps;
    all.calls_digest = calls_digest;
    all.desyncs = virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX);
    all.causes = virtual_match_count(run, LS_MATCH_DESYNC_CAUSE, LS_PLAYERS_MAX);
    all.reruns = started;
    virtual_match_destroy(run);
    return all;
}

static void expect_untouched(uint32_t predict_ticks)
{
    played with = play(predict_ticks, true);
    played without = play(predict_ticks, false);
    cr_expect_eq(with.causes, 1);
    cr_expect_eq(without.causes, 0);
    cr_expect_eq(with.reruns, 2, "the host was asked on both sides");
    cr_expect_eq(with.desyncs, 1);
    cr_expect_eq(without.desyncs, 1);
    cr_expect_eq(with.inits, without.inits, "%lu and %lu calls of init", (unsigned long)with.inits,
                 (unsigned long)without.inits);
    cr_expect_eq(with.inits, 4, "one for each machine");
    cr_expect_eq(with.steps, without.steps);
    cr_expect_geq(with.steps, 4 * TICKS);
    cr_expect_eq(with.calls_digest, without.calls_digest);
    cr_expect_arr_eq(with.state_hashes, without.state_hashes, sizeof with.state_hashes);
}

Test(untouched, causes_on_and_off_give_the_same_match)
{
    expect_untouched(0);
}

Test(untouched, causes_on_and_off_give_the_same_match_with_prediction)
{
    expect_untouched(12);
}
