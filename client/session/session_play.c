#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <string.h>

/* ---- life ---- */

static ls_status create_buffers(ls_session *session)
{
    ls_input_buffer_config config = {.slots = 1,
                                     .input_bytes_max = session->simulation->input_bytes_max,
                                     .window_ticks = LS_WINDOW_TICKS};
    ls_status status = ls_input_buffer_create(&config, session->allocator, &session->own);
    if (status != LS_OK) {
        return status;
    }
    config.slots = session->offer.config.players;
    status = ls_input_buffer_create(&config, session->allocator, &session->closed);
    if (status != LS_OK) {
        return status;
    }
    return ls_tick_parts_init(&session->parts, config.slots, config.input_bytes_max,
                              session->allocator);
}

ls_status ls_session_play_init(ls_session *session)
{
    ls_status status = create_buffers(session);
    if (status != LS_OK) {
        return status;
    }
    bool is_flat = ls_sim_instance_schema(session->instance) != NULL;
    if (session->config.keeps_previous_state && is_flat) {
        size_t bytes = ls_sim_instance_state_bytes(session->instance);
        session->previous = ls_allocate(session->allocator, bytes);
        if (!session->previous) {
            return LS_NO_MEMORY;
        }
        memcpy(session->previous, ls_sim_instance_state(session->instance), bytes);
    }
    ls_timestep_config timestep = ls_timestep_config_default(session->offer.config.tick_rate_hz);
    timestep.frame_max_ns = session->config.frame_max_ms * LS_NS_PER_MS;
    session->timestep = ls_timestep_make(&timestep);
    ls_tick_sync_config sync = {.dt_ns = timestep.dt_ns,
                                .input_delay_ticks = session->offer.input_delay_ticks,
                                .is_exact = session->config.makes_inputs_between_frames};
    ls_tick_sync_init(&session->sync, &sync);
    ls_jitter_buffer_init(&session->jitter_buffer, timestep.dt_ns);
    session->alpha = LS_FIXED_ONE;
    session->state_hashes[0] = ls_sim_instance_hash(session->instance);
    session->chain = ls_hash_chain_start(session->state_hashes[0]);
    session->tick_chain = LS_TICK_CHAIN_START;
    status = ls_session_desync_init(session);
    return status == LS_OK ? ls_session_predict_init(session) : status;
}

void ls_session_play_deinit(ls_session *session)
{
    ls_prediction_destroy(session->prediction);
    ls_session_desync_deinit(session);
    ls_input_buffer_destroy(session->own);
    ls_input_buffer_destroy(session->closed);
    ls_tick_parts_deinit(&session->parts);
    ls_sim_instance_destroy(session->instance);
    ls_release(session->allocator, session->previous);
}

void ls_session_play_begin(ls_session *session)
{
    session->report.state = LS_SESSION_PLAYING;
    session->is_uplink_lossy = true; /* until the server knows better */
    session->frame_ns = session->now_ns;
    session->is_stepping = false;
    session->predicted_tick = ls_sim_instance_tick(session->instance);
    session->predicted_inputs = session->report.inputs_made;
    session->timestep = ls_timestep_make(&session->timestep.config);
    ls_jitter_buffer_init(&session->jitter_buffer, session->timestep.config.dt_ns);
}

void ls_session_play_start(ls_session *session, const ls_start *start)
{
    memcpy(session->names, start->names, sizeof session->names);
    ls_session_play_begin(session);
    session->back = (session_return){0};
    session->frames_before = session->report.frames;
    ls_tick_sync_start(&session->sync, session->now_ns + start->delay_us * LS_NS_PER_US);
    ls_session_push_event(session, LS_SESSION_EVENT_STARTED);
}

/* ---- closed ticks ---- */

static void confirm_latency(ls_session *session, ls_tick tick)
{
    bool is_own = tick < session->sync.next_input && ls_input_buffer_has(session->own, tick, 0);
    if (is_own) {
        ls_histogram_add(&session->latency,
                         session->now_ns - session->made_ns[tick % LS_WINDOW_TICKS]);
    }
}

/* A tick is closed with the slot's own input or with that of the tick before. Where it is another
 * one, what the server received was altered on its way, and so is all that is coded against it:
 * nothing that was made so far is a base any more. */
static void compare_own_input(ls_session *session, ls_tick tick, const ls_slot_input *closed)
{
    ls_slot_input own;
    ls_slot_input before[LS_PLAYERS_MAX] = {{0}};
    if (ls_input_buffer_get(session->own, tick, 0, &own) != LS_OK ||
        ls_slot_input_is_same(&own, closed)) {
        return;
    }
    bool is_known = tick == 0 || ls_input_buffer_tick(session->closed, tick - 1, before) == LS_OK;
    if (is_known && !ls_slot_input_is_same(&before[session->report.slot], closed)) {
        session->altered_end = session->sync.next_input;
    }
}

/* Stores the cursor's tick as the next confirmed one; false when the buffer is full because this
 * machine does not keep up: then it is not acknowledged and comes again. */
static bool store_tick(ls_session *session)
{
    ls_slot_input inputs[LS_PLAYERS_MAX];
    ls_tick tick = session->confirmed;
    ls_tick_cursor_inputs(&session->cursor, inputs);
    ls_tick_inputs closed = {
        .tick = tick, .slot_count = session->cursor.slot_count, .slots = inputs};
    if (session->joining && !ls_session_join_keep(session, &closed)) {
        return false;
    }
    for (uint32_t slot = 0; slot < session->cursor.slot_count; slot++) {
        ls_status stored = ls_input_buffer_put(session->closed, tick, slot, inputs[slot].bytes,
                                               inputs[slot].size, inputs[slot].events);
        if (stored != LS_OK) {
            LS_ASSERT(stored == LS_FUTURE);
            return false;
        }
    }
    compare_own_input(session, tick, &inputs[session->report.slot]);
    session->coded[tick % SESSION_KEPT_TICKS].bits = 0;
    confirm_latency(session, tick);
    ls_jitter_buffer_add_arrival(&session->jitter_buffer, tick, session->now_ns);
    session->tick_chain = ls_tick_chain_next(session->tick_chain, &closed);
    session->confirmed++;
    session->newest_arrival_ns = session->now_ns;
    session->is_arrival_reported = false;
    return true;
}

static ls_status start_cursor(ls_session *session, ls_tick first)
{
    ls_slot_input before[LS_PLAYERS_MAX] = {{0}};
    if (first != session->bare_tick &&
        ls_input_buffer_tick(session->closed, first - 1, before) != LS_OK) {
        return LS_STALE;
    }
    ls_tick_cursor_start(&session->cursor, session->offer.config.players,
                         session->simulation->input_bytes_max, before);
    return LS_OK;
}

/* Passes over the ticks that came before and come again in the same bits; returns the first other
 * one. */
static ls_tick skip_known(const ls_session *session, ls_bit_stream *stream, ls_tick first)
{
    while (first < session->confirmed && session->confirmed - first <= SESSION_KEPT_TICKS &&
           ls_coded_tick_skip(&session->coded[first % SESSION_KEPT_TICKS], stream)) {
        first++;
    }
    return first;
}

/* *end: the tick behind the last one carried. */
static ls_status check_ticks(ls_session *session, ls_bit_stream stream, ls_tick first, ls_tick *end)
{
    ls_status status = start_cursor(session, first);
    if (status != LS_OK) {
        return status;
    }
    for (*end = first; ls_ticks_read_tick(&stream, &session->cursor); (*end)++) {
    }
    return ls_bits_is_complete(&stream) ? LS_OK : LS_MALFORMED;
}

/* The packet's ticks have been checked. */
static void store_ticks(ls_session *session, ls_bit_stream stream, ls_tick first)
{
    ls_status status = start_cursor(session, first);
    LS_ASSERT(status == LS_OK);
    ls_bit_stream start = stream;
    for (ls_tick tick = first; ls_ticks_read_tick(&stream, &session->cursor); tick++) {
        if (tick == session->confirmed) {
            if (!store_tick(session)) {
                return;
            }
            ls_coded_tick_take(&session->coded[tick % SESSION_KEPT_TICKS], &start, &stream);
        }
        start = stream;
    }
}

/* Ticks that came whole in parts, before the ones before them perhaps. `fresh` is the one that the
 * newest packet has completed, if any: of the others it is not known when they came. */
static ls_status store_whole_ticks(ls_session *session, ls_tick fresh)
{
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    while ((bytes = ls_tick_parts_take(&session->parts, session->confirmed, &size)) != NULL) {
        ls_tick tick = session->confirmed;
        ls_status status = start_cursor(session, tick);
        LS_ASSERT(status == LS_OK);
        ls_bit_stream whole = ls_bit_reader(bytes, size);
        if (!ls_ticks_read_tick(&whole, &session->cursor) || !ls_bits_is_complete(&whole)) {
            return LS_MALFORMED;
        }
        if (!store_tick(session)) {
            return LS_OK;
        }
        session->is_arrival_reported = tick != fresh;
    }
    return LS_OK;
}

/* The server says how long it has had the newest input that it acknowledges. */
static void measure_rtt(ls_session *session, const ls_ticks_header *header)
{
    bool is_known = header->wanted > 0 && header->wanted <= session->sent_input &&
                    ls_input_buffer_has(session->own, header->wanted - 1, 0);
    bool is_hitch = ls_tick_sync_is_hitch(&session->sync, session->now_ns - session->drawn_ns);
    if (header->hold == LS_HOLD_NONE || !is_known || is_hitch) {
        return;
    }
    uint64_t sent_ns = session->own_sent_ns[(header->wanted - 1) % LS_WINDOW_TICKS];
    if (session->is_overflowing &&
        session->own_resent_ns[(header->wanted - 1) % LS_WINDOW_TICKS] != sent_ns) {
        return; /* which of the two has arrived? */
    }
    uint64_t away_ns = session->now_ns - sent_ns;
    uint64_t held_ns = header->hold * LS_HOLD_UNIT_NS;
    if (away_ns >= held_ns) {
        ls_tick_sync_add_rtt(&session->sync, away_ns - held_ns);
    }
}

/* The ticks before `end` are closed: whatever would be made for them now comes too late. */
static void skip_closed_inputs(ls_session *session, ls_tick end)
{
    if (end <= session->sync.next_input) {
        return;
    }
    session->report.inputs_skipped += end - session->sync.next_input;
    session->sent_input = end;
    session->unbroken = end;
    session->wanted = end;
    session->has_base = false;
    ls_tick_sync_skip_to(&session->sync, end, session->now_ns);
}

/* The newest packet counts, not the highest number: an acknowledgement that was altered on its way
 * is mended by the next one. */
static void take_input_ack(ls_session *session, const ls_ticks_header *header)
{
    ls_tick oldest = ls_input_buffer_first(session->own);
    oldest = oldest > session->unbroken ? oldest : session->unbroken;
    ls_tick wanted = header->wanted > oldest ? header->wanted : oldest;
    if (wanted > session->sync.next_input) {
        wanted = session->sync.next_input; /* what was never made cannot have come */
    }
    session->wanted = wanted;
    session->has_base = header->has_base && wanted == header->wanted && wanted > 0 &&
                        ls_input_buffer_has(session->own, wanted - 1, 0);
    if (session->wanted > SESSION_KEPT_TICKS) {
        ls_input_buffer_forget_before(session->own, session->wanted - SESSION_KEPT_TICKS);
    }
}

/* How early the newest input comes, by what this side knows: for when it is earlier than the field
 * can say. */
static int64_t own_estimate_of_slack(const ls_session *session)
{
    int64_t lead_ticks = (int64_t)session->sync.next_input - (int64_t)session->confirmed;
    return lead_ticks * (int64_t)session->sync.config.dt_ns - (int64_t)session->sync.rtt_ns;
}

static void take_slack(ls_session *session, const ls_ticks_header *header)
{
    if (header->slack == LS_SLACK_NONE || header->wanted == 0) {
        return;
    }
    int64_t slack_ns = header->slack * (int64_t)LS_HOLD_UNIT_NS;
    if (header->slack == LS_SLACK_MAX && own_estimate_of_slack(session) > slack_ns) {
        slack_ns = own_estimate_of_slack(session);
    }
    session->report.slack_ns = slack_ns;
    ls_tick_sync_add_slack(&session->sync, slack_ns, header->wanted - 1, session->now_ns);
}

static void take_header(ls_session *session, const ls_ticks_header *header, ls_tick end)
{
    int64_t stamp_ns = (int64_t)(end * session->sync.config.dt_ns);
    ls_link_arrival arrival =
        ls_link_meter_add(&session->downlink, header->sequence, stamp_ns, session->now_ns);
    if (arrival == LS_LINK_REPEATED) {
        return;
    }
    bool is_making = session->report.state == LS_SESSION_PLAYING && !session->config.is_spectator;
    if (!is_making) {
        return;
    }
    measure_rtt(session, header);
    skip_closed_inputs(session, end > session->confirmed ? end : session->confirmed);
    if (arrival == LS_LINK_NEWER) {
        take_input_ack(session, header);
    }
    take_slack(session, header);
    if (header->has_uplink) {
        ls_session_play_take_uplink(session, header->uplink);
    }
}

ls_status ls_session_play_ticks(ls_session *session, const uint8_t *bytes, size_t size)
{
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_ticks_header header = {0};
    ls_ticks_header_bits(&stream, &header, session->confirmed);
    if (stream.is_failed ||
        (int64_t)header.wanted - (int64_t)session->confirmed > LS_WINDOW_TICKS) {
        return LS_MALFORMED;
    }
    if (header.first > session->confirmed) {
        return LS_FUTURE; /* an acknowledgement was altered; the next one mends it */
    }
    ls_tick end = header.first;
    ls_tick first = skip_known(session, &stream, header.first);
    ls_status status = check_ticks(session, stream, first, &end);
    if (status != LS_OK) {
        return status;
    }
    store_ticks(session, stream, first);
    status = store_whole_ticks(session, UINT32_MAX);
    take_header(session, &header, end);
    return status;
}

ls_status ls_session_play_part(ls_session *session, const uint8_t *bytes, size_t size)
{
    ls_tick_part part;
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_tick_part_bits(&stream, &part);
    if (!ls_bits_is_complete(&stream)) {
        return LS_MALFORMED;
    }
    ls_status status = ls_tick_parts_add(&session->parts, &part, session->confirmed);
    return status == LS_OK ? store_whole_ticks(session, part.tick) : status;
}

/* ---- ending ---- */

static uint32_t microseconds(uint64_t ns)
{
    uint64_t us = ns / LS_NS_PER_US;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static void finish(ls_session *session)
{
    ls_session_report report = ls_session_report_of(session);
    ls_session_play_send_inputs(session);
    session->message.kind = LS_MESSAGE_FINISHED;
    session->message.body.finished =
        (ls_finished){.tick = report.tick,
                      .state_hash = ls_sim_instance_hash(session->instance),
                      .chain_tick = session->chain_tick,
                      .chain = (uint32_t)session->chain,
                      .stalled_ticks = (uint32_t)report.stalled_ticks,
                      .confirm_latency_p50_us = microseconds(report.confirm_latency_p50_ns),
                      .confirm_latency_p99_us = microseconds(report.confirm_latency_p99_ns),
                      .confirm_latency_max_us = microseconds(report.confirm_latency_max_ns),
                      .rtt_us = microseconds(report.rtt_ns),
                      .frames = (uint32_t)(report.frames - session->frames_before)};
    ls_session_send(session);
    session->report.state = LS_SESSION_FINISHED;
    session->finished_ns = session->now_ns;
}

uint64_t ls_session_heartbeat_ns(const ls_session *session)
{
    uint64_t heartbeat_ns = SESSION_HEARTBEAT_NS;
    ls_session_state state = session->report.state;
    if (state == LS_SESSION_PLAYING || state == LS_SESSION_JOINING ||
        state == LS_SESSION_FINISHED) {
        uint64_t ticks_ns = 4 * session->sync.config.dt_ns;
        heartbeat_ns = ticks_ns < SESSION_ANSWER_NS ? ticks_ns : SESSION_ANSWER_NS;
    }
    uint64_t silence_max_ns = session->offer.timeout_ms * LS_NS_PER_MS / 4;
    return heartbeat_ns < silence_max_ns ? heartbeat_ns : silence_max_ns;
}

void ls_session_play_frame(ls_session *session)
{
    if (!session->config.is_spectator) {
        ls_session_play_make_inputs(session);
    }
    if (session->prediction) {
        ls_session_predict(session);
    } else {
        ls_session_step_due(session);
    }
    if (session->report.state != LS_SESSION_PLAYING) {
        return;
    }
    ls_tick tick = ls_session_settled_tick(session);
    if (session->report.has_end && tick >= session->report.end.final_tick) {
        finish(session);
        return;
    }
    if (session->config.ticks > 0 && tick >= session->config.ticks) {
        ls_session_leave_as_planned(session, "the player has played as long as planned");
        return;
    }
    ls_session_play_send_due(session);
    ls_session_play_send_in_time(session);
}

void ls_session_play_send_hashes(ls_session *session, const ls_hash_request *request)
{
    uint32_t interval = session->offer.hash_interval_ticks;
    uint32_t newest = session->chain_tick / interval;
    uint32_t index = request->first / interval;
    uint32_t left = request->first % interval == 0 ? request->count : 0;
    for (;;) {
        ls_hashes *hashes = &session->message.body.hashes;
        session->message.kind = LS_MESSAGE_HASHES;
        hashes->first = index * interval;
        hashes->count = 0;
        for (; left > 0 && hashes->count < LS_HASHES_PER_MESSAGE; left--, index++) {
            bool is_held = index <= newest && newest - index < LS_WINDOW_TICKS &&
                           index * interval >= session->hashes_first;
            if (!is_held) {
                left = 0;
                break;
            }
            hashes->state_hashes[hashes->count++] = session->state_hashes[index % LS_WINDOW_TICKS];
        }
        ls_session_send(session);
        if (hashes->count < LS_HASHES_PER_MESSAGE) {
            return;
        }
    }
}
