/* What is checked while a virtual match runs. I1: every machine steps on what the server closed.
 * I2: what is closed is the slot's own input for that tick if it came in time, else its input of
 * the tick before, or, once it has left, nothing. I4: whoever is well keeps up, and a wait names
 * whom it waits for. I5: ticks are closed on time, whatever anybody does; memory stays what it was.
 */
#include "lockstep/tools/faultsim/virtual_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tools/faultsim/witness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SILENCE_MAX_NS (501 * LS_NS_PER_MS) /* WAITING comes every 500 ms */

/* What the server's clock and its drift are known to. */
#define SCHEDULE_TOLERANCE_NS LS_NS_PER_US
/* After calm has set in, what has piled up may take so long to be worked off. */
#define RECOVERY_NS (2 * LS_NS_PER_SECOND)
#define STOP_MAX_NS (6 * LS_NS_PER_SECOND) /* a match ends 5 s after its last tick */

void virtual_check_note(virtual_match *run, virtual_invariant invariant, ls_tick tick,
                        const char *format, ...)
{
    if (run->fault_count++ > 0) {
        return;
    }
    char what[LS_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    run->broken = invariant;
    ls_text_set(&run->fault, "I%d at tick %u (%.6f s): %s", (int)invariant, tick,
                (double)run->now_ns / 1e9, what);
    virtual_log(run, "%s", run->fault.bytes);
}

static uint64_t dt_ns_of(const virtual_match *run)
{
    uint32_t rate_hz = run->setup.match.sim.tick_rate_hz;
    return (LS_NS_PER_SECOND + rate_hz / 2) / rate_hz;
}

static uint64_t digest_of(const ls_slot_input *input)
{
    return witness_digest(input->bytes, input->size);
}

void virtual_check_take_tick(virtual_tick *taken, const ls_tick_inputs *inputs,
                             uint64_t state_digest)
{
    taken->state = state_digest;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        taken->inputs[slot] = digest_of(&inputs->slots[slot]);
        taken->events[slot] = (uint8_t)inputs->slots[slot].events;
    }
}

/* ---- what the server closes ---- */

static void check_events(virtual_match *run, ls_tick tick, uint32_t slot, uint32_t events)
{
    uint32_t bit = UINT32_C(1) << slot;
    if (events & LS_EVENT_LEFT) {
        if (!(run->joined_mask & bit)) {
            virtual_check_note(run, VIRTUAL_I2, tick, "slot %u leaves and is not there", slot);
        }
        run->joined_mask &= ~bit;
    }
    if (events & LS_EVENT_JOINED) {
        if (run->joined_mask & bit) {
            virtual_check_note(run, VIRTUAL_I2, tick, "slot %u joins and is there", slot);
        }
        run->joined_mask |= bit;
    }
}

/* An input that came in time is what is closed; one that did not, never is. */
static void check_input(virtual_match *run, ls_tick tick, uint32_t slot, uint64_t digest)
{
    uint64_t nothing = witness_digest(NULL, 0);
    const virtual_client *client = run->by_slot[slot];
    if (!(run->joined_mask & UINT32_C(1) << slot)) {
        if (digest != nothing) {
            virtual_check_note(run, VIRTUAL_I2, tick, "slot %u is empty and has an input", slot);
        }
        return;
    }
    if (tick < run->play_from[slot]) {
        if (digest != nothing) {
            virtual_check_note(run, VIRTUAL_I2, tick, "slot %u is not back and has an input", slot);
        }
        return;
    }
    if (!client || client->is_fed_wrong) {
        return;
    }
    uint64_t before = tick == 0 ? nothing : run->ticks[tick - 1].inputs[slot];
    bool is_in_time = client->arrived[tick] == VIRTUAL_ARRIVED_IN_TIME ||
                      client->arrived[tick] == VIRTUAL_ARRIVING;
    if (digest != (is_in_time ? client->made[tick] : before)) {
        virtual_check_note(run, VIRTUAL_I2, tick, "slot %u: closed with an input that is not %s",
                           slot, is_in_time ? "what came for it" : "that of the tick before");
    } else if (!is_in_time && run->setup.match.late_rule == LS_LATE_WAIT) {
        virtual_check_note(run, VIRTUAL_I2, tick, "slot %u: closed without its input", slot);
    }
}

/* The rule `repeat` closes tick t at the moment that follows from the closing of the tick before,
 * whatever any client does. */
static void check_schedule(virtual_match *run, ls_tick tick)
{
    bool is_scheduled = run->setup.match.late_rule == LS_LATE_REPEAT && tick > 0 &&
                        run->ticks[tick - 1].closed_ns > run->unscheduled_until_ns &&
                        run->unscheduled_until_ns != VIRTUAL_NEVER;
    if (!is_scheduled) {
        return;
    }
    uint64_t now_ns = run->ticks[tick].closed_local_ns;
    uint64_t due_ns = run->ticks[tick - 1].closed_local_ns + dt_ns_of(run);
    uint64_t early_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    uint64_t late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
    uint64_t tolerance_ns =
        run->server_loop_ns + (run->server_drift_ppm == 0 ? 0 : SCHEDULE_TOLERANCE_NS);
    if (early_ns > tolerance_ns || late_ns > tolerance_ns) {
        virtual_check_note(run, VIRTUAL_I5, tick,
                           "closed %" PRIu64 " ns early, %" PRIu64 " ns late", early_ns, late_ns);
    }
}

/* Nothing is allocated from START on. */
static void check_memory(virtual_match *run, ls_tick tick)
{
    const uint64_t *allocations = run->setup.allocations;
    if (allocations && *allocations != run->start_allocations) {
        virtual_check_note(run, VIRTUAL_I5, tick, "%" PRIu64 " allocations since START",
                           *allocations - run->start_allocations);
    }
}

/* Once all is well, whoever plays keeps up. */
static void check_progress(virtual_match *run, ls_tick tick)
{
    if (run->setup.calm_ns == 0 || run->now_ns < run->setup.calm_ns + RECOVERY_NS) {
        return;
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        bool is_watched = client->lag_max_ticks > 0 && !client->is_gone && !client->is_over &&
                          !client->may_leave && client->is_settled && !client->is_spectator &&
                          run->now_ns >= client->since_ns + RECOVERY_NS;
        if (is_watched && client->tick + client->lag_max_ticks < tick) {
            virtual_check_note(run, VIRTUAL_I4, tick,
                               "client %u is only at tick %u, %.1f s after "
                               "the last fault",
                               client->index, client->tick,
                               (double)(run->now_ns - run->setup.calm_ns) / 1e9);
        }
    }
}

static void on_server_step(void *user, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    virtual_match *run = user;
    ls_tick tick = inputs->tick;
    LS_ASSERT(tick < run->tick_capacity);
    bool is_again = run->is_restoring || ls_match_state_of(run->match) == LS_MATCH_RESUMING;
    if (is_again && run->life > 0) {
        virtual_return_step(run, inputs, state_digest);
        return;
    }
    if (tick != run->tick_count) {
        virtual_check_note(run, VIRTUAL_I1, tick, "the server steps it after %u ticks",
                           run->tick_count);
    }
    virtual_tick *closed = &run->ticks[tick];
    closed->closed_ns = run->now_ns;
    closed->closed_local_ns = virtual_match_server_ns(run);
    virtual_check_take_tick(closed, inputs, state_digest);
    run->tick_count = tick + 1;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        check_events(run, tick, slot, inputs->slots[slot].events);
        check_input(run, tick, slot, closed->inputs[slot]);
    }
    check_schedule(run, tick);
    check_memory(run, tick);
    check_progress(run, tick);
    virtual_return_check_away(run, tick);
}

void virtual_check_watch_server(virtual_match *run)
{
    witness_watch(ls_match_instance(run->match), on_server_step, run);
}

/* ---- what clients step on ---- */

void virtual_check_input_made(virtual_client *client, ls_tick tick, const uint8_t *bytes,
                              uint32_t size)
{
    LS_ASSERT(tick < client->run->tick_capacity);
    bool is_again = client->made[tick] != 0 && client->made_in[tick] == client->entries;
    client->made_in[tick] = client->entries;
    if (is_again) {
        virtual_check_note(client->run, VIRTUAL_I2, tick, "client %u makes its input twice",
                           client->index);
    }
    client->made_at[tick] = client->run->now_ns;
    client->made[tick] = witness_digest(bytes, size);
    client->made_size[tick] = (uint16_t)size;
}

static void note_input_difference(virtual_client *client, ls_tick tick)
{
    if (!client->has_input_difference) {
        client->has_input_difference = true;
        client->input_difference_tick = tick;
    }
    client->may_leave =
        client->may_leave || client->is_fed_wrong; /* what comes next fits nothing */
    if (!client->is_fed_wrong) {
        virtual_check_note(client->run, VIRTUAL_I1, tick,
                           "client %u steps it on other inputs than the server", client->index);
    }
}

bool virtual_check_is_as_closed(const virtual_tick *closed, const ls_tick_inputs *inputs)
{
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        if (closed->inputs[slot] != digest_of(input) || closed->events[slot] != input->events) {
            return false;
        }
    }
    return true;
}

void virtual_check_difference(virtual_client *client, ls_tick tick)
{
    const ls_match_config *match = &client->run->setup.match;
    bool is_last = ls_match_state_of(client->run->match) >= LS_MATCH_ENDING &&
                   tick == ls_match_tick(client->run->match);
    bool is_hashed = tick % match->hash_interval_ticks == 0 || is_last;
    if (!client->has_state_difference) {
        client->has_state_difference = true;
        client->state_difference_tick = tick;
    }
    if (is_hashed && !client->has_hashed_difference) {
        client->difference_life = client->life;
        client->has_hashed_difference = true;
        client->hashed_difference_tick = tick;
    }
}

/* Whoever is let in goes on from a state that the server had. */
static void check_entry(virtual_client *client, ls_tick tick)
{
    bool is_honest = !client->is_flipped && !client->is_fed_wrong && !client->is_hostile;
    if (client->entries > 0 && is_honest && client->run->setup.is_strict) {
        virtual_check_note(client->run, VIRTUAL_I1, tick,
                           "client %u, let in while the match ran, steps it from another state",
                           client->index);
    }
}

/* Altered bytes can make a client step ticks that are not closed yet: what those lead to cannot be
 * compared, but for the state before the first of them. */
static void check_client_tick(virtual_client *client, ls_tick tick, bool is_same_inputs,
                              uint64_t state_digest)
{
    client->tick = tick + 1;
    if (!is_same_inputs) {
        note_input_difference(client, tick);
    }
    virtual_life line = virtual_return_life_of(client);
    if (tick > line.tick_count) {
        client->has_run_ahead = true;
        return;
    }
    uint64_t closed_state =
        tick < line.tick_count ? line.ticks[tick].state : virtual_return_end_of(client);
    if (state_digest != closed_state) {
        virtual_check_difference(client, tick);
        check_entry(client, tick);
    }
}

static void on_client_step(void *user, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    virtual_client *client = user;
    ls_tick tick = inputs->tick;
    virtual_life line = virtual_return_life_of(client);
    if (client->stepped && !client->is_entering) {
        virtual_check_take_tick(&client->stepped[tick % VIRTUAL_STEPPED_TICKS], inputs,
                                state_digest);
        return;
    }
    bool is_same = tick < line.tick_count && virtual_check_is_as_closed(&line.ticks[tick], inputs);
    check_client_tick(client, tick, is_same, state_digest);
}

/* Differences that arose in the last step show in no step's start. */
void virtual_check_last_state(virtual_client *client)
{
    virtual_match *run = client->run;
    ls_session_report report = ls_session_report_of(client->session);
    bool is_guessed = report.shown_tick != report.tick;
    if (!client->is_watched || is_guessed || client->has_hashed_difference ||
        client->life != run->life || client->is_entering) {
        return;
    }
    ls_sim_instance *instance = ls_session_instance(client->session);
    ls_tick tick = ls_sim_instance_tick(instance);
    bool is_equal = true;
    if (tick == ls_match_tick(run->match)) {
        is_equal = ls_sim_instance_hash(instance) == ls_match_hash(run->match);
    } else if (tick < run->tick_count) {
        is_equal = witness_state(instance) == run->ticks[tick].state;
    }
    if (!is_equal) {
        virtual_check_difference(client, tick);
    }
}

/* A client that predicts may step a tick several times: the last step before it calls the tick its
 * own is the one that counts. */
void virtual_check_frame(virtual_client *client)
{
    if (!client->stepped || client->is_entering) {
        return;
    }
    virtual_life line = virtual_return_life_of(client);
    const ls_sim_instance *shown = ls_session_instance(client->session);
    LS_ASSERT(!shown || ls_sim_instance_tick(shown) - client->tick <= VIRTUAL_STEPPED_TICKS);
    ls_tick settled = ls_session_tick(client->session);
    while (client->tick < settled) {
        const virtual_tick *seen = &client->stepped[client->tick % VIRTUAL_STEPPED_TICKS];
        const virtual_tick *closed = &line.ticks[client->tick];
        bool is_same = client->tick < line.tick_count &&
                       memcmp(seen->inputs, closed->inputs, sizeof seen->inputs) == 0 &&
                       memcmp(seen->events, closed->events, sizeof seen->events) == 0;
        check_client_tick(client, client->tick, is_same, seen->state);
    }
}

void virtual_check_watch_client(virtual_client *client)
{
    client->is_watched = true;
    witness_watch(ls_session_instance(client->session), on_client_step, client);
}

/* ---- events ---- */

static void check_stall(virtual_match *run, const ls_match_event *event)
{
    run->told_ns = run->now_ns;
    if (event->slot_mask == 0 || event->tick != run->tick_count) {
        virtual_check_note(run, VIRTUAL_I4, event->tick, "a stall names slots %x after %u ticks",
                           event->slot_mask, run->tick_count);
    }
}

/* Whether nothing passed for so long that giving up is right; the network loses what it likes.
 * `silent_ns` is by the clock of whoever gives up, which knows no other: when it jumps while
 * nothing passes, the silence is that much longer. */
static bool is_cut_off(const virtual_client *client, ls_status status, uint64_t silent_ns)
{
    const ls_match_config *match = &client->run->setup.match;
    uint64_t limit_ms = match->timeout_ms;
    if (match->late_rule == LS_LATE_WAIT && match->wait_limit_ms < limit_ms) {
        limit_ms = match->wait_limit_ms;
    }
    if (client->run->is_beyond_help) {
        return true;
    }
    /* A match may be stopped while nothing but luck gets its end to somebody in time. */
    bool is_stormy = client->run->now_ns < client->run->setup.calm_ns + STOP_MAX_NS;
    bool is_ending = ls_match_state_of(client->run->match) >= LS_MATCH_ENDING;
    /* What is waited for may have been on its way when the last packet arrived. */
    bool is_silent = silent_ns >= limit_ms * LS_NS_PER_MS / 4 * 3;
    return status == LS_TIMED_OUT && (is_silent || (is_stormy && is_ending));
}

/* Who leaves, leaves with a reason; and in a strict run nobody does who plays by the rules. */
static void check_leave(virtual_match *run, const ls_match_event *event)
{
    virtual_client *client = run->by_slot[event->slot];
    if (client) {
        client->is_dropped = true;
        virtual_return_check_leave(client, event);
    }
    if (event->status == LS_OK || event->text.bytes[0] == '\0') {
        virtual_check_note(run, VIRTUAL_I6, event->tick, "slot %u is dropped without a reason",
                           event->slot);
    }
    /* Who hears of no ticks may not go on either, under the rule `wait`. */
    uint64_t now_ns = virtual_match_server_ns(run);
    if (client && (is_cut_off(client, event->status, now_ns - client->heard_ns) ||
                   is_cut_off(client, event->status, now_ns - client->ticks_ns))) {
        client->may_leave = true;
    }
    bool is_done = client && client->is_over && run->life > 0; /* it was, before the crash */
    bool is_excused = !client || client->may_leave || is_done ||
                      (client->returns && event->kind == LS_MATCH_PLAYER_LOST);
    if (run->setup.is_strict && !is_excused) {
        virtual_check_note(run, VIRTUAL_I4, event->tick, "slot %u is dropped: %s (%s)", event->slot,
                           ls_status_name(event->status), event->text.bytes);
    }
}

/* While nobody played, no tick was closed. */
static void take_join(virtual_match *run, uint32_t slot)
{
    if (run->by_slot[slot]) {
        run->by_slot[slot]->is_dropped = false;
    }
    if (run->tick_count > 0 &&
        run->now_ns > run->ticks[run->tick_count - 1].closed_ns + dt_ns_of(run)) {
        run->unscheduled_until_ns = run->now_ns;
    }
}

void virtual_check_event(virtual_match *run, const ls_match_event *event)
{
    if (event->kind == LS_MATCH_STALLED) {
        check_stall(run, event);
    } else if (event->kind == LS_MATCH_PLAYER_LEFT || event->kind == LS_MATCH_PLAYER_LOST) {
        check_leave(run, event);
    } else if (event->kind == LS_MATCH_PLAYER_JOINED) {
        take_join(run, event->slot);
    } else if ((event->kind == LS_MATCH_STARTED || event->kind == LS_MATCH_RESUMED) &&
               run->setup.allocations) {
        run->start_allocations = *run->setup.allocations;
    }
}

void virtual_check_session_event(virtual_client *client, const ls_session_event *event)
{
    if (event->kind != LS_SESSION_EVENT_OVER || event->status == LS_OK) {
        return;
    }
    client->has_left = true;
    if (event->text.bytes[0] == '\0') {
        virtual_check_note(client->run, VIRTUAL_I6, client->tick, "client %u ends without a reason",
                           client->index);
    }
    if (is_cut_off(client, event->status, virtual_client_ns(client) - client->hearing_ns) ||
        virtual_return_is_shut_out(client, event->status)) {
        client->may_leave = true;
    }
    if (client->run->setup.is_strict && !client->may_leave) {
        virtual_check_note(client->run, VIRTUAL_I4, client->tick, "client %u ends: %s (%s)",
                           client->index, ls_status_name(event->status), event->text.bytes);
    }
}

static bool is_anybody_playing(const virtual_match *run)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        if (ls_match_slot_of(run->match, slot).is_playing) {
            return true;
        }
    }
    return false;
}

/* Nobody may wonder why nothing moves. */
void virtual_check_silence(virtual_match *run)
{
    bool is_running = ls_match_state_of(run->match) == LS_MATCH_RUNNING && run->tick_count > 0;
    if (!is_running || run->setup.match.late_rule != LS_LATE_WAIT) {
        return;
    }
    uint64_t event_ns = run->ticks[run->tick_count - 1].closed_ns + dt_ns_of(run);
    event_ns = run->told_ns > event_ns ? run->told_ns : event_ns;
    event_ns = run->unscheduled_until_ns > event_ns ? run->unscheduled_until_ns : event_ns;
    if (run->now_ns > event_ns + SILENCE_MAX_NS + run->server_loop_ns && is_anybody_playing(run)) {
        virtual_check_note(run, VIRTUAL_I4, run->tick_count,
                           "the match stands still and does not say why");
    }
}
