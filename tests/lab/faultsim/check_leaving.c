/* Clients that leave, sessions that end and clients that stay away. I4: in a strict run that
 * happens to no client that plays by the rules; clients that are to return do so before long. I6:
 * each departure has a reason. */
#include "lockstep/tests/lab/faultsim/check_bounds.h"
#include "lockstep/tests/lab/faultsim/match_check_parts.h"

#define STOP_MAX_NS (6 * LS_NS_PER_SECOND) /* a match ends 5 s after its last tick */

/* ---- excuses ---- */

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* The client has had time enough to be let in. */
static bool is_overdue(const client_check *client)
{
    const match_check *check = client->check;
    uint64_t from_ns = later(check->baseline_ns, later(client->since_ns, check->resumed_ns));
    return check->run->now_ns >= from_ns + CHECK_RETURN_MAX_NS;
}

static bool is_seat_forfeit(const client_check *client)
{
    const match_check *check = client->check;
    return !client->is_settled &&
           check->run->now_ns >=
               client->since_ns + check->run->setup.match.keep_seat_ms * LS_NS_PER_MS;
}

/* The server waits for a spectator that stands still at the end as long as for any client. */
static bool has_missed_the_end(const client_check *client)
{
    const virtual_event *end = virtual_match_find(client->check->run, LS_MATCH_ENDED);
    return client->core->is_spectator && end && client->heard_at_ns < end->at_ns;
}

/* A session that ends so, or a slot that is left so, was to be expected. */
static bool is_shut_out(const client_check *client, ls_status status)
{
    if (client->check->run->is_server_lost ||
        (status == LS_ALREADY_OVER && has_missed_the_end(client))) {
        return true;
    }
    if (status == LS_DESYNCED || status == LS_MISBEHAVED || status == LS_MALFORMED) {
        bool is_dropped_for_it = client->core->is_spectator ||
                                 client->check->run->setup.match.on_desync != LS_ON_DESYNC_REPORT;
        return status == LS_DESYNCED && client->core->flip.is_done && is_dropped_for_it;
    }
    bool is_in_return = client->core->reconnects || client->entries > 0 ||
                        client->core->is_spectator ||
                        client->check->run->setup.match.start_players > 0;
    /* A client that has not noticed yet that its server died has not returned either. */
    bool is_away = !client->is_settled || client->life < client->check->life;
    return is_in_return && is_away && (!is_overdue(client) || is_seat_forfeit(client));
}

/* Nothing passed for so long that giving up is right: the network may lose anything. `silent_ns` is
 * by the clock of the side that gives up: when it jumps, the silence is that much longer. */
static bool is_cut_off(const client_check *client, ls_status status, uint64_t silent_ns)
{
    const ls_match_config *match = &client->check->run->setup.match;
    uint64_t limit_ms = match->timeout_ms;
    if (match->late_rule == LS_LATE_WAIT && match->wait_limit_ms < limit_ms) {
        limit_ms = match->wait_limit_ms;
    }
    if (client->check->run->is_server_lost) {
        return true;
    }
    /* A match may be stopped while only luck gets its end to a client in time. */
    bool is_faulty = client->check->run->now_ns < client->check->baseline_ns + STOP_MAX_NS;
    bool is_ending = ls_match_state_of(client->check->run->match) >= LS_MATCH_ENDING;
    /* An awaited input may have been on its way when the last packet arrived. */
    bool is_silent = silent_ns >= limit_ms * LS_NS_PER_MS / 4 * 3;
    return status == LS_TIMED_OUT && (is_silent || (is_faulty && is_ending));
}

/* ---- departures ---- */

static void check_return(client_check *client, const ls_match_event *event)
{
    match_check *check = client->check;
    if (event->kind == LS_MATCH_PLAYER_LEFT) {
        client->may_leave = client->may_leave || is_shut_out(client, event->status);
        return;
    }
    bool is_baseline = check->baseline_ns > 0 && is_overdue(client);
    if (client->core->reconnects && is_baseline && check->is_strict && !client->may_leave) {
        match_check_note(check, CHECK_I4, event->tick,
                         "slot %u is lost long after the last fault: %s", event->slot,
                         event->text.bytes);
    }
}

/* A departure has a reason, and in a strict run no client departs that plays by the rules. */
static void check_leave(match_check *check, const ls_match_event *event)
{
    client_check *client = check->by_slot[event->slot];
    if (client) {
        client->is_dropped = true;
        check_return(client, event);
    }
    if (event->status == LS_OK || event->text.bytes[0] == '\0') {
        match_check_note(check, CHECK_I6, event->tick, "slot %u is dropped without a reason",
                         event->slot);
    }
    /* Under the rule `wait` a client that hears of no ticks cannot go on either. */
    uint64_t now_ns = virtual_match_server_ns(check->run);
    if (client && (is_cut_off(client, event->status, now_ns - client->heard_ns) ||
                   is_cut_off(client, event->status, now_ns - client->ticks_ns))) {
        client->may_leave = true;
    }
    bool is_done =
        client && client->core->is_over && check->life > 0; /* it was, before the crash */
    bool is_excused = !client || client->may_leave || is_done ||
                      (client->core->reconnects && event->kind == LS_MATCH_PLAYER_LOST);
    if (check->is_strict && !is_excused) {
        match_check_note(check, CHECK_I4, event->tick, "slot %u is dropped: %s (%s)", event->slot,
                         ls_status_name(event->status), event->text.bytes);
    }
}

void match_check_leaving(match_check *check, const ls_match_event *event)
{
    if (event->kind == LS_MATCH_PLAYER_LEFT || event->kind == LS_MATCH_PLAYER_LOST) {
        check_leave(check, event);
    }
}

void client_check_over(client_check *client, const ls_session_event *event)
{
    if (event->kind != LS_SESSION_EVENT_OVER || event->status == LS_OK) {
        return;
    }
    client->has_left = true;
    check_bounds_refused(client->check->bounds, client, event);
    if (event->text.bytes[0] == '\0') {
        match_check_note(client->check, CHECK_I6, client->tick, "client %u ends without a reason",
                         client->core->index);
    }
    if (is_cut_off(client, event->status, virtual_client_ns(client->core) - client->hearing_ns) ||
        is_shut_out(client, event->status)) {
        client->may_leave = true;
    }
    if (client->check->is_strict && !client->may_leave) {
        match_check_note(client->check, CHECK_I4, client->tick, "client %u ends: %s (%s)",
                         client->core->index, ls_status_name(event->status), event->text.bytes);
    }
}

/* ---- absence ---- */

void match_check_absence(match_check *check, ls_tick tick)
{
    if (!check->is_strict || check->baseline_ns == 0 ||
        check->run->now_ns < check->baseline_ns + CHECK_RETURN_MAX_NS) {
        return;
    }
    for (uint32_t i = 0; i < check->run->client_count; i++) {
        const client_check *client = check->clients[i];
        bool is_awaited = !client->core->is_absent && !client->core->is_gone &&
                          !client->core->is_over && !client->may_leave && !client->is_settled;
        if (is_awaited && is_overdue(client)) {
            match_check_note(check, CHECK_I4, tick, "client %u does not come in since %.1f s",
                             client->core->index,
                             (double)(check->run->now_ns - client->since_ns) / 1e9);
        }
    }
}
