/* What shows only when a virtual match has ended. I2: every tick of a slot is counted as on time or
 * substituted, every late input as late. I3: states differ where they were made to differ, and that
 * is reported with the right tick; nothing else is. I4: whoever plays by the rules has finished. */
#include "lockstep/tools/faultsim/virtual_match.h"
#include "lockstep/tools/faultsim/witness.h"

#include <inttypes.h>

/* As a desync, by this server. */
static uint32_t told_of(const virtual_match *run, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t i = run->first_event; i < run->event_count; i++) {
        const ls_match_event *event = &run->events[i].event;
        count += event->kind == LS_MATCH_DESYNC && event->slot == slot;
    }
    return count;
}

static void check_desync(virtual_client *client, uint32_t slot, const ls_match_slot *report)
{
    virtual_match *run = client->run;
    uint32_t told = told_of(run, slot);
    bool is_old = client->has_hashed_difference && client->difference_life != run->life;
    if (is_old) {
        return; /* who was told of it is dead */
    }
    bool may_be_again = client->entries > 0; /* another one, or with another state */
    bool is_told = report->is_desynced ? told == 1 || (told > 1 && may_be_again) : told == 0;
    if (!is_told) {
        virtual_check_note(run, VIRTUAL_I3, report->desync_tick,
                           "slot %u was told of %u times as a desync", slot, told);
    }
    if (!client->has_hashed_difference) {
        /* Whose chain was altered and who left before it could explain counts as different; so does
         * who left before the next state that is hashed was seen here. */
        bool is_different =
            client->is_fed_wrong ||
            (client->has_state_difference && client->state_difference_tick <= report->desync_tick);
        bool is_unexplained =
            is_different && report->desync_client_hash == 0 && !report->has_finished;
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
    /* Who leaves, or loses its link, before it has answered is called different for what it was
     * asked about: the newest state that it had told of, which is not before the difference. */
    bool has_been_away = client->returns || !report->has_finished;
    bool is_unanswered = report->desync_client_hash == 0 && has_been_away &&
                         report->desync_tick >= client->hashed_difference_tick;
    bool is_exact = report->desync_tick == client->hashed_difference_tick ||
                    client->has_run_ahead || is_unanswered || told > 1;
    if (!is_exact || report->desync_server_hash == report->desync_client_hash) {
        virtual_check_note(run, VIRTUAL_I3, client->hashed_difference_tick,
                           "slot %u is called different from tick %u on", slot,
                           report->desync_tick);
    }
}

static void check_counts(virtual_match *run, uint32_t slot, const ls_match_slot *report)
{
    uint64_t closed = report->inputs_on_time + report->inputs_substituted;
    bool is_from_start = report->has_finished && run->by_slot[slot]->entries == 0;
    bool is_whole = is_from_start ? closed == run->tick_count : closed <= run->tick_count;
    /* Who comes back may be late with what it makes before it plays again. */
    bool is_return = run->by_slot[slot]->entries > 0;
    bool is_late = !is_return && report->inputs_late > report->inputs_substituted;
    if (!is_whole || is_late) {
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
    bool is_from_start = client->entries == 0 && run->life == 0;
    if (is_from_start && !client->is_fed_wrong && report->inputs_late != client->late) {
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
        ls_tick end = virtual_return_life_of(client).tick_count; /* it may have outlived it */
        bool is_awaited = !client->may_leave && !client->is_absent;
        if (is_awaited && (client->has_left || client->tick != end)) {
            virtual_check_note(run, VIRTUAL_I4, run->tick_count, "client %u ends at tick %u",
                               client->index, client->tick);
        }
    }
}

/* Who watches is told itself. */
static void check_spectator(virtual_match *run, const virtual_client *client)
{
    ls_session_report report = ls_session_report_of(client->session);
    bool is_blamed = client->is_over && report.status == LS_DESYNCED;
    bool is_whole = client->is_over && report.status == LS_OK;
    bool is_different = client->has_hashed_difference;
    if (is_blamed && !client->is_flipped && !client->is_fed_wrong) {
        virtual_check_note(run, VIRTUAL_I3, client->tick, "spectator %u is called different",
                           client->index);
    } else if (is_whole && is_different && client->tick == run->tick_count) {
        virtual_check_note(run, VIRTUAL_I3, client->hashed_difference_tick,
                           "spectator %u differs and nobody says so", client->index);
    }
}

static void check_slot(virtual_match *run, uint32_t slot)
{
    virtual_client *client = run->by_slot[slot];
    ls_match_slot report = ls_match_slot_of(run->match, slot);
    if (!client || !report.has_played) {
        return;
    }
    virtual_check_last_state(client);
    check_counts(run, slot, &report);
    check_late(run, slot, &report);
    if (client->is_hostile) {
        return;
    }
    check_desync(client, slot, &report);
    uint32_t interval = run->setup.match.hash_interval_ticks;
    uint64_t states = run->tick_count / interval + 1;
    bool is_from_start = report.has_finished && client->entries == 0;
    if (is_from_start && !report.is_desynced && report.hashes_compared != states) {
        virtual_check_note(run, VIRTUAL_I3, run->tick_count,
                           "slot %u: %" PRIu64 " states compared, not %" PRIu64, slot,
                           report.hashes_compared, states);
    }
}

bool virtual_match_is_sound(virtual_match *run)
{
    if (run->is_beyond_help) {
        return run->fault_count == 0; /* nobody is there to report anything */
    }
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        check_slot(run, slot);
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (run->clients[i]->is_spectator) {
            check_spectator(run, run->clients[i]);
        }
    }
    check_completion(run);
    return run->fault_count == 0;
}
