#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/simulation/tick_chain.h"
#include "lockstep/server/match/match_state.h"

#include <inttypes.h>
#include <string.h>

#define RESUMING_TOLD_NS MATCH_HEARTBEAT_NS
#define RESUMING_ANSWER_NS                                                                         \
    (UINT64_C(5) * LS_NS_PER_SECOND) /* for the next tick that was asked for */

/* ---- from a journal ---- */

enum {
    ASKED_ANEW_MAX = 3,
};

static ls_status load_state(ls_match *match, const ls_match_restore *from, ls_text *why)
{
    size_t expected = ls_sim_instance_save_bytes(match->instance);
    if (!ls_sim_instance_schema(match->instance) && from->state_bytes >= 8) {
        expected = 8 + ls_load_u64(from->state); /* what it saves differs in size */
    }
    if (from->state_bytes != expected || expected == 0) {
        ls_text_set(why, "a state of %zu bytes is none of this simulation", from->state_bytes);
        return LS_MALFORMED;
    }
    ls_status status = ls_sim_instance_load(match->instance, from->state, from->tick);
    if (status != LS_OK) {
        ls_text_set(why, "the state of tick %" PRIu32 " cannot be loaded: %s", from->tick,
                    ls_status_text(status));
        return status;
    }
    uint64_t state_hash = ls_sim_instance_hash(match->instance);
    if (state_hash != from->state_hash) {
        ls_text_set(why,
                    "the state of tick %" PRIu32 " has state hash %016" PRIx64 ", not %016" PRIx64,
                    from->tick, state_hash, from->state_hash);
        return LS_DESYNCED;
    }
    return LS_OK;
}

static void put_closed(ls_input_buffer *buffer, const ls_tick_inputs *inputs)
{
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        ls_status stored = ls_input_buffer_put(buffer, inputs->tick, slot, input->bytes,
                                               input->size, input->events);
        LS_ASSERT(stored == LS_OK);
    }
}

static void set_in_band(ls_match *match, uint32_t slot, bool is_in_band)
{
    match->seats[slot].is_in_band = is_in_band;
    match->seats[slot].report.has_played = match->seats[slot].report.has_played || is_in_band;
}

ls_status ls_match_restore_start(ls_match *match, const ls_match_restore *from, ls_text *why)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->next_close == 0);
    LS_ASSERT(from->state ? from->tick > 0 : from->tick == 0);
    uint32_t interval = match->config.hash_interval_ticks;
    ls_input_buffer_config room = {.slots = match->config.sim.players,
                                   .input_bytes_max = match->config.simulation->input_bytes_max,
                                   .window_ticks = LS_WINDOW_TICKS};
    ls_status status = ls_input_buffer_create(&room, match->allocator, &match->resume.candidates);
    match->resume.asked_slot = MATCH_NO_SLOT;
    if (status != LS_OK || !from->state) {
        return status;
    }
    if (from->hash_chain_tick != from->tick / interval * interval) {
        ls_text_set(why, "the chain of state hashes ends at state %" PRIu32, from->hash_chain_tick);
        return LS_MALFORMED;
    }
    status = load_state(match, from, why);
    if (status != LS_OK) {
        return status;
    }
    match->next_close = from->tick;
    match->tick_chains[from->tick % LS_WINDOW_TICKS] = from->tick_chain;
    ls_input_buffer_restart(match->closed, from->before ? from->tick - 1 : from->tick);
    if (from->before) {
        put_closed(match->closed, from->before);
    }
    ls_arbiter_restore(&match->arbiter, from->hash_chain_tick, from->hash_chain,
                       from->hash_chain_tick == from->tick ? from->state_hash : 0);
    if (match->investigation) {
        ls_replay_window_start(match->investigation->window, match->instance, from->state_hash);
    }
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        set_in_band(match, slot, (from->in_band_mask >> slot & 1u) != 0);
    }
    return LS_OK;
}

static bool fits(const ls_match *match, const ls_tick_inputs *inputs)
{
    bool is_fitting =
        inputs->tick == match->next_close && inputs->slot_count == match->config.sim.players;
    for (uint32_t slot = 0; is_fitting && slot < inputs->slot_count; slot++) {
        is_fitting = inputs->slots[slot].size <= match->config.simulation->input_bytes_max;
    }
    return is_fitting;
}

/* Closes a tick again as it was. */
static void repeat_tick(ls_match *match, const ls_tick_inputs *inputs)
{
    ls_match_play_make_room(match);
    put_closed(match->closed, inputs);
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        uint32_t events = inputs->slots[slot].events;
        if (events != 0) {
            set_in_band(match, slot, (events & LS_EVENT_JOINED) != 0);
        }
        ls_match_slot *report = &match->seats[slot].report;
        if ((events & LS_EVENT_JOINED) != 0 && report->joined_tick == MATCH_NOT_JOINED) {
            report->joined_tick = inputs->tick;
        }
    }
    ls_match_play_tick(match);
}

ls_status ls_match_restore_tick(ls_match *match, const ls_tick_inputs *inputs, uint64_t state_hash,
                                ls_text *why)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->resume.candidates);
    if (!fits(match, inputs)) {
        ls_text_set(why, "tick %" PRIu32 " cannot follow on tick %" PRIu32 " of this match",
                    inputs->tick, match->next_close);
        return LS_MALFORMED;
    }
    repeat_tick(match, inputs);
    uint64_t own = 0;
    bool is_hashed = ls_arbiter_hash(&match->arbiter, match->next_close, &own);
    if (is_hashed && state_hash != 0 && state_hash != own) {
        ls_text_set(why,
                    "state %" PRIu32 " has state hash %016" PRIx64 " here, and had %016" PRIx64
                    " before: this is not the program that the match was played with",
                    match->next_close, own, state_hash);
        return LS_DESYNCED;
    }
    return LS_OK;
}

void ls_match_restore_seat(ls_match *match, uint32_t slot, const char *name,
                           ls_seat_generations generations)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && slot < match->config.sim.players);
    ls_seat *seat = &match->seats[slot];
    seat->generations = generations;
    seat->report.has_played = seat->report.has_played || generations.newest > 0;
    ls_name_copy(seat->report.name, sizeof seat->report.name, name);
}

void ls_match_restore_joined(ls_match *match, uint32_t slot, ls_tick tick)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && slot < match->config.sim.players);
    match->seats[slot].report.joined_tick = tick;
}

void ls_match_restore_vacancy(ls_match *match, uint32_t slot)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && slot < match->config.sim.players);
    ls_seat *seat = &match->seats[slot];
    seat->state = seat->is_in_band ? seat->state : LS_SEAT_LEFT;
    if (seat->report.joined_tick == MATCH_NOT_JOINED) {
        seat->report.has_played = false;
        seat->report.joined_tick = 0;
    }
}

/* Its player, who is not here now. */
static void keep_seat(ls_seat *seat)
{
    seat->state = seat->state == LS_SEAT_LEFT ? LS_SEAT_LEFT : LS_SEAT_KEPT;
    seat->report.has_played = true;
    seat->report.left_status = LS_DISCONNECTED;
}

static void begin_waiting(ls_match *match)
{
    match->state = LS_MATCH_RESUMING;
    match->resume.until_ns = match->now_ns + match->config.resume_wait_ms * LS_NS_PER_MS;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_lag_meter_init(&match->seats[slot].lag, match->timestep.config.dt_ns);
    }
}

void ls_match_restore_end(ls_match *match, uint64_t now_ns)
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->resume.candidates);
    match->now_ns = now_ns;
    begin_waiting(match);
    bool is_before_tick_0 = match->next_close == 0; /* which seats them in band */
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        if (seat->report.has_played) {
            keep_seat(seat);
        }
        bool is_waited_for = seat->is_in_band || (is_before_tick_0 && seat->state == LS_SEAT_KEPT);
        match->resume.waited_mask |= is_waited_for ? UINT32_C(1) << slot : 0;
    }
}

void ls_match_restore_lobby(ls_match *match, const ls_seat_generations generations[LS_PLAYERS_MAX])
{
    LS_ASSERT(match->state == LS_MATCH_LOBBY && match->resume.candidates && match->next_close == 0);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        match->seats[slot].generations = generations[slot];
    }
}

/* Whom the match began with is not known: everybody is waited for. */
void ls_match_resume_begin(ls_match *match)
{
    if (!match->resume.candidates || match->state != LS_MATCH_LOBBY) {
        return;
    }
    begin_waiting(match);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        match->resume.waited_mask |= UINT32_C(1) << slot;
        if (seat->generations.newest > 0 && !ls_seat_is_taken(seat)) {
            keep_seat(seat);
        }
    }
}

/* ---- who is back ---- */

static uint32_t missing_mask(const ls_match *match)
{
    uint32_t mask = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        mask |= match->seats[slot].state != LS_SEAT_READY ? UINT32_C(1) << slot : 0;
    }
    return mask & match->resume.waited_mask;
}

static void tell(ls_match *match, uint32_t mask)
{
    uint64_t left_ns =
        match->resume.until_ns > match->now_ns ? match->resume.until_ns - match->now_ns : 0;
    match->resume.told_ns = match->now_ns;
    match->message.kind = LS_MESSAGE_RESUMING;
    match->message.body.resuming =
        (ls_resuming){.slot_mask = mask, .left_ms = (uint32_t)(left_ns / LS_NS_PER_MS)};
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->seats[slot].state == LS_SEAT_READY) {
            ls_match_send(match, match->seats[slot].report.peer);
        }
    }
}

/* ---- the ticks that the journal has not ---- */

static bool has_claim(const ls_seat *seat)
{
    return seat->state == LS_SEAT_READY && seat->back.match_id != 0;
}

/* It says that it holds the next tick, and how it goes on to where it got. */
static bool is_possible(const ls_match *match, const ls_return *back)
{
    return back->confirmed > match->next_close &&
           back->confirmed - match->next_close < LS_WINDOW_TICKS &&
           back->confirmed - back->held <= match->next_close;
}

/* Who says that it has got furthest, of those who have not been asked. */
static uint32_t furthest(const ls_match *match)
{
    uint32_t best = MATCH_NO_SLOT;
    ls_tick end = match->next_close;
    uint32_t players = LS_FAULT(CLOSED_TICK_LOST_ON_RESUME) ? 0 : match->config.sim.players;
    for (uint32_t slot = 0; slot < players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        bool is_asked = (match->resume.asked_mask >> slot & 1u) != 0;
        if (has_claim(seat) && !is_asked && seat->back.confirmed > end &&
            is_possible(match, &seat->back)) {
            best = slot;
            end = seat->back.confirmed;
        }
    }
    return best;
}

static void ask(ls_match *match)
{
    match_resume *resume = &match->resume;
    uint32_t left = match->seats[resume->asked_slot].back.confirmed - resume->next;
    uint32_t count = left < LS_TICKS_PER_REQUEST ? left : LS_TICKS_PER_REQUEST;
    resume->asked_end = resume->next + count;
    resume->progress_ns = match->now_ns;
    match->message.kind = LS_MESSAGE_TICKS_REQUEST;
    match->message.body.ticks_request = (ls_ticks_request){.first = resume->next, .count = count};
    ls_match_send(match, match->seats[resume->asked_slot].report.peer);
}

static void ask_slot(ls_match *match, uint32_t slot)
{
    match_resume *resume = &match->resume;
    resume->asked_slot = slot;
    resume->asked_mask |= UINT32_C(1) << slot;
    resume->next = match->next_close;
    resume->chain = ls_match_tick_chain(match, match->next_close);
    resume->part = 0;
    resume->agreeing = 0;
    resume->contradicting = 0;
    ls_input_buffer_restart(resume->candidates, match->next_close);
    ask(match);
}

/* What it holds is rather right than what the other does. */
static bool is_rather(const ls_return *back, const ls_return *other)
{
    if (back->is_desynced != other->is_desynced) {
        return other->is_desynced;
    }
    return back->confirmed < other->confirmed;
}

/* Where those who are back contradict each other: whom most agree with, and of several that one
 * who was not told that it differs, and who says least. */
static uint32_t most_believed(const ls_match *match)
{
    const match_resume *resume = &match->resume;
    uint32_t best = MATCH_NO_SLOT;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        if (!has_claim(seat) || resume->support[slot] == 0) {
            continue;
        }
        bool is_better = best == MATCH_NO_SLOT || resume->support[slot] > resume->support[best] ||
                         (resume->support[slot] == resume->support[best] &&
                          is_rather(&seat->back, &match->seats[best].back));
        best = is_better ? slot : best;
    }
    return best;
}

static bool is_anybody_to_ask(const ls_match *match)
{
    return furthest(match) != MATCH_NO_SLOT || most_believed(match) != MATCH_NO_SLOT;
}

/* False when there is nobody left to ask. */
static bool ask_next(ls_match *match)
{
    match_resume *resume = &match->resume;
    uint32_t slot = furthest(match);
    if (slot == MATCH_NO_SLOT) {
        slot = most_believed(match);
        resume->is_settling = slot != MATCH_NO_SLOT;
    }
    resume->asked_slot = MATCH_NO_SLOT;
    if (slot == MATCH_NO_SLOT) {
        return false;
    }
    resume->support[slot] = 0; /* this is the last time */
    ask_slot(match, slot);
    return true;
}

/* Who is back and knows the chain before this tick says the same, or does not. */
static void count_claims(ls_match *match, ls_tick tick, uint64_t chain)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        if (has_claim(seat) && seat->back.confirmed == tick) {
            bool is_same = seat->back.tick_chain == chain;
            match->resume.agreeing += is_same ? 1 : 0;
            match->resume.contradicting += is_same ? 0 : 1;
        }
    }
}

/* They are what was closed. */
static void accept_ticks(ls_match *match)
{
    while (match->next_close < match->resume.next) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_status held = ls_input_buffer_tick(match->resume.candidates, match->next_close, slots);
        LS_ASSERT(held == LS_OK);
        ls_tick_inputs inputs = {
            .tick = match->next_close, .slot_count = match->config.sim.players, .slots = slots};
        repeat_tick(match, &inputs);
        match->resume.recovered++;
    }
}

/* The tick in match->large_tick is whole. */
static ls_status take_tick(ls_match *match, uint32_t size)
{
    match_resume *resume = &match->resume;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_bit_stream stream = ls_bit_reader(match->large_tick, size);
    ls_tick_cursor_start(&match->cursor, match->config.sim.players,
                         match->config.simulation->input_bytes_max, NULL);
    if (!ls_ticks_read_tick(&stream, &match->cursor) || !ls_bits_is_complete(&stream)) {
        return LS_MALFORMED;
    }
    ls_tick_cursor_inputs(&match->cursor, slots);
    ls_tick_inputs inputs = {
        .tick = resume->next, .slot_count = match->config.sim.players, .slots = slots};
    resume->chain = ls_tick_chain_next(resume->chain, &inputs);
    const ls_return *own = &match->seats[resume->asked_slot].back;
    if (own->confirmed == resume->next + 1 && own->tick_chain != resume->chain) {
        return LS_MALFORMED; /* not what it said itself */
    }
    count_claims(match, resume->next + 1, resume->chain);
    put_closed(resume->candidates, &inputs);
    resume->next++;
    return LS_OK;
}

static ls_status take_part(ls_match *match, const ls_tick_part *part)
{
    match_resume *resume = &match->resume;
    if (part->tick != resume->next || part->tick >= resume->asked_end ||
        part->index != resume->part) {
        return LS_MALFORMED;
    }
    match->large_tick_bytes = 0; /* it holds no tick that is sent */
    memcpy(match->large_tick + part->index * LS_TICK_PART_BYTES, part->bytes, part->size);
    resume->part++;
    if (resume->part < ls_tick_part_count(part->total_bytes)) {
        return LS_OK;
    }
    resume->part = 0;
    return take_tick(match, part->index * LS_TICK_PART_BYTES + part->size);
}

/* All that it was asked for is there. */
static ls_status take_all(ls_match *match, uint32_t slot)
{
    match_resume *resume = &match->resume;
    resume->asked_slot = MATCH_NO_SLOT;
    resume->is_disputed = resume->is_disputed || resume->contradicting > 0;
    resume->support[slot] = resume->agreeing;
    bool is_decided = !resume->is_disputed || resume->is_settling ||
                      (furthest(match) == MATCH_NO_SLOT && most_believed(match) == slot);
    if (!is_decided) {
        return LS_STALE; /* perhaps it is asked again */
    }
    accept_ticks(match);
    memset(resume->support, 0, sizeof resume->support);
    return LS_OK;
}

ls_status ls_match_resume_take(ls_match *match, uint32_t slot, const ls_tick_part *part)
{
    match_resume *resume = &match->resume;
    bool was_asked = (resume->asked_mask >> slot & 1u) != 0;
    if (match->state != LS_MATCH_RESUMING || resume->asked_slot != slot) {
        return was_asked ? LS_STALE : LS_MISBEHAVED;
    }
    ls_status status = take_part(match, part);
    if (status != LS_OK) {
        resume->asked_slot = MATCH_NO_SLOT;
        return status;
    }
    resume->progress_ns = match->now_ns;
    match->seats[slot].packets_since_tick = 0; /* it was asked for them */
    if (resume->next == match->seats[slot].back.confirmed) {
        return take_all(match, slot);
    } else if (resume->next == resume->asked_end) {
        ask(match);
    }
    return LS_OK;
}

/* Who comes back can be asked again, though not for ever. */
void ls_match_resume_leave(ls_match *match, uint32_t slot, bool is_kept)
{
    match_resume *resume = &match->resume;
    uint32_t bit = UINT32_C(1) << slot;
    if (resume->asked_slot == slot) {
        resume->asked_slot = MATCH_NO_SLOT;
    }
    if (!is_kept) {
        resume->waited_mask &= ~bit;
    } else if ((resume->asked_mask & bit) && resume->asked_anew[slot] < ASKED_ANEW_MAX) {
        resume->asked_anew[slot]++;
        resume->asked_mask &= ~bit;
        resume->support[slot] = 0;
    }
}

/* ---- going on ---- */

/* Ticks that somebody who is back saw confirmed, and that nobody could give. */
static uint32_t lost_ticks(const ls_match *match)
{
    uint32_t lost = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        if (has_claim(seat) && seat->back.confirmed > match->next_close + lost) {
            lost = seat->back.confirmed - match->next_close;
        }
    }
    return lost;
}

static void go_on(ls_match *match)
{
    uint32_t back = 0;
    uint32_t players = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_seat *seat = &match->seats[slot];
        bool is_waited_for = (match->resume.waited_mask >> slot & 1u) != 0;
        players += is_waited_for ? 1 : 0;
        back += is_waited_for && seat->state == LS_SEAT_READY ? 1 : 0;
        bool is_back = seat->state == LS_SEAT_READY && seat->back.match_id != 0;
        if (!is_back) {
            ls_seat_leave_band(seat);
        }
        if (seat->report.has_played && seat->report.left_status == LS_OK &&
            !ls_seat_is_taken(seat)) {
            keep_seat(seat); /* so the ticks say that came from the others */
        }
        seat->kept_until_ns = match->now_ns + match->config.keep_seat_ms * LS_NS_PER_MS;
    }
    match->state = LS_MATCH_RUNNING;
    ls_match_play_schedule(match);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_RESUMED);
    event->tick = match->next_close;
    ls_text_set(&event->text,
                "%" PRIu32 " of %" PRIu32 " players are back, %" PRIu32
                " ticks that the journal had not came from them",
                back, players, match->resume.recovered);
    uint32_t lost = lost_ticks(match);
    if (lost > 0) {
        ls_text_add(&event->text,
                    "; up to %" PRIu32 " more, which they saw and do not hold any more, are lost",
                    lost);
    }
    ls_match_join_advance(match);
}

static bool is_waited_for(const ls_match *match)
{
    return missing_mask(match) != 0 && match->now_ns < match->resume.until_ns;
}

void ls_match_resume_advance(ls_match *match)
{
    match_resume *resume = &match->resume;
    uint32_t mask = missing_mask(match);
    if (match->now_ns - resume->told_ns >= RESUMING_TOLD_NS) {
        tell(match, mask);
    }
    if (!resume->is_asking && is_waited_for(match)) {
        return;
    }
    resume->is_asking = true;
    bool is_late = match->now_ns - resume->progress_ns >= RESUMING_ANSWER_NS;
    bool is_to_ask = resume->asked_slot == MATCH_NO_SLOT || is_late;
    if (is_to_ask && !ask_next(match) && !is_waited_for(match)) {
        go_on(match);
    }
}

uint64_t ls_match_resume_next_ns(const ls_match *match)
{
    const match_resume *resume = &match->resume;
    uint64_t told_ns = resume->told_ns + RESUMING_TOLD_NS;
    uint64_t next_ns = is_waited_for(match) ? resume->until_ns : match->now_ns;
    if (resume->asked_slot != MATCH_NO_SLOT) {
        next_ns = resume->progress_ns + RESUMING_ANSWER_NS;
    } else if (resume->is_asking && is_anybody_to_ask(match)) {
        next_ns = match->now_ns;
    }
    return told_ns < next_ns ? told_ns : next_ns;
}
