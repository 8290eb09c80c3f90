#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/server/match/match_state.h"

#include <string.h>

enum {
    WAIT_REFILL_TICKS = 8, /* until jitter buffer buffers are full again after a wait */
};

/* How much later than `first_ns` the ticks have to begin to be in phase. */
static uint64_t until_phase_ns(const ls_match *match, uint64_t first_ns)
{
    uint64_t dt_ns = match->timestep.config.dt_ns;
    uint64_t phase_ns = match->config.phase_ns;
    if (phase_ns == 0) {
        return 0;
    }
    uint64_t now_ns = first_ns % dt_ns;
    uint64_t next_ns = (now_ns + phase_ns - 1) / phase_ns * phase_ns;
    return (next_ns < dt_ns ? next_ns : dt_ns) - now_ns;
}

void ls_match_play_from(ls_match *match, uint32_t slot, ls_tick tick)
{
    ls_seat *seat = &match->seats[slot];
    seat->state = LS_SEAT_PLAYING;
    seat->play_from = tick;
    seat->heard_ns = match->now_ns;
    bool has_joined = seat->report.has_played && seat->report.joined_tick != MATCH_NOT_JOINED;
    seat->report.rejoins += seat->report.has_played ? 1 : 0;
    seat->report.joined_tick = has_joined ? seat->report.joined_tick : tick;
    seat->report.here_tick = tick;
    seat->report.is_playing = true;
    seat->report.has_played = true;
    seat->report.left_status = LS_OK;
}

uint64_t ls_match_play_schedule(ls_match *match)
{
    uint64_t delay_ns = match->config.start_delay_ms * LS_NS_PER_MS;
    delay_ns += until_phase_ns(match, match->now_ns + delay_ns);
    /* One dt before the tick is due; until then there is nothing to advance. */
    match->last_ns = match->now_ns + delay_ns;
    match->timestep.bank_ns = 0;
    return delay_ns + match->timestep.config.dt_ns;
}

void ls_match_play_start(ls_match *match)
{
    ls_start *start = &match->message.body.start;
    memset(start, 0, sizeof *start);
    match->message.kind = LS_MESSAGE_START;
    start->delay_us = (uint32_t)(ls_match_play_schedule(match) / LS_NS_PER_US);
    start->players = match->config.sim.players;
    for (uint32_t slot = 0; slot < start->players; slot++) {
        ls_seat *seat = &match->seats[slot];
        memcpy(start->names[slot], seat->report.name, sizeof start->names[slot]);
        if (seat->state == LS_SEAT_READY) {
            seat->downlink.is_losing = true; /* until the client knows better */
            ls_match_lag_begin(match, slot);
            ls_match_play_from(match, slot, 0);
        }
    }
    ls_match_send_all(match);
    match->state = LS_MATCH_RUNNING;
    ls_match_push_event(match, LS_MATCH_STARTED);
}

/* ---- closing ---- */

/* Its input belongs into that tick. */
static bool is_played(const ls_seat *seat, ls_tick tick)
{
    return seat->state == LS_SEAT_PLAYING && tick >= seat->play_from;
}

/* The slots without whose input the rule `wait` closes nothing. */
static uint32_t missing_slots(const ls_match *match)
{
    uint32_t mask = 0;
    if (match->config.late_rule != LS_LATE_WAIT && !LS_FAULT(SILENCE_STALLS)) {
        return mask;
    }
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        if (is_played(seat, match->next_close) &&
            !ls_input_buffer_has(seat->received, match->next_close, 0)) {
            mask |= UINT32_C(1) << slot;
        }
    }
    return mask;
}

/* A seat that changes hands in a tick has both events. */
static uint32_t take_events(ls_seat *seat, bool is_played_now)
{
    uint32_t events = seat->is_leave_pending ? LS_EVENT_LEFT : 0;
    seat->is_leave_pending = false;
    if (is_played_now && !seat->is_in_band) {
        seat->is_in_band = true;
        events |= LS_EVENT_JOINED;
    }
    return events;
}

static ls_slot_input close_slot(ls_match *match, uint32_t slot, const ls_slot_input *before)
{
    ls_seat *seat = &match->seats[slot];
    ls_tick tick = match->next_close;
    ls_slot_input input = {0};
    bool is_played_now = is_played(seat, tick);
    if (is_played_now) {
        bool is_on_time = false;
        input = ls_seat_close_input(seat, tick, before, &is_on_time);
        ls_match_lag_count(match, slot, is_on_time);
    } else if (ls_seat_follows(seat)) {
        ls_seat_pass_tick(seat, tick);
    }
    input.events = take_events(seat, is_played_now);
    return input;
}

/* The inputs of the tick before next_close; empty where nothing is known of it. */
static void tick_before(const ls_match *match, ls_slot_input before[LS_PLAYERS_MAX])
{
    memset(before, 0, LS_PLAYERS_MAX * sizeof *before);
    if (match->next_close > 0) {
        (void)ls_input_buffer_tick(match->closed, match->next_close - 1, before);
    }
}

void ls_match_play_make_room(ls_match *match)
{
    if (match->next_close + 1 > LS_WINDOW_TICKS) {
        ls_input_buffer_forget_before(match->closed, match->next_close + 1 - LS_WINDOW_TICKS);
    }
}

/* The tick's inputs are stored; `before`: those of the tick before it. */
static void play_tick(ls_match *match, const ls_slot_input before[LS_PLAYERS_MAX])
{
    ls_tick tick = match->next_close;
    uint32_t players = match->config.sim.players;
    ls_slot_input inputs[LS_PLAYERS_MAX];
    ls_status held = ls_input_buffer_tick(match->closed, tick, inputs);
    LS_ASSERT(held == LS_OK);
    bool is_wrong = LS_FAULT(CLOSED_TICK_CHANGES) && tick % 100 == 99;
    ls_coded_tick_make(&match->coded[tick % LS_WINDOW_TICKS], players, before,
                       is_wrong ? before : inputs);
    match->closed_ns = match->now_ns;
    match->closed_at_ns[tick % LS_WINDOW_TICKS] = match->now_ns;
    match->next_close = tick + 1;
    match->unsent_ticks++;
    ls_tick_inputs all = {.tick = tick, .slot_count = players, .slots = inputs};
    match->tick_chains[(tick + 1) % LS_WINDOW_TICKS] =
        ls_tick_chain_next(match->tick_chains[tick % LS_WINDOW_TICKS], &all);
    ls_sim_instance_step(match->instance, &all);
    uint64_t state_hash = 0;
    if (ls_arbiter_is_due(&match->arbiter, tick + 1)) {
        state_hash = ls_sim_instance_hash(match->instance);
        ls_arbiter_record(&match->arbiter, tick + 1, state_hash);
    }
    if (match->investigation) {
        ls_replay_window_record(match->investigation->window, &all, match->instance, state_hash);
    }
    if (match->join.history) {
        ls_tick_history_add(match->join.history, &all, state_hash,
                            match->tick_chains[(tick + 1) % LS_WINDOW_TICKS]);
    }
}

void ls_match_play_tick(ls_match *match)
{
    ls_slot_input before[LS_PLAYERS_MAX];
    tick_before(match, before);
    play_tick(match, before);
}

static void close_tick(ls_match *match)
{
    ls_tick tick = match->next_close;
    ls_slot_input before[LS_PLAYERS_MAX];
    tick_before(match, before);
    ls_match_play_make_room(match);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_slot_input input = close_slot(match, slot, &before[slot]);
        ls_status stored =
            ls_input_buffer_put(match->closed, tick, slot, input.bytes, input.size, input.events);
        LS_ASSERT(stored == LS_OK);
    }
    match->waited_mask = 0;
    match->excused_ticks = 0;
    play_tick(match, before);
}

/* ---- the rule `wait` ---- */

static void tell_waiting(ls_match *match, uint32_t mask, uint64_t waited_ns)
{
    match->waiting_told_ns = match->now_ns;
    uint32_t waited_ms = (uint32_t)(waited_ns / LS_NS_PER_MS);
    match->message.kind = LS_MESSAGE_WAITING;
    match->message.body.waiting =
        (ls_waiting){.tick = match->next_close, .slot_mask = mask, .waited_ms = waited_ms};
    ls_match_send_all(match);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_STALLED);
    event->slot_mask = mask;
    event->tick = match->next_close;
    event->waited_ms = waited_ms;
}

static void drop_slots(ls_match *match, uint32_t mask)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (mask >> slot & 1u) {
            ls_match_lose(match, slot, LS_TIMED_OUT,
                          "no input arrived within the longest wait of the rule 'wait'");
        }
    }
}

/* The others stall for as long as a wait takes and until they keep a buffer again. */
static void end_waiting(ls_match *match)
{
    if (match->waiting_ns != 0) {
        uint64_t dt_ns = match->timestep.config.dt_ns;
        uint32_t waited = (uint32_t)((match->now_ns - match->waiting_ns + dt_ns - 1) / dt_ns);
        match->excused_ticks += waited + (waited > WAIT_REFILL_TICKS ? WAIT_REFILL_TICKS : 0);
        match->waiting_ns = 0;
    }
}

/* True while a tick that is due must wait. Says whom for, and drops who is waited for too long. */
static bool is_waiting(ls_match *match)
{
    uint32_t mask = missing_slots(match);
    if (mask == 0) {
        end_waiting(match);
        return false;
    }
    if (match->waiting_ns == 0) {
        match->waiting_ns = match->now_ns;
        match->waiting_told_ns = 0;
        match->waited_mask = mask;
    }
    uint64_t waited_ns = match->now_ns - match->waiting_ns;
    if (waited_ns >= match->config.wait_limit_ms * LS_NS_PER_MS) {
        drop_slots(match, mask);
        end_waiting(match);
        return match->state != LS_MATCH_RUNNING; /* a desync that came out may have stopped it */
    }
    bool is_told = match->waiting_told_ns != 0;
    if (LS_FAULT(SILENT_STALL)) {
        match->waiting_told_ns = match->now_ns;
        return true;
    }
    if (is_told ? match->now_ns - match->waiting_told_ns >= MATCH_WAITING_NEXT_NS
                : waited_ns >= MATCH_WAITING_FIRST_NS) {
        tell_waiting(match, mask, waited_ns);
    }
    return true;
}

/* ---- the loop of a running match ---- */

static bool is_last_closed(const ls_match *match)
{
    return match->config.ticks > 0 && match->next_close >= match->config.ticks;
}

static bool has_seat_in(const ls_match *match, ls_seat_state first, ls_seat_state last)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat_state state = match->seats[slot].state;
        if (state >= first && state <= last) {
            return true;
        }
    }
    return false;
}

/* Nobody plays: no tick is closed, but those up to a state that is hashed, so that who comes has
 * one to show. */
static bool is_halted(const ls_match *match)
{
    return !has_seat_in(match, LS_SEAT_PLAYING, LS_SEAT_PLAYING) &&
           ls_arbiter_is_due(&match->arbiter, match->next_close);
}

static void close_due(ls_match *match)
{
    while (match->due_ticks > 0 && !is_last_closed(match)) {
        if (is_halted(match)) {
            end_waiting(match); /* whom it waited for is not there any more */
            match->due_ticks = 0;
            break;
        }
        if (is_waiting(match)) {
            /* Time that passes while waiting is lost to the match, not caught up. */
            match->due_ticks = 1;
            break;
        }
        close_tick(match);
        match->due_ticks--;
    }
}

static void drop_who_fell_behind(ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        if (!ls_seat_follows(seat)) {
            continue;
        }
        seat->report.ticks_behind = match->next_close - seat->downlink.next;
        /* The tick before the next one to send is its base and must be held as well. */
        if (seat->report.ticks_behind + 1 >= LS_WINDOW_TICKS) {
            ls_match_lose(match, slot, LS_FELL_BEHIND,
                          "more ticks are unacknowledged than the server holds");
        }
    }
}

static bool is_asked(const ls_match *match, uint32_t slot)
{
    return match->arbiter.slots[slot].agreement == LS_AGREEMENT_ASKING;
}

/* Whose chain differs and who does not say from where on must not get away with silence. */
static void drop_who_does_not_answer(ls_match *match, uint64_t limit_ns)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        if (!ls_seat_is_in_play(seat) || !is_asked(match, slot)) {
            continue;
        }
        bool is_silent = limit_ns > 0 && match->now_ns - seat->heard_ns >= limit_ns / 4;
        if (is_silent) { /* its link may be what keeps the answer */
            seat->asked_ns = match->now_ns;
        }
        if (match->now_ns - seat->asked_ns >= limit_ns) {
            ls_match_drop(match, slot, LS_MISBEHAVED, "did not say which of its states differs");
        }
    }
}

/* A slot whose state hashes have been asked for is not finished until it has answered, nor is one
 * whose player may still come back for the end. */
static bool are_all_finished(const ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        bool is_done = seat->state == LS_SEAT_EMPTY || seat->state == LS_SEAT_LEFT ||
                       (seat->state == LS_SEAT_FINISHED && !is_asked(match, slot));
        if (!is_done) {
            return false;
        }
    }
    return !ls_match_desync_is_open(match);
}

void ls_match_play_tell_end(ls_match *match, uint32_t slot)
{
    match->message.kind = LS_MESSAGE_END;
    match->message.body.end =
        (ls_end){.final_tick = match->next_close, .final_hash = match->final_hash};
    ls_match_send(match, match->seats[slot].report.peer);
}

/* Who has been sent JOIN may still get to the final state, and who comes back; a newcomer would
 * only come for it. */
static void tell_end(ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        if (ls_seat_follows(seat)) {
            ls_match_play_tell_end(match, slot);
        } else if (ls_seat_is_taken(seat) && seat->back.match_id == 0) {
            ls_match_drop(match, slot, LS_ALREADY_OVER, "the match has ended meanwhile");
        }
    }
}

void ls_match_play_end(ls_match *match)
{
    match->final_hash = ls_sim_instance_hash(match->instance);
    match->state = LS_MATCH_ENDING;
    match->ending_ns = match->now_ns;
    tell_end(match);
    ls_match_push_event(match, LS_MATCH_ENDED)->tick = match->next_close;
}

/* The players are let go. */
static void finish(ls_match *match)
{
    drop_who_does_not_answer(match, 0);
    ls_match_desync_finish(match);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        if (seat->state == LS_SEAT_FINISHED) {
            match->sink.disconnect(match->sink.user, seat->report.peer);
        } else if (ls_seat_is_taken(seat)) {
            ls_match_drop(match, slot, LS_TIMED_OUT, "the final state was not reached in time");
        }
    }
    match->is_let_go = true;
}

static void advance_running(ls_match *match)
{
    if (match->now_ns > match->last_ns) {
        ls_timestep_plan plan =
            ls_timestep_advance(&match->timestep, match->now_ns - match->last_ns);
        match->last_ns = match->now_ns;
        match->due_ticks += plan.step_count;
        match->excused_ticks += plan.step_count > 1 ? plan.step_count - 1 : 0;
    }
    close_due(match);
    drop_who_fell_behind(match);
    drop_who_does_not_answer(match, match->config.timeout_ms * LS_NS_PER_MS);
    ls_match_send_due(match);
    ls_match_join_advance(match);
    bool is_deserted = !has_seat_in(match, LS_SEAT_OFFERED, LS_SEAT_KEPT);
    if (match->state == LS_MATCH_RUNNING && (is_last_closed(match) || is_deserted)) {
        ls_match_play_end(match);
    }
}

void ls_match_play_advance(ls_match *match)
{
    if (match->state == LS_MATCH_RUNNING) {
        advance_running(match);
    }
    ls_match_desync_advance(match);
    if (match->state != LS_MATCH_ENDING) {
        return;
    }
    bool is_time_up = match->now_ns - match->ending_ns >= MATCH_ENDING_NS;
    if (!match->is_let_go && (are_all_finished(match) || is_time_up)) {
        finish(match);
    }
    if (!match->is_let_go) {
        ls_match_send_due(match);
        ls_match_join_advance(match);
    }
}

void ls_match_play_close(ls_match *match)
{
    if (match->state == LS_MATCH_ENDING && match->is_let_go && ls_match_spectators_is_done(match)) {
        ls_match_close(match);
    }
}

/* ---- when to be called ---- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

/* When whom the match waits for is told next, or who is waited for is dropped. */
static uint64_t next_waiting_ns(const ls_match *match)
{
    uint64_t told_ns = match->waiting_told_ns;
    uint64_t next_ns =
        told_ns != 0 ? told_ns + MATCH_WAITING_NEXT_NS : match->waiting_ns + MATCH_WAITING_FIRST_NS;
    return earlier(next_ns, match->waiting_ns + match->config.wait_limit_ms * LS_NS_PER_MS);
}

uint64_t ls_match_next_ns(const ls_match *match)
{
    uint64_t watch_ns = ls_match_spectators_next_ns(match);
    if (match->state == LS_MATCH_OVER || match->is_let_go) {
        return watch_ns;
    }
    uint64_t send_ns = earlier(ls_match_send_next_ns(match), watch_ns);
    if (match->state == LS_MATCH_RESUMING) {
        return earlier(send_ns, ls_match_resume_next_ns(match));
    }
    send_ns = earlier(send_ns, ls_match_join_next_ns(match));
    if (match->state != LS_MATCH_RUNNING) {
        return send_ns;
    }
    uint64_t dt_ns = match->timestep.config.dt_ns;
    uint64_t next_ns = earlier(send_ns, match->last_ns + dt_ns - match->timestep.bank_ns);
    return match->waiting_ns != 0 ? earlier(next_ns, next_waiting_ns(match)) : next_ns;
}

/* ---- hashes ---- */

static void announce_desync(ls_match *match, uint32_t slot)
{
    ls_match_slot *report = &match->seats[slot].report;
    const ls_arbiter_slot *found = &match->arbiter.slots[slot];
    report->is_desynced = true;
    report->desync_tick = found->bad_tick;
    report->desync_server_hash = found->server_hash;
    report->desync_client_hash = found->client_hash;
    match->message.kind = LS_MESSAGE_DESYNC;
    match->message.body.desync = (ls_desync_notice){.slot = slot,
                                                    .tick = found->bad_tick,
                                                    .server_hash = found->server_hash,
                                                    .client_hash = found->client_hash};
    ls_match_send_all(match);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_DESYNC);
    event->slot = slot;
    event->tick = found->bad_tick;
    event->server_hash = found->server_hash;
    event->client_hash = found->client_hash;
    if (match->config.on_desync == LS_ON_DESYNC_STOP && match->state == LS_MATCH_RUNNING) {
        ls_match_play_end(match);
    }
}

static void report_desync(ls_match *match, uint32_t slot)
{
    announce_desync(match, slot);
    ls_match_desync_found(match, slot);
}

void ls_match_play_settle_unanswered(ls_match *match, uint32_t slot)
{
    if (ls_arbiter_settle_unanswered(&match->arbiter, slot)) {
        announce_desync(match, slot);
    }
}

static void compare_chain(ls_match *match, uint32_t slot, const ls_inputs_header *header)
{
    ls_tick first = 0;
    uint32_t count = 0;
    if (!ls_arbiter_compare(&match->arbiter, slot, header->chain_tick, header->chain, &first,
                            &count)) {
        return;
    }
    match->seats[slot].asked_ns = match->now_ns;
    match->message.kind = LS_MESSAGE_HASH_REQUEST;
    match->message.body.hash_request = (ls_hash_request){.first = first, .count = count};
    ls_match_send(match, match->seats[slot].report.peer);
}

ls_status ls_match_play_inputs(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size)
{
    ls_seat *seat = &match->seats[slot];
    ls_downlink_clock clock = ls_match_clock(match);
    clock.now_ns = match->arrived_ns;
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &header, seat->downlink.next);
    bool is_known =
        ls_arbiter_is_known(&match->arbiter, header.chain_tick) || LS_FAULT(CHAIN_UNCHECKED);
    if (stream.is_failed || !is_known) {
        return LS_MALFORMED;
    }
    ls_status status = ls_seat_read_inputs(seat, &clock, &header, stream, &match->cursor);
    if (status != LS_OK) {
        return status;
    }
    if (seat->state == LS_SEAT_JOINING) {
        ls_match_join_heard(match, slot, header.chain_tick);
        return LS_OK;
    }
    seat->chain_tick = header.chain_tick;
    compare_chain(match, slot, &header);
    if (match->waiting_ns != 0 && match->state == LS_MATCH_RUNNING) {
        close_due(match);
        ls_match_send_due(match);
    }
    return LS_OK;
}

static void compare_finished(ls_match *match, uint32_t slot)
{
    const ls_finished *finished = &match->seats[slot].report.finished;
    ls_inputs_header header = {.chain_tick = finished->chain_tick, .chain = finished->chain};
    compare_chain(match, slot, &header);
    if (ls_arbiter_compare_hash(&match->arbiter, slot, finished->tick, match->final_hash,
                                finished->state_hash)) {
        report_desync(match, slot);
    }
}

ls_status ls_match_play_hashes(ls_match *match, uint32_t slot, const ls_hashes *hashes)
{
    const ls_arbiter_slot *asked = &match->arbiter.slots[slot];
    bool was_asked = asked->agreement == LS_AGREEMENT_ASKING;
    bool is_contradiction = false;
    bool is_last = hashes->count < LS_HASHES_PER_MESSAGE;
    if (ls_arbiter_take_hashes(&match->arbiter, slot, hashes->first, hashes->state_hashes,
                               hashes->count, is_last, &is_contradiction)) {
        report_desync(match, slot);
        return LS_OK;
    }
    bool is_lapsed = was_asked && asked->agreement != LS_AGREEMENT_ASKING;
    if (is_lapsed && match->seats[slot].state == LS_SEAT_FINISHED) {
        compare_finished(match, slot); /* what the question kept from being compared */
    }
    if (is_contradiction && is_lapsed) {
        return LS_MALFORMED; /* only the chain or its tick was wrong: altered on its way, perhaps */
    }
    return is_contradiction ? LS_MISBEHAVED : LS_OK;
}

ls_status ls_match_play_finished(ls_match *match, uint32_t slot, const ls_finished *finished)
{
    ls_seat *seat = &match->seats[slot];
    if (match->state != LS_MATCH_ENDING || seat->state != LS_SEAT_PLAYING ||
        finished->tick != match->next_close) {
        return LS_MISBEHAVED;
    }
    if (finished->chain_tick != match->arbiter.newest_tick) {
        return LS_MISBEHAVED; /* who reached the end has hashed all there is to hash */
    }
    seat->state = LS_SEAT_FINISHED;
    seat->report.has_finished = true;
    seat->report.finished = *finished;
    seat->downlink.next = match->next_close;
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_PLAYER_FINISHED);
    event->slot = slot;
    event->tick = finished->tick;
    compare_finished(match, slot);
    return LS_OK;
}
