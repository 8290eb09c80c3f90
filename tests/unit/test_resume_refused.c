/* Journals that no server goes on from, and the sentence that says why; the settings that a journal
 * brings along, and flags that contradict them. */
#include "lockstep/common/simulations/units/units.h"
#include "lockstep/tests/unit/made_journal.h"

#include <stdio.h>

TestSuite(resume_refused, .fini = close_all);

/* ---- journals ---- */

Test(resume_refused, missing_ticks_with_nothing_before_them_are_refused)
{
    journal_plan made = plan_of(300, 0);
    made.is_started = false;
    made.gap_end = 20;
    make_journal(&made);
    expect_refused(LS_NOT_FOUND, "from tick 0 on");
}

Test(resume_refused, a_finished_journal_is_refused)
{
    journal_plan made = plan_of(60, 0);
    made.is_closed = true;
    make_journal(&made);
    expect_refused(LS_ALREADY_OVER, "ended at tick 60");
}

Test(resume_refused, a_part_of_another_journal_is_refused)
{
    journal_plan made = plan_of(30, 0);
    made.header.first_tick = 10;
    make_journal(&made);
    expect_refused(LS_UNSUPPORTED, "cut out");
}

Test(resume_refused, a_damaged_header_is_refused)
{
    journal_plan made = plan_of(30, 0);
    make_journal(&made);
    here.bytes[60] ^= 1;
    expect_refused(LS_MALFORMED, "");
    cr_expect(here.why.bytes[0]);
}

Test(resume_refused, no_bytes_at_all_are_refused)
{
    journal_plan made = plan_of(0, 0);
    make_journal(&made);
    here.size = 0;
    expect_refused(LS_MALFORMED, "");
    cr_expect(here.why.bytes[0]);
}

Test(resume_refused, another_simulation_is_refused)
{
    journal_plan made = plan_of(30, 0);
    make_journal(&made);
    here.config.simulation = ls_units_simulation();
    expect_refused(LS_SIMULATION_MISMATCH, "units");
}

Test(resume_refused, another_version_of_the_simulation_is_refused)
{
    journal_plan made = plan_of(30, 0);
    made.header.simulation_version++;
    make_journal(&made);
    expect_refused(LS_SIMULATION_VERSION_MISMATCH, "version");
}

Test(resume_refused, another_schema_is_refused)
{
    journal_plan made = plan_of(30, 0);
    made.header.digests.schema++;
    make_journal(&made);
    expect_refused(LS_SIMULATION_MISMATCH, "schema");
}

static void expect_hashes(const char *tick, uint64_t state_hash)
{
    char words[32];
    expect_refused(LS_DESYNCED, tick);
    snprintf(words, sizeof words, "%016llx", (unsigned long long)state_hash);
    cr_expect(strstr(here.why.bytes, words), "no %s in: %s", words, here.why.bytes);
    snprintf(words, sizeof words, "%016llx", (unsigned long long)(state_hash ^ 1));
    cr_expect(strstr(here.why.bytes, words), "no %s in: %s", words, here.why.bytes);
}

Test(resume_refused, a_state_that_is_not_the_recorded_one_is_told_with_both_hashes)
{
    journal_plan made = plan_of(64, 0);
    made.wrong_hash_tick = 64;
    make_journal(&made);
    expect_hashes("state 64", here.final_hash);
}

Test(resume_refused, a_snapshot_that_is_not_the_recorded_state_is_told_with_both_hashes)
{
    journal_plan made = plan_of(500, 500);
    make_journal(&made);
    uint64_t state_hash = here.final_hash;
    close_all();
    memset(&here, 0, sizeof here);
    made = plan_of(500 + LS_WINDOW_TICKS, 500);
    made.wrong_snapshot_tick = 500;
    make_journal(&made);
    expect_hashes("tick 500", state_hash);
}

/* ---- settings ---- */

Test(resume_refused, settings_are_as_they_were_recorded)
{
    journal_plan made = plan_of(30, 0);
    made.header.late_rule = LS_LATE_WAIT;
    made.header.ticks = 900;
    made.header.adapts_input_delay = true;
    make_journal(&made);
    ls_match_config config;
    cr_assert_eq(open_resume(here.size), LS_OK);
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_str_eq(ls_resume_simulation(here.resume), "arena");
    cr_expect_eq(config.match_id, 42u);
    cr_expect_eq(config.key.bytes[7], 9u);
    cr_expect_eq(config.sim.seed, 77u);
    cr_expect_eq(config.sim.players, 2u);
    cr_expect_eq(config.late_rule, LS_LATE_WAIT);
    cr_expect_eq(config.ticks, 900u);
    cr_expect_eq(config.timeout_ms, 4000u);
    cr_expect_eq(config.wait_limit_ms, 700u);
    cr_expect(config.adapts_input_delay);
    cr_expect_eq(ls_match_config_check(&config, &here.why), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(ls_resume_check(here.resume, &config, &here.why), LS_OK, "%s", here.why.bytes);
}

static void expect_contradiction(const ls_match_config *config, const char *flag)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_resume_check(here.resume, config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, flag), "no %s in: %s", flag, why.bytes);
}

Test(resume_refused, flags_that_contradict_the_journal_are_refused_by_name)
{
    journal_plan made = plan_of(30, 0);
    make_journal(&made);
    ls_match_config recorded;
    cr_assert_eq(open_resume(here.size), LS_OK);
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &recorded, &here.why),
                 LS_OK);
    ls_match_config changed[13];
    for (size_t i = 0; i < 13; i++) {
        changed[i] = recorded;
    }
    changed[0].sim.players++;
    changed[1].sim.tick_rate_hz++;
    changed[2].sim.seed++;
    changed[3].ticks++;
    changed[4].timeout_ms++;
    changed[5].send_rate = LS_SEND_DOUBLE;
    changed[6].late_rule = LS_LATE_WAIT;
    changed[7].wait_limit_ms++;
    changed[8].adapts_input_delay = true;
    changed[9].input_delay_ticks++;
    changed[10].hash_interval_ticks++;
    changed[11].on_desync = LS_ON_DESYNC_STOP;
    changed[12].sim.params[0]++;
    const char *const flags[13] = {
        "--players 3",     "--tick-rate", "--seed 78",    "--ticks 1",     "--timeout 4001",
        "--send-rate",     "--late",      "--wait-limit", "--input-delay", "--input-delay 1",
        "--hash-interval", "--on-desync", "--param "};
    for (size_t i = 0; i < 13; i++) {
        expect_contradiction(&changed[i], flags[i]);
    }
}
