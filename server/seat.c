#include "lockstep/server/seat.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/protocol/send_rate.h"

#include <string.h>

enum {
    RTT_SMOOTHING = 8, /* a sample moves the estimate by an eighth, as TCP's does (RFC 6298) */
    INPUTS_KEPT_TICKS = 256, /* closed ticks whose inputs may still serve as a base */
};

/* A client acknowledges within two ticks, or within this. */
static const uint64_t ANSWER_MAX_NS = 100 * LS_NS_PER_MS;

ls_status ls_seat_init(ls_seat *seat, uint32_t input_bytes_max, const ls_allocator *allocator)
{
    memset(seat, 0, sizeof *seat);
    ls_input_buffer_config config = {
        .slots = 1, .input_bytes_max = input_bytes_max, .window_ticks = LS_WINDOW_TICKS};
    ls_status status = ls_input_buffer_create(&config, allocator, &seat->received);
    seat->input_bytes_max = input_bytes_max;
    ls_seat_reset(seat);
    return status;
}

void ls_seat_deinit(ls_seat *seat)
{
    ls_input_buffer_destroy(seat->received);
    seat->received = NULL;
}

void ls_seat_reset(ls_seat *seat)
{
    /* No input is stored before the match runs, so the buffer is as it was made. */
    ls_input_buffer *received = seat->received;
    uint32_t input_bytes_max = seat->input_bytes_max;
    memset(seat, 0, sizeof *seat);
    seat->received = received;
    seat->input_bytes_max = input_bytes_max;
    seat->slack = LS_SLACK_NONE;
}

static void measure_rtt(ls_seat *seat, const ls_seat_clock *clock, const ls_inputs_header *header)
{
    if (header->hold == LS_HOLD_NONE || header->next == 0) {
        return;
    }
    const ls_seat_parts *parts = &seat->parts[(header->next - 1) % LS_TICK_PARTS_AHEAD];
    if (parts->tick == header->next - 1 && parts->is_repeated) {
        return;
    }
    uint64_t sent_ns = clock->closed_at_ns[(header->next - 1) % LS_WINDOW_TICKS];
    uint64_t away_ns = clock->now_ns - sent_ns;
    uint64_t held_ns = header->hold * LS_HOLD_UNIT_NS;
    if (clock->now_ns < sent_ns || away_ns < held_ns) {
        return;
    }
    int64_t sample = (int64_t)(away_ns - held_ns);
    int64_t smoothed = (int64_t)seat->report.rtt_ns;
    smoothed = smoothed == 0 ? sample : smoothed + (sample - smoothed) / RTT_SMOOTHING;
    seat->report.rtt_ns = (uint64_t)smoothed;
}

/* How long before its closing an input that arrives now came; negative: after it. */
static int64_t slack_ns_of(const ls_seat_clock *clock, ls_tick tick)
{
    if (tick < clock->next_close) {
        return (int64_t)(clock->closed_at_ns[tick % LS_WINDOW_TICKS] - clock->now_ns);
    }
    uint64_t due_ns = clock->next_close_ns + (tick - clock->next_close) * clock->dt_ns;
    return (int64_t)(due_ns - clock->now_ns);
}

static void store_input(ls_seat *seat, const ls_seat_clock *clock, ls_tick tick,
                        const ls_slot_input *input)
{
    ls_status stored = ls_input_buffer_put(seat->received, tick, 0, input->bytes, input->size, 0);
    if (stored != LS_OK) {
        return; /* a repetition, or too old to keep */
    }
    if (tick < clock->next_close && !LS_FAULT(LATE_INPUT_UNREPORTED)) {
        seat->report.inputs_late++;
    }
    seat->report.slack_ns = slack_ns_of(clock, tick);
    ls_lag_meter_add_arrival(&seat->lag, seat->report.slack_ns);
    int32_t slack = ls_slack_from_ns(seat->report.slack_ns);
    if (seat->slack == LS_SLACK_NONE || slack < seat->slack) {
        seat->slack = slack;
    }
    if (!seat->has_newest || tick > seat->newest) {
        seat->newest = tick;
        seat->has_newest = true;
        seat->newest_arrival_ns = clock->now_ns;
        seat->is_arrival_reported = false;
    }
}

static void advance_wanted(ls_seat *seat, ls_tick next_close)
{
    if (seat->wanted < next_close) {
        seat->wanted = next_close;
    }
    while (ls_input_buffer_has(seat->received, seat->wanted, 0)) {
        seat->wanted++;
    }
}

/* Goes through the packet's inputs; stores them only when asked to. *end is the tick behind them.
 */
static ls_status walk_inputs(ls_seat *seat, const ls_seat_clock *clock, ls_bit_stream stream,
                             const ls_inputs_header *header, ls_tick_cursor *cursor,
                             bool is_storing, ls_tick *end)
{
    ls_tick tick = header->first;
    ls_slot_input input;
    while (ls_inputs_read_tick(&stream, cursor)) {
        if (tick >= clock->next_close && tick - clock->next_close >= LS_LEAD_TICKS_MAX) {
            return LS_FUTURE;
        }
        if (is_storing) {
            ls_tick_cursor_inputs(cursor, &input);
            store_input(seat, clock, tick, &input);
        }
        tick++;
    }
    *end = tick;
    return ls_bits_is_complete(&stream) ? LS_OK : LS_MALFORMED;
}

/* The newest packet counts, not the highest number: an acknowledgement that was altered on its way
 * is mended by the next one. What is no longer held cannot be asked for again. */
static void take_acknowledgement(ls_seat *seat, const ls_seat_clock *clock, ls_tick next)
{
    if (clock->next_close - next + 1 < LS_WINDOW_TICKS) {
        seat->next = next;
    }
}

static void take_header(ls_seat *seat, const ls_seat_clock *clock, const ls_inputs_header *header,
                        ls_tick end)
{
    int64_t stamp_ns = (int64_t)(end * clock->dt_ns);
    ls_link_arrival arrival =
        ls_link_meter_add(&seat->uplink, header->sequence, stamp_ns, clock->now_ns);
    if (arrival == LS_LINK_REPEATED) {
        return;
    }
    measure_rtt(seat, clock, header);
    if (header->has_health) {
        seat->health = header->health;
        ls_lag_meter_add_health(&seat->lag, &header->health);
        seat->is_losing = ls_send_rate_is_lossy(seat->is_losing, &header->health.downlink);
    }
    if (arrival == LS_LINK_NEWER) {
        take_acknowledgement(seat, clock, header->next);
        seat->unstepped_ticks = header->next - header->chain_tick;
    }
}

ls_status ls_seat_read_inputs(ls_seat *seat, const ls_seat_clock *clock,
                              const ls_inputs_header *header, ls_bit_stream stream,
                              ls_tick_cursor *cursor)
{
    if (header->next > clock->next_close) {
        return LS_MALFORMED; /* acknowledges what was never sent */
    }
    if (header->first > clock->next_close + LS_LEAD_TICKS_MAX) {
        return LS_FUTURE;
    }
    ls_slot_input base = {0};
    const ls_slot_input *known_base = NULL;
    if (header->has_base) {
        if (header->first == 0 ||
            ls_input_buffer_get(seat->received, header->first - 1, 0, &base) != LS_OK) {
            return LS_STALE;
        }
        known_base = &base;
    }
    ls_tick_cursor_start(cursor, 1, seat->input_bytes_max, known_base);
    ls_tick end = 0;
    ls_status status = walk_inputs(seat, clock, stream, header, cursor, false, &end);
    if (status != LS_OK) {
        return status;
    }
    ls_tick_cursor_start(cursor, 1, seat->input_bytes_max, known_base);
    status = walk_inputs(seat, clock, stream, header, cursor, true, &end);
    LS_ASSERT(status == LS_OK);
    take_header(seat, clock, header, end);
    advance_wanted(seat, clock->next_close);
    seat->heard_ns = clock->now_ns;
    return LS_OK;
}

ls_slot_input ls_seat_close_input(ls_seat *seat, ls_tick tick, const ls_slot_input *before,
                                  bool *is_on_time)
{
    ls_slot_input input = {0};
    ls_tick taken = LS_FAULT(INPUT_ON_WRONG_TICK) ? tick + 1 : tick;
    *is_on_time = ls_input_buffer_get(seat->received, taken, 0, &input) == LS_OK;
    if (*is_on_time) {
        seat->report.inputs_on_time++;
    } else {
        seat->report.inputs_substituted++;
        input = *before;
    }
    advance_wanted(seat, tick + 1);
    if (tick + 1 > INPUTS_KEPT_TICKS) {
        ls_input_buffer_forget_before(seat->received, tick + 1 - INPUTS_KEPT_TICKS);
    }
    return input;
}

static ls_ticks_header make_header(ls_seat *seat, const ls_seat_clock *clock)
{
    ls_ticks_header header = {.sequence = seat->sequence++,
                              .first = seat->next,
                              .hold = LS_HOLD_NONE,
                              .wanted = seat->wanted,
                              .slack = seat->slack};
    header.has_base = seat->wanted > 0 && ls_input_buffer_has(seat->received, seat->wanted - 1, 0);
    if (seat->has_newest && seat->newest + 1 == seat->wanted && !seat->is_arrival_reported) {
        header.hold = ls_hold_from_ns(clock->now_ns - seat->newest_arrival_ns);
        seat->is_arrival_reported = true;
    }
    seat->slack = LS_SLACK_NONE;
    if (seat->uplink.has_first && clock->now_ns - seat->uplink_told_ns >= LS_HEALTH_NS) {
        header.has_uplink = true;
        header.uplink = ls_link_meter_figures(&seat->uplink);
        seat->uplink_told_ns = clock->now_ns;
    }
    return header;
}

/* Codes a tick against the tick before it, which the client has; before tick 0 all is empty. */
static bool write_tick(ls_bit_stream *stream, const ls_seat_ticks *ticks, ls_tick tick)
{
    ls_slot_input before[LS_PLAYERS_MAX] = {{0}};
    ls_slot_input inputs[LS_PLAYERS_MAX];
    if (tick > 0) {
        ls_status held = ls_input_buffer_tick(ticks->closed, tick - 1, before);
        LS_ASSERT(held == LS_OK);
    }
    ls_status held = ls_input_buffer_tick(ticks->closed, tick, inputs);
    LS_ASSERT(held == LS_OK);
    return ls_ticks_write_tick(stream, ticks->slot_count, before, inputs);
}

size_t ls_seat_write_ticks(ls_seat *seat, const ls_seat_clock *clock, const ls_seat_ticks *ticks,
                           uint8_t bytes[LS_PACKET_BYTES_MAX], ls_tick *end)
{
    ls_bit_stream stream = ls_bit_writer(bytes, LS_PACKET_BYTES_MAX);
    ls_ticks_header header = make_header(seat, clock);
    ls_ticks_header_bits(&stream, &header, 0);
    ls_tick tick = header.first;
    for (; tick < clock->next_close; tick++) {
        const ls_coded_tick *coded = &ticks->coded[tick % LS_WINDOW_TICKS];
        bool is_written = coded->bits > 0 ? ls_coded_tick_write(coded, &stream)
                                          : write_tick(&stream, ticks, tick);
        if (!is_written) {
            break;
        }
    }
    ls_tick_packet_write_end(&stream);
    *end = tick;
    return ls_bits_size_bytes(&stream);
}

bool ls_seat_take_parts_due(ls_seat *seat, const ls_seat_clock *clock, ls_tick tick)
{
    ls_seat_parts *sent = &seat->parts[tick % LS_TICK_PARTS_AHEAD];
    uint64_t answer_ns = 2 * clock->dt_ns < ANSWER_MAX_NS ? 2 * clock->dt_ns : ANSWER_MAX_NS;
    bool was_sent = sent->tick == tick && sent->sent_ns != 0;
    if (was_sent && clock->now_ns - sent->sent_ns < seat->report.rtt_ns + answer_ns) {
        return false;
    }
    *sent = (ls_seat_parts){.tick = tick, .sent_ns = clock->now_ns, .is_repeated = was_sent};
    return true;
}

uint32_t ls_seat_write_large_tick(const ls_seat_ticks *ticks, ls_tick tick,
                                  uint8_t bytes[LS_TICK_BYTES_MAX])
{
    ls_bit_stream stream = ls_bit_writer(bytes, LS_TICK_BYTES_MAX);
    bool is_written = write_tick(&stream, ticks, tick);
    LS_ASSERT(is_written);
    return (uint32_t)ls_bits_size_bytes(&stream);
}
