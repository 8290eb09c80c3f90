/* The ticks that the server closes. I2: what is closed is the slot's own input for that tick if it
 * came in time, else its input of the tick before, or nothing once it has left. I4: live clients
 * keep up, and a wait names those that it waits for. I5: ticks are closed on time, whatever any
 * client does; memory stays what it was. I7: what a resumed match goes on from holds every closed
 * tick that any returned client had, unchanged. */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/step_observer.h"

#include <inttypes.h>
#include <string.h>

#define SILENCE_MAX_NS (501 * LS_NS_PER_MS) /* WAITING comes every 500 ms */

enum {
    ALLOCATIONS_OF_STATE = 7,   /* a blob and its stream */
    ALLOCATIONS_OF_CAUSES = 32, /* for each player two places of 13, and its share of the rest */
    STATES_UNDER_WAY = 16,      /* their events have not come yet */
};

/* Ticks keep their rate exactly, so that one may be a nanosecond longer than the next. */
#define ROUNDING_NS 1u
#define SCHEDULE_TOLERANCE_NS LS_NS_PER_US /* of a server's clock that drifts */
#define RECOVERY_NS (2 * LS_NS_PER_SECOND) /* after the last fault, to work off the backlog */

/* ---- closed ticks ---- */

static void check_events(match_check *check, ls_tick tick, uint32_t slot, uint32_t events)
{
    if (events & LS_EVENT_LEFT) {
        if (!ls_slot_set_has(&check->joined, slot)) {
            match_check_note(check, CHECK_I2, tick, "slot %u leaves and is not there", slot);
        }
        ls_slot_set_remove(&check->joined, slot);
    }
    if (events & LS_EVENT_JOINED) {
        if (ls_slot_set_has(&check->joined, slot)) {
            match_check_note(check, CHECK_I2, tick, "slot %u joins and is there", slot);
        }
        ls_slot_set_add(&check->joined, slot);
    }
}

static bool is_in_time(const client_check *client, ls_tick tick)
{
    return client->arrived[tick] == CHECK_ARRIVED_IN_TIME ||
           client->arrived[tick] == CHECK_ARRIVING;
}

/* An input that came in time is what is closed; one that did not, never is. */
static void check_input(match_check *check, ls_tick tick, uint32_t slot, uint64_t digest)
{
    uint64_t nothing = step_observer_digest(NULL, 0);
    const client_check *client = check->by_slot[slot];
    if (!ls_slot_set_has(&check->joined, slot)) {
        if (digest != nothing) {
            match_check_note(check, CHECK_I2, tick, "slot %u is empty and has an input", slot);
        }
        return;
    }
    if (tick < check->play_from[slot]) {
        if (digest != nothing) {
            match_check_note(check, CHECK_I2, tick, "slot %u is not back and has an input", slot);
        }
        return;
    }
    if (!client || client->is_fed_wrong) {
        return;
    }
    uint64_t before = tick == 0 ? nothing : check->ticks[tick - 1].inputs[slot];
    bool has_come = is_in_time(client, tick);
    bool is_without_edges = !has_come && check->run->setup.match.simulation->input_bits;
    if (digest != (has_come ? client->made[tick] : before) && !is_without_edges) {
        match_check_note(check, CHECK_I2, tick, "slot %u: closed with an input that is not %s",
                         slot, has_come ? "what came for it" : "that of the tick before");
    } else if (!has_come && check->run->setup.match.late_rule == LS_LATE_WAIT) {
        match_check_note(check, CHECK_I2, tick, "slot %u: closed without its input", slot);
    }
}

/* The rule `repeat` closes tick t at the moment that follows from the closing of the tick before,
 * whatever any client does. */
static void check_schedule(match_check *check, ls_tick tick)
{
    bool is_scheduled = check->run->setup.match.late_rule == LS_LATE_REPEAT && tick > 0 &&
                        check->ticks[tick - 1].closed_ns > check->unscheduled_until_ns &&
                        check->unscheduled_until_ns != VIRTUAL_NEVER;
    if (!is_scheduled) {
        return;
    }
    uint64_t now_ns = check->ticks[tick].closed_local_ns;
    uint64_t due_ns = check->ticks[tick - 1].closed_local_ns + match_check_dt_ns(check);
    uint64_t early_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    uint64_t late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
    uint64_t tolerance_ns = check->run->server_loop_ns + ROUNDING_NS +
                            (check->run->server_drift_ppm == 0 ? 0 : SCHEDULE_TOLERANCE_NS);
    if (early_ns > tolerance_ns || late_ns > tolerance_ns) {
        match_check_note(check, CHECK_I5, tick, "closed %" PRIu64 " ns early, %" PRIu64 " ns late",
                         early_ns, late_ns);
    }
}

static void start_memory(match_check *check)
{
    check->start_allocations = check->allocations ? *check->allocations : 0;
    check->states_sent = 0;
    check->has_taken_for_causes = false;
}

/* Allocations from START on that are no fault: those of a state for each that the match has begun
 * to send, or may have begun to send by now; and once those in which causes are looked for. */
static uint64_t allowed_allocations(const match_check *check)
{
    uint64_t states = check->states_sent + STATES_UNDER_WAY;
    uint64_t players = ls_match_players(check->run->match);
    return states * ALLOCATIONS_OF_STATE + players * ALLOCATIONS_OF_CAUSES;
}

/* No tick takes memory. */
static void check_memory(match_check *check, ls_tick tick)
{
    const uint64_t *allocations = check->allocations;
    uint64_t allowed = allocations ? check->start_allocations + allowed_allocations(check) : 0;
    if (allocations && *allocations > allowed) {
        match_check_note(check, CHECK_I5, tick,
                         "%" PRIu64 " allocations since START, %" PRIu64 " more than there may be",
                         *allocations - check->start_allocations, *allocations - allowed);
    }
}

/* After the last fault every player keeps up. */
static void check_progress(match_check *check, ls_tick tick)
{
    if (check->baseline_ns == 0 || check->run->now_ns < check->baseline_ns + RECOVERY_NS) {
        return;
    }
    for (uint32_t i = 0; i < check->run->client_count; i++) {
        const client_check *client = check->clients[i];
        bool is_held_to_it = client->lag_max_ticks > 0 && !client->core->is_gone &&
                             !client->core->is_over && !client->may_leave && client->is_settled &&
                             !client->core->is_spectator &&
                             check->run->now_ns >= client->since_ns + RECOVERY_NS;
        if (is_held_to_it && client->tick + client->lag_max_ticks < tick) {
            match_check_note(check, CHECK_I4, tick,
                             "client %u is only at tick %u, %.1f s after "
                             "the last fault",
                             client->core->index, client->tick,
                             (double)(check->run->now_ns - check->baseline_ns) / 1e9);
        }
    }
}

/* ---- ticks that a server closes again (I7) ---- */

static bool is_truthful(const client_check *client)
{
    return !client->is_fed_wrong && !client->is_hostile;
}

/* The slot's client is back, whether it tells the truth or not, stepped on what the newest dead
 * server closed, and has this tick: a client that was sent a state has nothing before that. */
static bool can_compare(const match_check *check, uint32_t slot, ls_tick tick)
{
    const client_check *client = check->by_slot[slot];
    return ls_slot_set_has(&check->back, slot) && client && !client->core->is_gone &&
           client->life + 1 == check->life && client->held_from <= tick &&
           ls_session_report_of(client->core->session).confirmed > tick;
}

/* A returned client has the tick, and fewer may have another one, through packets that were altered
 * on their way or ill will. Between equal numbers there is no telling which is right, unless the
 * others were told that they differ. */
static bool is_seen(const match_check *check, ls_tick tick)
{
    uint32_t truthful = 0;
    uint32_t others = 0;
    bool is_told = true;
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        const client_check *client = check->by_slot[slot];
        if (can_compare(check, slot, tick)) {
            truthful += is_truthful(client) ? 1 : 0;
            others += is_truthful(client) ? 0 : 1;
            is_told = is_told && is_truthful(client) !=
                                     ls_session_report_of(client->core->session).is_desynced;
        }
    }
    return truthful > others || (truthful > 0 && truthful == others && is_told);
}

/* The first tick, on from what the journal held, that no returned client had confirmed. */
static ls_tick seen_by_returned(const match_check *check)
{
    ls_tick seen = check->restored_tick;
    while (is_seen(check, seen)) {
        seen++;
    }
    return seen;
}

/* A tick that was closed before, or that clients gave back. */
static void repeat_step(match_check *check, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    const check_life *last = &check->lives[check->life - 1];
    ls_tick tick = inputs->tick;
    bool is_same = tick < last->tick_count && last->ticks[tick].state == state_digest &&
                   match_check_is_as_closed(&last->ticks[tick], inputs);
    if (is_same) {
        check->ticks[tick] = last->ticks[tick];
    } else {
        check->ticks[tick] = (check_tick){.closed_ns = check->run->now_ns};
        match_check_record_tick(&check->ticks[tick], inputs, state_digest);
    }
    if (!is_same && (check->run->is_restoring || tick < seen_by_returned(check))) {
        match_check_note(check, CHECK_I7, tick, "it is another one than before the crash");
    }
    check->resumes.recovered += check->run->is_restoring ? 0 : 1;
    check->tick_count = tick + 1;
}

/* ---- steps ---- */

static void on_server_step(void *user, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    match_check *check = user;
    ls_tick tick = inputs->tick;
    LS_ASSERT(tick < check->tick_capacity);
    bool is_again =
        check->run->is_restoring || ls_match_state_of(check->run->match) == LS_MATCH_RESUMING;
    if (is_again && check->life > 0) {
        repeat_step(check, inputs, state_digest);
        return;
    }
    if (tick != check->tick_count) {
        match_check_note(check, CHECK_I1, tick, "the server steps it after %u ticks",
                         check->tick_count);
    }
    check_tick *closed = &check->ticks[tick];
    closed->closed_ns = check->run->now_ns;
    closed->closed_local_ns = virtual_match_server_ns(check->run);
    match_check_record_tick(closed, inputs, state_digest);
    check->tick_count = tick + 1;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        check_events(check, tick, slot, inputs->slots[slot].events);
        check_input(check, tick, slot, closed->inputs[slot]);
    }
    check_schedule(check, tick);
    check_memory(check, tick);
    check_progress(check, tick);
    match_check_absence(check, tick);
}

void match_check_observe_steps(match_check *check)
{
    step_observer_detach(check); /* the instance of the server before */
    step_observer_attach(ls_match_instance(check->run->match), on_server_step, check);
}

/* ---- crashes ---- */

static void forget_slots(match_check *check)
{
    check->back = (ls_slot_set){{0}};
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        check->seated_as[slot] = 0; /* a transport of the next process gives the same numbers */
        check->play_from[slot] = CHECK_NO_TICK;
    }
}

void match_check_server_died(void *user, virtual_match *run)
{
    match_check *check = user;
    size_t bytes = check->tick_capacity * sizeof *check->ticks;
    if (check->is_resumed_yet || check->life == 0) {
        LS_ASSERT(check->life < CHECK_CRASHES_MAX);
        check_life *life = &check->lives[check->life];
        *life = (check_life){.ticks = check->ticks,
                             .tick_count = check->tick_count,
                             .final_state = step_observer_state(ls_match_instance(run->match))};
        check->ticks = ls_allocate(run->setup.storage, bytes);
        LS_ASSERT(check->ticks != NULL);
        memcpy(check->ticks, life->ticks, check->tick_count * sizeof *check->ticks);
        check->life++;
    }
    check->is_resumed_yet = false;
    check->first_event = run->event_count;
    forget_slots(check);
    check->resumes.crashes++;
    check->unscheduled_until_ns = VIRTUAL_NEVER;
    for (uint32_t i = 0; i < run->client_count; i++) {
        client_check *client = check->clients[i];
        client->is_dropped = true;
        client->may_leave = client->may_leave || !client->core->reconnects;
    }
}

void match_check_server_restored(void *user, virtual_match *run)
{
    match_check *check = user;
    check->tick_count = ls_match_tick(run->match);
    check->restored_tick = check->tick_count;
    check->unscheduled_until_ns = VIRTUAL_NEVER;
}

/* Where a disk lost its beginning, or what no snapshot makes up for, the match is lost; and one
 * whose end is written is over. */
void match_check_server_lost(void *user, ls_status status, const ls_text *why)
{
    match_check *check = user;
    const virtual_disk *disk = check->run->disk;
    bool is_young = disk->synchronised == 0;
    bool is_gap = status == LS_NOT_FOUND && disk->has_failed;
    if (status == LS_ALREADY_OVER) {
        check->resumes.finished++;
        return;
    }
    check->resumes.hopeless++;
    bool is_lost = is_young && (status == LS_MALFORMED || status == LS_NOT_FOUND);
    if (!is_lost && !is_gap && !(is_young && disk->has_failed)) {
        match_check_note(check, CHECK_I7, check->lives[check->life - 1].tick_count,
                         "the match cannot be resumed: %s", why->bytes);
    }
}

/* ---- events ---- */

/* Which slots the closed ticks leave joined. */
static void find_joined(match_check *check)
{
    check->joined = (ls_slot_set){{0}};
    for (ls_tick tick = 0; tick < check->tick_count; tick++) {
        for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
            uint8_t events = check->ticks[tick].events[slot];
            if (events & (LS_EVENT_LEFT | LS_EVENT_JOINED)) {
                ls_slot_set_put(&check->joined, slot, (events & LS_EVENT_JOINED) != 0);
            }
        }
    }
}

static void on_resumed(match_check *check, const ls_match_event *event)
{
    if (check->life == 0) {
        return;
    }
    ls_tick before = check->lives[check->life - 1].tick_count;
    ls_tick seen = seen_by_returned(check);
    check->resumes.resumed++;
    check->resumes.forgotten += before > event->tick ? before - event->tick : 0;
    if (event->tick < seen) {
        check->resumes.lost += seen - event->tick;
        match_check_note(check, CHECK_I7, event->tick,
                         "the match goes on from here, and a returned client had ticks up to %u",
                         seen);
    }
    check->is_resumed_yet = true;
    check->resumed_ns = check->run->now_ns;
    check->unscheduled_until_ns = check->run->now_ns;
    if (check->baseline_ns > 0 && check->baseline_ns < check->run->now_ns) {
        check->baseline_ns = check->run->now_ns;
    }
    find_joined(check);
}

/* In place of a match whose journal did not say that it had begun, and to which no client returned,
 * a server may start another one. */
static void on_started(match_check *check)
{
    if (check->life > 0) {
        check->is_resumed_yet = true;
        check->resumed_ns = check->run->now_ns;
        check->unscheduled_until_ns = check->run->now_ns;
    }
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        bool is_playing = ls_match_slot_of(check->run->match, slot).is_playing;
        check->play_from[slot] = is_playing ? 0 : CHECK_NO_TICK;
        if (is_playing && check->by_slot[slot]) {
            check->by_slot[slot]->is_dropped = false;
        }
    }
}

/* Inputs that came over an old connection are forgotten. */
static void on_joining(match_check *check, const ls_match_event *event)
{
    client_check *client = check->by_slot[event->slot];
    if (client) {
        client->is_dropped = false;
        client->joining_life = check->life;
        client->acknowledged = event->tick;
        memset(client->arrived + check->tick_count, CHECK_ARRIVED_NOT,
               (check->tick_capacity - check->tick_count) * sizeof *client->arrived);
    }
}

/* The client is told of it later. */
static void on_seated(match_check *check, const ls_match_event *event)
{
    client_check *client = match_check_client_of(check, event->peer);
    if (client && !client->core->is_spectator) {
        bool is_other = check->by_slot[event->slot] != client;
        check->differed_before[event->slot] =
            is_other && ls_match_slot_of(check->run->match, event->slot).is_desynced;
        check->by_slot[event->slot] = client;
        check->seated_as[event->slot] = event->peer;
    }
}

/* The seat is not its last client's any more. */
static void on_ready(match_check *check, const ls_match_event *event)
{
    ls_slot_set_add(&check->back, event->slot);
    if (event->was_coming && !match_check_client_of(check, event->peer)) {
        check->by_slot[event->slot] = NULL;
    }
}

static void on_spectator(match_check *check, const ls_match_event *event)
{
    client_check *client = match_check_client_of(check, event->peer);
    if (client && client->core->is_spectator) {
        client->joining_life = check->life;
    }
}

/* While no slot was played, no tick was closed. */
static void on_join(match_check *check, uint32_t slot)
{
    if (check->by_slot[slot]) {
        check->by_slot[slot]->is_dropped = false;
    }
    if (check->tick_count > 0 &&
        check->run->now_ns >
            check->ticks[check->tick_count - 1].closed_ns + match_check_dt_ns(check)) {
        check->unscheduled_until_ns = LS_MAX(check->run->now_ns, check->unscheduled_until_ns);
    }
}

static void check_stall(match_check *check, const ls_match_event *event)
{
    check->told_ns = check->run->now_ns;
    if (ls_slot_set_is_empty(event->slots) || event->tick != check->tick_count) {
        match_check_note(check, CHECK_I4, event->tick, "a stall names slots %x after %u ticks",
                         event->slots.words[0], check->tick_count);
    }
}

void match_check_event(match_check *check, const ls_match_event *event)
{
    switch (event->kind) {
    case LS_MATCH_STARTED:
        on_started(check);
        start_memory(check);
        break;
    case LS_MATCH_PLAYER_SEATED:
    case LS_MATCH_PLAYER_RETURNED:
        on_seated(check, event);
        break;
    case LS_MATCH_PLAYER_READY:
        on_ready(check, event);
        break;
    case LS_MATCH_PLAYER_JOINING:
        on_joining(check, event);
        check->states_sent++;
        break;
    case LS_MATCH_HEALING:
        check->states_sent++;
        break;
    case LS_MATCH_SPECTATOR_CAME:
        on_spectator(check, event);
        check->states_sent++;
        break;
    case LS_MATCH_PLAYER_JOINED:
        check->play_from[event->slot] = event->tick;
        on_join(check, event->slot);
        break;
    case LS_MATCH_PLAYER_LOST:
    case LS_MATCH_PLAYER_LEFT:
        ls_slot_set_remove(&check->back, event->slot % LS_PLAYERS_MAX);
        break;
    case LS_MATCH_RESUMED:
        on_resumed(check, event);
        start_memory(check);
        break;
    case LS_MATCH_STALLED:
        check_stall(check, event);
        break;
    case LS_MATCH_PAUSED:
        check->unscheduled_until_ns = VIRTUAL_NEVER;
        break;
    case LS_MATCH_UNPAUSED:
        check->unscheduled_until_ns = check->run->now_ns;
        break;
    default:
        break;
    }
}

/* ---- silence ---- */

static bool is_any_slot_played(const match_check *check)
{
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        if (ls_match_slot_of(check->run->match, slot).is_playing) {
            return true;
        }
    }
    return false;
}

/* A match that stands still says why. */
void match_check_silence(match_check *check)
{
    bool is_running =
        ls_match_state_of(check->run->match) == LS_MATCH_RUNNING && check->tick_count > 0;
    if (!is_running || check->run->setup.match.late_rule != LS_LATE_WAIT) {
        return;
    }
    uint64_t event_ns = check->ticks[check->tick_count - 1].closed_ns + match_check_dt_ns(check);
    event_ns = check->told_ns > event_ns ? check->told_ns : event_ns;
    event_ns = check->unscheduled_until_ns > event_ns ? check->unscheduled_until_ns : event_ns;
    bool is_halted = event_ns == VIRTUAL_NEVER;
    if (!is_halted && check->run->now_ns > event_ns + SILENCE_MAX_NS + check->run->server_loop_ns &&
        is_any_slot_played(check)) {
        match_check_note(check, CHECK_I4, check->tick_count,
                         "the match stands still and does not say why");
    }
}

/* ---- packets ---- */

/* Checks of each packet that a virtual match receives. I2: when each input reached the server,
 * found out here again from the bytes, so that the result of the server can be compared. I6: bytes
 * that are malformed beyond doubt are counted, at once and once. */

enum {
    INPUTS_KEPT_TICKS = 256, /* closed ticks for which a late input still counts as one */
};

/* Kinds that do not belong to the channel and the direction, and no bytes at all. */
static bool is_malformed(const ls_transport_event *event, bool is_to_server)
{
    uint32_t kind = ls_message_peek(event->bytes, event->size);
    if (event->channel == LS_CHANNEL_UNRELIABLE) {
        return is_to_server ? kind != LS_MESSAGE_INPUTS && kind != LS_MESSAGE_BLOB_ACK
                            : kind != LS_MESSAGE_TICKS && kind != LS_MESSAGE_TICK_PART &&
                                  kind != LS_MESSAGE_BLOB_PART;
    }
    return kind == 0 ||
           (kind > LS_MESSAGE_CHAT && kind != LS_MESSAGE_LOBBY && kind != LS_MESSAGE_NAMES);
}

static bool is_seated(const match_check *check, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        if (ls_match_slot_of(check->run->match, slot).peer == peer) {
            return true;
        }
    }
    return false;
}

static void check_rejection(match_check *check, uint64_t counted, const char *who, uint32_t number)
{
    if (check->must_be_rejected && counted == 0) {
        match_check_note(check, CHECK_I6, check->tick_count,
                         "malformed bytes for %s %u are not counted", who, number);
    } else if (counted > 1) {
        match_check_note(check, CHECK_I6, check->tick_count,
                         "one packet for %s %u counts %" PRIu64 " times", who, number, counted);
    }
}

/* ---- to the server ---- */

/* The client that was seated over this connection. It may have hung up since: what it sent before
 * is on its way still, and counts for as long as the server has not missed it. */
static client_check *client_of_peer(const match_check *check, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        if (check->by_slot[slot] && check->seated_as[slot] == peer) {
            return check->by_slot[slot];
        }
    }
    return NULL;
}

static uint8_t *held_at(const client_check *client, ls_tick tick)
{
    size_t bytes = client->check->run->setup.match.simulation->input_bytes_max;
    return client->held + tick % CHECK_INPUTS_HELD * bytes;
}

static void start_cursor(client_check *client, const ls_inputs_header *header)
{
    ls_slot_input base = {0};
    if (header->has_base && header->first > header->base_gap) {
        ls_tick tick = header->first - header->base_gap - 1;
        base.size = client->made_size[tick];
        base.bytes = held_at(client, tick);
    }
    ls_tick_cursor_start(client->check->cursor, 1, LS_INPUT_BYTES_MAX, &base);
}

/* A client sends what its player made and, where the simulation says which bits are edges and
 * buttons, the presses that were lost with earlier inputs. */
static void read_arriving(client_check *client, ls_tick tick)
{
    ls_slot_input input;
    ls_tick_cursor_inputs(client->check->cursor, &input);
    if (input.size > 0) {
        memcpy(held_at(client, tick), input.bytes, input.size);
    }
    if (client->check->run->setup.match.simulation->input_bits) {
        client->made[tick] = step_observer_digest(input.bytes, input.size);
        client->made_size[tick] = (uint16_t)input.size;
    }
}

/* Marks the inputs that the packet brings and that have not come before: the match may close them
 * while it reads the packet. */
static void mark_arriving(client_check *client, const ls_transport_event *event)
{
    match_check *check = client->check;
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(event->bytes, event->size);
    ls_inputs_header_bits(&stream, &header, client->acknowledged);
    if (header.next > client->acknowledged) {
        client->acknowledged = header.next;
    }
    start_cursor(client, &header);
    check->arriving_first = header.first;
    ls_tick tick = header.first;
    for (; ls_inputs_read_tick(&stream, check->cursor); tick++) {
        bool is_forgotten = tick + INPUTS_KEPT_TICKS < check->tick_count;
        if (!is_forgotten && client->arrived[tick] == CHECK_ARRIVED_NOT) {
            client->arrived[tick] = CHECK_ARRIVING;
            read_arriving(client, tick);
        }
    }
    check->arriving_end = tick;
}

/* The tick was closed without the input, and with the same: nothing has come too late. */
static bool is_repeated_rightly(const client_check *client, uint32_t slot, ls_tick tick)
{
    const match_check *check = client->check;
    return tick >= check->play_from[slot] && check->ticks[tick].inputs[slot] == client->made[tick];
}

/* Settles what has been marked. */
static void settle_arriving(client_check *client, bool is_rejected)
{
    const match_check *check = client->check;
    uint32_t slot = ls_session_report_of(client->core->session).slot;
    for (ls_tick tick = check->arriving_first; tick < check->arriving_end; tick++) {
        if (client->arrived[tick] != CHECK_ARRIVING) {
            continue;
        }
        bool is_late = tick < check->tick_count_before;
        client->arrived[tick] = is_rejected ? CHECK_ARRIVED_NOT
                                : is_late   ? CHECK_ARRIVED_LATE
                                            : CHECK_ARRIVED_IN_TIME;
        client->late += is_late && !is_rejected && !is_repeated_rightly(client, slot, tick);
    }
}

void match_check_receives(void *user, const ls_transport_event *event)
{
    match_check *check = user;
    check->rejected_before = ls_match_packets_rejected(check->run->match);
    check->received_before = check->allocations ? *check->allocations : 0;
    bool is_wrong = is_malformed(event, true);
    check->must_be_rejected = is_wrong && is_seated(check, event->peer);
    check->tick_count_before = check->tick_count;
    check->arriving = NULL;
    client_check *newest = match_check_client_of(check, event->peer);
    if (newest) {
        newest->heard_at_ns = check->run->now_ns;
    }
    client_check *client = client_of_peer(check, event->peer);
    if (client) {
        client->heard_ns = virtual_match_server_ns(check->run);
    }
    bool is_inputs = !is_wrong && event->channel == LS_CHANNEL_UNRELIABLE &&
                     ls_message_peek(event->bytes, event->size) == LS_MESSAGE_INPUTS &&
                     ls_match_state_of(check->run->match) != LS_MATCH_LOBBY;
    if (is_inputs && client && !client->is_fed_wrong && !client->is_dropped) {
        check->arriving = client;
        mark_arriving(client, event);
    }
}

/* A packet that is rejected takes no memory, unless its player is dropped for it and that brings
 * the first difference to light. */
static void check_rejected_memory(match_check *check)
{
    if (!check->allocations || *check->allocations == check->received_before) {
        return;
    }
    if (check->has_taken_for_causes) {
        match_check_note(check, CHECK_I5, check->tick_count,
                         "a packet that is rejected takes memory");
    }
    check->has_taken_for_causes = true;
}

void match_check_received(void *user, const ls_transport_event *event)
{
    match_check *check = user;
    uint64_t counted = ls_match_packets_rejected(check->run->match) - check->rejected_before;
    if (counted > 0) {
        virtual_log(check->run, "server: rejects a packet of peer %u", event->peer);
        check_rejected_memory(check);
    }
    if (check->must_be_rejected && !is_seated(check, event->peer)) {
        check->must_be_rejected = false; /* a dropped peer has been rejected as well */
    }
    check_rejection(check, counted, "the server, from peer", event->peer);
    if (check->arriving) {
        settle_arriving(check->arriving, counted > 0);
    }
}

/* ---- to a client ---- */

static uint64_t rejected_by(const client_check *client)
{
    return ls_session_report_of(client->core->session).packets_rejected;
}

void client_check_receives(client_check *client, const ls_transport_event *event)
{
    match_check *check = client->check;
    client->hearing_ns = virtual_client_ns(client->core);
    if (event->channel == LS_CHANNEL_UNRELIABLE) {
        client->ticks_ns = virtual_match_server_ns(check->run);
    }
    check->must_be_rejected =
        is_malformed(event, false) && ls_session_state_of(client->core->session) != LS_SESSION_OVER;
    if (check->must_be_rejected) {
        check->rejected_before = rejected_by(client);
    }
}

void client_check_received(client_check *client)
{
    match_check *check = client->check;
    if (check->must_be_rejected) {
        check_rejection(check, rejected_by(client) - check->rejected_before, "client",
                        client->core->index);
    }
}
