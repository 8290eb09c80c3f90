/* The common ground of the match check's files: faults, closed ticks and the lives of the server.
 */
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/step_observer.h"

#include <stdarg.h>
#include <stdio.h>

void match_check_note(match_check *check, check_invariant invariant, ls_tick tick,
                      const char *format, ...)
{
    if (check->fault_count++ > 0) {
        return;
    }
    char what[LS_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    check->broken = invariant;
    ls_text_set(&check->fault, "I%d at tick %u (%.6f s): %s", (int)invariant, tick,
                (double)check->run->now_ns / 1e9, what);
    virtual_log(check->run, "%s", check->fault.bytes);
    check->run->is_stopped = check->is_strict; /* what is broken may break whatever comes next */
}

uint64_t match_check_dt_ns(const match_check *check)
{
    uint32_t rate_hz = check->run->setup.match.sim.tick_rate_hz;
    return (LS_NS_PER_SECOND + rate_hz / 2) / rate_hz;
}

/* ---- ticks ---- */

static uint64_t digest_of(const ls_slot_input *input)
{
    return step_observer_digest(input->bytes, input->size);
}

void match_check_record_tick(check_tick *taken, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    taken->state = state_digest;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        taken->inputs[slot] = digest_of(&inputs->slots[slot]);
        taken->events[slot] = (uint8_t)inputs->slots[slot].events;
    }
}

bool match_check_is_as_closed(const check_tick *closed, const ls_tick_inputs *inputs)
{
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        if (closed->inputs[slot] != digest_of(input) || closed->events[slot] != input->events) {
            return false;
        }
    }
    return true;
}

void client_check_note_difference(client_check *client, ls_tick tick)
{
    const ls_match_config *match = &client->check->run->setup.match;
    bool is_last = ls_match_state_of(client->check->run->match) >= LS_MATCH_ENDING &&
                   tick == ls_match_tick(client->check->run->match);
    bool is_hashed = tick % match->hash_interval_ticks == 0 || is_last;
    if (!client->has_state_difference) {
        client->has_state_difference = true;
        client->state_difference_tick = tick;
    }
    if (is_hashed && !client->has_hashed_difference) {
        client->difference_life = client->life;
        client->is_mended = false;
        client->has_hashed_difference = true;
        client->hashed_difference_tick = tick;
    }
}

client_check *match_check_client_of(const match_check *check, ls_peer_id peer)
{
    const virtual_client *found = virtual_match_client_of(check->run, peer);
    return found ? check->clients[found->index] : NULL;
}

/* ---- lives of the server ---- */

check_life client_check_life_of(const client_check *client)
{
    const match_check *check = client->check;
    if (client->life < check->life) {
        return check->lives[client->life];
    }
    return (check_life){.ticks = check->ticks, .tick_count = check->tick_count};
}

uint64_t client_check_end_state_of(const client_check *client)
{
    const match_check *check = client->check;
    return client->life < check->life ? check->lives[client->life].final_state
                                      : step_observer_state(ls_match_instance(check->run->match));
}
