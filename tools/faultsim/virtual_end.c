/* What shows only when a virtual match has ended. I2: every tick of a slot is counted as on time or
 * substituted, every late input as late. I3: states differ where they were made to differ, and that
 * is reported with the right tick; nothing else is. I4: whoever plays by the rules has finished. */
#include "lockstep/tools/faultsim/virtual_match.h"
#include "lockstep/tools/faultsim/witness.h"

#include <inttypes.h>

/* Differences that arose in the last step show in no step's start. */
static void compare_final_state(virtual_client *client)
{
    virtual_match *run = client->run;
    ls_session_report report = ls_session_report_of(client->session);
    bool is_guessed = report.shown_tick != report.tick;
    if (!client->is_watched || is_guessed || client->has_hashed_difference) {
        return;
    }
    ls_sim_instance *instance = ls_session_instance(client->session);
    ls_tick tick = ls_sim_instance_tick(instance);
    bool is_equal = true;
    if (tick == ls_match_tick(run->match)) {
        is_equal = ls_sim_instance_hash(instance) == ls_match_root(run->match);
    } else if (tick < run->tick_count) {
        is_equal = witness_state(instance) == run->ticks[tick].state;
    }
    if (!is_equal) {
        virtual_check_difference(client, tick);
    }
}

static void check_desync(virtual_client *client, uint32_t slot, const ls_match_slot *report)
{
    virtual_match *run = client->run;
    uint32_t told = virtual_match_count(run, LS_MATCH_DESYNC, slot);
    if (told != (report->is_desynced ? 1 : 0)) {
        virtual_check_note(run, VIRTUAL_I3, report->desync_tick,
                           "slot %u was told of %u times as a desync", slot, told);
    }
    if (!client->has_hashed_difference) {
        /* Whose chain was altered and who left before it could explain counts as different. */
        bool is_unexplained =
            client->is_fed_wrong && report->desync_client_root == 0 && !report->has_finished;
        if (report->is_desynced && !is_unexplained && !client->has_run_ahead) {
            virtual_check_note(run, VIRTUAL_I3, report->desync_tick,
                               "slot %u is called different and is not", slot);
        }
        return;
    }
    if (!report->is_desynced) {
        if (report->has_finished) {
            virtual_check_note(run, VIRTUAL_I3, client->hashed_difference_tick,
                               "slot %u differs and nobody says so", slot);
        }
        return;
    }
    bool is_exact = report->desync_tick == client->hashed_difference_tick || client->has_run_ahead;
    if (!is_exact || report->desync_server_root == report->desync_client_root) {
        virtual_check_note(run, VIRTUAL_I3, client->hashed_difference_tick,
                           "slot %u is called different from tick %u on", slot,
                           report->desync_tick);
    }
}

static void check_counts(virtual_match *run, uint32_t slot, const ls_match_slot *report)
{
    uint64_t closed = report->inputs_on_time + report->inputs_substituted;
    bool is_from_start = report->has_finished && report->joined_tick == 0 && report->rejoins == 0;
    bool is_whole = is_from_start ? closed == run->tick_count : closed <= run->tick_count;
    if (!is_whole || report->inputs_late > report->inputs_substituted) {
        virtual_check_note(run, VIRTUAL_I2, run->tick_count,
                           "slot %u: %" PRIu64 " on time, %" PRIu64 " substituted, %" PRIu64
                           " late in %u ticks",
                           slot, report->inputs_on_time, report->inputs_substituted,
                           report->inputs_late, run->tick_count);
    }
}

/* What came late was counted as such. */
static void check_late(virtual_match *run, uint32_t slot, const ls_match_slot *report)
{
    const virtual_client *client = run->by_slot[slot];
    if (!client->is_fed_wrong && report->inputs_late != client->late) {
        virtual_check_note(run, VIRTUAL_I2, run->tick_count,
                           "slot %u: %" PRIu64 " inputs came late, %" PRIu64 " are reported", slot,
                           client->late, report->inputs_late);
    }
}

/* A strict run has ended, and with it everybody's part in it. */
static void check_completion(virtual_match *run)
{
    if (!run->setup.is_strict) {
        return;
    }
    if (!virtual_match_is_over(run)) {
        virtual_check_note(run, VIRTUAL_I4, run->tick_count, "the match never ends");
        return;
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        if (!client->may_leave && (client->has_left || client->tick != run->tick_count)) {
            virtual_check_note(run, VIRTUAL_I4, run->tick_count, "client %u ends at tick %u",
                               client->index, client->tick);
        }
    }
}

static void check_slot(virtual_match *run, uint32_t slot)
{
    virtual_client *client = run->by_slot[slot];
    ls_match_slot report = ls_match_slot_of(run->match, slot);
    if (!client || !report.has_played) {
        return;
    }
    compare_final_state(client);
    check_counts(run, slot, &report);
    check_late(run, slot, &report);
    if (client->is_hostile) {
        return;
    }
    check_desync(client, slot, &report);
    uint32_t interval = run->setup.match.hash_interval_ticks;
    uint64_t states = run->tick_count / interval + 1;
    bool is_from_start = report.has_finished && report.joined_tick == 0 && report.rejoins == 0;
    if (is_from_start && !report.is_desynced && report.hashes_compared != states) {
        virtual_check_note(run, VIRTUAL_I3, run->tick_count,
                           "slot %u: %" PRIu64 " states compared, not %" PRIu64, slot,
                           report.hashes_compared, states);
    }
}

bool virtual_match_is_sound(virtual_match *run)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        check_slot(run, slot);
    }
    check_completion(run);
    return run->fault_count == 0;
}
