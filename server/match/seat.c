#include "lockstep/server/match/seat.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"

#include <string.h>

enum {
    INPUTS_KEPT_TICKS = 256, /* closed ticks whose inputs may still serve as a base */
};

ls_status ls_seat_init(ls_seat *seat, uint32_t input_bytes_max, const ls_allocator *allocator)
{
    memset(seat, 0, sizeof *seat);
    ls_input_buffer_config config = {
        .slots = 1, .input_bytes_max = input_bytes_max, .window_ticks = LS_WINDOW_TICKS};
    ls_status status = ls_input_buffer_create(&config, allocator, &seat->received);
    seat->input_bytes_max = input_bytes_max;
    seat->slack = LS_SLACK_NONE;
    return status;
}

void ls_seat_deinit(ls_seat *seat)
{
    ls_input_buffer_destroy(seat->received);
    seat->received = NULL;
}

void ls_seat_reset(ls_seat *seat)
{
    ls_seat before = *seat;
    ls_input_buffer_restart(seat->received, 0);
    memset(seat, 0, sizeof *seat);
    seat->received = before.received;
    seat->input_bytes_max = before.input_bytes_max;
    seat->generations = before.generations;
    seat->is_in_band = before.is_in_band;
    seat->is_leave_pending = before.is_leave_pending;
    seat->slack = LS_SLACK_NONE;
}

void ls_seat_take(ls_seat *seat)
{
    ls_seat_past past = {seat->state, seat->generations, seat->report, seat->lag};
    ls_seat_reset(seat);
    seat->past = past;
    ls_seat_generations_next(&seat->generations);
    /* That the seat was one that differed is not forgotten with who sat there. */
    seat->report.is_desynced = past.report.is_desynced;
    seat->report.desync_tick = past.report.desync_tick;
    seat->report.desync_server_hash = past.report.desync_server_hash;
    seat->report.desync_client_hash = past.report.desync_client_hash;
}

void ls_seat_untake(ls_seat *seat)
{
    ls_seat_past past = seat->past;
    ls_seat_reset(seat);
    seat->state = past.state;
    ls_seat_generations_take_back(&seat->generations, past.generations);
    seat->report = past.report;
    seat->lag = past.lag;
}

bool ls_seat_has_newcomer(const ls_seat *seat)
{
    return seat->state == LS_SEAT_OFFERED && seat->back.match_id == 0;
}

void ls_seat_reconnect(ls_seat *seat)
{
    ls_match_slot report = seat->report;
    ls_lag_meter lag = seat->lag;
    ls_seat_reset(seat);
    seat->report = report;
    seat->lag = lag;
}

/* How long before its closing an input that arrives now came; negative: after it. */
static int64_t slack_ns_of(const ls_downlink_clock *clock, ls_tick tick)
{
    if (tick < clock->next_close) {
        return (int64_t)(clock->closed_at_ns[tick % LS_WINDOW_TICKS] - clock->now_ns);
    }
    uint64_t due_ns = clock->next_close_ns + (tick - clock->next_close) * clock->dt_ns;
    return (int64_t)(due_ns - clock->now_ns);
}

static void store_input(ls_seat *seat, const ls_downlink_clock *clock, ls_tick tick,
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
static ls_status walk_inputs(ls_seat *seat, const ls_downlink_clock *clock, ls_bit_stream stream,
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

static void take_header(ls_seat *seat, const ls_downlink_clock *clock,
                        const ls_inputs_header *header, ls_tick end)
{
    /* What was closed before it joined was not sent to it then. */
    bool is_fresh = header->next > seat->joined_at;
    uint64_t sent_ns = is_fresh ? clock->closed_at_ns[(header->next - 1) % LS_WINDOW_TICKS] : 0;
    int64_t stamp_ns = (int64_t)(end * clock->dt_ns);
    ls_link_arrival arrival = ls_downlink_take(&seat->downlink, clock, header, sent_ns, stamp_ns);
    if (arrival != LS_LINK_REPEATED && header->has_health) {
        ls_lag_meter_add_health(&seat->lag, &header->health);
    }
    if (arrival == LS_LINK_NEWER) {
        seat->unstepped_ticks = header->next - header->chain_tick;
    }
}

/* Perhaps what is held as the base was altered on its way, and is none: then nothing that is coded
 * against it can be read, and where the rule `wait` waits for the next input it would stay the base
 * for ever. Until the client hears of that, its packets are no fault of its own. */
static ls_status give_up_base(ls_seat *seat, ls_tick first, ls_status status)
{
    bool is_known = seat->unread == first;
    seat->unread = first;
    return is_known ? LS_STALE : status;
}

ls_status ls_seat_read_inputs(ls_seat *seat, const ls_downlink_clock *clock,
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
        return header->has_base ? give_up_base(seat, header->first, status) : status;
    }
    ls_tick_cursor_start(cursor, 1, seat->input_bytes_max, known_base);
    status = walk_inputs(seat, clock, stream, header, cursor, true, &end);
    LS_ASSERT(status == LS_OK);
    take_header(seat, clock, header, end);
    advance_wanted(seat, clock->next_close);
    seat->heard_ns = clock->now_ns;
    return LS_OK;
}

void ls_seat_leave_band(ls_seat *seat)
{
    seat->is_leave_pending = seat->is_leave_pending || seat->is_in_band;
    seat->is_in_band = false;
}

void ls_seat_pass_tick(ls_seat *seat, ls_tick tick)
{
    advance_wanted(seat, tick + 1);
    if (tick + 1 > INPUTS_KEPT_TICKS) {
        ls_input_buffer_forget_before(seat->received, tick + 1 - INPUTS_KEPT_TICKS);
    }
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
    ls_seat_pass_tick(seat, tick);
    return input;
}

static ls_ticks_header make_header(ls_seat *seat, const ls_downlink_clock *clock)
{
    ls_ticks_header header = ls_downlink_header(&seat->downlink, clock->now_ns);
    header.wanted = seat->wanted;
    header.slack = seat->slack;
    header.has_base = seat->wanted > 0 && seat->wanted != seat->unread &&
                      ls_input_buffer_has(seat->received, seat->wanted - 1, 0);
    if (seat->has_newest && seat->newest + 1 == seat->wanted && !seat->is_arrival_reported) {
        header.hold = ls_hold_from_ns(clock->now_ns - seat->newest_arrival_ns);
        seat->is_arrival_reported = true;
    }
    seat->slack = LS_SLACK_NONE;
    return header;
}

size_t ls_seat_write_ticks(ls_seat *seat, const ls_downlink_clock *clock,
                           const ls_downlink_ticks *ticks, uint8_t bytes[LS_PACKET_BYTES_MAX],
                           ls_tick *end)
{
    ls_bit_stream stream = ls_bit_writer(bytes, LS_PACKET_BYTES_MAX);
    ls_ticks_header header = make_header(seat, clock);
    *end = ls_downlink_write(&seat->downlink, ticks, &header, &stream);
    return ls_bits_size_bytes(&stream);
}
