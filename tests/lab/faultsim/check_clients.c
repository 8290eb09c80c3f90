/* The steps of clients. I1: every client steps on what the server closed, from a state that the
 * server had, also when it is let into a running match. */
#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/faultsim/match_check_parts.h"
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
