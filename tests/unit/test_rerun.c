#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- rerun ---- */

enum {
    BAD_TICK = 150,
};

static diagnosed_match match;

static void close_match(void)
{
    diagnosed_match_close(&match);
}

TestSuite(rerun, .fini = close_match);

/* Two machines that play on for a while after what `client` does differently from BAD_TICK on. */
static void play(fault_kind server, fault_kind client)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    match.server.knob = (fault_knob){.kind = server, .from = BAD_TICK};
    match.client.knob = (fault_knob){.kind = client, .from = BAD_TICK};
    diagnosed_match_run(&match, BAD_TICK);
    cr_assert_eq(match.bad, 0);
}

static void expect_verdict(ls_desync_class kind, ls_desync_culprit culprit)
{
    ls_desync_verdict verdict;
    diagnosed_match_diagnose(&match, &verdict);
    cr_expect_eq(verdict.kind, kind, "%s", verdict.why.bytes);
    cr_expect_eq(verdict.culprit, culprit, "%s", verdict.why.bytes);
}

Test(rerun, another_build_repeats_its_own_result)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 20);
    cr_expect_eq(match.bad, BAD_TICK + 1);
    expect_verdict(LS_DESYNC_CLASS_BUILD, LS_DESYNC_CULPRIT_BOTH);
}

Test(rerun, a_flipped_bit_does_not_come_back)
{
    play(FAULT_NONE, FAULT_NONE);
    ((fault_state *)ls_sim_instance_state(match.client.instance))->cells[3] ^= 64;
    diagnosed_match_run(&match, 20);
    expect_verdict(LS_DESYNC_CLASS_ONE_OFF, LS_DESYNC_CULPRIT_CLIENT);
}

Test(rerun, a_bit_flipped_on_the_server_accuses_the_server)
{
    play(FAULT_NONE, FAULT_NONE);
    ((fault_state *)ls_sim_instance_state(match.server.instance))->cells[3] ^= 64;
    diagnosed_match_run(&match, 20);
    expect_verdict(LS_DESYNC_CLASS_ONE_OFF, LS_DESYNC_CULPRIT_SERVER);
}

/* Both keep something that no save holds; the client loads a state once. */
static void play_hidden(fault_kind kind)
{
    play(kind, kind);
    match.server.knob.from = match.client.knob.from = 0;
    diagnosed_match_run(&match, 100);
    cr_assert_eq(match.bad, 0, "machines that never load a state agree");
    diagnosed_match_roll_back(&match, 3);
    diagnosed_match_run(&match, 20);
}

Test(rerun, state_kept_in_scratch_is_outside_the_saved_block)
{
    play_hidden(FAULT_SCRATCH);
    expect_verdict(LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_BOTH);
}

Test(rerun, a_static_that_counts_is_outside_the_saved_block)
{
    play_hidden(FAULT_STATIC);
    expect_verdict(LS_DESYNC_CLASS_OUTSIDE, LS_DESYNC_CULPRIT_BOTH);
}

Test(rerun, bytes_of_the_stack_differ_from_run_to_run)
{
    play(FAULT_NONE, FAULT_STACK);
    diagnosed_match_run(&match, 5);
    expect_verdict(LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_CLIENT);
}

/* One pass of one tick, and nothing that a fill with equal bytes would change. */
Test(rerun, a_rare_comparison_of_bytes_that_were_not_set_differs_from_run_to_run_in_every_report)
{
    for (uint32_t report = 0; report < 8; report++) {
        ls_sim_config config = ls_sim_config_default(fault_simulation());
        if (report > 0) {
            diagnosed_match_close(&match);
        }
        config.seed = report;
        diagnosed_match_open(&match, fault_simulation(), &config);
        match.client.knob = (fault_knob){.kind = FAULT_COMPARE, .from = 40 + 17 * report};
        diagnosed_match_run(&match, match.client.knob.from + 3);
        cr_assert_eq(match.bad, match.client.knob.from + 1);
        expect_verdict(LS_DESYNC_CLASS_UNSTABLE, LS_DESYNC_CULPRIT_CLIENT);
    }
}

/* ---- what a re-run tells ---- */

Test(rerun, figures_tell_what_each_run_gave)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 20);
    ls_desync_verdict verdict;
    diagnosed_match_diagnose(&match, &verdict);
    const ls_rerun_figures *figures = ls_rerun_figures_of(match.client.rerun);
    uint64_t live = 0;
    cr_assert_eq(ls_replay_window_hash(match.client.window, match.bad, &live), LS_OK);
    cr_expect_eq(figures->known,
                 LS_RERUN_LIVE | LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED);
    cr_expect_eq(figures->first, match.bad - 1 - 32, "a state some ticks before");
    cr_expect_eq(figures->tick, match.bad);
    cr_expect_eq(figures->strayed, match.bad);
    cr_expect_eq(figures->live, live);
    cr_expect_eq(figures->fresh, live);
    cr_expect_eq(figures->again, live);
    cr_expect_eq(figures->reloaded, live);
}

Test(rerun, passes_name_the_first_that_differs_and_the_state_is_kept)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 3);
    ls_desync_verdict verdict;
    diagnosed_match_diagnose(&match, &verdict);
    const ls_pass_trace *mine = ls_rerun_passes(match.server.rerun);
    const ls_pass_trace *others = ls_rerun_passes(match.client.rerun);
    uint32_t pass = 99;
    cr_expect_eq(ls_pass_trace_compare(mine, others, &pass), LS_PASS_AT);
    cr_expect_eq(pass, FAULT_PASS);
    cr_expect_eq(mine->tick + 1, match.bad);
    cr_expect_eq(mine->state_hashes[mine->pass_count - 1],
                 ls_rerun_figures_of(match.server.rerun)->fresh);
    const fault_state *state = (const void *)ls_rerun_state(match.client.rerun);
    cr_assert_not_null(state);
    cr_expect_eq(state->wrong, 1);
    cr_expect_eq(state->ticks, match.bad);
}

static void expect_unstable_pass(fault_kind kind, uint32_t pass)
{
    play(FAULT_NONE, kind);
    diagnosed_match_run(&match, 5);
    ls_desync_verdict verdict;
    diagnosed_match_diagnose(&match, &verdict);
    cr_expect_eq(ls_rerun_unstable_pass(match.client.rerun), pass, "%d", kind);
    cr_expect_eq(ls_rerun_unstable_pass(match.server.rerun), LS_NO_PASS, "%d", kind);
    close_match();
}

/* Both machines have the fault, as a rule, and get the same when they run the step again. */
Test(rerun, pass_that_is_unstable_is_named_without_the_other_machine)
{
    expect_unstable_pass(FAULT_STACK, FAULT_PASS);
    expect_unstable_pass(FAULT_STATIC, FAULT_PASS);
    expect_unstable_pass(FAULT_BUILD, LS_NO_PASS);
    play(FAULT_NONE, FAULT_NONE); /* for the suite to close */
}

Test(rerun, running_in_the_live_instance_leaves_it_as_it_was)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 20);
    uint64_t state_hash = ls_sim_instance_hash(match.client.instance);
    ls_tick tick = ls_sim_instance_tick(match.client.instance);
    ls_desync_verdict verdict;
    diagnosed_match_diagnose(&match, &verdict);
    cr_expect_eq(ls_sim_instance_hash(match.client.instance), state_hash);
    cr_expect_eq(ls_sim_instance_tick(match.client.instance), tick);
    diagnosed_match_run(&match, 20);
}

Test(rerun, portions_of_any_size_come_to_the_same)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 3);
    ls_replay_stretch stretch;
    fault = match.client.knob;
    cr_assert_eq(ls_replay_window_stretch(match.client.window, 140, match.bad, &stretch), LS_OK);
    ls_rerun_figures expected = {0};
    for (uint32_t portion = 1; portion < 100; portion += 13) {
        uint32_t calls = 1;
        ls_rerun_start(match.client.rerun, &stretch);
        while (!ls_rerun_advance(match.client.rerun, portion)) {
            calls++;
        }
        uint32_t steps = 4 * (stretch.last - stretch.first);
        cr_expect_eq(calls, (steps + portion - 1) / portion);
        expected = portion == 1 ? *ls_rerun_figures_of(match.client.rerun) : expected;
        cr_expect_eq(memcmp(&expected, ls_rerun_figures_of(match.client.rerun), sizeof expected),
                     0);
    }
}

/* The fault is in the last pass: the states behind the passes before it have no trace of it. */
Test(rerun, the_state_behind_the_pass_that_was_asked_for_has_its_hash)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 3);
    ls_replay_stretch stretch;
    ls_rerun *rerun = match.client.rerun;
    const ls_schema *schema = ls_sim_instance_schema(match.client.instance);
    ls_state_hasher *hasher = NULL;
    cr_assert_eq(ls_state_hasher_create(schema, ls_allocator_heap(), &hasher), LS_OK);
    fault = match.client.knob;
    cr_assert_eq(ls_replay_window_stretch(match.client.window, 140, match.bad, &stretch), LS_OK);
    uint32_t pass_count = ls_sim_instance_simulation(match.client.instance)->pass_count;
    for (uint32_t pass = 0; pass <= pass_count; pass++) {
        ls_rerun_start(rerun, &stretch);
        ls_rerun_keep_pass(rerun, pass);
        cr_expect_null(ls_rerun_pass_state(rerun));
        while (!ls_rerun_advance(rerun, 64)) {
        }
        const void *state = ls_rerun_pass_state(rerun);
        cr_assert_eq(state != NULL, pass < pass_count);
        if (state) {
            cr_expect_eq(ls_state_hash(hasher, state), ls_rerun_passes(rerun)->state_hashes[pass]);
        }
    }
    ls_state_hasher_destroy(hasher);
}

static const uint8_t *writers_of(ls_tick last, uint32_t steps)
{
    ls_replay_stretch stretch;
    ls_rerun *rerun = match.server.rerun;
    cr_assert_eq(ls_replay_window_steps(match.server.window, last, steps, &stretch), LS_OK);
    cr_expect_eq(stretch.first, last - steps);
    ls_rerun_start(rerun, &stretch);
    ls_rerun_keep_pass(rerun, LS_PASS_OF_WRITERS);
    ls_rerun_run_once(rerun);
    cr_expect(ls_rerun_advance(rerun, steps));
    uint64_t recorded = 0;
    cr_assert_eq(ls_replay_window_hash(match.server.window, last, &recorded), LS_OK);
    cr_expect_eq(ls_rerun_figures_of(rerun)->fresh, recorded);
    return ls_rerun_pass_state(rerun);
}

Test(rerun, writers_of_the_newest_steps_are_told)
{
    play(FAULT_NONE, FAULT_NONE);
    for (uint32_t steps = 1; steps <= 9; steps += 8) {
        const uint8_t *writers = writers_of(141, steps);
        cr_assert_not_null(writers);
        cr_expect_eq(ls_pass_first_writer(writers[offsetof(fault_state, wrong)]), LS_NO_PASS);
        cr_expect_eq(ls_pass_first_writer(writers[offsetof(fault_state, cells)]), FAULT_PASS);
        cr_expect_not(ls_pass_has_later_writers(writers[offsetof(fault_state, cells)]));
        cr_expect_eq(ls_pass_first_writer(writers[offsetof(fault_state, ticks)]), FAULT_PASS + 1);
    }
    ls_replay_stretch stretch;
    ls_tick newest = ls_replay_window_newest(match.server.window);
    cr_expect_eq(ls_replay_window_steps(match.server.window, newest + 1, 1, &stretch),
                 LS_NOT_FOUND);
    cr_expect_eq(ls_replay_window_steps(match.server.window, 0, 1, &stretch), LS_NOT_FOUND);
}

Test(rerun, inputs_that_have_gone_leave_the_figures_unknown)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 3);
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(match.client.window, match.bad - 1, match.bad, &stretch),
                 LS_OK);
    ls_rerun_start(match.client.rerun, &stretch);
    diagnosed_match_run(&match, LS_WINDOW_TICKS);
    cr_expect(ls_rerun_advance(match.client.rerun, 1));
    cr_expect_eq(ls_rerun_figures_of(match.client.rerun)->known, LS_RERUN_LIVE);
    cr_expect_null(ls_rerun_state(match.client.rerun));
    cr_expect_eq(ls_rerun_passes(match.client.rerun)->pass_count, 0);
}

Test(rerun, allocates_at_create_only_and_survives_refused_memory)
{
    play(FAULT_NONE, FAULT_BUILD);
    diagnosed_match_run(&match, 3);
    uint64_t calls = heap_calls();
    ls_desync_verdict verdict;
    diagnosed_match_diagnose(&match, &verdict);
    cr_expect_eq(heap_calls(), calls);
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_rerun *rerun = NULL;
        ls_text why = {{0}};
        refused.status =
            ls_rerun_create(fault_simulation(), &config, &refused.counting.allocator, &rerun, &why);
        cr_expect_eq(refused.status == LS_OK, why.bytes[0] == '\0');
        ls_rerun_destroy(rerun);
    }
}

/* ---- large states ---- */

enum {
    LARGE_BYTES = 16 << 20,
    LARGE_TICKS = 34,
    STRAYS_FROM = 5,
};

static uint64_t large_knob; /* what a step adds from STRAYS_FROM on */

static size_t large_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return LARGE_BYTES;
}

static uint32_t large_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field field = {"cells", "", LS_FIELD_U64, LARGE_BYTES / 8, 1, 0, 0};
    return ls_fields_copy(&field, 1, out, capacity);
}

static ls_status large_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    memset(state, 7, LARGE_BYTES);
    return LS_OK;
}

static void large_step(const ls_step *step)
{
    uint64_t *cells = step->state;
    cells[step->inputs->tick] += step->inputs->tick >= STRAYS_FROM ? large_knob : 1;
}

static const ls_simulation large_simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "large",
    .summary = "more than can be hashed at every tick of a re-run",
    .default_tick_rate_hz = 60,
    .default_players = 1,
    .players_max = 1,
    .passes = (const ls_pass[]){{"step", large_step}},
    .pass_count = 1,
    .state_bytes = large_state_bytes,
    .fields = large_fields,
    .init = large_init,
};

Test(rerun, large_states_are_compared_now_and_then_and_at_the_end)
{
    ls_sim_config config = ls_sim_config_default(&large_simulation);
    large_knob = 1;
    diagnosed_match_open(&match, &large_simulation, &config);
    diagnosed_match_run(&match, LARGE_TICKS);
    ls_replay_stretch stretch;
    cr_assert_eq(
        ls_replay_window_stretch(match.client.window, LARGE_TICKS - 1, LARGE_TICKS, &stretch),
        LS_OK);
    cr_assert_lt(stretch.first, STRAYS_FROM);
    large_knob = 2;
    ls_rerun_start(match.client.rerun, &stretch);
    while (!ls_rerun_advance(match.client.rerun, 1)) {
    }
    ls_tick strayed = ls_rerun_figures_of(match.client.rerun)->strayed;
    cr_expect_gt(strayed, STRAYS_FROM + 1, "not every state was hashed");
    cr_expect_leq(strayed, STRAYS_FROM + 1 + 4);
}

/* ---- figures on the wire ---- */

Test(rerun, figures_read_as_they_were_written)
{
    const ls_rerun_figures figures = {LS_RERUN_LIVE | LS_RERUN_FRESH | LS_RERUN_APART |
                                          LS_RERUN_CHANGED,
                                      10,
                                      20,
                                      15,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      7,
                                      5};
    uint8_t bytes[LS_RERUN_FIGURES_BYTES];
    ls_rerun_figures read = {0};
    ls_rerun_figures_write(&figures, bytes);
    cr_assert_eq(ls_rerun_figures_read(bytes, sizeof bytes, &read), LS_OK);
    cr_expect_eq(memcmp(&read, &figures, sizeof read), 0);
}

Test(rerun, figures_that_make_no_sense_are_refused)
{
    const ls_rerun_figures good = {LS_RERUN_LIVE, 10, 20, 20, 1, 2, 3, 4, 5, 0, 0};
    const ls_rerun_figures bad[] = {
        {LS_RERUN_REPEATED | LS_RERUN_CHANGED, 10, 20, 20, 1, 2, 3, 4, 5, 0, 0},
        {1, 20, 20, 20, 1, 2, 3, 4, 5, 0, 0},
        {1, 10, 20, 21, 1, 2, 3, 4, 5, 0, 0},
        {1, 10, 20, 10, 1, 2, 3, 4, 5, 0, 0},
        {1, 10, 20, 20, 1, 2, 3, 4, 5, 0x80, 0},
        {LS_RERUN_RACES, 10, 20, 20, 1, 2, 3, 4, 0, 0, 0},
        {LS_RERUN_RACES, 10, 20, 20, 1, 2, 3, 4, LS_RERUN_TIMES, 0, 0},
        {LS_RERUN_RACES | LS_RERUN_APART, 10, 20, 20, 1, 2, 3, 4, 1, 0, 0},
        {1, 10, 20, 20, 1, 2, 3, 4, 5, 1, 2}};
    uint8_t bytes[LS_RERUN_FIGURES_BYTES];
    ls_rerun_figures read;
    ls_rerun_figures_write(&good, bytes);
    cr_expect_eq(ls_rerun_figures_read(bytes, sizeof bytes - 1, &read), LS_MALFORMED);
    cr_expect_eq(ls_rerun_figures_read(bytes, 0, &read), LS_MALFORMED);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ls_rerun_figures_write(&bad[i], bytes);
        cr_expect_eq(ls_rerun_figures_read(bytes, sizeof bytes, &read), LS_MALFORMED, "%zu", i);
    }
}

/* ---- rerun_local ---- */

enum {
    TICKS = 100,
};

static diagnosed_match rerun_local_match;
static ls_rerun_local *local;
static const ls_rerun_host *host;
static uint64_t now_ns;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&rerun_local_match, fault_simulation(), &config);
    diagnosed_match_run(&rerun_local_match, TICKS);
    cr_assert_eq(ls_rerun_local_create(ls_allocator_heap(), &local), LS_OK);
    host = ls_rerun_local_host(local);
    now_ns = 1;
}

static void close(void)
{
    ls_rerun_local_destroy(local);
    diagnosed_match_close(&rerun_local_match);
}

TestSuite(rerun_local, .init = open, .fini = close);

static uint32_t start_as(ls_tick tick, uint32_t pass, bool is_single)
{
    ls_replay_stretch stretch;
    uint32_t ticket = 0;
    cr_assert_eq(
        ls_replay_window_stretch(rerun_local_match.server.window, tick - 1, tick, &stretch), LS_OK);
    const ls_rerun_request request = {
        rerun_local_match.server.instance, &stretch, NULL, pass, is_single, false, 1000};
    cr_assert_eq(host->start(host->context, &request, &ticket), LS_OK);
    cr_assert_neq(ticket, 0);
    return ticket;
}

static uint32_t start_with_pass(ls_tick tick, uint32_t pass)
{
    return start_as(tick, pass, false);
}

static uint32_t start(ls_tick tick)
{
    return start_with_pass(tick, LS_NO_PASS);
}

static const ls_rerun_outcome *wait_for(uint32_t ticket)
{
    const ls_rerun_outcome *outcome = NULL;
    while (!outcome) {
        now_ns += LS_NS_PER_SECOND / 60;
        outcome = host->poll(host->context, ticket, now_ns);
    }
    return outcome;
}

static uint64_t recorded_hash(ls_tick tick)
{
    uint64_t state_hash = 0;
    cr_assert_eq(ls_replay_window_hash(rerun_local_match.server.window, tick, &state_hash), LS_OK);
    return state_hash;
}

Test(rerun_local, a_run_comes_to_what_was_recorded)
{
    uint32_t ticket = start(90);
    const ls_rerun_outcome *outcome = wait_for(ticket);
    cr_expect_eq(outcome->figures.tick, 90);
    cr_expect_eq(outcome->figures.fresh, recorded_hash(90));
    cr_expect_eq(outcome->figures.reloaded, recorded_hash(90));
    cr_expect_eq(outcome->passes.pass_count, fault_simulation()->pass_count);
    cr_expect_arr_eq(outcome->state, ls_replay_window_state(rerun_local_match.server.window, 90),
                     ls_sim_instance_state_bytes(rerun_local_match.server.instance));
    cr_expect_null(outcome->pass_state);
    cr_expect_eq(outcome->failure.bytes[0], 0);
    host->release(host->context, ticket);
}

Test(rerun_local, the_state_behind_a_pass_comes_with_it)
{
    uint32_t last = fault_simulation()->pass_count - 1;
    size_t bytes = ls_sim_instance_state_bytes(rerun_local_match.server.instance);
    uint32_t tickets[2] = {start_with_pass(90, 0), start_with_pass(90, last)};
    const ls_rerun_outcome *end = wait_for(tickets[1]);
    const ls_rerun_outcome *begin = wait_for(tickets[0]);
    cr_expect_arr_eq(end->pass_state, end->state, bytes);
    cr_assert_not_null(begin->pass_state);
    cr_expect_neq(memcmp(begin->pass_state, begin->state, bytes), 0);
    host->release(host->context, tickets[0]);
    host->release(host->context, tickets[1]);
}

static const ls_rerun_outcome *expect_runs(uint32_t ticket, uint32_t runs)
{
    uint64_t began_ns = now_ns;
    const ls_rerun_outcome *outcome = wait_for(ticket);
    uint64_t took_ns = now_ns - began_ns;
    uint64_t expected_ns = runs * (90 - 57) * LS_NS_PER_SECOND / 600;
    cr_expect_leq(took_ns, expected_ns + LS_NS_PER_SECOND / 30);
    cr_expect_geq(took_ns, expected_ns - LS_NS_PER_SECOND / 30);
    return outcome;
}

Test(rerun_local, six_hundred_steps_a_second_are_run)
{
    uint32_t ticket = start(90); /* 57 .. 90, four times */
    expect_runs(ticket, 4);
    host->release(host->context, ticket);
}

Test(rerun_local, one_run_is_not_followed_by_others)
{
    uint32_t ticket = start_as(90, LS_NO_PASS, true);
    const ls_rerun_outcome *outcome = expect_runs(ticket, 1);
    cr_expect_eq(outcome->figures.known, LS_RERUN_LIVE | LS_RERUN_FRESH);
    cr_expect_eq(outcome->figures.fresh, recorded_hash(90));
    cr_expect_eq(outcome->passes.pass_count, fault_simulation()->pass_count);
    cr_expect_null(outcome->state);
    host->release(host->context, ticket);
    ticket = start_as(90, 0, true);
    cr_assert_not_null(wait_for(ticket)->pass_state, "a pass is what it is wanted for");
    host->release(host->context, ticket);
}

Test(rerun_local, runs_wait_for_each_other_and_each_has_its_own_outcome)
{
    uint32_t first = start(70);
    uint32_t second = start(95);
    cr_expect_neq(first, second);
    const ls_rerun_outcome *late = wait_for(second);
    const ls_rerun_outcome *early = host->poll(host->context, first, now_ns);
    cr_assert_not_null(early, "the one that was started first has ended before");
    cr_expect_eq(early->figures.fresh, recorded_hash(70));
    cr_expect_eq(late->figures.fresh, recorded_hash(95));
    host->release(host->context, first);
    cr_expect_eq(late->figures.fresh, recorded_hash(95), "it stays until it is released itself");
    host->release(host->context, second);
}

Test(rerun_local, a_run_that_is_released_ends)
{
    uint32_t first = start(90);
    uint32_t second = start(6);
    host->release(host->context, first);
    uint64_t began_ns = now_ns;
    wait_for(second);
    cr_expect_leq(now_ns - began_ns, LS_NS_PER_SECOND / 10);
    host->release(host->context, second);
}

Test(rerun_local, no_more_runs_are_taken_than_it_has_room_for)
{
    uint32_t tickets[1000];
    uint32_t count = 0;
    ls_replay_stretch stretch;
    cr_assert_eq(ls_replay_window_stretch(rerun_local_match.server.window, 89, 90, &stretch),
                 LS_OK);
    const ls_rerun_request request = {
        rerun_local_match.server.instance, &stretch, NULL, LS_NO_PASS, false, false, 1000};
    while (count < 1000 && host->start(host->context, &request, &tickets[count]) == LS_OK) {
        count++;
    }
    cr_expect_geq(count, LS_PLAYERS_MAX);
    cr_expect_lt(count, 1000);
    while (count > 0) {
        host->release(host->context, tickets[--count]);
    }
}
