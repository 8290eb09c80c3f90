#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/match_spectators.h"

#include <inttypes.h>
#include <string.h>

/* ---- copies of the state ---- */

static bool is_copy_due(const ls_match *match)
{
    return match->state == LS_MATCH_RUNNING &&
           ls_aged_state_is_due(&match->watch->aged, match->next_close);
}

static bool is_young_enough(const ls_match *match, ls_tick tick)
{
    return match->next_close - tick < LS_WINDOW_TICKS - WATCH_SPARE_TICKS;
}

/* ---- the blob, one for all ---- */

static ls_status fill_blob(ls_match *match)
{
    struct ls_match_spectators *watch = match->watch;
    const ls_state_copy *ready = &watch->aged.ready;
    watch->in_blob.size = 0;
    ls_status status = ls_match_make_blob(match, ready->size, &watch->blob);
    if (status != LS_OK) {
        return status;
    }
    uint8_t *bytes = ls_blob_start(watch->blob, ready->size);
    if (ready->bytes) {
        memcpy(bytes, ready->bytes, ready->size);
    } else {
        ls_tick_history_write(match->join.history, bytes, ready->size);
    }
    ls_blob_seal(watch->blob);
    watch->in_blob = *ready;
    return LS_OK;
}

static bool is_good(const ls_match *match, const ls_state_copy *copy)
{
    return copy->size > 0 && is_young_enough(match, copy->tick);
}

/* OK: a state that newcomers can begin with is in the blob. One that others are being sent is kept
 * as long as it is any good, or it would never be renewed while somebody always comes. STALE:
 * there is none at the moment. UNSUPPORTED: nor will there be one. */
static ls_status provide_blob(ls_match *match)
{
    struct ls_match_spectators *watch = match->watch;
    const ls_aged_state *aged = &watch->aged;
    bool is_newest = watch->in_blob.size > 0 && watch->in_blob.tick == aged->ready.tick;
    bool is_kept = is_newest || (watch->blob && ls_blob_is_in_use(watch->blob));
    if (is_good(match, is_kept ? &watch->in_blob : &aged->ready)) {
        return is_kept ? LS_OK : fill_blob(match);
    }
    bool is_one_to_come = aged->has_copies || aged->is_coming || is_good(match, &aged->ready);
    return is_one_to_come ? LS_STALE : LS_UNSUPPORTED;
}

static bool is_blob_unfinished(const ls_match *match)
{
    const struct ls_match_spectators *watch = match->watch;
    return watch->in_blob.size > 0 && !ls_blob_is_compressed(watch->blob);
}

/* ---- streams ---- */

static watch_stream *stream_of(ls_match *match, const ls_spectator *spectator)
{
    for (uint32_t i = 0; i < WATCH_STREAMS_MAX; i++) {
        if (match->watch->streams[i].spectator == spectator) {
            return &match->watch->streams[i];
        }
    }
    return NULL;
}

static void send_stream(ls_match *match, watch_stream *stream)
{
    ls_send_budget *budget = &match->watch->blobs_budget;
    size_t size = 0;
    while (!ls_send_budget_is_spent(budget) &&
           (size = ls_blob_sender_next(stream->sender, match->now_ns, match->packet)) > 0) {
        match->sink.send(match->sink.user, stream->spectator->peer, LS_CHANNEL_UNRELIABLE,
                         match->packet, size);
        ls_send_budget_spend(budget, size + WATCH_HEADER_BYTES);
    }
}

void ls_match_spectators_join_stop(ls_match *match, const ls_spectator *spectator)
{
    watch_stream *stream = stream_of(match, spectator);
    if (stream) {
        ls_blob_sender_stop(stream->sender);
        stream->spectator = NULL;
    }
}

ls_status ls_match_spectators_blob_ack(ls_match *match, ls_spectator *spectator,
                                       const uint8_t *bytes, size_t size)
{
    watch_stream *stream = stream_of(match, spectator);
    if (!stream) {
        return LS_STALE; /* one that was on its way when the last of the blob was acknowledged */
    }
    ls_status status = ls_blob_sender_take_ack(stream->sender, match->arrived_ns, bytes, size);
    if (status != LS_OK) {
        return status;
    }
    spectator->heard_ns = match->now_ns;
    uint32_t held = ls_blob_sender_figures_of(stream->sender).acknowledged;
    if (held > spectator->parts_held) {
        spectator->parts_held = held;
        spectator->progress_ns = match->now_ns;
    }
    if (!ls_blob_sender_is_busy(stream->sender)) {
        ls_match_spectators_join_stop(match, spectator);
    }
    return LS_OK;
}

bool ls_match_spectators_join_is_due(const ls_match *match)
{
    return is_copy_due(match) || is_blob_unfinished(match);
}

void ls_match_spectators_join_turn(ls_match *match)
{
    struct ls_match_spectators *watch = match->watch;
    if (is_copy_due(match)) {
        ls_state_copy live = ls_match_live(match);
        ls_aged_state_advance(&watch->aged, &live);
    }
    if (is_blob_unfinished(match)) {
        ls_blob_advance(watch->blob, 1);
    }
    for (uint32_t i = 0; i < WATCH_STREAMS_MAX; i++) {
        if (watch->streams[i].spectator) {
            send_stream(match, &watch->streams[i]);
        }
    }
}

/* ---- JOIN ---- */

/* Spectators live so many ticks late: what they are told of the match's time is, too. */
static ls_join *begin_join(ls_match *match, ls_join_source source, ls_tick tick)
{
    ls_join *join = ls_match_begin_join(match, source);
    ls_tick end = ls_match_spectators_end(match);
    join->tick = tick;
    join->next_close = tick > end ? tick : end;
    uint64_t later_ns = (join->next_close - end) * match->timestep.config.dt_ns;
    join->next_close_us += (uint32_t)(later_ns / LS_NS_PER_US);
    return join;
}

/* Not those who come back. A match that was resumed does not know who came before: there it is at
 * least as many as watch now. */
static void count_who_came(ls_match *match, const ls_spectator *spectator)
{
    struct ls_match_spectators *watch = match->watch;
    bool is_known =
        match->resume.candidates == NULL || watch->figures.ever >= watch->spectators.count;
    watch->figures.ever += spectator->is_back && is_known ? 0 : 1;
}

static void send_join(ls_match *match, ls_spectator *spectator, const char *how)
{
    ls_tick tick = match->message.body.join.tick;
    ls_match_send(match, spectator->peer);
    spectator->state = LS_SPECTATOR_JOINING;
    spectator->join_tick = tick;
    spectator->sent_end = tick;
    spectator->downlink.next = tick;
    spectator->heard_ns = match->now_ns;
    spectator->progress_ns = match->now_ns;
    count_who_came(match, spectator);
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_SPECTATOR_CAME);
    event->peer = spectator->peer;
    event->tick = tick;
    ls_text_set(&event->text, "%s, %s", spectator->name, how);
}

/* Every closed tick from `tick` on, and the one before it, against which it is coded. A match that
 * was resumed may hold fewer than the window has room for. */
static bool has_ticks_from(const ls_match *match, ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_tick oldest = tick > 0 ? tick - 1 : 0;
    return tick <= match->next_close && is_young_enough(match, tick) &&
           (match->next_close == 0 || ls_match_closed_tick(match, oldest, slots, &inputs) == LS_OK);
}

/* What it said it has is what the server closed, and all that it lacks is held. */
static bool is_held(const ls_match *match, const ls_spectator *spectator)
{
    return spectator->is_back && has_ticks_from(match, spectator->confirmed) &&
           ls_match_tick_chain(match, spectator->confirmed) == spectator->tick_chain;
}

static void join_held(ls_match *match, ls_spectator *spectator, ls_tick tick)
{
    ls_join *join = begin_join(match, LS_JOIN_HELD, tick);
    join->tick_chain = ls_match_tick_chain(match, tick);
    send_join(match, spectator, "with the state that it has");
}

static void join_with_blob(ls_match *match, ls_spectator *spectator, watch_stream *stream)
{
    const ls_state_copy *copy = &match->watch->in_blob;
    ls_join_source source = match->join.history ? LS_JOIN_HISTORY : LS_JOIN_SNAPSHOT;
    ls_join *join = begin_join(match, source, copy->tick);
    ls_text how;
    ls_match_join_by_blob(join, copy, match->watch->blob, &how);
    spectator->downlink.alone = copy->tick;
    stream->spectator = spectator;
    ls_blob_sender_start(stream->sender, match->watch->blob, join->blob, 0, match->now_ns);
    send_join(match, spectator, how.bytes);
}

bool ls_match_spectators_join(ls_match *match, ls_spectator *spectator)
{
    const ls_state_copy *ready = &match->watch->aged.ready;
    if (is_held(match, spectator)) {
        join_held(match, spectator, spectator->confirmed);
        return true;
    }
    bool is_beyond = spectator->is_back && spectator->confirmed > 0; /* state 0 is behind it */
    if (ready->tick == 0 && !is_beyond && has_ticks_from(match, 0)) {
        join_held(match, spectator, 0); /* everybody can make state 0 */
        return true;
    }
    watch_stream *stream = stream_of(match, NULL);
    ls_status status = provide_blob(match);
    if (status == LS_STALE || (status == LS_OK && !stream)) {
        return false;
    }
    if (status != LS_OK) {
        ls_match_spectators_refuse(match, spectator, status, MATCH_NOT_HANDED_ON);
        return false;
    }
    join_with_blob(match, spectator, stream);
    return true;
}

ls_status ls_match_spectators_joined(ls_match *match, ls_spectator *spectator,
                                     const ls_joined *joined)
{
    uint32_t interval = match->config.hash_interval_ticks;
    uint64_t state_hash = 0;
    if (spectator->state != LS_SPECTATOR_JOINING) {
        return LS_MISBEHAVED;
    }
    if (joined->tick == spectator->join_tick && joined->tick % interval != 0) {
        state_hash = joined->state_hash; /* told with JOIN, and the next chain covers it */
    } else if (!ls_arbiter_is_known(&match->arbiter, joined->tick)) {
        return LS_MISBEHAVED;
    } else if (!ls_arbiter_hash(&match->arbiter, joined->tick, &state_hash)) {
        ls_match_spectators_refuse(match, spectator, LS_FELL_BEHIND,
                                   "the state that it joined with is too old");
        return LS_OK;
    }
    if (joined->state_hash != state_hash) {
        ls_match_spectators_refuse(match, spectator, LS_DESYNCED,
                                   "the state that it joined with is not the server's");
        return LS_OK;
    }
    ls_match_spectators_join_stop(match, spectator);
    spectator->state = LS_SPECTATOR_SEES;
    spectator->agreed_tick = joined->tick;
    return LS_OK;
}

/* ---- memory for it ---- */

static ls_blob_sender_config sender_config(const ls_match *match)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    uint64_t dt_ns = match->timestep.config.dt_ns;
    config.bytes_per_second = match->config.join_bytes_per_s;
    config.tick_ns = dt_ns;
    config.header_bytes = WATCH_HEADER_BYTES;
    /* Packets leave once a tick, so many at a time that the rate is kept. */
    uint64_t bytes = config.bytes_per_second * dt_ns / LS_NS_PER_SECOND;
    uint64_t packets = bytes / LS_PACKET_BYTES_MAX + 1;
    packets = packets < LS_BLOB_BURST_PACKETS_MAX ? packets : LS_BLOB_BURST_PACKETS_MAX;
    config.burst_packets = (uint32_t)packets;
    return config;
}

ls_status ls_match_spectators_join_create(ls_match *match)
{
    struct ls_match_spectators *watch = match->watch;
    uint32_t rate_hz = match->config.sim.tick_rate_hz;
    ls_aged_state_config aged = {.instance = match->instance,
                                 .history = match->join.history,
                                 .age_ticks = match->config.spectator_delay_ticks,
                                 .pause_min_ticks = rate_hz < 128 ? rate_hz : 128};
    ls_status status = ls_aged_state_init(&watch->aged, &aged, match->allocator);
    if (status == LS_OK && watch->aged.bytes > 0) {
        status = ls_match_make_blob(match, watch->aged.bytes, &watch->blob);
    }
    ls_blob_sender_config config = sender_config(match);
    for (uint32_t i = 0; status == LS_OK && i < WATCH_STREAMS_MAX; i++) {
        status = ls_blob_sender_create(&config, match->allocator, &watch->streams[i].sender);
    }
    return status;
}

void ls_match_spectators_join_destroy(ls_match *match)
{
    for (uint32_t i = 0; i < WATCH_STREAMS_MAX; i++) {
        ls_blob_sender_destroy(match->watch->streams[i].sender);
    }
    ls_blob_destroy(match->watch->blob);
    ls_aged_state_deinit(&match->watch->aged, match->allocator);
}
