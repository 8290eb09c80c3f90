#include "lockstep/server/match/tick_closer.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/time/timestep.h"

#include <inttypes.h>
#include <string.h>

#define WAITING_FIRST_NS (UINT64_C(100) * LS_NS_PER_MS) /* until the players are told of a wait */
#define OVERDUE_NS (UINT64_C(8) * LS_NS_PER_MS)         /* no jitter buffer empties in less */
#define WAITING_NEXT_NS (UINT64_C(500) * LS_NS_PER_MS)

enum {
    WAIT_SHARE = 10, /* of the time that passes a slot may hold up so much: a tenth */
};

/* A slot that was not waited for any more is again once it may hold up the match for so long. */
#define WAIT_AGAIN_NS (UINT64_C(2) * LS_NS_PER_SECOND)

/* An operator has so long to begin another match before the numbers of ticks end. */
#define WARNED_NS (UINT64_C(10) * 24 * 3600 * LS_NS_PER_SECOND)

struct ls_tick_closer {
    const ls_match *match;
    uint64_t last_ns;      /* up to where the timestep has been advanced */
    uint64_t due_ticks;    /* ticks whose time has come, not closed yet */
    uint32_t closed_ticks; /* since the timestep was advanced */
    bool is_in_vain;       /* closing several at once takes longer than the time it makes up for */
    uint64_t waiting_ns;   /* rule wait: since when; 0: not waiting */
    uint64_t waiting_told_ns;
    ls_slot_set waited;     /* slots without whose input the next tick was due */
    uint32_t waited_ticks;  /* that went by in waits since the last closing */
    uint32_t overdue_ticks; /* ... because this was called too late */
    bool was_behind;        /* the next tick is not closed when it is due */
    uint64_t uneven_ns;     /* of closings, smoothed */
    bool is_halted;         /* nothing is closed, as of the last call */
    bool has_dropped;       /* the tick that waited is closed without the slots that were dropped */
    ls_tick end;            /* no tick is closed from here on */
    ls_tick warned_from;    /* from this one on it is told that the numbers of ticks end there */
    ls_timestep timestep;
    uint64_t held_up_ns[LS_PLAYERS_MAX]; /* by this slot, less its share of the time since then */
    uint64_t charged_ns;                 /* up to where a wait is counted there */
    ls_slot_set missing;                 /* slots that the wait is for, as of then */
    ls_slot_set abusing;   /* slots that are not waited for, since they did it often */
    ls_input_masks *masks; /* NULL: the simulation says nothing of its inputs */
    uint8_t *repeated;     /* of each slot masks->bytes: its late input without edges */
};

/* ---- life ---- */

static ls_timestep_config timestep_config(const ls_match_config *config)
{
    ls_timestep_config timestep = ls_timestep_config_exact(ls_sim_config_rate(&config->sim));
    timestep.strategy = LS_TIMESTEP_ACCUMULATOR;
    /* A driver that calls once a tick loses no time. */
    timestep.frame_max_ns = LS_MAX(timestep.frame_max_ns, 2 * timestep.dt_ns);
    return timestep;
}

static void find_end(ls_tick_closer *closer)
{
    uint32_t ticks = closer->match->config.ticks;
    bool is_planned = ticks > 0 && ticks <= LS_MATCH_TICKS_MAX;
    uint64_t warned_ticks = WARNED_NS / closer->match->dt_ns;
    closer->end = is_planned ? ticks : LS_MATCH_TICKS_MAX;
    closer->warned_from = is_planned ? ticks : LS_MATCH_TICKS_MAX - (ls_tick)warned_ticks;
}

ls_status ls_tick_closer_create(const ls_match *match, ls_tick_closer **out)
{
    ls_tick_closer *closer = ls_allocate(match->allocator, sizeof *closer);
    if (!closer) {
        return LS_NO_MEMORY;
    }
    ls_timestep_config timestep = timestep_config(&match->config);
    closer->match = match;
    closer->timestep = ls_timestep_make(&timestep);
    find_end(closer);
    ls_status status =
        ls_input_masks_create(match->log->instance, match->allocator, &closer->masks);
    if (status == LS_OK && closer->masks) {
        closer->repeated =
            ls_allocate_array(match->allocator, match->config.sim.players, closer->masks->bytes);
        status = closer->repeated ? LS_OK : LS_NO_MEMORY;
    }
    if (status != LS_OK) {
        ls_tick_closer_destroy(closer);
        return status;
    }
    *out = closer;
    return LS_OK;
}

void ls_tick_closer_destroy(ls_tick_closer *closer)
{
    if (closer) {
        ls_release(closer->match->allocator, closer->repeated);
        ls_release(closer->match->allocator, closer->masks);
        ls_release(closer->match->allocator, closer);
    }
}

/* ---- time ---- */

static uint64_t next_due_ns(const ls_tick_closer *closer)
{
    return closer->last_ns + ls_timestep_next_ns(&closer->timestep);
}

/* A tick that waits was due when the wait began. */
static void publish_next_due(ls_tick_closer *closer)
{
    closer->match->log->next_due_ns =
        closer->waiting_ns != 0 ? closer->waiting_ns : next_due_ns(closer);
}

/* How much later than `first_ns` the ticks have to begin to be in phase. */
static uint64_t until_phase_ns(const ls_match *match, uint64_t first_ns)
{
    uint64_t phase_ns = match->config.phase_ns;
    if (phase_ns == 0) {
        return 0;
    }
    return (phase_ns + match->dt_ns - first_ns % match->dt_ns) % match->dt_ns;
}

uint64_t ls_tick_closer_schedule(ls_tick_closer *closer)
{
    const ls_match *match = closer->match;
    uint64_t delay_ns = match->config.start_delay_ms * LS_NS_PER_MS;
    delay_ns += until_phase_ns(match, match->now_ns + delay_ns);
    /* One dt before the tick is due; until then there is nothing to advance. */
    closer->last_ns = match->now_ns + delay_ns;
    closer->timestep.bank_ns = 0;
    publish_next_due(closer);
    return delay_ns + match->dt_ns;
}

/* This call comes so late. */
static void note_late(ls_tick_closer *closer, uint64_t late_ns)
{
    uint64_t dt_ns = closer->match->dt_ns;
    closer->was_behind = true;
    if (late_ns >= OVERDUE_NS && !closer->is_halted) {
        closer->overdue_ticks += (uint32_t)((late_ns + dt_ns / 2) / dt_ns);
    }
}

/* Where a tick takes longer than its time several at once would make up for nothing, and no packet
 * could leave in between: clients would take the silence for a lost link. */
static void note_pace(ls_tick_closer *closer, uint64_t took_ns)
{
    if (closer->closed_ticks > 0) {
        closer->is_in_vain = took_ns > closer->closed_ticks * closer->match->dt_ns;
        closer->closed_ticks = 0;
    }
}

void ls_tick_closer_advance(ls_tick_closer *closer)
{
    uint64_t now_ns = closer->match->now_ns;
    note_pace(closer, now_ns > closer->last_ns ? now_ns - closer->last_ns : 0);
    if (now_ns <= closer->last_ns) {
        return;
    }
    uint64_t due_ns = next_due_ns(closer);
    if (now_ns > due_ns + LS_LINK_LATE_NS) {
        note_late(closer, now_ns - due_ns);
    }
    ls_timestep_plan plan = ls_timestep_advance(&closer->timestep, now_ns - closer->last_ns);
    closer->last_ns = now_ns;
    closer->due_ticks += plan.step_count;
    if (closer->is_in_vain) {
        closer->due_ticks =
            LS_MIN(closer->due_ticks, closer->timestep.config.frame_max_ns / closer->match->dt_ns);
    }
    publish_next_due(closer);
}

bool ls_tick_closer_is_last_closed(const ls_tick_closer *closer)
{
    return closer->match->log->next >= closer->end;
}

bool ls_tick_closer_is_waiting(const ls_tick_closer *closer)
{
    return closer->match->state == LS_MATCH_RUNNING && closer->waiting_ns != 0;
}

/* When the players are told again what the match waits for, or a player is waited for too long. */
static uint64_t next_waiting_ns(const ls_tick_closer *closer)
{
    uint64_t told_ns = closer->waiting_told_ns;
    uint64_t next_ns =
        told_ns != 0 ? told_ns + WAITING_NEXT_NS : closer->waiting_ns + WAITING_FIRST_NS;
    uint64_t limit_ns = closer->waiting_ns + closer->match->config.wait_limit_ms * LS_NS_PER_MS;
    return LS_MIN(next_ns, limit_ns);
}

uint64_t ls_tick_closer_next_ns(const ls_tick_closer *closer)
{
    bool is_one_due = closer->is_in_vain && closer->due_ticks > 0 && closer->waiting_ns == 0;
    uint64_t next_ns = is_one_due ? closer->last_ns + 1 : next_due_ns(closer);
    uint64_t waiting_ns = closer->waiting_ns != 0 ? next_waiting_ns(closer) : next_ns;
    return LS_MIN(waiting_ns, next_ns);
}

/* ---- the rule `wait` ---- */

/* The slots without whose input for the next tick the rule `wait` closes nothing. */
static ls_slot_set awaited_slots(const ls_tick_closer *closer)
{
    ls_tick tick = closer->match->log->next;
    ls_slot_set missing = {{0}};
    if (closer->match->config.late_rule != LS_LATE_WAIT && !LS_FAULT(SILENCE_STALLS)) {
        return missing;
    }
    for (uint32_t slot = 0; slot < closer->match->config.sim.players; slot++) {
        bool is_missing = ls_seat_table_plays(closer->match->seats, slot, tick) &&
                          !ls_input_buffer_has(closer->match->links[slot].received, tick, 0);
        ls_slot_set_put(&missing, slot, is_missing);
    }
    return ls_slot_set_minus(missing, closer->abusing);
}

static uint64_t budget_ns(const ls_tick_closer *closer)
{
    return closer->match->config.wait_budget_ms * LS_NS_PER_MS;
}

static void say_whether_waited(ls_tick_closer *closer, uint32_t slot, const char *words)
{
    ls_match_event *event =
        ls_outbox_push_event(closer->match->outbox, LS_MATCH_LAG, slot, closer->match->log->next);
    ls_text_set(&event->text, "%s", words);
}

/* The wait for these slots, up to now, goes on their account: one that is overdrawn is not waited
 * for until time has made up for it. */
static void charge_waiting(ls_tick_closer *closer)
{
    uint64_t passed_ns = closer->match->now_ns - closer->charged_ns;
    closer->charged_ns = closer->match->now_ns;
    ls_slot_set charged = ls_slot_set_minus(closer->missing, closer->abusing);
    LS_EACH_SLOT (slot, charged) {
        if (budget_ns(closer) == 0) {
            return;
        }
        closer->held_up_ns[slot] += passed_ns;
        if (closer->held_up_ns[slot] >= budget_ns(closer)) {
            ls_slot_set_add(&closer->abusing, slot);
            say_whether_waited(closer, slot,
                               "its inputs came too late too often: it is not waited for");
        }
    }
}

/* A tick is closed. */
static void make_up_for_waiting(ls_tick_closer *closer)
{
    uint64_t share_ns = closer->match->dt_ns / WAIT_SHARE;
    for (uint32_t slot = 0; slot < closer->match->config.sim.players; slot++) {
        uint64_t *held_up_ns = &closer->held_up_ns[slot];
        *held_up_ns -= LS_MIN(*held_up_ns, share_ns);
        uint64_t again_ns = LS_MIN(WAIT_AGAIN_NS, budget_ns(closer) / 2);
        if (ls_slot_set_has(&closer->abusing, slot) &&
            *held_up_ns + again_ns <= budget_ns(closer)) {
            ls_slot_set_remove(&closer->abusing, slot);
            say_whether_waited(closer, slot, "it is waited for again");
        }
    }
}

static void report_waiting(ls_tick_closer *closer, ls_slot_set missing, uint64_t waited_ns)
{
    ls_tick tick = closer->match->log->next;
    uint32_t waited_ms = (uint32_t)(waited_ns / LS_NS_PER_MS);
    closer->waiting_told_ns = closer->match->now_ns;
    ls_outbox_message(closer->match->outbox, LS_MESSAGE_WAITING)->body.waiting =
        (ls_waiting){.tick = tick, .slots = missing, .waited_ms = waited_ms};
    ls_seat_table_send_all(closer->match->seats);
    ls_match_event *event = ls_outbox_push_event(closer->match->outbox, LS_MATCH_STALLED, 0, tick);
    event->slots = missing;
    event->waited_ms = waited_ms;
}

static void end_waiting(ls_tick_closer *closer)
{
    if (closer->waiting_ns != 0) {
        charge_waiting(closer);
        uint64_t dt_ns = closer->match->dt_ns;
        uint64_t waited_ns = closer->match->now_ns - closer->waiting_ns;
        closer->waited_ticks += (uint32_t)((waited_ns + dt_ns / 2) / dt_ns);
        closer->was_behind = closer->was_behind || waited_ns > LS_LINK_LATE_NS;
        closer->waiting_ns = 0;
        publish_next_due(closer);
    }
}

/* The next tick waits for these slots. True when it has waited too long. */
static bool wait_for(ls_tick_closer *closer, ls_slot_set missing)
{
    uint64_t now_ns = closer->match->now_ns;
    if (closer->waiting_ns == 0) {
        closer->waiting_ns = now_ns;
        closer->charged_ns = now_ns;
        closer->missing = missing;
        closer->waiting_told_ns = 0;
        closer->waited = missing;
        publish_next_due(closer);
    }
    charge_waiting(closer);
    closer->missing = missing;
    uint64_t waited_ns = now_ns - closer->waiting_ns;
    if (waited_ns >= closer->match->config.wait_limit_ms * LS_NS_PER_MS) {
        return true;
    }
    if (LS_FAULT(SILENT_STALL)) {
        closer->waiting_told_ns = now_ns;
        return false;
    }
    bool is_told = closer->waiting_told_ns != 0;
    bool is_due = is_told ? now_ns - closer->waiting_told_ns >= WAITING_NEXT_NS
                          : waited_ns >= WAITING_FIRST_NS;
    if (is_due || LS_FAULT(WAITING_REPEATED)) {
        report_waiting(closer, missing, waited_ns);
    }
    return false;
}

/* ---- closing ---- */

/* An edge acts once: it is left out of an input that is there for the second time. */
static void leave_out_edges(ls_tick_closer *closer, uint32_t slot, ls_slot_input *input)
{
    uint8_t *bytes = closer->repeated + slot * (size_t)closer->masks->bytes;
    if (input->size > 0) {
        memcpy(bytes, input->bytes, input->size);
        input->size = ls_input_masks_leave_out_edges(closer->masks, bytes, input->size);
        input->bytes = bytes;
    }
}

static ls_slot_input close_slot(ls_tick_closer *closer, uint32_t slot, ls_closing *closing)
{
    ls_tick tick = closer->match->log->next;
    ls_slot_input input = {0};
    bool plays = ls_seat_table_plays(closer->match->seats, slot, tick);
    if (plays) {
        bool is_on_time = false;
        input = ls_player_link_close_input(&closer->match->links[slot], tick,
                                           &closer->match->log->newest[slot], &is_on_time);
        if (closer->masks && !is_on_time) {
            leave_out_edges(closer, slot, &input);
        }
        ls_slot_set_add(&closing->slots, slot);
        ls_slot_set_put(&closing->late_slots, slot, !is_on_time);
    } else if (ls_seat_table_follows(closer->match->seats, slot)) {
        ls_player_link_pass_tick(&closer->match->links[slot], tick);
    }
    input.events = ls_seat_table_pop_events(closer->match->seats, slot, plays);
    return input;
}

/* Once, also after the match was resumed. */
static void warn_of_end(ls_tick_closer *closer)
{
    ls_tick next = closer->match->log->next;
    uint64_t left_ns = (closer->end - next) * closer->match->dt_ns;
    ls_match_event *event =
        ls_outbox_push_event(closer->match->outbox, LS_MATCH_ENDS_SOON, 0, next);
    ls_text_set(&event->text, "tick %" PRIu32 ", in %.1f days", closer->end,
                (double)left_ns / (24.0 * 3600 * LS_NS_PER_SECOND));
    closer->warned_from = closer->end;
}

static void warn_of_unnamed_write(ls_tick_closer *closer)
{
    const ls_match *match = closer->match;
    ls_text what;
    if (ls_sim_instance_unnamed_write(match->log->instance, &what)) {
        ls_outbox_push_event(match->outbox, LS_MATCH_UNNAMED_WRITE, 0, match->log->next)->text =
            what;
    }
}

/* A client sees jitter that this server makes, and those that it waits for. */
static void measure_unevenness(ls_tick_closer *closer)
{
    int64_t gap_ns = (int64_t)(closer->match->now_ns - closer->match->log->closed_ns);
    int64_t off_ns = gap_ns - (int64_t)closer->match->dt_ns;
    uint64_t distance_ns = (uint64_t)(off_ns < 0 ? -off_ns : off_ns);
    if (distance_ns < LS_LINK_SILENCE_NS) {
        int64_t by_ns = (int64_t)distance_ns - (int64_t)closer->uneven_ns;
        closer->uneven_ns = (uint64_t)((int64_t)closer->uneven_ns + by_ns / LS_LINK_JITTER_SHARE);
    }
}

static ls_closing_kind close_tick(ls_tick_closer *closer, ls_closing *closing)
{
    ls_slot_input inputs[LS_PLAYERS_MAX];
    measure_unevenness(closer);
    *closing = (ls_closing){.uneven_ns = closer->uneven_ns,
                            .was_behind = closer->was_behind,
                            .waited_slots = closer->waited,
                            .waited_ticks = closer->waited_ticks,
                            .overdue_ticks = closer->overdue_ticks};
    for (uint32_t slot = 0; slot < closer->match->config.sim.players; slot++) {
        inputs[slot] = close_slot(closer, slot, closing);
    }
    ls_slot_set late = ls_slot_set_common(closing->slots, closer->waited);
    ls_slot_set_add_all(&closing->late_slots, &late);
    closer->waited = (ls_slot_set){{0}};
    closer->waited_ticks = 0;
    closer->overdue_ticks = 0;
    closer->was_behind = false;
    closer->due_ticks--;
    closer->closed_ticks++;
    if (closer->match->log->next >= closer->warned_from) {
        warn_of_end(closer);
    }
    make_up_for_waiting(closer);
    ls_tick_log_append(closer->match->log, inputs, closer->match->now_ns);
    if (closer->match->config.trusts_writes) {
        warn_of_unnamed_write(closer);
    }
    return LS_CLOSING_TICK;
}

/* No player plays, or the match is paused: no tick is closed, but those up to a state that is
 * hashed, so that a player who comes has one to show. */
static bool is_halted(const ls_tick_closer *closer)
{
    const ls_seat_table *seats = closer->match->seats;
    bool has_player = ls_seat_table_has_state(seats, LS_SEAT_PLAYING, LS_SEAT_PLAYING);
    return (!has_player || closer->match->is_paused) &&
           ls_hash_record_is_due(&closer->match->log->hashes, closer->match->log->next);
}

/* Time that passes while the match waits is lost to it, and not caught up. */
static ls_closing_kind keep_waiting(ls_tick_closer *closer)
{
    closer->due_ticks = 1;
    return LS_CLOSING_NOTHING;
}

ls_closing_kind ls_tick_closer_next(ls_tick_closer *closer, ls_closing *closing)
{
    if (closer->has_dropped) {
        closer->has_dropped = false;
        end_waiting(closer);
        /* A desync that came out may have stopped the match. */
        return closer->match->state == LS_MATCH_RUNNING ? close_tick(closer, closing)
                                                        : keep_waiting(closer);
    }
    if (closer->due_ticks == 0 || ls_tick_closer_is_last_closed(closer) ||
        (closer->is_in_vain && closer->closed_ticks > 0)) {
        return LS_CLOSING_NOTHING;
    }
    closer->is_halted = is_halted(closer);
    if (closer->is_halted) {
        end_waiting(closer); /* the players it waited for are gone, or all wait */
        closer->due_ticks = 0;
        return LS_CLOSING_NOTHING;
    }
    ls_slot_set missing = awaited_slots(closer);
    if (ls_slot_set_is_empty(missing)) {
        end_waiting(closer);
        return close_tick(closer, closing);
    }
    if (wait_for(closer, missing)) {
        closer->has_dropped = true;
        closing->slots = missing;
        return LS_CLOSING_DROP;
    }
    return keep_waiting(closer);
}

void ls_tick_closer_prefetch(const ls_tick_closer *closer)
{
    ls_prefetch(closer, sizeof *closer);
}
