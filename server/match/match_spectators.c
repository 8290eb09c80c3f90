#include "lockstep/server/match/match_spectators.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/handshake.h"

#include <inttypes.h>

enum {
    PERIOD_TICKS = 6, /* between two TICKS to a spectator, or PERIOD_NS if that is longer */
    BLOBS_SHARE = 4,  /* one part in so many of all that spectators are sent is blobs */
};

#define PERIOD_NS (UINT64_C(100) * LS_NS_PER_MS)

/* ---- time ---- */

ls_tick ls_match_spectators_end(const ls_match *match)
{
    uint64_t shown = match->next_close;
    uint64_t delay = match->config.spectator_delay_ticks;
    if (match->state == LS_MATCH_ENDING) {
        shown += (match->now_ns - match->ending_ns) / match->timestep.config.dt_ns;
    }
    shown = shown > delay ? shown - delay : 0;
    return shown < match->next_close ? (ls_tick)shown : match->next_close;
}

static uint64_t period_ns_of(const ls_match *match)
{
    uint64_t period_ns = PERIOD_TICKS * match->timestep.config.dt_ns;
    period_ns = period_ns > PERIOD_NS ? period_ns : PERIOD_NS;
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    return period_ns < silence_max_ns ? period_ns : silence_max_ns;
}

/* ---- coming and going ---- */

static void leave(ls_match *match, ls_spectator *spectator, ls_status status, const char *why)
{
    bool has_watched = spectator->state >= LS_SPECTATOR_JOINING;
    ls_match_event_kind kind = has_watched ? LS_MATCH_SPECTATOR_LEFT : LS_MATCH_PEER_REFUSED;
    ls_match_event *event = ls_match_push_event(match, kind);
    event->peer = spectator->peer;
    event->tick = spectator->downlink.next;
    event->status = status;
    ls_text_set(&event->text, "%s: %s", spectator->name, why);
    ls_match_spectators_join_stop(match, spectator);
    match->watch->figures.desynced += status == LS_DESYNCED ? 1 : 0;
    match->watch->figures.fell_behind += status == LS_FELL_BEHIND ? 1 : 0;
    ls_spectators_remove(&match->watch->spectators, spectator);
}

void ls_match_spectators_refuse(ls_match *match, ls_spectator *spectator, ls_status status,
                                const char *why)
{
    ls_match_refuse(match, spectator->peer, status, why);
    leave(match, spectator, status, why);
}

ls_status ls_match_spectators_seat(ls_match *match, ls_peer_id peer, const ls_hello *hello,
                                   ls_text *why)
{
    if (match->state == LS_MATCH_ENDING || match->state == LS_MATCH_OVER) {
        ls_text_set(why, "%s", ls_status_text(LS_ALREADY_OVER));
        return LS_ALREADY_OVER;
    }
    ls_spectator *spectator =
        match->watch ? ls_spectators_add(&match->watch->spectators, peer) : NULL;
    if (!spectator) {
        ls_text_set(why, "the %" PRIu32 " places for spectators are taken",
                    match->config.spectators_max);
        return LS_MATCH_FULL;
    }
    spectator->sent_ns = match->now_ns;
    spectator->heard_ns = match->now_ns;
    spectator->progress_ns = match->now_ns;
    spectator->is_back = hello->back.match_id == match->config.match_id;
    spectator->confirmed = hello->back.confirmed;
    spectator->tick_chain = hello->back.tick_chain;
    ls_name_copy(spectator->name, sizeof spectator->name, hello->name);
    ls_match_fill_offer(match);
    match->message.body.offer.is_spectator = true;
    match->message.body.offer.is_running = true; /* JOIN comes, even to who comes before START */
    ls_match_send(match, peer);
    if (match->watch->turn_ns == UINT64_MAX) {
        match->watch->turn_ns = match->now_ns;
    }
    return LS_OK;
}

void ls_match_spectators_disconnected(ls_match *match, ls_peer_id peer, ls_status reason)
{
    ls_spectator *spectator =
        match->watch ? ls_spectators_find(&match->watch->spectators, peer) : NULL;
    if (spectator) {
        leave(match, spectator, reason, ls_status_text(reason));
    }
}

static void refuse_all(ls_match *match, ls_status status, const char *why)
{
    ls_spectators *spectators = &match->watch->spectators;
    for (uint32_t row = 0; row < spectators->rows_max; row++) {
        if (spectators->rows[row].peer != 0) {
            ls_match_spectators_refuse(match, &spectators->rows[row], status, why);
        }
    }
}

void ls_match_spectators_close(ls_match *match)
{
    if (match->watch) {
        refuse_all(match, LS_ALREADY_OVER, ls_status_text(LS_ALREADY_OVER));
        match->watch->turn_ns = UINT64_MAX;
    }
}

bool ls_match_spectators_is_done(ls_match *match)
{
    if (!match->watch || match->watch->spectators.count == 0) {
        return true;
    }
    uint64_t shown_ns = match->config.spectator_delay_ticks * match->timestep.config.dt_ns;
    return match->now_ns - match->ending_ns >= shown_ns + MATCH_ENDING_NS;
}

/* ---- what they are sent ---- */

static void send_ticks(ls_match *match, ls_spectator *spectator)
{
    ls_downlink_ticks ticks = ls_match_ticks(match);
    ls_tick end = ls_match_spectators_end(match);
    ticks.end = end > spectator->downlink.next ? end : spectator->downlink.next;
    if (ticks.end > spectator->sent_end) {
        spectator->sent_end = ticks.end;
        spectator->sent_end_ns = match->now_ns;
    }
    ls_bit_stream stream = ls_bit_writer(match->packet, sizeof match->packet);
    ls_ticks_header header = ls_downlink_header(&spectator->downlink, match->now_ns);
    ls_tick rest = ls_downlink_write(&spectator->downlink, &ticks, &header, &stream);
    size_t size = ls_bits_size_bytes(&stream);
    match->sink.send(match->sink.user, spectator->peer, LS_CHANNEL_UNRELIABLE, match->packet, size);
    size += WATCH_HEADER_BYTES;
    size += ls_match_send_parts(match, &spectator->downlink, spectator->peer, rest, ticks.end);
    ls_send_budget_spend(&match->watch->ticks_budget, size);
    spectator->sent_ns = match->now_ns;
    spectator->packets = 0;
}

static void send_end(ls_match *match, ls_spectator *spectator)
{
    bool is_shown =
        match->state == LS_MATCH_ENDING && ls_match_spectators_end(match) == match->next_close;
    if (!is_shown || spectator->is_end_told || spectator->state < LS_SPECTATOR_JOINING) {
        return;
    }
    spectator->is_end_told = true;
    match->message.kind = LS_MESSAGE_END;
    match->message.body.end =
        (ls_end){.final_tick = match->next_close, .final_hash = match->final_hash};
    ls_match_send(match, spectator->peer);
}

/* ---- who stays ---- */

/* Who is not there yet has to get further; who is, has to be heard. */
static bool is_silent(const ls_match *match, const ls_spectator *spectator)
{
    uint64_t timeout_ns = match->config.timeout_ms * LS_NS_PER_MS;
    uint64_t still_ns = match->now_ns - spectator->progress_ns;
    bool is_still = spectator->state == LS_SPECTATOR_OFFERED
                        ? still_ns >= MATCH_HANDSHAKE_NS
                        : spectator->state == LS_SPECTATOR_JOINING && still_ns >= timeout_ns &&
                              still_ns >= MATCH_HANDSHAKE_NS;
    return is_still || match->now_ns - spectator->heard_ns >= timeout_ns;
}

/* False when it is refused. */
static bool stays(ls_match *match, ls_spectator *spectator)
{
    bool has_joined = spectator->state >= LS_SPECTATOR_JOINING;
    if (is_silent(match, spectator)) {
        ls_match_spectators_refuse(match, spectator, LS_TIMED_OUT,
                                   "nothing was heard within the timeout");
        return false;
    }
    /* The tick before the next one to send is its base and must be held as well. */
    if (has_joined && match->next_close - spectator->downlink.next + 1 >= LS_WINDOW_TICKS) {
        ls_match_spectators_refuse(match, spectator, LS_FELL_BEHIND,
                                   "more ticks are unacknowledged than the server holds");
        return false;
    }
    if (!has_joined && match->state == LS_MATCH_ENDING) {
        ls_match_spectators_refuse(match, spectator, LS_ALREADY_OVER,
                                   ls_status_text(LS_ALREADY_OVER));
        return false;
    }
    return true;
}

/* Its time has come, or will have before the next turn. Who waits for START is only told that the
 * server is there. */
static bool is_due(const ls_match *match, const ls_spectator *spectator)
{
    uint64_t early_ns = match->timestep.config.dt_ns / 2;
    uint64_t silence_max_ns = ls_match_silence_max_ns(match);
    uint64_t wait_ns = MATCH_HEARTBEAT_NS < silence_max_ns ? MATCH_HEARTBEAT_NS : silence_max_ns;
    uint64_t pause_ns = match->state == LS_MATCH_RUNNING || match->state == LS_MATCH_ENDING
                            ? period_ns_of(match)
                            : wait_ns;
    return match->now_ns - spectator->sent_ns + early_ns >= pause_ns;
}

/* True when it was sent something. */
static bool serve(ls_match *match, ls_spectator *spectator)
{
    if (!stays(match, spectator) || !is_due(match, spectator)) {
        return false;
    }
    if (spectator->state == LS_SPECTATOR_READY && match->state == LS_MATCH_RUNNING) {
        uint32_t before = match->watch->spectators.count;
        ls_match_spectators_join(match, spectator);
        if (match->watch->spectators.count < before) {
            return false;
        }
    }
    if (spectator->state == LS_SPECTATOR_OFFERED) {
        return false;
    }
    send_ticks(match, spectator);
    send_end(match, spectator);
    return true;
}

/* ---- turns ---- */

/* Goes on round all spectators where the last turn ended, as far as each one's period allows: so
 * they are spread over the ticks. When the budget is spent they have to wait longer for their turn,
 * all alike. */
static void serve_some(ls_match *match)
{
    struct ls_match_spectators *watch = match->watch;
    uint64_t dt_ns = match->timestep.config.dt_ns;
    uint64_t period_ns = period_ns_of(match);
    uint64_t due = (watch->spectators.count * dt_ns + period_ns - 1) / period_ns;
    uint64_t served = 0;
    for (uint32_t i = watch->spectators.end; i > 0 && served < due; i--) {
        if (ls_send_budget_is_spent(&watch->ticks_budget)) {
            watch->figures.throttled_rounds++;
            return;
        }
        ls_spectator *spectator = ls_spectators_next(&watch->spectators);
        served += spectator && serve(match, spectator) ? 1 : 0;
    }
}

/* Half a tick after the newest one was closed, when what goes to players is long on its way. */
static uint64_t next_turn_ns(const ls_match *match)
{
    const struct ls_match_spectators *watch = match->watch;
    if (watch->spectators.count == 0 && !ls_match_spectators_join_is_due(match)) {
        return UINT64_MAX;
    }
    uint64_t dt_ns = match->timestep.config.dt_ns;
    uint64_t after_ns = match->closed_ns + dt_ns / 2;
    if (match->closed_ns != watch->closed_ns && after_ns > match->now_ns) {
        return after_ns;
    }
    return watch->turn_ns != UINT64_MAX && watch->turn_ns > match->now_ns ? watch->turn_ns
                                                                          : match->now_ns + dt_ns;
}

void ls_match_spectators_advance(ls_match *match)
{
    struct ls_match_spectators *watch = match->watch;
    if (!watch || match->state == LS_MATCH_OVER) {
        return;
    }
    /* A tick may have been closed between two turns of the match: by an input that came. */
    uint64_t after_ns = match->closed_ns + match->timestep.config.dt_ns / 2;
    bool is_after = match->closed_ns != watch->closed_ns && match->now_ns >= after_ns;
    if (match->now_ns >= watch->turn_ns || is_after) {
        ls_send_budget_fill(&watch->ticks_budget, match->now_ns);
        ls_send_budget_fill(&watch->blobs_budget, match->now_ns);
        ls_match_spectators_join_turn(match);
        serve_some(match);
    }
    watch->turn_ns = next_turn_ns(match);
    watch->closed_ns = match->closed_ns;
}

uint64_t ls_match_spectators_next_ns(const ls_match *match)
{
    return match->watch ? match->watch->turn_ns : UINT64_MAX;
}

/* ---- what they say ---- */

static void count_agreement(ls_match *match, ls_spectator *spectator, ls_tick tick)
{
    if (tick > spectator->agreed_tick) {
        uint32_t interval = match->config.hash_interval_ticks;
        match->watch->figures.hashes_compared +=
            tick / interval - spectator->agreed_tick / interval;
        spectator->agreed_tick = tick;
    }
}

/* One chain that differs may have been altered on its way; the next one tells. */
static ls_status compare_chain(ls_match *match, ls_spectator *spectator, ls_tick tick,
                               uint32_t chain)
{
    uint64_t own = 0;
    if (!ls_arbiter_chain(&match->arbiter, tick, &own)) {
        return LS_OK; /* not held any more */
    }
    if ((uint32_t)own == chain) {
        spectator->is_chain_doubted = false;
        count_agreement(match, spectator, tick);
        return LS_OK;
    }
    if (!spectator->is_chain_doubted) {
        spectator->is_chain_doubted = true;
        return LS_MALFORMED;
    }
    ls_text why;
    ls_text_set(&why, "its state differs from the server's between ticks %" PRIu32 " and %" PRIu32,
                spectator->agreed_tick, tick);
    ls_match_spectators_refuse(match, spectator, LS_DESYNCED, why.bytes);
    return LS_OK;
}

/* Nothing but the header, and that acknowledges nothing that was not sent. */
static bool is_honest(ls_match *match, const ls_spectator *spectator,
                      const ls_inputs_header *header, ls_bit_stream *stream)
{
    ls_tick end = ls_match_spectators_end(match);
    end = end > spectator->join_tick ? end : spectator->join_tick;
    ls_tick_cursor_start(&match->cursor, 1, match->config.simulation->input_bytes_max, NULL);
    return !ls_inputs_read_tick(stream, &match->cursor) && ls_bits_is_complete(stream) &&
           header->next <= end && ls_arbiter_is_known(&match->arbiter, header->chain_tick);
}

static ls_status take_inputs(ls_match *match, ls_spectator *spectator, const uint8_t *bytes,
                             size_t size)
{
    ls_downlink_clock clock = ls_match_clock(match);
    clock.now_ns = match->arrived_ns;
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &header, spectator->downlink.next);
    if (stream.is_failed || !is_honest(match, spectator, &header, &stream)) {
        return LS_MALFORMED;
    }
    spectator->heard_ns = match->now_ns;
    if (spectator->state < LS_SPECTATOR_JOINING) {
        return LS_OK; /* a sign of life */
    }
    uint64_t sent_ns = header.next == spectator->sent_end ? spectator->sent_end_ns : 0;
    int64_t stamp_ns = (int64_t)(header.next * clock.dt_ns);
    ls_link_arrival arrival =
        ls_downlink_take(&spectator->downlink, &clock, &header, sent_ns, stamp_ns);
    if (arrival != LS_LINK_NEWER || spectator->state != LS_SPECTATOR_SEES) {
        return LS_OK;
    }
    return compare_chain(match, spectator, header.chain_tick, header.chain);
}

static ls_status take_finished(ls_match *match, ls_spectator *spectator,
                               const ls_finished *finished)
{
    uint64_t chain = 0;
    if (spectator->state != LS_SPECTATOR_SEES || !spectator->is_end_told ||
        finished->tick != match->next_close || finished->chain_tick != match->arbiter.newest_tick) {
        return LS_MISBEHAVED;
    }
    bool is_held = ls_arbiter_chain(&match->arbiter, finished->chain_tick, &chain);
    if (!is_held || (uint32_t)chain != finished->chain ||
        finished->state_hash != match->final_hash) {
        ls_match_spectators_refuse(match, spectator, LS_DESYNCED,
                                   "its final state is not the server's");
        return LS_OK;
    }
    count_agreement(match, spectator, finished->chain_tick);
    match->watch->figures.finished++;
    match->sink.disconnect(match->sink.user, spectator->peer);
    leave(match, spectator, LS_OK, "watched to the end");
    return LS_OK;
}

static ls_status take_ready(ls_match *match, ls_spectator *spectator, const ls_ready *ready)
{
    ls_text why = {{0}};
    if (spectator->state != LS_SPECTATOR_OFFERED) {
        return LS_MISBEHAVED;
    }
    ls_status status = ls_ready_check(ready, &match->own_ready, &why);
    if (status != LS_OK) {
        ls_match_spectators_refuse(match, spectator, status, why.bytes);
        return LS_OK;
    }
    spectator->state = LS_SPECTATOR_READY;
    return LS_OK;
}

static void take_goodbye(ls_match *match, ls_spectator *spectator,
                         const ls_close_reason *close_reason)
{
    ls_status reason = (ls_status) - (int)close_reason->negated_status;
    match->sink.disconnect(match->sink.user, spectator->peer);
    leave(match, spectator, reason == LS_OK ? LS_DISCONNECTED : reason, close_reason->text.bytes);
}

static ls_status take_reliable(ls_match *match, ls_spectator *spectator, const uint8_t *bytes,
                               size_t size)
{
    ls_status status = ls_message_read(bytes, size, 0, &match->message);
    if (status != LS_OK) {
        return status;
    }
    spectator->heard_ns = match->now_ns;
    switch (match->message.kind) {
    case LS_MESSAGE_READY: {
        ls_ready ready = match->message.body.ready;
        return take_ready(match, spectator, &ready);
    }
    case LS_MESSAGE_JOINED: {
        ls_joined joined = match->message.body.joined;
        return ls_match_spectators_joined(match, spectator, &joined);
    }
    case LS_MESSAGE_FINISHED: {
        ls_finished finished = match->message.body.finished;
        return take_finished(match, spectator, &finished);
    }
    case LS_MESSAGE_GOODBYE: {
        ls_close_reason close_reason = match->message.body.close_reason;
        take_goodbye(match, spectator, &close_reason);
        return LS_OK;
    }
    default:
        return LS_MISBEHAVED;
    }
}

static ls_status take_packet(ls_match *match, ls_spectator *spectator, ls_channel channel,
                             const uint8_t *bytes, size_t size)
{
    if (channel == LS_CHANNEL_RELIABLE) {
        return take_reliable(match, spectator, bytes, size);
    }
    uint32_t kind = ls_message_peek(bytes, size);
    return kind == LS_MESSAGE_INPUTS ? take_inputs(match, spectator, bytes, size)
           : kind == LS_MESSAGE_BLOB_ACK
               ? ls_match_spectators_blob_ack(match, spectator, bytes, size)
               : LS_MALFORMED;
}

void ls_match_spectators_receive(ls_match *match, ls_peer_id peer, ls_channel channel,
                                 const uint8_t *bytes, size_t size)
{
    ls_spectator *spectator =
        match->watch ? ls_spectators_find(&match->watch->spectators, peer) : NULL;
    if (!spectator) {
        return;
    }
    uint64_t ticks = (match->now_ns - spectator->sent_ns) / match->timestep.config.dt_ns;
    if (++spectator->packets > (ticks + 1) * MATCH_PACKETS_PER_TICK_MAX) {
        ls_match_spectators_refuse(match, spectator, LS_MISBEHAVED, "more than 256 packets a tick");
        return;
    }
    ls_status status = take_packet(match, spectator, channel, bytes, size);
    if (status == LS_OK) {
        return;
    }
    match->rejected++;
    if (status == LS_MISBEHAVED) {
        ls_match_spectators_refuse(match, spectator, status, "a message that does not belong here");
    } else if (status == LS_MALFORMED && ++spectator->malformed >= MATCH_MALFORMED_MAX) {
        ls_match_spectators_refuse(match, spectator, LS_MISBEHAVED, "too many malformed packets");
    }
}

/* ---- life ---- */

ls_status ls_match_spectators_create(ls_match *match)
{
    const ls_match_config *config = &match->config;
    if (config->spectators_max == 0) {
        return LS_OK;
    }
    match->watch = ls_allocate(match->allocator, sizeof *match->watch);
    if (!match->watch) {
        return LS_NO_MEMORY;
    }
    uint32_t blobs = config->spectator_bytes_per_s / BLOBS_SHARE;
    match->watch->turn_ns = UINT64_MAX;
    match->watch->blobs_budget = ls_send_budget_make(blobs, 0);
    match->watch->ticks_budget = ls_send_budget_make(config->spectator_bytes_per_s - blobs, 0);
    ls_status status =
        ls_spectators_init(&match->watch->spectators, config->spectators_max, match->allocator);
    return status == LS_OK ? ls_match_spectators_join_create(match) : status;
}

void ls_match_spectators_destroy(ls_match *match)
{
    if (match->watch) {
        ls_match_spectators_join_destroy(match);
        ls_spectators_deinit(&match->watch->spectators, match->allocator);
        ls_release(match->allocator, match->watch);
    }
}

ls_match_spectating ls_match_spectating_of(const ls_match *match)
{
    if (!match->watch) {
        return (ls_match_spectating){0};
    }
    ls_match_spectating figures = match->watch->figures;
    figures.now = match->watch->spectators.count;
    return figures;
}
