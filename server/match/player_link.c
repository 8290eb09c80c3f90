#include "lockstep/server/match/player_link.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/server/match/tick_log.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* ---- player lag ---- */

void ls_player_lag_begin(ls_player_lag *lag, const ls_match *match, bool has_played)
{
    uint32_t input_delay_ticks = match->config.input_delay_ticks;
    /* Ticks that come from clients after a restart may tell of a player whose seat somebody else
     * has taken since: that one has no meter yet. */
    if (has_played && lag->meter.dt_ns > 0) {
        ls_lag_meter_forget_recent(&lag->meter);
    } else {
        ls_lag_meter_init(&lag->meter, match->dt_ns);
    }
    ls_delay_control_init(&lag->delay, input_delay_ticks);
    lag->input_delay_ticks = input_delay_ticks;
}

static void judge(ls_player_lag *lag, const ls_match *match, const ls_lag_figures *recent)
{
    ls_lag before = lag->lag;
    lag->lag = ls_lag_judge(recent, match->config.sim.players - 1);
    bool is_same = lag->lag.cause == before.cause && lag->lag.whom == before.whom;
    ls_tick ticks = (ls_tick)(LS_LAG_STRETCH_NS / match->dt_ns);
    ls_tick first = match->log->next > ticks ? match->log->next - ticks : 0;
    lag->lag.since_tick = is_same ? before.since_tick : first;
    ls_lag_meter_note_verdict(&lag->meter, lag->lag.cause);
}

void ls_player_lag_set_delay(ls_player_lag *lag, const ls_match *match, ls_peer_id peer,
                             uint32_t ticks)
{
    lag->delay.ticks = ticks;
    lag->input_delay_ticks = ticks;
    ls_lag_meter_forget_recent(&lag->meter);
    ls_outbox_message(match->outbox, LS_MESSAGE_INPUT_DELAY)->body.input_delay_ticks = ticks;
    ls_outbox_send(match->outbox, peer);
}

static void adapt_delay(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                        const ls_lag_figures *recent)
{
    uint32_t before = lag->delay.ticks;
    if (!ls_delay_control_update(&lag->delay, recent, &lag->lag)) {
        return;
    }
    ls_player_lag_set_delay(lag, match, who.peer, lag->delay.ticks);
    ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_DELAYED, who.slot, 0);
    ls_text_set(&event->text, "input delay %" PRIu32 " ticks instead of %" PRIu32, lag->delay.ticks,
                before);
}

bool ls_player_lag_count(ls_player_lag *lag, const ls_match *match, ls_player_name who,
                         ls_lag_tick *tick)
{
    ls_lag_figures recent;
    tick->input_delay_ticks = lag->delay.ticks;
    if (!ls_lag_meter_add_tick(&lag->meter, tick, &recent)) {
        return false;
    }
    judge(lag, match, &recent);
    if (match->config.adapts_input_delay) {
        adapt_delay(lag, match, who, &recent);
    }
    return ls_lag_has_changed(&lag->said, &lag->lag, match->now_ns);
}

/* The player is gone, or here on another connection: the figures stay. */
static void forget_connection(ls_player_lag *lag)
{
    lag->delay = (ls_delay_control){0};
    lag->said = (ls_lag_said){0};
    ls_lag_meter_forget_connection(&lag->meter);
}

enum {
    ANSWER_BYTES_MIN = 16, /* the header and the end of TICKS fit */
};

#define SEAL_NS (UINT64_C(250) * LS_NS_PER_MS) /* between two seals */

void ls_player_link_init(ls_player_link *link, uint32_t slot, uint32_t input_bytes_max)
{
    memset(link, 0, sizeof *link);
    link->slot = slot;
    link->input_bytes_max = input_bytes_max;
    link->slack = LS_SLACK_NONE;
}

ls_status ls_player_link_open(ls_player_link *link, const ls_allocator *allocator)
{
    ls_input_buffer_config config = {.slots = 1,
                                     .input_bytes_max = link->input_bytes_max,
                                     .window_ticks = LS_PLAYER_INPUTS_TICKS};
    return ls_input_buffer_create(&config, allocator, &link->received);
}

void ls_player_link_close(ls_player_link *link)
{
    ls_input_buffer_destroy(link->received);
    link->received = NULL;
}

/* Forgets the connection and what it brought; keeps the memory. */
static void reset(ls_player_link *link)
{
    ls_input_buffer *received = link->received;
    ls_input_buffer_restart(received, 0);
    ls_player_link_init(link, link->slot, link->input_bytes_max);
    link->received = received;
}

void ls_player_link_change(ls_player_link *link, ls_player_change change)
{
    if (change == LS_PLAYER_SAME) {
        return;
    }
    const ls_player_figures figures = link->figures;
    const ls_player_figures past = link->past;
    reset(link);
    if (change == LS_PLAYER_NEWCOMER) {
        link->past = figures;
        return;
    }
    if (change == LS_PLAYER_CLEARED) {
        return;
    }
    link->figures = change == LS_PLAYER_TAKEN_BACK ? past : figures;
    forget_connection(&link->figures.lag);
}

void ls_player_link_join(ls_player_link *link, ls_tick first, bool is_keyframe, ls_tick next_close,
                         uint64_t now_ns)
{
    ls_peer_link_start_ticks(&link->peer, first, is_keyframe);
    ls_peer_link_start_waiting(&link->peer, now_ns);
    link->peer.downlink.loss = LS_SEND_LOSS_MANY; /* until the client knows better */
    link->joined_at = next_close;
    link->wanted = next_close;
    ls_input_buffer_restart(link->received, next_close);
}

/* How long before its closing an input that arrives now came; negative: after it. */
static int64_t slack_ns_of(const ls_match *match, ls_tick tick)
{
    if (tick < match->log->next) {
        return (int64_t)(ls_tick_log_closed_at(match->log, tick) - match->arrived_ns);
    }
    uint64_t due_ns = match->log->next_due_ns + (tick - match->log->next) * match->dt_ns;
    return (int64_t)(due_ns - match->arrived_ns);
}

static uint64_t bit_of(ls_tick tick)
{
    return UINT64_C(1) << tick % 64;
}

static uint64_t *bits_of(ls_player_link *link, ls_tick tick)
{
    return &link->substituted[tick % LS_PLAYER_INPUTS_KEPT_TICKS / 64];
}

/* Its tick was closed before it came. Where that was with the same input nothing is lost: the
 * input of the tick before, which is repeated, is the right one while nothing changes. Returns
 * whether something is. */
static bool count_late(ls_player_link *link, const ls_tick_log *log, ls_tick tick,
                       const ls_slot_input *input)
{
    ls_slot_input used;
    bool is_substituted = (*bits_of(link, tick) & bit_of(tick)) != 0;
    if (is_substituted && ls_input_buffer_get(log->closed, tick, link->slot, &used) == LS_OK &&
        ls_slot_input_is_same(&used, input)) {
        link->figures.inputs_substituted--;
        link->figures.inputs_on_time++;
        ls_lag_meter_forgive_late(&link->figures.lag.meter, tick);
        return false;
    }
    link->figures.inputs_late += LS_FAULT(LATE_INPUT_UNREPORTED) ? 0 : 1;
    return true;
}

static void note_slack(ls_player_link *link, int64_t slack_ns)
{
    link->figures.slack_ns = slack_ns;
    if (!link->is_uneven) {
        ls_lag_meter_add_arrival(&link->figures.lag.meter, link->figures.slack_ns);
    }
    int32_t slack = ls_slack_from_ns(link->figures.slack_ns);
    if (link->slack == LS_SLACK_NONE || slack < link->slack) {
        link->slack = slack;
    }
}

/* An input of a packet, beside what the packet says of it. */
typedef struct arrived_input {
    ls_tick tick;
    ls_slot_input input;
    bool is_changed; /* from that of the tick before */
    bool is_newest;  /* of the packet: it was not in an earlier one that was lost */
} arrived_input;

/* How early the inputs come tells the client when to make them. Where it sends twice what changes
 * alone, an input that does not change need not come again in time when its packet is lost. */
static bool has_to_be_early(const ls_player_link *link, const ls_match *match,
                            const arrived_input *arrived, bool was_missed)
{
    const ls_match_config *config = &match->config;
    return (arrived->is_changed && was_missed) || arrived->is_newest ||
           !ls_send_rate_repeats_changes(config->send_rate, config->late_rule, link->loss);
}

static void store_input(ls_player_link *link, const ls_match *match, const arrived_input *arrived)
{
    ls_tick tick = arrived->tick;
    const ls_slot_input *input = &arrived->input;
    ls_status stored = ls_input_buffer_put(link->received, tick, 0, input->bytes, input->size, 0);
    if (stored != LS_OK) {
        return; /* a repetition, or too old to keep */
    }
    bool was_missed = tick >= match->log->next || count_late(link, match->log, tick, input);
    int64_t slack_ns = slack_ns_of(match, tick);
    if (slack_ns < 0) {
        link->late_ns = LS_MAX((uint64_t)-slack_ns, link->late_ns);
    }
    if (has_to_be_early(link, match, arrived, was_missed)) {
        note_slack(link, slack_ns);
    }
    if (!link->has_newest || tick > link->newest) {
        link->newest = tick;
        link->has_newest = true;
        link->newest_arrival_ns = match->arrived_ns;
        link->is_arrival_reported = false;
    }
}

static void advance_wanted(ls_player_link *link, ls_tick next_close)
{
    if (link->wanted < next_close) {
        link->wanted = next_close;
    }
    while (ls_input_buffer_has(link->received, link->wanted, 0)) {
        link->wanted++;
    }
}

/* Goes through the packet's inputs. *end is the tick behind them. */
static ls_status check_inputs(const ls_match *match, ls_bit_stream *stream,
                              const ls_inputs_header *header, ls_tick_cursor *cursor, ls_tick *end)
{
    ls_tick tick = header->first;
    while (ls_inputs_read_tick(stream, cursor)) {
        if (tick >= match->log->next && tick - match->log->next >= LS_LEAD_TICKS_MAX) {
            return LS_FUTURE;
        }
        tick++;
    }
    *end = tick;
    return ls_bits_is_complete(stream) ? LS_OK : LS_MALFORMED;
}

/* Stores the inputs that check_inputs has gone through. */
static void store_inputs(ls_player_link *link, const ls_match *match, ls_bit_stream *stream,
                         const ls_inputs_header *header, ls_tick_cursor *cursor, ls_tick end)
{
    for (ls_tick tick = header->first; ls_inputs_read_tick(stream, cursor); tick++) {
        arrived_input arrived = {
            .tick = tick, .is_changed = cursor->has_changed, .is_newest = tick + 1 == end};
        ls_tick_cursor_inputs(cursor, &arrived.input);
        store_input(link, match, &arrived);
    }
}

/* The match waits now, or this server is late to close the next tick. */
static bool is_match_behind(const ls_match *match)
{
    return match->now_ns > match->log->next_due_ns + LS_LINK_LATE_NS;
}

static void receive_facts(ls_player_link *link, const ls_match *match,
                          const ls_inputs_header *header, ls_tick end, bool has_stamp)
{
    const ls_client_health *health = &header->health;
    const ls_link_meter *uplink = &link->peer.downlink.uplink;
    ls_lag_meter *meter = &link->figures.lag.meter;
    uint32_t lost_before = ls_lag_meter_add_uplink(meter, uplink->sent, uplink->lost);
    if (has_stamp) {
        ls_lag_meter_add_uplink_jitter(meter, uplink->jitter_ns);
    }
    if (!header->has_health && !ls_lag_meter_is_open(meter)) {
        return;
    }
    ls_lag_packet packet = {.end = end,
                            .late_ns = link->late_ns,
                            .lost_before = lost_before,
                            .report = header->has_health && health->has_lag ? &health->lag : NULL,
                            .has_downlink = header->has_health,
                            .downlink_loss = health->downlink.loss,
                            .downlink_jitter_ns = health->downlink.jitter * LS_HOLD_UNIT_NS,
                            .is_match_behind = is_match_behind(match)};
    ls_lag_meter_add_packet(meter, &packet);
}

/* When the newest input of a packet was due, and with it the packet; not where either side was
 * late, of which the way is no cause. */
static int64_t stamp_of(const ls_player_link *link, const ls_match *match, ls_tick end)
{
    bool is_read_late = match->arrived_ns > match->log->next_due_ns + LS_LINK_LATE_NS;
    return link->is_uneven || is_read_late ? LS_LINK_STAMP_NONE : (int64_t)(end * match->dt_ns);
}

static void receive_header(ls_player_link *link, const ls_match *match,
                           const ls_inputs_header *header, ls_tick end)
{
    /* Ticks that were closed before the player joined were not sent to it then. */
    bool is_fresh = header->next > link->joined_at;
    uint64_t sent_ns = is_fresh ? ls_tick_log_closed_at(match->log, header->next - 1) : 0;
    int64_t stamp_ns = stamp_of(link, match, end);
    ls_link_arrival arrival =
        ls_downlink_receive(&link->peer.downlink, match, header, sent_ns, stamp_ns);
    if (arrival == LS_LINK_NEWER) {
        receive_facts(link, match, header, end, stamp_ns != LS_LINK_STAMP_NONE);
        link->unstepped_ticks = header->next - header->chain_tick;
    }
}

/* Perhaps what is held as the base was altered on its way, and is none: then nothing that is coded
 * against it can be read, and where the rule `wait` waits for the next input it would stay the base
 * for ever. Until the client hears of that, its packets are no fault of its own. */
static ls_status give_up_base(ls_player_link *link, ls_tick behind, ls_status status)
{
    bool is_known = link->unread == behind;
    link->unread = behind;
    return is_known ? LS_STALE : status;
}

ls_status ls_player_link_read_inputs(ls_player_link *link, const ls_match *match,
                                     const ls_inputs_header *header, ls_bit_stream *stream,
                                     ls_tick_cursor *cursor)
{
    if (header->next > match->log->next) {
        return LS_MALFORMED; /* acknowledges what was never sent */
    }
    if (header->first > match->log->next + LS_LEAD_TICKS_MAX) {
        return LS_FUTURE;
    }
    ls_slot_input base = {0};
    const ls_slot_input *known_base = header->has_base ? &base : NULL;
    ls_tick behind_base = header->first - header->base_gap;
    if (header->has_base &&
        (behind_base == 0 ||
         ls_input_buffer_get(link->received, behind_base - 1, 0, &base) != LS_OK)) {
        return LS_STALE;
    }
    ls_tick_cursor_start(cursor, 1, link->input_bytes_max, known_base);
    ls_tick end = 0;
    size_t first_bit = stream->position_bits;
    ls_status status = check_inputs(match, stream, header, cursor, &end);
    if (status != LS_OK) {
        return header->has_base ? give_up_base(link, behind_base, status) : status;
    }
    stream->position_bits = first_bit;
    link->is_uneven = header->has_health && header->health.has_lag;
    link->late_ns = 0;
    ls_tick_cursor_start(cursor, 1, link->input_bytes_max, known_base);
    store_inputs(link, match, stream, header, cursor, end);
    receive_header(link, match, header, end);
    advance_wanted(link, match->log->next);
    link->peer.heard_ns = match->arrived_ns;
    return LS_OK;
}

void ls_player_link_pass_tick(ls_player_link *link, ls_tick tick)
{
    *bits_of(link, tick) &= ~bit_of(tick);
    advance_wanted(link, tick + 1);
    if (tick + 1 > LS_PLAYER_INPUTS_KEPT_TICKS) {
        ls_input_buffer_forget_before(link->received, tick + 1 - LS_PLAYER_INPUTS_KEPT_TICKS);
    }
}

ls_slot_input ls_player_link_close_input(ls_player_link *link, ls_tick tick,
                                         const ls_slot_input *before, bool *is_on_time)
{
    ls_slot_input input = {0};
    ls_tick taken = LS_FAULT(INPUT_ON_WRONG_TICK) ? tick + 1 : tick;
    *is_on_time = ls_input_buffer_get(link->received, taken, 0, &input) == LS_OK;
    if (*is_on_time) {
        link->figures.inputs_on_time++;
    } else {
        link->figures.inputs_substituted++;
        input = *before;
    }
    ls_player_link_pass_tick(link, tick);
    if (!*is_on_time) {
        *bits_of(link, tick) |= bit_of(tick);
    }
    return input;
}

static void report_wanted(const ls_player_link *link, ls_ticks_header *header)
{
    header->wanted = link->wanted;
    header->has_base = link->wanted > 0 && link->wanted != link->unread &&
                       ls_input_buffer_has(link->received, link->wanted - 1, 0);
}

static void fill_header(ls_player_link *link, const ls_match *match, ls_tick end,
                        ls_ticks_header *header)
{
    ls_downlink_header(&link->peer.downlink, match, header);
    header->first = ls_downlink_first(&link->peer.downlink, match, end);
    if (header->has_uplink) {
        link->loss = ls_send_loss_of(link->loss, header->uplink.loss);
    }
    report_wanted(link, header);
    header->slack = link->slack;
    if (link->has_newest && link->newest + 1 == link->wanted && !link->is_arrival_reported) {
        header->hold = ls_hold_from_ns(match->now_ns - link->newest_arrival_ns);
        link->is_arrival_reported = true;
    }
    link->slack = LS_SLACK_NONE;
}

/* A client that comes back to a server that was restarted proves with it which ticks were closed.
 */
static void write_seal(ls_player_link *link, const ls_match *match, ls_tick first, ls_tick end,
                       ls_bit_stream *stream)
{
    ls_tick second_ticks = (ls_tick)(LS_NS_PER_SECOND / match->dt_ns);
    bool is_due = match->now_ns - link->sealed_ns >= SEAL_NS || end - first >= second_ticks;
    if (end <= link->sealed_end || !is_due) {
        return;
    }
    const ls_match_config *config = &match->config;
    ls_tick_seal seal = {.is_there = true,
                         .value = ls_secret_seal(&config->key, config->match_id, end,
                                                 ls_tick_log_chain(match->log, end))};
    ls_tick_seal_bits(stream, &seal);
    if (seal.is_there) {
        link->sealed_end = end;
        link->sealed_ns = match->now_ns;
    }
}

size_t ls_player_link_write_ticks(ls_player_link *link, const ls_match *match, ls_tick *end,
                                  uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    ls_bit_stream stream = ls_bit_writer(bytes, LS_PACKET_BYTES_MAX);
    ls_ticks_header header;
    fill_header(link, match, *end, &header);
    *end = ls_downlink_write(&link->peer.downlink, match->log, *end, &header, &stream);
    write_seal(link, match, header.first, *end, &stream);
    return ls_bits_size_bytes(&stream);
}

size_t ls_player_link_write_answer(ls_player_link *link, const ls_match *match, size_t room_bytes,
                                   uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    if (room_bytes < ANSWER_BYTES_MIN) {
        return 0;
    }
    ls_bit_stream stream = ls_bit_writer(bytes, LS_MIN(room_bytes, LS_PACKET_BYTES_MAX));
    ls_ticks_header header = {.hold = LS_HOLD_NONE, .slack = LS_SLACK_NONE};
    report_wanted(link, &header);
    bool has_ticks = ls_downlink_write_answer(&link->peer.downlink, match, &header, &stream);
    return has_ticks ? ls_bits_size_bytes(&stream) : 0;
}

void ls_player_link_prefetch(const ls_player_link *link)
{
    ls_prefetch(link, offsetof(ls_player_link, peer) + offsetof(ls_peer_link, downlink) +
                          offsetof(ls_downlink, parts));
    ls_prefetch(&link->figures, offsetof(ls_player_figures, lag) + offsetof(ls_player_lag, meter) +
                                    offsetof(ls_lag_meter, recent) +
                                    offsetof(ls_lag_figures, arrivals));
}

void ls_player_link_prefetch_more(const ls_player_link *link, ls_tick next_close)
{
    ls_input_buffer_prefetch(link->received, next_close);
    ls_lag_meter_prefetch(&link->figures.lag.meter, link->figures.slack_ns);
}
