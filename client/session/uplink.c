#include "lockstep/client/session/uplink.h"

#include "lockstep/client/session/lost_presses.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/histogram.h"
#include "lockstep/common/lag/lag_notes.h"
#include "lockstep/protocol/wire/link_meter.h"

enum {
    WAIT_LEAD_SPARE_TICKS = 8,
    PACKETS_PER_FRAME_MAX = 16,
    OVERDUE_MAX = 32, /* inputs that may be made at once to go on with those made before */
    HEARTBEAT_TICKS = 4,
    SPECTATOR_HEARTBEAT_TICKS = 128, /* the server holds 512 beyond the longest delay */
};

#define LOBBY_HEARTBEAT_NS (UINT64_C(500) * LS_NS_PER_MS)
#define ANSWER_NS (UINT64_C(100) * LS_NS_PER_MS) /* an acknowledgement is not older than this */
#define SPECTATOR_ANSWER_NS (UINT64_C(500) * LS_NS_PER_MS) /* or, of a spectator, this */

/* When each of the inputs that may still be wanted was made, first sent and last sent. */
typedef struct input_times {
    uint64_t made_ns;
    uint64_t sent_ns;
    uint64_t resent_ns;
} input_times;

struct ls_uplink {
    const ls_session *context;
    ls_tick_sync *sync;      /* the context's */
    ls_input_buffer *inputs; /* of one slot: this player's */
    ls_lost_presses *lost;   /* NULL: the simulation says nothing of its inputs */
    ls_tick sent_end;        /* first input that has never been sent */
    ls_tick wanted;          /* first input that the server still wants */
    bool has_base;           /* the server has the one before that */
    ls_tick unbroken;        /* inputs from here on have all been made */
    ls_tick altered_end;     /* inputs before this one do not serve as a base any more */
    bool is_overflowing;     /* not all of them fitted into the last INPUTS */
    uint32_t sequence;       /* of the next INPUTS */
    ls_sent_ends sent;
    ls_tick acknowledged;   /* by the last INPUTS */
    bool is_answer_due;     /* a spectator's: the server has to hear what it lacks */
    uint64_t sent_ns;       /* when that was sent */
    uint64_t first_sent_ns; /* when new inputs were last sent */
    uint64_t easy_ns;       /* no input has been late from here on */
    bool is_second_due;     /* and are to be sent again a share of a tick later */
    bool is_paused;         /* the match is */
    ls_send_loss loss;
    bool is_loss_known; /* the server has said so; until then it is a guess */

    uint64_t health_ns; /* when the server was last told about this machine */
    uint64_t told_lost; /* packets of the downlink then */
    ls_lag_notes notes;
    uint64_t stalled_ticks;
    uint64_t stalling_ticks; /* of them, since the last TICKS came: noted when another one does */

    uint64_t inputs_made;
    uint64_t inputs_skipped;
    int64_t slack_ns;
    ls_link_figures figures; /* of the way up, as the server said last */
    ls_histogram latency;    /* from making an input to its closed tick */
    input_times times[LS_WINDOW_TICKS];
};

/* ---- life ---- */

ls_status ls_uplink_create(const ls_session *context, ls_uplink **out)
{
    ls_input_buffer_config config = {.slots = 1,
                                     .input_bytes_max = context->simulation->input_bytes_max,
                                     .window_ticks = LS_WINDOW_TICKS};
    ls_uplink *uplink = ls_allocate(context->allocator, sizeof *uplink);
    if (!uplink) {
        return LS_NO_MEMORY;
    }
    uplink->context = context;
    uplink->sync = context->sync;
    ls_lag_notes_init(&uplink->notes, context->dt_ns);
    ls_status status = ls_input_buffer_create(&config, context->allocator, &uplink->inputs);
    LS_THEN(status, ls_lost_presses_create(context->instance, uplink->inputs, context->allocator,
                                           &uplink->lost));
    if (status != LS_OK) {
        ls_uplink_destroy(uplink);
        return status;
    }
    *out = uplink;
    return LS_OK;
}

void ls_uplink_destroy(ls_uplink *uplink)
{
    if (uplink) {
        ls_lost_presses_destroy(uplink->lost);
        ls_input_buffer_destroy(uplink->inputs);
        ls_release(uplink->context->allocator, uplink);
    }
}

void ls_uplink_connect(ls_uplink *uplink)
{
    uplink->is_paused = false;
    uplink->sequence = 0;
    uplink->stalling_ticks = 0;
    ls_lag_notes_connect(&uplink->notes);
}

static input_times *times_of(ls_uplink *uplink, ls_tick tick)
{
    return &uplink->times[tick % LS_WINDOW_TICKS];
}

void ls_uplink_pause(ls_uplink *uplink, bool is_paused)
{
    if (uplink->is_paused && !is_paused) {
        ls_tick_sync_go_on(uplink->sync, uplink->context->now_ns);
    }
    uplink->is_paused = is_paused;
}

/* ---- how the match begins for this player ---- */

void ls_uplink_begin(ls_uplink *uplink)
{
    uplink->loss = LS_SEND_LOSS_MANY;
    uplink->is_loss_known = false;
}

void ls_uplink_forget_inputs(ls_uplink *uplink)
{
    ls_input_buffer_restart(uplink->inputs, uplink->sync->next_input);
    if (uplink->lost) {
        ls_lost_presses_forget(uplink->lost);
    }
}

/* Inputs from `first` on are the ones that the server wants. */
static void begin_at(ls_uplink *uplink, ls_tick first)
{
    uplink->unbroken = first;
    uplink->wanted = first;
    uplink->sent_end = first;
    uplink->sent = (ls_sent_ends){{0}};
    uplink->has_base = false;
}

/* Inputs that were made before the link was lost, and whose ticks have not been closed, stay. */
static bool keep_inputs(ls_uplink *uplink, ls_tick_sync_entry entry)
{
    ls_tick closed_end = entry.first;
    ls_tick next = uplink->sync->next_input;
    if (next <= closed_end || uplink->unbroken > closed_end ||
        !ls_input_buffer_has(uplink->inputs, closed_end, 0)) {
        return false;
    }
    entry.first = next;
    entry.overdue_max = OVERDUE_MAX;
    ls_tick_sync_enter(uplink->sync, &entry, uplink->context->now_ns);
    return uplink->sync->next_input == next;
}

ls_tick ls_uplink_enter(ls_uplink *uplink, ls_tick closes, uint64_t close_ns)
{
    ls_tick first = ls_confirmed_ticks_end(uplink->context->ticks);
    ls_tick made = uplink->sync->next_input;
    ls_tick_sync_entry entry = {.tick = closes, .close_ns = close_ns, .first = first};
    if (uplink->context->config.is_spectator) {
        return 0;
    }
    if (!keep_inputs(uplink, entry)) {
        ls_tick_sync_enter(uplink->sync, &entry, uplink->context->now_ns);
        first = uplink->sync->next_input;
        uplink->inputs_skipped += uplink->context->lost_ns > 0 && first > made ? first - made : 0;
        ls_uplink_forget_inputs(uplink);
    }
    begin_at(uplink, first);
    uplink->is_second_due = false;
    return first;
}

/* ---- what is measured ---- */

static bool is_watching(const ls_session *context)
{
    return context->state == LS_SESSION_PLAYING && context->config.is_spectator;
}

/* It makes inputs; else it only acknowledges. */
static bool is_playing(const ls_uplink *uplink)
{
    const ls_session *context = uplink->context;
    return context->state == LS_SESSION_PLAYING && !context->config.is_spectator;
}

void ls_uplink_add_frame(ls_uplink *uplink, uint64_t frame_ns)
{
    ls_lag_notes_add_frame(&uplink->notes, frame_ns, uplink->sync->frame_ns);
    ls_tick_sync_add_frame(uplink->sync, frame_ns);
}

void ls_uplink_add_stalled(ls_uplink *uplink, uint64_t ticks)
{
    uplink->stalled_ticks += ticks;
    uplink->stalling_ticks += is_playing(uplink) ? ticks : 0;
}

/* ---- what the server says ---- */

/* A tick is closed with the slot's own input or with a repeat of the one before. Where it is
 * another one, what the server received was altered on its way, and so is all that is coded against
 * it: nothing that was made so far serves as a base any more. */
static void compare_with_closed(ls_uplink *uplink, ls_tick tick, const ls_slot_input *own)
{
    const ls_input_buffer *closed = ls_confirmed_ticks_inputs(uplink->context->ticks);
    uint32_t slot = uplink->context->offer.slot;
    ls_slot_input input;
    ls_slot_input before = {0};
    if (ls_input_buffer_get(closed, tick, slot, &input) != LS_OK) {
        return;
    }
    if (uplink->lost) {
        ls_lost_presses_settle(uplink->lost, tick, own, &input);
    }
    if (ls_slot_input_is_same(own, &input)) {
        return;
    }
    bool is_known = tick == 0 || ls_input_buffer_get(closed, tick - 1, slot, &before) == LS_OK;
    if (is_known && !ls_lost_presses_is_repeat(uplink->lost, &before, &input)) {
        uplink->altered_end = uplink->sync->next_input;
    }
}

static void settle_closed(ls_uplink *uplink, ls_tick tick)
{
    ls_slot_input own;
    if (ls_input_buffer_get(uplink->inputs, tick, 0, &own) != LS_OK) {
        return;
    }
    compare_with_closed(uplink, tick, &own);
    if (tick < uplink->sync->next_input) {
        ls_histogram_add(&uplink->latency,
                         uplink->context->now_ns - times_of(uplink, tick)->made_ns);
    }
}

/* The server says how long it has had the newest input that it acknowledges. */
static void measure_rtt(ls_uplink *uplink, const ls_ticks_header *header)
{
    const ls_session *context = uplink->context;
    bool is_known = header->wanted > 0 && header->wanted <= uplink->sent_end &&
                    ls_input_buffer_has(uplink->inputs, header->wanted - 1, 0);
    bool is_hitch = ls_tick_sync_is_hitch(uplink->sync, context->now_ns - context->drawn_ns);
    if (header->hold == LS_HOLD_NONE || !is_known || is_hitch) {
        return;
    }
    const input_times *times = times_of(uplink, header->wanted - 1);
    if (uplink->is_overflowing && times->resent_ns != times->sent_ns) {
        return; /* which of the two has arrived is not known */
    }
    uint64_t away_ns = context->now_ns - times->sent_ns;
    uint64_t held_ns = header->hold * LS_HOLD_UNIT_NS;
    if (away_ns >= held_ns) {
        ls_tick_sync_add_rtt(uplink->sync, away_ns - held_ns);
    }
}

/* The inputs that are due by now, those that are left out and those behind them, would have been
 * made, had this machine been in time. */
static void note_skipped(ls_uplink *uplink)
{
    uint64_t now_ns = uplink->context->now_ns;
    if (ls_tick_sync_is_uneven(uplink->sync, now_ns)) {
        uint64_t late_ns = ls_tick_sync_lateness_ns(uplink->sync, now_ns);
        ls_lag_notes_add_late(&uplink->notes, late_ns / uplink->context->dt_ns + 1, late_ns);
    }
}

/* The ticks before `end` are closed: whatever would be made for them now comes too late. */
static void skip_closed_inputs(ls_uplink *uplink, ls_tick end)
{
    if (end <= uplink->sync->next_input) {
        return;
    }
    note_skipped(uplink);
    uplink->inputs_skipped += end - uplink->sync->next_input;
    begin_at(uplink, end);
    ls_tick_sync_skip_to(uplink->sync, end, uplink->context->now_ns);
}

/* The newest packet counts, not the highest number: an acknowledgement that was altered on its way
 * is corrected by the next one. */
static void receive_input_ack(ls_uplink *uplink, const ls_ticks_header *header)
{
    ls_tick oldest = LS_MAX(ls_input_buffer_first(uplink->inputs), uplink->unbroken);
    ls_tick wanted = LS_MAX(header->wanted, oldest);
    ls_lag_notes_acknowledge(&uplink->notes, header->wanted);
    wanted = LS_MIN(wanted, uplink->sync->next_input); /* what was never made cannot have come */
    uplink->wanted = wanted;
    uplink->has_base = header->has_base && wanted == header->wanted && wanted > 0 &&
                       ls_input_buffer_has(uplink->inputs, wanted - 1, 0);
    if (wanted > LS_BASE_TICKS) {
        ls_input_buffer_forget_before(uplink->inputs, wanted - LS_BASE_TICKS);
    }
}

/* How early the newest input comes, as far as this side knows: for when it is earlier than the
 * field can say. */
static int64_t own_estimate_of_slack(const ls_uplink *uplink)
{
    int64_t lead_ticks =
        (int64_t)uplink->sync->next_input - (int64_t)ls_confirmed_ticks_end(uplink->context->ticks);
    return lead_ticks * (int64_t)uplink->context->dt_ns - (int64_t)uplink->sync->rtt_ns;
}

static bool is_sending_twice(const ls_uplink *uplink)
{
    return ls_send_rate_doubles_inputs(uplink->context->offer.send_rate, uplink->loss);
}

/* Once the lead is known: until then all that is sent twice tells how long it has to be. */
static bool is_repeating_changes(const ls_uplink *uplink)
{
    const ls_offer *offer = &uplink->context->offer;
    return uplink->is_loss_known && ls_tick_sync_is_settled(uplink->sync) &&
           ls_send_rate_repeats_changes(offer->send_rate, offer->late_rule, uplink->loss);
}

/* Among the inputs from `first` to before `end` is one that differs from the one before it, as far
 * as is known. */
static bool has_change(const ls_uplink *uplink, ls_tick first, ls_tick end)
{
    ls_slot_input before;
    ls_slot_input input;
    for (ls_tick tick = first; tick < end; tick++) {
        bool is_known = tick > 0 &&
                        ls_input_buffer_get(uplink->inputs, tick - 1, 0, &before) == LS_OK &&
                        ls_input_buffer_get(uplink->inputs, tick, 0, &input) == LS_OK;
        if (!is_known || !ls_slot_input_is_same(&before, &input)) {
            return true;
        }
    }
    return false;
}

static bool has_new_loss(const ls_uplink *uplink)
{
    return uplink->context->offer.send_rate == LS_SEND_SAVING &&
           ls_confirmed_ticks_downlink(uplink->context->ticks)->lost != uplink->told_lost;
}

/* Of how many inputs an INPUTS waits for the last. */
static uint32_t inputs_a_packet(const ls_uplink *uplink)
{
    const ls_session *context = uplink->context;
    bool is_easy = uplink->loss == LS_SEND_LOSS_FEW && uplink->figures.loss == 0 &&
                   context->now_ns >= uplink->easy_ns && !has_new_loss(uplink);
    return ls_send_rate_ticks(context->offer.send_rate, is_easy,
                              uplink->sync->config.input_delay_ticks, context->dt_ns);
}

/* So much of the delay of inputs passes before they leave. */
static int64_t saved_ns(const ls_uplink *uplink)
{
    bool is_saving = uplink->context->offer.send_rate == LS_SEND_SAVING;
    return is_saving ? (int64_t)((inputs_a_packet(uplink) - 1) * uplink->context->dt_ns) : 0;
}

static void receive_slack(ls_uplink *uplink, const ls_ticks_header *header)
{
    if (header->slack == LS_SLACK_NONE || header->wanted == 0) {
        return;
    }
    int64_t slack_ns = header->slack * (int64_t)LS_HOLD_UNIT_NS;
    if (header->slack == LS_SLACK_MAX) {
        slack_ns = LS_MAX(slack_ns, own_estimate_of_slack(uplink));
    }
    uplink->slack_ns = slack_ns;
    if (slack_ns < 0) {
        uplink->easy_ns = uplink->context->now_ns + LS_SEND_EASY_NS;
    }
    ls_tick tick = header->wanted - 1;
    if (slack_ns < 0 || !is_repeating_changes(uplink) ||
        has_change(uplink, uplink->sync->reported + 1, tick + 1)) {
        ls_tick_sync_add_slack(uplink->sync, slack_ns + saved_ns(uplink), tick,
                               uplink->context->now_ns);
    } else {
        ls_tick_sync_pass_slack(uplink->sync, tick);
    }
}

static void receive_figures(ls_uplink *uplink, ls_link_figures figures)
{
    bool was_sending_twice = is_sending_twice(uplink);
    uplink->figures = figures;
    uplink->is_loss_known = true;
    ls_tick_sync_set_loss(uplink->sync, figures.loss);
    uplink->loss = ls_send_loss_of(uplink->loss, figures.loss);
    if (is_sending_twice(uplink) != was_sending_twice) {
        ls_tick_sync_forget(uplink->sync);
    }
}

LS_TICK_CODE void ls_uplink_receive_packet(ls_uplink *uplink, const ls_confirmed_packet *packet)
{
    const ls_ticks_header *header = &packet->header;
    ls_tick end = LS_MAX(packet->carried_end, packet->end);
    for (ls_tick tick = packet->first; tick < packet->end; tick++) {
        settle_closed(uplink, tick);
    }
    /* Parts go out again until they are acknowledged, and what is missing when it is asked for. */
    bool is_missing = packet->header.first > packet->end;
    uplink->is_answer_due = uplink->is_answer_due || !packet->has_header || is_missing;
    if (!packet->has_header || packet->arrival == LS_LINK_REPEATED || !is_playing(uplink)) {
        return;
    }
    if (uplink->stalling_ticks > 0) {
        ls_lag_notes_add_stalled(&uplink->notes, uplink->stalling_ticks);
        uplink->stalling_ticks = 0;
    }
    measure_rtt(uplink, header);
    skip_closed_inputs(uplink, end);
    if (packet->arrival == LS_LINK_NEWER) {
        receive_input_ack(uplink, header);
    }
    receive_slack(uplink, header);
    if (header->has_uplink) {
        receive_figures(uplink, header->uplink);
    }
}

/* ---- making ---- */

LS_TICK_CODE static void make_input(ls_uplink *uplink, ls_tick tick)
{
    const ls_session_config *config = &uplink->context->config;
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    if (config->make_input) {
        size = config->make_input(config->user, uplink->context->instance,
                                  uplink->context->offer.slot, tick, bytes);
    }
    LS_ASSERT(size <= uplink->context->simulation->input_bytes_max);
    if (uplink->lost) {
        size = ls_lost_presses_bring(uplink->lost, tick, bytes, size);
    }
    ls_status stored = ls_input_buffer_put(uplink->inputs, tick, 0, bytes, size, 0);
    LS_ASSERT(stored == LS_OK);
    times_of(uplink, tick)->made_ns = uplink->context->now_ns;
    uplink->inputs_made++;
}

/* How far ahead of the confirmed ticks inputs are made at most. The server refuses what is further
 * ahead than its window. Under the rule `wait`, and in a pause, it may stand still; inputs made
 * meanwhile would be latency for as long as they last. */
static uint32_t lead_limit_ticks(const ls_uplink *uplink)
{
    if (uplink->context->offer.late_rule != LS_LATE_WAIT && !uplink->is_paused) {
        return LS_LEAD_TICKS_MAX;
    }
    const ls_tick_sync *sync = uplink->sync;
    uint64_t lead_ns = 2 * sync->rtt_ns + sync->frame_ns + sync->delay_ns;
    uint64_t ticks = lead_ns / sync->config.dt_ns + WAIT_LEAD_SPARE_TICKS;
    return (uint32_t)LS_MIN(ticks, LS_LEAD_TICKS_MAX);
}

/* Inputs that are not acknowledged have to be held: no more are made than there is room for. */
LS_TICK_CODE static bool is_held_back(const ls_uplink *uplink)
{
    ls_tick next = uplink->sync->next_input;
    return next >= ls_confirmed_ticks_end(uplink->context->ticks) + lead_limit_ticks(uplink) ||
           next - ls_input_buffer_first(uplink->inputs) >= LS_WINDOW_TICKS;
}

/* The next input is due, and made now. */
LS_TICK_CODE static void note_made(ls_uplink *uplink)
{
    uint64_t now_ns = uplink->context->now_ns;
    bool is_uneven = ls_tick_sync_is_uneven(uplink->sync, now_ns);
    if (is_uneven) {
        uplink->notes.is_uneven = true;
    }
    if (is_uneven && ls_tick_sync_is_too_late(uplink->sync, now_ns)) {
        ls_lag_notes_add_late(&uplink->notes, 1, ls_tick_sync_lateness_ns(uplink->sync, now_ns));
    }
}

static void hold_input(ls_uplink *uplink)
{
    uint64_t now_ns = uplink->context->now_ns;
    uint64_t late_ns = ls_tick_sync_lateness_ns(uplink->sync, now_ns);
    if (late_ns > 0 && !uplink->is_paused) {
        ls_lag_notes_add_held(&uplink->notes, uplink->sync->next_input, lead_limit_ticks(uplink),
                              late_ns);
    }
    ls_tick_sync_hold(uplink->sync, now_ns);
}

LS_TICK_CODE void ls_uplink_make(ls_uplink *uplink)
{
    const ls_session *context = uplink->context;
    while (!is_held_back(uplink)) {
        if (uplink->sync->next_input >= context->end.final_tick ||
            context->now_ns < uplink->sync->next_due_ns) {
            return;
        }
        note_made(uplink);
        bool is_due = ls_tick_sync_claim_due(uplink->sync, context->now_ns);
        LS_ASSERT(is_due);
        make_input(uplink, uplink->sync->next_input - 1);
    }
    hold_input(uplink);
}

/* ---- sending ---- */

/* Writes the inputs from `tick` on, as many as fit; returns the first that does not. */
static ls_tick write_inputs(ls_uplink *uplink, ls_bit_stream *stream, ls_tick tick,
                            const ls_slot_input *base)
{
    uint64_t now_ns = uplink->context->now_ns;
    ls_slot_input before = *base;
    ls_slot_input input;
    for (; tick < uplink->sync->next_input; tick++) {
        ls_status held = ls_input_buffer_get(uplink->inputs, tick, 0, &input);
        LS_ASSERT(held == LS_OK);
        if (!ls_inputs_write_tick(stream, &before, &input)) {
            break;
        }
        before = input;
        times_of(uplink, tick)->resent_ns = now_ns;
        if (tick >= uplink->sent_end) {
            times_of(uplink, tick)->sent_ns = now_ns;
            uplink->sent_end = tick + 1;
        }
    }
    ls_tick_packet_write_end(stream);
    return tick;
}

/* Sends one INPUTS, with inputs or without; returns the first input that did not fit. */
LS_TICK_CODE static ls_tick send_packet(ls_uplink *uplink, ls_inputs_header *header)
{
    ls_slot_input base = {0};
    if (header->has_base) {
        ls_tick tick = header->first - header->base_gap - 1;
        ls_status held = ls_input_buffer_get(uplink->inputs, tick, 0, &base);
        LS_ASSERT(held == LS_OK);
    }
    header->sequence = uplink->sequence++;
    ls_bit_stream stream = ls_bit_writer(uplink->context->outbox->packet, LS_PACKET_BYTES_MAX);
    ls_inputs_header_bits(&stream, header, 0);
    ls_tick end = header->first;
    if (is_playing(uplink)) {
        end = write_inputs(uplink, &stream, header->first, &base);
    } else {
        ls_tick_packet_write_end(&stream);
    }
    ls_session_outbox_send_packet(uplink->context->outbox, ls_bits_size_bytes(&stream));
    return end;
}

/* Never sent, or long enough ago that the answer would be here. */
static bool is_due(ls_uplink *uplink, ls_tick tick)
{
    uint64_t now_ns = uplink->context->now_ns;
    uint64_t spare_ns = LS_MIN(LS_SEND_SPARE_TICKS * uplink->context->dt_ns, ANSWER_NS);
    uint64_t pause_ns = uplink->sync->rtt_ns + spare_ns;
    return tick >= uplink->sent_end || now_ns - times_of(uplink, tick)->resent_ns >= pause_ns;
}

/* Inputs that did not fit do not wait for the acknowledgement of the rest, or no more than a packet
 * of inputs would ever arrive in a round trip. */
static void send_what_did_not_fit(ls_uplink *uplink, ls_inputs_header *header, ls_tick tick)
{
    header->hold = LS_HOLD_NONE;
    header->has_base = false;
    header->base_gap = 0;
    header->has_health = false;
    uint32_t packets = 1;
    while (tick < uplink->sync->next_input && packets < PACKETS_PER_FRAME_MAX) {
        if (!is_due(uplink, tick)) {
            tick++;
            continue;
        }
        header->first = tick;
        tick = send_packet(uplink, header);
        packets++;
    }
}

static void add_health(ls_uplink *uplink, ls_inputs_header *header)
{
    uint64_t now_ns = uplink->context->now_ns;
    const ls_link_meter *downlink = ls_confirmed_ticks_downlink(uplink->context->ticks);
    if (!downlink->has_first) {
        return;
    }
    header->health.has_lag =
        is_playing(uplink) &&
        ls_lag_notes_take_report(&uplink->notes, uplink->sync->next_input, &header->health.lag);
    header->has_health = header->health.has_lag || has_new_loss(uplink) ||
                         now_ns - uplink->health_ns >= LS_HEALTH_NS;
    if (header->has_health) {
        header->health.downlink = ls_link_meter_figures(downlink);
        uplink->health_ns = now_ns;
        uplink->told_lost = downlink->lost;
    }
}

/* The first input that the next INPUTS carries: the first that the server wants, unless a later one
 * will do. */
static ls_tick first_to_carry(const ls_uplink *uplink)
{
    const ls_session *context = uplink->context;
    ls_tick wanted = uplink->wanted;
    if (uplink->loss != LS_SEND_LOSS_FEW || uplink->is_overflowing || wanted >= uplink->sent_end) {
        return wanted;
    }
    uint64_t age_ns = context->now_ns - uplink->times[wanted % LS_WINDOW_TICKS].sent_ns;
    return ls_send_is_overdue(age_ns, uplink->sync->rtt_ns, context->dt_ns)
               ? wanted
               : ls_sent_ends_first(&uplink->sent, LS_SEND_PACKETS, wanted,
                                    uplink->sync->next_input);
}

LS_TICK_CODE void ls_uplink_send(ls_uplink *uplink)
{
    const ls_session *context = uplink->context;
    ls_tick confirmed = ls_confirmed_ticks_end(context->ticks);
    ls_inputs_header header = {.next = confirmed,
                               .hold = ls_confirmed_ticks_pop_hold(context->ticks),
                               .chain_tick = context->hashes->tick,
                               .chain = (uint32_t)context->hashes->chain,
                               .first = confirmed};
    if (is_playing(uplink)) {
        header.first = first_to_carry(uplink);
        header.has_base = uplink->has_base && uplink->wanted > uplink->altered_end;
        header.base_gap = header.first - uplink->wanted;
    }
    add_health(uplink, &header);
    uplink->sent_ns = context->now_ns;
    uplink->acknowledged = confirmed;
    uplink->is_answer_due = false;
    ls_tick end = send_packet(uplink, &header);
    if (!is_playing(uplink)) {
        return;
    }
    uplink->is_overflowing = end < uplink->sync->next_input;
    ls_sent_ends_add(&uplink->sent, end);
    send_what_did_not_fit(uplink, &header, end);
}

/* ---- when to send ---- */

/* Inputs that have never been sent, as many as an INPUTS waits for. */
static bool has_inputs_to_send(const ls_uplink *uplink)
{
    ls_tick unsent = uplink->sync->next_input - uplink->sent_end;
    return unsent > 0 && (unsent >= inputs_a_packet(uplink) || is_held_back(uplink));
}

/* When they are sent a second time: only while the server has not said that they came. */
static uint64_t second_send_ns(const ls_uplink *uplink)
{
    bool is_missed = uplink->wanted < uplink->sync->next_input;
    uint64_t again_ns = uplink->first_sent_ns + uplink->context->dt_ns / LS_SEND_INPUTS_AGAIN_SHARE;
    return uplink->is_second_due && is_missed ? again_ns : UINT64_MAX;
}

static bool is_worth_repeating(const ls_uplink *uplink)
{
    return is_sending_twice(uplink) &&
           (!is_repeating_changes(uplink) ||
            has_change(uplink, uplink->sent_end, uplink->sync->next_input));
}

LS_TICK_CODE void ls_uplink_send_due(ls_uplink *uplink)
{
    uint64_t now_ns = uplink->context->now_ns;
    if (!is_playing(uplink)) {
        if (is_watching(uplink->context)
                ? uplink->is_answer_due
                : uplink->acknowledged != ls_confirmed_ticks_end(uplink->context->ticks)) {
            ls_uplink_send(uplink);
        }
        return;
    }
    if (has_inputs_to_send(uplink)) {
        uplink->first_sent_ns = now_ns;
        uplink->is_second_due = is_worth_repeating(uplink);
        ls_uplink_send(uplink);
    } else if (now_ns >= second_send_ns(uplink)) {
        uplink->is_second_due = false;
        ls_uplink_send(uplink);
    }
}

/* The longest time between two INPUTS. */
static uint64_t heartbeat_ns(const ls_session *context)
{
    uint64_t match_ns = is_watching(context) ? LS_MIN(SPECTATOR_HEARTBEAT_TICKS * context->dt_ns,
                                                      SPECTATOR_ANSWER_NS)
                                             : LS_MIN(HEARTBEAT_TICKS * context->dt_ns, ANSWER_NS);
    uint64_t usual_ns = ls_session_is_in_match(context) ? match_ns : LOBBY_HEARTBEAT_NS;
    uint64_t silence_max_ns = context->offer.timeout_ms * LS_NS_PER_MS / 4;
    return LS_MIN(usual_ns, silence_max_ns);
}

LS_TICK_CODE void ls_uplink_send_in_time(ls_uplink *uplink)
{
    if (uplink->context->now_ns - uplink->sent_ns >= heartbeat_ns(uplink->context)) {
        ls_uplink_send(uplink);
    }
}

uint64_t ls_uplink_next_ns(const ls_uplink *uplink)
{
    bool is_making =
        uplink->sync->next_input < uplink->context->end.final_tick && !is_held_back(uplink);
    uint64_t due_ns = is_making ? uplink->sync->next_due_ns : UINT64_MAX;
    uint64_t second_ns = second_send_ns(uplink);
    return LS_MIN(due_ns, second_ns);
}

bool ls_uplink_is_by_clock(const ls_uplink *uplink)
{
    bool is_in_time = ls_tick_sync_is_settled(uplink->sync) && uplink->slack_ns >= 0;
    return is_in_time && !is_held_back(uplink) && !is_sending_twice(uplink);
}

/* ---- reading ---- */

const ls_input_buffer *ls_uplink_inputs(const ls_uplink *uplink)
{
    return uplink->inputs;
}

uint64_t ls_uplink_inputs_made(const ls_uplink *uplink)
{
    return uplink->inputs_made;
}

void ls_uplink_report(const ls_uplink *uplink, ls_session_report *report)
{
    report->next_input = uplink->sync->next_input;
    report->inputs_made = uplink->inputs_made;
    report->inputs_skipped = uplink->inputs_skipped;
    report->stalled_ticks = uplink->stalled_ticks;
    report->rtt_ns = uplink->sync->rtt_ns;
    report->slack_ns = uplink->slack_ns;
    report->uplink = uplink->figures;
    report->input_delay_ticks = uplink->sync->config.input_delay_ticks;
    report->confirm_latency_p50_ns = ls_histogram_percentile_ns(&uplink->latency, 50);
    report->confirm_latency_p99_ns = ls_histogram_percentile_ns(&uplink->latency, 99);
    report->confirm_latency_max_ns = uplink->latency.max_ns;
}
