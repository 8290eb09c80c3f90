/* What is checked of players and spectators that come late or come back, and of a server that does.
 * I7: what a resumed match goes on from holds every closed tick that anybody who is back had, as it
 * was. I1: whoever comes in steps what the server closed. I4: they come in before long. */
#include "lockstep/common/base/assert.h"
#include "lockstep/tools/faultsim/virtual_match.h"
#include "lockstep/tools/faultsim/witness.h"

#include <string.h>

/* ---- lives of the server ---- */

virtual_life virtual_return_life_of(const virtual_client *client)
{
    const virtual_match *run = client->run;
    if (client->life < run->life) {
        return run->lives[client->life];
    }
    return (virtual_life){.ticks = run->ticks, .tick_count = run->tick_count};
}

uint64_t virtual_return_end_of(const virtual_client *client)
{
    const virtual_match *run = client->run;
    return client->life < run->life ? run->lives[client->life].final_state
                                    : witness_state(ls_match_instance(run->match));
}

static void forget_slots(virtual_match *run)
{
    run->back_mask = 0;
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        run->play_from[slot] = VIRTUAL_NO_TICK;
    }
}

void virtual_return_crashed(virtual_match *run)
{
    virtual_life *life = &run->lives[run->life];
    size_t bytes = run->tick_capacity * sizeof *run->ticks;
    if (run->is_resumed_yet || run->life == 0) {
        *life = (virtual_life){.ticks = run->ticks,
                               .tick_count = run->tick_count,
                               .final_state = witness_state(ls_match_instance(run->match))};
        run->ticks = ls_allocate(run->setup.storage, bytes);
        LS_ASSERT(run->ticks != NULL);
        memcpy(run->ticks, life->ticks, run->tick_count * sizeof *run->ticks);
        run->life++;
    }
    run->is_resumed_yet = false;
    run->first_event = run->event_count;
    forget_slots(run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client *client = run->clients[i];
        client->is_dropped = true;
        client->may_leave = client->may_leave || !client->returns;
    }
}

void virtual_return_restored(virtual_match *run)
{
    run->tick_count = ls_match_tick(run->match);
    run->restored_tick = run->tick_count;
    run->unscheduled_until_ns = VIRTUAL_NEVER;
}

/* ---- I7 ---- */

static bool is_truthful(const virtual_client *client)
{
    return !client->is_fed_wrong && !client->is_hostile;
}

/* It is back, tells the truth or does not, stepped on what the server closed that died last, and
 * has this tick: who was sent a state has nothing before that. */
static bool is_witness(const virtual_match *run, uint32_t slot, ls_tick tick)
{
    const virtual_client *client = run->by_slot[slot];
    return (run->back_mask >> slot & 1u) && client && !client->is_gone &&
           client->life + 1 == run->life && client->held_from <= tick &&
           ls_session_report_of(client->session).confirmed > tick;
}

/* Somebody who is back has it, and those who may have another one, which packets altered on their
 * way or ill will can bring about, are fewer. Of as many nobody can say who is right, unless the
 * others were told that they differ. */
static bool is_seen(const virtual_match *run, ls_tick tick)
{
    uint32_t truthful = 0;
    uint32_t others = 0;
    bool is_told = true;
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        const virtual_client *client = run->by_slot[slot];
        if (is_witness(run, slot, tick)) {
            truthful += is_truthful(client) ? 1 : 0;
            others += is_truthful(client) ? 0 : 1;
            is_told =
                is_told && is_truthful(client) != ls_session_report_of(client->session).is_desynced;
        }
    }
    return truthful > others || (truthful > 0 && truthful == others && is_told);
}

/* The first tick that nobody who is back had confirmed, on from what the journal held. */
static ls_tick seen_by_who_is_back(const virtual_match *run)
{
    ls_tick seen = run->restored_tick;
    while (is_seen(run, seen)) {
        seen++;
    }
    return seen;
}

void virtual_return_step(virtual_match *run, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    const virtual_life *last = &run->lives[run->life - 1];
    ls_tick tick = inputs->tick;
    bool is_same = tick < last->tick_count && last->ticks[tick].state == state_digest &&
                   virtual_check_is_as_closed(&last->ticks[tick], inputs);
    if (is_same) {
        run->ticks[tick] = last->ticks[tick];
    } else {
        run->ticks[tick] = (virtual_tick){.closed_ns = run->now_ns};
        virtual_check_take_tick(&run->ticks[tick], inputs, state_digest);
    }
    if (!is_same && (run->is_restoring || tick < seen_by_who_is_back(run))) {
        virtual_check_note(run, VIRTUAL_I7, tick, "it is another one than before the crash");
    }
    run->resumes.recovered += run->is_restoring ? 0 : 1;
    run->tick_count = tick + 1;
}

static void find_who_is_in_band(virtual_match *run)
{
    run->joined_mask = 0;
    for (ls_tick tick = 0; tick < run->tick_count; tick++) {
        for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
            uint32_t bit = UINT32_C(1) << slot;
            uint8_t events = run->ticks[tick].events[slot];
            run->joined_mask &= events & LS_EVENT_LEFT ? ~bit : UINT32_MAX;
            run->joined_mask |= events & LS_EVENT_JOINED ? bit : 0;
        }
    }
}

static void take_resumed(virtual_match *run, const ls_match_event *event)
{
    if (run->life == 0) {
        return;
    }
    ls_tick before = run->lives[run->life - 1].tick_count;
    ls_tick seen = seen_by_who_is_back(run);
    run->resumes.resumed++;
    run->resumes.forgotten += before > event->tick ? before - event->tick : 0;
    if (event->tick < seen) {
        run->resumes.lost += seen - event->tick;
        virtual_check_note(run, VIRTUAL_I7, event->tick,
                           "the match goes on from here, and who is back had ticks up to %u", seen);
    }
    run->is_resumed_yet = true;
    run->resumed_ns = run->now_ns;
    run->unscheduled_until_ns = run->now_ns;
    if (run->setup.calm_ns > 0 && run->setup.calm_ns < run->now_ns) {
        run->setup.calm_ns = run->now_ns;
    }
    find_who_is_in_band(run);
}

/* ---- who is let in ---- */

/* Of a match whose journal did not say that it had begun, and of which nobody came back, another
 * one may be made. */
static void take_started(virtual_match *run)
{
    if (run->life > 0) {
        run->is_resumed_yet = true;
        run->resumed_ns = run->now_ns;
        run->unscheduled_until_ns = run->now_ns;
    }
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        bool is_playing = ls_match_slot_of(run->match, slot).is_playing;
        run->play_from[slot] = is_playing ? 0 : VIRTUAL_NO_TICK;
        if (is_playing && run->by_slot[slot]) {
            run->by_slot[slot]->is_dropped = false;
        }
    }
}

/* Inputs that came over an old connection are forgotten. */
static void take_joining(virtual_match *run, const ls_match_event *event)
{
    virtual_client *client = run->by_slot[event->slot];
    if (client) {
        client->is_dropped = false;
        client->joining_life = run->life;
        client->acknowledged = event->tick;
        memset(client->arrived + run->tick_count, VIRTUAL_ARRIVED_NOT,
               (run->tick_capacity - run->tick_count) * sizeof *client->arrived);
    }
}

/* Its state hash was compared before it counts. */
static void check_let_in(virtual_match *run, const ls_match_event *event)
{
    const virtual_client *client = run->by_slot[event->slot];
    if (!client || client->is_fed_wrong || client->is_hostile || !client->has_hashed_difference ||
        client->difference_life != run->life) {
        return;
    }
    ls_tick joined = ls_session_report_of(client->session).joined_tick;
    bool is_new = client->hashed_difference_tick > client->entry_tick;
    if (is_new && client->hashed_difference_tick <= joined) {
        virtual_check_note(run, VIRTUAL_I3, client->hashed_difference_tick,
                           "slot %u is let in at tick %u with another state", event->slot, joined);
    }
}

/* Before the client hears of it. */
static void take_seated(virtual_match *run, const ls_match_event *event)
{
    virtual_client *client = virtual_match_client_of(run, event->peer);
    if (client && !client->is_spectator) {
        run->by_slot[event->slot] = client;
        run->seated_as[event->slot] = event->peer;
    }
}

static void take_spectator(virtual_match *run, const ls_match_event *event)
{
    virtual_client *client = virtual_match_client_of(run, event->peer);
    if (client && client->is_spectator) {
        client->joining_life = run->life;
    }
}

void virtual_return_match_event(virtual_match *run, const ls_match_event *event)
{
    uint32_t bit = UINT32_C(1) << event->slot % LS_PLAYERS_MAX;
    switch (event->kind) {
    case LS_MATCH_STARTED:
        take_started(run);
        break;
    case LS_MATCH_PLAYER_SEATED:
    case LS_MATCH_PLAYER_RETURNED:
        take_seated(run, event);
        break;
    case LS_MATCH_PLAYER_READY:
        run->back_mask |= bit;
        break;
    case LS_MATCH_PLAYER_JOINING:
        take_joining(run, event);
        break;
    case LS_MATCH_SPECTATOR_CAME:
        take_spectator(run, event);
        break;
    case LS_MATCH_PLAYER_JOINED:
        run->play_from[event->slot] = event->tick;
        check_let_in(run, event);
        break;
    case LS_MATCH_PLAYER_LOST:
    case LS_MATCH_PLAYER_LEFT:
        run->back_mask &= ~bit;
        break;
    case LS_MATCH_RESUMED:
        take_resumed(run, event);
        break;
    default:
        break;
    }
}

static void settle(virtual_client *client, bool is_settled)
{
    if (client->is_settled != is_settled) {
        client->is_settled = is_settled;
        client->since_ns = client->run->now_ns;
    }
}

static void enter(virtual_client *client, const ls_join *join)
{
    if (ls_session_tick(client->session) >= client->tick) {
        virtual_check_frame(client); /* what has settled before it counts by the old ticks */
    }
    virtual_check_last_state(client);
    client->life = client->joining_life;
    client->is_entering = true;
    client->entries++;
    client->entry_tick = join->tick;
    client->held_from = join->source == LS_JOIN_HELD ? client->held_from : join->tick;
    bool is_flipped_already = join->source == LS_JOIN_HELD && client->has_state_difference;
    if (client->flips_on_entry && !is_flipped_already) { /* the same bit, twice, would be none */
        client->flips_on_entry = false;
        client->flip_tick = join->tick + 1;
    }
    /* Whose state differs may keep it, and is sent away for that. */
    client->may_leave = client->may_leave || client->has_state_difference;
    const virtual_match *run = client->run;
    uint32_t slot = ls_session_report_of(client->session).slot;
    bool is_told = !client->is_spectator && ls_match_slot_of(run->match, slot).is_desynced;
    if (join->source != LS_JOIN_HELD && !is_told) {
        client->has_state_difference = false; /* goes with the state in which it was */
        client->has_hashed_difference = false;
    }
}

static void arrive(virtual_client *client, ls_tick tick)
{
    client->is_entering = false;
    client->tick = tick;
    settle(client, true);
}

void virtual_return_session_event(virtual_client *client, const ls_session_event *event)
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

/* ---- who is not ---- */

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

/* It has had time enough to come in. */
static bool is_overdue(const virtual_client *client)
{
    const virtual_match *run = client->run;
    uint64_t from_ns = later(run->setup.calm_ns, later(client->since_ns, run->resumed_ns));
    return run->now_ns >= from_ns + VIRTUAL_RETURN_MAX_NS;
}

static bool is_seat_forfeit(const virtual_client *client)
{
    const virtual_match *run = client->run;
    return !client->is_settled &&
           run->now_ns >= client->since_ns + run->setup.match.keep_seat_ms * LS_NS_PER_MS;
}

/* A spectator who stands still at the end is waited for as long as everybody, and no longer. */
static bool has_missed_the_end(const virtual_client *client)
{
    const virtual_event *end = virtual_match_find(client->run, LS_MATCH_ENDED);
    return client->is_spectator && end && client->heard_at_ns < end->at_ns;
}

bool virtual_return_is_shut_out(const virtual_client *client, ls_status status)
{
    if (client->run->is_beyond_help || (status == LS_ALREADY_OVER && has_missed_the_end(client))) {
        return true;
    }
    if (status == LS_DESYNCED || status == LS_MISBEHAVED || status == LS_MALFORMED) {
        return status == LS_DESYNCED && client->is_flipped;
    }
    bool is_in_return = client->returns || client->entries > 0 || client->is_spectator ||
                        client->run->setup.match.start_players > 0;
    /* Who has not noticed yet that its server died is not back either. */
    bool is_away = !client->is_settled || client->life < client->run->life;
    return is_in_return && is_away && (!is_overdue(client) || is_seat_forfeit(client));
}

void virtual_return_check_leave(virtual_client *client, const ls_match_event *event)
{
    virtual_match *run = client->run;
    if (event->kind == LS_MATCH_PLAYER_LEFT) {
        client->may_leave = client->may_leave || virtual_return_is_shut_out(client, event->status);
        return;
    }
    bool is_calm = run->setup.calm_ns > 0 && is_overdue(client);
    if (client->returns && is_calm && run->setup.is_strict && !client->may_leave) {
        virtual_check_note(run, VIRTUAL_I4, event->tick, "slot %u is lost while all is well: %s",
                           event->slot, event->text.bytes);
    }
}

void virtual_return_check_away(virtual_match *run, ls_tick tick)
{
    if (!run->setup.is_strict || run->setup.calm_ns == 0 ||
        run->now_ns < run->setup.calm_ns + VIRTUAL_RETURN_MAX_NS) {
        return;
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        bool is_awaited = !client->is_absent && !client->is_gone && !client->is_over &&
                          !client->may_leave && !client->is_settled;
        if (is_awaited && is_overdue(client)) {
            virtual_check_note(run, VIRTUAL_I4, tick, "client %u does not come in since %.1f s",
                               client->index, (double)(run->now_ns - client->since_ns) / 1e9);
        }
    }
}
