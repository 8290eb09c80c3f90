/* The steps of clients. I1: every client steps on what the server closed, from a state that the
 * server had, also when it is let into a running match. */
#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/faultsim/check_bounds.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/step_observer.h"

#include <string.h>

void client_check_input(client_check *client, ls_tick tick, const uint8_t *bytes, uint32_t size)
{
    LS_ASSERT(tick < client->check->tick_capacity);
    bool is_again = client->made[tick] != 0 && client->made_in[tick] == client->entries;
    client->made_in[tick] = client->entries;
    if (is_again) {
        match_check_note(client->check, CHECK_I2, tick, "client %u makes its input twice",
                         client->core->index);
    }
    client->made_at[tick] = client->check->run->now_ns;
    client->made[tick] = step_observer_digest(bytes, size);
    client->made_size[tick] = (uint16_t)size;
}

/* ---- steps ---- */

static void note_input_difference(client_check *client, ls_tick tick)
{
    if (!client->has_input_difference) {
        client->has_input_difference = true;
        client->input_difference_tick = tick;
    }
    client->may_leave =
        client->may_leave || client->is_fed_wrong; /* what comes next fits nothing */
    if (!client->is_fed_wrong) {
        match_check_note(client->check, CHECK_I1, tick,
                         "client %u steps it on other inputs than the server", client->core->index);
    }
}

/* A client that is let in goes on from a state that the server had. */
static void check_entry(client_check *client, ls_tick tick)
{
    bool is_honest = !client->core->flip.is_done && !client->is_fed_wrong && !client->is_hostile;
    if (client->entries > 0 && is_honest && client->check->is_strict) {
        match_check_note(client->check, CHECK_I1, tick,
                         "client %u, let in while the match ran, steps it from another state",
                         client->core->index);
    }
}

/* Altered bytes can make a client step ticks that are not closed yet: what those lead to cannot be
 * compared, but for the state before the first of them. */
static void check_client_tick(client_check *client, ls_tick tick, bool is_same_inputs,
                              uint64_t state_digest)
{
    client->tick = tick + 1;
    if (!is_same_inputs) {
        note_input_difference(client, tick);
    }
    check_life line = client_check_life_of(client);
    if (tick > line.tick_count) {
        client->has_run_ahead = true;
        return;
    }
    uint64_t closed_state =
        tick < line.tick_count ? line.ticks[tick].state : client_check_end_state_of(client);
    if (state_digest != closed_state) {
        client_check_note_difference(client, tick);
        check_entry(client, tick);
    }
}

static void on_client_step(void *user, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    client_check *client = user;
    ls_tick tick = inputs->tick;
    check_life line = client_check_life_of(client);
    if (client->stepped && !client->is_entering) {
        match_check_record_tick(&client->stepped[tick % CHECK_STEPPED_TICKS], inputs, state_digest);
        return;
    }
    bool is_same = tick < line.tick_count && match_check_is_as_closed(&line.ticks[tick], inputs);
    check_client_tick(client, tick, is_same, state_digest);
}

/* Differences that arose in the last step show in no step's start. */
void client_check_last_state(client_check *client)
{
    match_check *check = client->check;
    ls_session_report report = ls_session_report_of(client->core->session);
    bool is_guessed = report.shown_tick != report.tick;
    if (!client->is_observed || is_guessed || client->has_hashed_difference ||
        client->life != check->life || client->is_entering) {
        return;
    }
    ls_sim_instance *instance = ls_session_instance(client->core->session);
    ls_tick tick = ls_sim_instance_tick(instance);
    bool is_equal = true;
    if (tick == ls_match_tick(check->run->match)) {
        is_equal = ls_sim_instance_hash(instance) == ls_match_hash(check->run->match);
    } else if (tick < check->tick_count) {
        is_equal = step_observer_state(instance) == check->ticks[tick].state;
    }
    if (!is_equal) {
        client_check_note_difference(client, tick);
    }
}

/* A client that predicts may step a tick several times: the last step before it calls the tick its
 * own is the one that counts. */
void client_check_frame(client_check *client)
{
    if (!client->stepped || client->is_entering) {
        return;
    }
    check_life line = client_check_life_of(client);
    const ls_sim_instance *shown = ls_session_instance(client->core->session);
    /* A client that is healed begins before what it had stepped. */
    LS_ASSERT(!shown || ls_sim_instance_tick(shown) <= client->tick + CHECK_STEPPED_TICKS);
    ls_tick settled = ls_session_tick(client->core->session);
    while (client->tick < settled) {
        const check_tick *seen = &client->stepped[client->tick % CHECK_STEPPED_TICKS];
        const check_tick *closed = &line.ticks[client->tick];
        bool is_same = client->tick < line.tick_count &&
                       memcmp(seen->inputs, closed->inputs, sizeof seen->inputs) == 0 &&
                       memcmp(seen->events, closed->events, sizeof seen->events) == 0;
        check_client_tick(client, client->tick, is_same, seen->state);
    }
}

void client_check_observe_steps(client_check *client)
{
    client->is_observed = true;
    step_observer_attach(ls_session_instance(client->core->session), on_client_step, client);
}

/* ---- entries into a running match ---- */

static void settle(client_check *client, bool is_settled)
{
    if (client->is_settled != is_settled) {
        client->is_settled = is_settled;
        client->since_ns = client->check->run->now_ns;
    }
}

static void enter(client_check *client, const ls_join *join)
{
    if (ls_session_tick(client->core->session) >= client->tick) {
        client_check_frame(client); /* what has settled before it counts by the old ticks */
    }
    client_check_last_state(client);
    client->life = client->joining_life;
    client->is_entering = true;
    client->entries++;
    client->entry_tick = join->tick;
    bool is_new = join->source == LS_JOIN_SNAPSHOT || join->source == LS_JOIN_HISTORY;
    client->held_from = is_new ? join->tick : client->held_from;
    const match_check *check = client->check;
    uint32_t slot = ls_session_report_of(client->core->session).slot;
    bool is_told =
        !client->core->is_spectator && ls_match_slot_of(check->run->match, slot).is_desynced;
    client->is_mended = client->is_mended || join->source != LS_JOIN_HELD;
    if (join->source != LS_JOIN_HELD && !is_told) {
        client->has_state_difference = false; /* goes with the state in which it was */
        client->has_hashed_difference = false;
    }
}

static void arrive(client_check *client, ls_tick tick)
{
    client->is_entering = false;
    client->tick = tick;
    settle(client, true);
}

void client_check_event(client_check *client, const ls_session_event *event)
{
    switch (event->kind) {
    case LS_SESSION_EVENT_STARTED:
        settle(client, true);
        break;
    case LS_SESSION_EVENT_LOST:
        settle(client, false);
        break;
    case LS_SESSION_EVENT_JOINING:
        enter(client, &event->join);
        break;
    case LS_SESSION_EVENT_JOINED:
        arrive(client, event->tick);
        break;
    default:
        break;
    }
}

/* ---- leaving ---- */

/* Clients that leave, sessions that end and clients that stay away. I4: in a strict run that
 * happens to no client that plays by the rules; clients that are to return do so before long. I6:
 * each departure has a reason. */

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
