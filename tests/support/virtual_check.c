/* The invariants of a virtual match. I1: every machine steps on what the server closed. I2: what is
 * closed is the slot's own input for that tick, or its input of the tick before, or, once it has
 * left, nothing. I3: states differ where a test made them differ, and only there. I4: ticks are
 * closed on time, and a wait names whom it waits for. */
#include "lockstep/tests/support/virtual_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tests/support/witness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SILENCE_MAX_NS (501 * LS_NS_PER_MS) /* WAITING comes every 500 ms */

void virtual_check_note(virtual_match *run, const char *format, ...)
{
    if (run->fault_count++ > 0) {
        return;
    }
    char what[LS_TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    ls_text_set(&run->fault, "at %.6f s: %s", (double)run->now_ns / 1e9, what);
}

static uint64_t dt_ns_of(const virtual_match *run)
{
    uint32_t rate_hz = run->setup.match.sim.tick_rate_hz;
    return (LS_NS_PER_SECOND + rate_hz / 2) / rate_hz;
}

static virtual_tick make_tick(const virtual_match *run, const ls_tick_inputs *inputs,
                              uint64_t state)
{
    virtual_tick made = {.closed_ns = run->now_ns, .state = state};
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        made.inputs[slot] = witness_digest(inputs->slots[slot].bytes, inputs->slots[slot].size);
        made.events[slot] = (uint8_t)inputs->slots[slot].events;
    }
    return made;
}

/* ---- what the server closes ---- */

static void check_events(virtual_match *run, ls_tick tick, uint32_t slot, uint32_t events)
{
    uint32_t bit = UINT32_C(1) << slot;
    if (events & LS_EVENT_LEFT) {
        if (run->left_mask & bit) {
            virtual_check_note(run, "slot %u leaves a second time at tick %u", slot, tick);
        }
        run->left_mask |= bit;
    }
    bool is_joining = (events & LS_EVENT_JOINED) != 0;
    run->joined_mask |= is_joining ? bit : 0;
    if ((is_joining && tick != 0) || (events & LS_EVENT_LEFT && tick == 0)) {
        virtual_check_note(run, "tick %u has events %u for slot %u", tick, events, slot);
    }
}

static bool is_input_rightful(const virtual_match *run, ls_tick tick, uint32_t slot,
                              uint64_t digest)
{
    uint64_t nothing = witness_digest(NULL, 0);
    if (!(run->joined_mask & ~run->left_mask & UINT32_C(1) << slot)) {
        return digest == nothing;
    }
    const virtual_client *client = run->by_slot[slot];
    if (!client || client->is_fed_wrong || client->made[tick] == digest) {
        return true;
    }
    uint64_t before = tick == 0 ? nothing : run->ticks[tick - 1].inputs[slot];
    return run->setup.match.late_rule == LS_LATE_REPEAT && digest == before;
}

/* The rule `repeat` closes tick t at the moment that follows from the closing of the tick before,
 * whatever any client does. */
static void check_schedule(virtual_match *run, ls_tick tick)
{
    bool is_scheduled = run->setup.match.late_rule == LS_LATE_REPEAT && tick > 0 &&
                        run->ticks[tick - 1].closed_ns > run->unscheduled_until_ns;
    if (!is_scheduled) {
        return;
    }
    uint64_t due_ns = run->ticks[tick - 1].closed_ns + dt_ns_of(run);
    uint64_t early_ns = due_ns > run->now_ns ? due_ns - run->now_ns : 0;
    uint64_t late_ns = run->now_ns > due_ns ? run->now_ns - due_ns : 0;
    if (early_ns > run->server_loop_ns || late_ns > run->server_loop_ns) {
        virtual_check_note(run, "tick %u was closed %" PRIu64 " ns early, %" PRIu64 " ns late",
                           tick, early_ns, late_ns);
    }
}

static void on_server_step(void *user, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    virtual_match *run = user;
    ls_tick tick = inputs->tick;
    LS_ASSERT(tick < VIRTUAL_TICKS_MAX);
    if (tick != run->tick_count) {
        virtual_check_note(run, "the server steps tick %u after %u ticks", tick, run->tick_count);
    }
    run->ticks[tick] = make_tick(run, inputs, state_digest);
    run->tick_count = tick + 1;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        check_events(run, tick, slot, inputs->slots[slot].events);
        if (!is_input_rightful(run, tick, slot, run->ticks[tick].inputs[slot])) {
            virtual_check_note(run, "tick %u was closed with a wrong input of slot %u", tick, slot);
        }
    }
    check_schedule(run, tick);
}

void virtual_check_watch_server(virtual_match *run)
{
    witness_watch(ls_match_instance(run->match), on_server_step, run);
}

/* ---- what clients step on ---- */

void virtual_check_input_made(virtual_client *client, ls_tick tick, const uint8_t *bytes,
                              uint32_t size)
{
    LS_ASSERT(tick < VIRTUAL_TICKS_MAX);
    if (client->made[tick] != 0) {
        virtual_check_note(client->run, "client %u makes input %u twice", client->index, tick);
    }
    client->made[tick] = witness_digest(bytes, size);
}

static void note_input_difference(virtual_client *client, ls_tick tick)
{
    if (!client->has_input_difference) {
        client->has_input_difference = true;
        client->input_difference_tick = tick;
    }
    if (!client->is_fed_wrong) {
        virtual_check_note(client->run, "client %u steps tick %u on other inputs than the server",
                           client->index, tick);
    }
}

/* With prediction a tick may be stepped several times: the last one counts. */
static void on_client_step(void *user, const ls_tick_inputs *inputs, uint64_t state_digest)
{
    virtual_client *client = user;
    client->stepped[inputs->tick % VIRTUAL_STEPPED_TICKS] =
        make_tick(client->run, inputs, state_digest);
}

static void judge_tick(virtual_client *client, ls_tick tick)
{
    const virtual_match *run = client->run;
    const virtual_tick *seen = &client->stepped[tick % VIRTUAL_STEPPED_TICKS];
    const virtual_tick *closed = &run->ticks[tick];
    if (tick >= run->tick_count || memcmp(seen->inputs, closed->inputs, sizeof seen->inputs) != 0 ||
        memcmp(seen->events, closed->events, sizeof seen->events) != 0) {
        note_input_difference(client, tick);
    }
    if (seen->state != closed->state && !client->has_state_difference) {
        client->has_state_difference = true;
        client->state_difference_tick = tick;
    }
}

void virtual_check_client(virtual_client *client)
{
    ls_session_report report = ls_session_report_of(client->session);
    LS_ASSERT(report.tick - client->judged <= VIRTUAL_STEPPED_TICKS);
    LS_ASSERT(report.shown_tick - client->judged <= VIRTUAL_STEPPED_TICKS);
    for (; client->judged < report.tick; client->judged++) {
        judge_tick(client, client->judged);
    }
}

void virtual_check_watch_client(virtual_client *client)
{
    client->is_watched = true;
    witness_watch(ls_session_instance(client->session), on_client_step, client);
}

/* ---- waiting ---- */

void virtual_check_event(virtual_match *run, const ls_match_event *event)
{
    if (event->kind != LS_MATCH_STALLED) {
        return;
    }
    run->told_ns = run->now_ns;
    if (event->slot_mask == 0 || event->tick != run->tick_count) {
        virtual_check_note(run, "a stall names slots %x and tick %u", event->slot_mask,
                           event->tick);
    }
}

/* Nobody may wonder why nothing moves. */
void virtual_check_silence(virtual_match *run)
{
    bool is_running = ls_match_state_of(run->match) == LS_MATCH_RUNNING && run->tick_count > 0;
    if (!is_running || run->setup.match.late_rule != LS_LATE_WAIT) {
        return;
    }
    uint64_t news_ns = run->ticks[run->tick_count - 1].closed_ns + dt_ns_of(run);
    news_ns = run->told_ns > news_ns ? run->told_ns : news_ns;
    news_ns = run->unscheduled_until_ns > news_ns ? run->unscheduled_until_ns : news_ns;
    if (run->now_ns > news_ns + SILENCE_MAX_NS + run->server_loop_ns) {
        virtual_check_note(run, "the match stands still and does not say why");
    }
}

/* ---- at the end ---- */

/* Differences that arose in the last step show in no step's start. */
static void compare_final_state(virtual_client *client)
{
    virtual_match *run = client->run;
    ls_session_report report = ls_session_report_of(client->session);
    bool is_at_end = client->is_watched && report.tick == ls_match_tick(run->match) &&
                     report.shown_tick == report.tick;
    if (!is_at_end || client->has_state_difference) {
        return;
    }
    if (ls_sim_instance_hash(ls_session_instance(client->session)) != ls_match_root(run->match)) {
        client->has_state_difference = true;
        client->state_difference_tick = report.tick;
    }
}

/* The state by which a difference must be reported: the next hashed one, or the last of all. */
static ls_tick due_tick(const virtual_match *run, ls_tick tick)
{
    uint32_t interval = run->setup.match.hash_interval_ticks;
    uint64_t due = ((uint64_t)tick + interval - 1) / interval * interval;
    ls_tick last = ls_match_tick(run->match);
    return due <= last ? (ls_tick)due : last;
}

static void check_desync(virtual_client *client, uint32_t slot, const ls_match_slot *report)
{
    virtual_match *run = client->run;
    uint32_t told = virtual_match_count(run, LS_MATCH_DESYNC, slot);
    if (told != (report->is_desynced ? 1 : 0)) {
        virtual_check_note(run, "slot %u was told of %u times as a desync", slot, told);
    }
    if (!client->has_state_difference) {
        /* Whose chain was altered and who left before it could explain counts as different. */
        bool is_unexplained =
            client->is_fed_wrong && report->desync_client_root == 0 && !report->has_finished;
        if (report->is_desynced && !is_unexplained) {
            virtual_check_note(run, "slot %u is called different and is not", slot);
        }
        return;
    }
    if (!report->is_desynced) {
        if (report->has_finished) {
            virtual_check_note(run, "slot %u differs from tick %u on and nobody says so", slot,
                               client->state_difference_tick);
        }
        return;
    }
    ls_tick due = due_tick(run, client->state_difference_tick);
    if (report->desync_tick != due || report->desync_server_root == report->desync_client_root) {
        virtual_check_note(run, "slot %u is called different from tick %u on, not from %u", slot,
                           report->desync_tick, due);
    }
}

static void check_counts(virtual_match *run, uint32_t slot, const ls_match_slot *report)
{
    uint64_t closed = report->inputs_on_time + report->inputs_substituted;
    bool is_whole = report->has_finished ? closed == run->tick_count : closed <= run->tick_count;
    if (!is_whole || report->inputs_late > report->inputs_substituted) {
        virtual_check_note(run,
                           "slot %u: %" PRIu64 " on time, %" PRIu64 " substituted, %" PRIu64
                           " late in %u ticks",
                           slot, report->inputs_on_time, report->inputs_substituted,
                           report->inputs_late, run->tick_count);
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
    check_desync(client, slot, &report);
    uint32_t interval = run->setup.match.hash_interval_ticks;
    uint64_t states = run->tick_count / interval + 1;
    if (report.has_finished && !report.is_desynced && report.hashes_compared != states) {
        virtual_check_note(run, "slot %u: %" PRIu64 " states compared, not %" PRIu64, slot,
                           report.hashes_compared, states);
    }
}

bool virtual_match_is_sound(virtual_match *run)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        check_slot(run, slot);
    }
    return run->fault_count == 0;
}
