/* Checks at the end of a virtual match. I2: every tick of a slot is counted as on time or
 * substituted, every late input as late. I3: states differ where they were made to differ, and that
 * is reported with the right tick; nothing else is. I4: every client that plays by the rules has
 * finished. */
#include "lockstep/tests/lab/faultsim/match_check_parts.h"

#include <inttypes.h>

/* How often this server has reported the slot as different. */
static uint32_t reports_of(const match_check *check, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t i = check->first_event; i < check->run->event_count; i++) {
        const ls_match_event *event = &check->run->events[i].event;
        count += event->kind == LS_MATCH_DESYNC && event->slot == slot;
    }
    return count;
}

static void check_desync(client_check *client, uint32_t slot, const ls_match_slot *report)
{
    match_check *check = client->check;
    uint32_t told = reports_of(check, slot);
    bool is_old = client->has_hashed_difference && client->difference_life != check->life;
    if (check->differed_before[slot]) {
        return; /* what the report tells of the slot is not this client's */
    }
    if (is_old && client->life != check->life) {
        return; /* the server that was told of it is dead, and it never came back */
    }
    if (is_old && client->is_mended && !report->is_desynced) {
        return; /* that server was told of it and sent it another state; this one knows of nothing
                 */
    }
    bool may_be_again = client->entries > 0; /* another one, or with another state */
    bool is_told = report->is_desynced ? told == 1 || (told > 1 && may_be_again) : told == 0;
    if (!is_told) {
        match_check_note(check, CHECK_I3, report->desync_tick,
                         "slot %u was told of %u times as a desync", slot, told);
    }
    if (!client->has_hashed_difference) {
        /* A client counts as different when its chain was altered and it left before it could
         * explain, and when it left before its next hashed state was seen here. */
        bool is_different =
            client->is_fed_wrong ||
            (client->has_state_difference && client->state_difference_tick <= report->desync_tick);
        bool is_unexplained =
            is_different && report->desync_client_hash == 0 && !report->has_finished;
        if (report->is_desynced && !is_unexplained && !client->has_run_ahead) {
            match_check_note(check, CHECK_I3, report->desync_tick,
                             "slot %u is called different and is not", slot);
        }
        return;
    }
    if (!report->is_desynced) {
        if (report->has_finished) {
            match_check_note(check, CHECK_I3, client->hashed_difference_tick,
                             "slot %u differs and is not reported", slot);
        }
        return;
    }
    /* A client that leaves, or loses its link, before it has answered is called different for the
     * state that it was asked about: the newest that it had reported, not before the difference. */
    bool has_been_away = client->core->reconnects || !report->has_finished;
    bool is_unanswered = report->desync_client_hash == 0 && has_been_away &&
                         report->desync_tick >= client->hashed_difference_tick;
    bool is_exact = report->desync_tick == client->hashed_difference_tick ||
                    client->has_run_ahead || is_unanswered || told > 1;
    if (!is_exact || report->desync_server_hash == report->desync_client_hash) {
        match_check_note(check, CHECK_I3, client->hashed_difference_tick,
                         "slot %u is called different from tick %u on", slot, report->desync_tick);
    }
}

static void check_counts(match_check *check, uint32_t slot, const ls_match_slot *report)
{
    uint64_t closed = report->inputs_on_time + report->inputs_substituted;
    bool is_from_start = report->has_finished && check->by_slot[slot]->entries == 0;
    bool is_whole = is_from_start ? closed == check->tick_count : closed <= check->tick_count;
    /* A returned client may be late with what it makes before it plays again. */
    bool is_return = check->by_slot[slot]->entries > 0;
    bool is_late = !is_return && report->inputs_late > report->inputs_substituted;
    if (!is_whole || is_late) {
        match_check_note(check, CHECK_I2, check->tick_count,
                         "slot %u: %" PRIu64 " on time, %" PRIu64 " substituted, %" PRIu64
                         " late in %u ticks",
                         slot, report->inputs_on_time, report->inputs_substituted,
                         report->inputs_late, check->tick_count);
    }
}

/* Inputs that came late were counted as such. */
static void check_late(match_check *check, uint32_t slot, const ls_match_slot *report)
{
    const client_check *client = check->by_slot[slot];
    bool is_from_start = client->entries == 0 && check->life == 0;
    if (is_from_start && !client->is_fed_wrong && report->inputs_late != client->late) {
        match_check_note(check, CHECK_I2, check->tick_count,
                         "slot %u: %" PRIu64 " inputs came late, %" PRIu64 " are reported", slot,
                         client->late, report->inputs_late);
    }
}

/* A strict run has ended, and with it every client's part in it. */
static void check_completion(match_check *check)
{
    if (!check->is_strict) {
        return;
    }
    if (!virtual_match_is_over(check->run)) {
        match_check_note(check, CHECK_I4, check->tick_count, "the match never ends");
        return;
    }
    for (uint32_t i = 0; i < check->run->client_count; i++) {
        const client_check *client = check->clients[i];
        ls_tick end = client_check_life_of(client).tick_count; /* it may have outlived it */
        bool is_awaited = !client->may_leave && !client->core->is_absent;
        if (is_awaited && (client->has_left || client->tick != end)) {
            match_check_note(check, CHECK_I4, check->tick_count, "client %u ends at tick %u",
                             client->core->index, client->tick);
        }
    }
}

/* A spectator is told itself. */
static void check_spectator(match_check *check, const client_check *client)
{
    ls_session_report report = ls_session_report_of(client->core->session);
    bool is_blamed = client->core->is_over && report.status == LS_DESYNCED;
    bool is_whole = client->core->is_over && report.status == LS_OK;
    bool is_different = client->has_hashed_difference;
    if (is_blamed && !client->core->flip.is_done && !client->is_fed_wrong) {
        match_check_note(check, CHECK_I3, client->tick, "spectator %u is called different",
                         client->core->index);
    } else if (is_whole && is_different && client->tick == check->tick_count) {
        match_check_note(check, CHECK_I3, client->hashed_difference_tick,
                         "spectator %u differs and is not told", client->core->index);
    }
}

static void check_slot(match_check *check, uint32_t slot)
{
    client_check *client = check->by_slot[slot];
    ls_match_slot report = ls_match_slot_of(check->run->match, slot);
    if (!client || !report.has_played) {
        return;
    }
    client_check_last_state(client);
    check_counts(check, slot, &report);
    check_late(check, slot, &report);
    if (client->is_hostile) {
        return;
    }
    check_desync(client, slot, &report);
    uint32_t interval = check->run->setup.match.hash_interval_ticks;
    uint64_t states = check->tick_count / interval + 1;
    bool is_from_start = report.has_finished && client->entries == 0;
    if (is_from_start && !report.is_desynced && report.hashes_compared != states) {
        match_check_note(check, CHECK_I3, check->tick_count,
                         "slot %u: %" PRIu64 " states compared, not %" PRIu64, slot,
                         report.hashes_compared, states);
    }
}

bool match_check_is_sound(match_check *check)
{
    if (check->run->is_server_lost) {
        return check->fault_count == 0; /* no server is left to report anything */
    }
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        check_slot(check, slot);
    }
    for (uint32_t i = 0; i < check->run->client_count; i++) {
        if (check->clients[i]->core->is_spectator) {
            check_spectator(check, check->clients[i]);
        }
    }
    check_completion(check);
    return check->fault_count == 0;
}
