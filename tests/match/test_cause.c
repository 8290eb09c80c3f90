/* From a desync to its cause, live: while the match goes on, the server names the field with both
 * values, the pass and the class of the fault, or heals it. */
#include "lockstep/common/sims/arena.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/fault_simulation.h"
#include "lockstep/tools/faultsim/tally_simulation.h"

static virtual_setup setup_with(uint32_t interval, ls_on_desync policy, uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(tally_simulation(), 3, ticks);
    setup.match.hash_interval_ticks = interval;
    setup.match.on_desync = policy;
    setup.link.delay_ns = 50 * MS;
    return setup;
}

static const ls_desync_finding *finding_of(const virtual_match *run, const virtual_client *client)
{
    const ls_desync_finding *finding = ls_match_desync_of(run->match, report_of(client).slot);
    cr_assert_not_null(finding, "nothing was found out");
    return finding;
}

/* Everybody was told of it once. */
static void check_told(const virtual_match *run, const virtual_client *bad)
{
    uint32_t slot = report_of(bad).slot;
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_not_null(virtual_match_find_slot(run, LS_MATCH_DESYNC_CAUSE, slot));
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_event *none = NULL;
        (void)none;
        cr_assert_geq(virtual_client_count(run->clients[i], LS_SESSION_EVENT_CAUSE), 1);
    }
    ls_session_report report = report_of(bad);
    cr_assert(report.has_own_cause);
    cr_assert_eq(report.own_cause.tick, finding->tick);
    cr_assert_eq(report.own_cause.kind, (uint32_t)finding->verdict.kind);
    cr_assert_str_eq(report.own_cause.why.bytes, finding->verdict.why.bytes);
}

/* ---- one flipped bit ---- */

static void flip_and_check(virtual_setup *setup, ls_tick tick, size_t byte)
{
    virtual_match *run = virtual_match_create(setup);
    virtual_client *bad = run->clients[1];
    bad->flip_tick = tick;
    bad->flip_byte = byte;
    virtual_match_run_to_end(run);
    cr_assert(virtual_match_is_over(run));
    check_sound(run);
    check_told(run, bad);
    const ls_desync_finding *finding = finding_of(run, bad);
    cr_assert_eq(finding->tick, tick);
    cr_assert_eq(finding->elements, 1, "%lu differ", (unsigned long)finding->elements);
    cr_assert_eq(finding->place_count, 1);
    cr_assert_not(finding->is_lower_bound);
    ls_schema_place place =
        ls_schema_at(ls_sim_instance_schema(ls_match_instance(run->match)), byte);
    char name[LS_PLACE_NAME_BYTES_MAX];
    ls_schema_place_name(&place, name, sizeof name);
    cr_assert_str_eq(finding->places[0].name, name);
    cr_assert_str_neq(finding->places[0].a, finding->places[0].b);
    cr_assert_eq(finding->verdict.kind, LS_DESYNC_CLASS_ONE_OFF, "%s", finding->verdict.why.bytes);
    cr_assert_eq(finding->verdict.culprit, LS_DESYNC_CULPRIT_CLIENT);
    cr_assert_eq(finding->parting, LS_PASS_NONE, "run again, no pass does other work");
    cr_assert_leq(finding->took_ns, 2 * SECOND, "took %lu ms",
                  (unsigned long)(finding->took_ns / MS));
    check_played_to_the_end(run, run->clients[0]);
    check_played_to_the_end(run, run->clients[2]);
    virtual_match_destroy(run);
}

Test(cause, a_flipped_bit_is_named_with_its_field_and_its_class)
{
    ls_rng rng = ls_rng_make(4, 1);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        virtual_setup setup = setup_with(1, LS_ON_DESYNC_REPORT, 400);
        setup.seed = seed;
        setup.link.loss_ppm = 50000;
        /* Bytes of fields that nobody writes to anew. */
        flip_and_check(&setup, 2 + ls_rng_below(&rng, 250),
                       offsetof(tally_state, slots) + ls_rng_below(&rng, 8 * sizeof(tally_slot)));
    }
}
