#include "lockstep/client/session/confirmed_ticks.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <string.h>

enum {
    HELD_TICKS = 384,  /* stepped ones, for a server that is resumed, at least */
    AHEAD_TICKS = 512, /* room for ticks that are not stepped yet, at least */
};

struct ls_confirmed_ticks {
    const ls_session *context;
    uint32_t held_ticks; /* stepped ones that may be simulated again, or that a server may lack */
    ls_tick end;         /* the first tick that has not come */
    ls_tick keyframe;    /* the tick that is coded against nothing: 0, or the one JOIN named */
    uint64_t chain;      /* over the ticks before `end` */
    bool has_seal;       /* the newest one of what is here */
    ls_tick sealed_tick;
    uint32_t seal;
    ls_input_buffer *inputs;
    ls_tick_backlog *backlog; /* NULL: none */
    bool is_copying;          /* the backlog gets copies of what is held and stepped as ever */
    ls_tick copied_from;      /* the first tick that is copied */
    ls_status backlogged;     /* why a tick could not be added to it */
    bool is_hold_taken;       /* or when the newest tick came is not known */
    uint64_t newest_arrival_ns;
    ls_link_meter downlink;
    ls_tick_parts parts;
    ls_coded_tick coded[LS_BASE_TICKS]; /* as they came, to recognize repetitions */
    ls_tick_cursor cursor;
};

/* ---- life ---- */

static uint32_t held_ticks_for(const ls_session *context)
{
    uint32_t replayed = ls_replay_input_ticks(context->offer.config.tick_rate_hz,
                                              context->offer.hash_interval_ticks);
    return context->config.finds_causes ? LS_MAX(replayed, HELD_TICKS) : HELD_TICKS;
}

static uint32_t window_ticks_for(uint32_t held_ticks)
{
    uint32_t window = LS_WINDOW_TICKS;
    while (window < held_ticks + AHEAD_TICKS) {
        window *= 2;
    }
    return window;
}

ls_status ls_confirmed_ticks_create(const ls_session *context, ls_confirmed_ticks **out)
{
    uint32_t held_ticks = held_ticks_for(context);
    ls_input_buffer_config config = {.slots = context->offer.config.players,
                                     .input_bytes_max = context->simulation->input_bytes_max,
                                     .window_ticks = window_ticks_for(held_ticks)};
    ls_confirmed_ticks *ticks = ls_allocate(context->allocator, sizeof *ticks);
    if (!ticks) {
        return LS_NO_MEMORY;
    }
    ticks->context = context;
    ticks->held_ticks = held_ticks;
    ticks->chain = LS_TICK_CHAIN_START;
    ls_status status = ls_input_buffer_create(&config, context->allocator, &ticks->inputs);
    LS_THEN(status, ls_tick_parts_init(&ticks->parts, config.slots, config.input_bytes_max,
                                       context->allocator));
    if (status != LS_OK) {
        ls_confirmed_ticks_destroy(ticks);
        return status;
    }
    *out = ticks;
    return LS_OK;
}

void ls_confirmed_ticks_destroy(ls_confirmed_ticks *ticks)
{
    if (!ticks) {
        return;
    }
    ls_input_buffer_destroy(ticks->inputs);
    ls_tick_parts_deinit(&ticks->parts);
    ls_release(ticks->context->allocator, ticks);
}

void ls_confirmed_ticks_connect(ls_confirmed_ticks *ticks)
{
    ticks->downlink = (ls_link_meter){0};
}

/* Forgets all parts: those of another server may be of other ticks. */
static void forget_parts(ls_tick_parts *parts)
{
    memset(parts->ticks, 0, sizeof parts->ticks);
}

void ls_confirmed_ticks_disconnect(ls_confirmed_ticks *ticks)
{
    forget_parts(&ticks->parts);
}

void ls_confirmed_ticks_restart(ls_confirmed_ticks *ticks, ls_tick tick, uint64_t chain)
{
    ticks->end = tick;
    ticks->chain = chain;
    ticks->has_seal = false;
    ticks->keyframe = tick;
    ticks->is_hold_taken = true;
    ls_input_buffer_restart(ticks->inputs, tick);
    memset(ticks->coded, 0, sizeof ticks->coded);
    forget_parts(&ticks->parts);
}

void ls_confirmed_ticks_set_backlog(ls_confirmed_ticks *ticks, ls_tick_backlog *backlog)
{
    ticks->backlog = backlog;
    ticks->is_copying = false;
    ticks->backlogged = LS_OK;
}

ls_status ls_confirmed_ticks_copy_to_backlog(ls_confirmed_ticks *ticks, ls_tick first,
                                             ls_tick_backlog *backlog)
{
    ls_status status = first < ls_input_buffer_first(ticks->inputs) ? LS_STALE : LS_OK;
    for (ls_tick tick = first; status == LS_OK && tick < ticks->end; tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs = ls_confirmed_ticks_get(ticks, tick, slots);
        status = ls_tick_backlog_add(backlog, &inputs);
    }
    if (status == LS_OK) {
        ls_confirmed_ticks_set_backlog(ticks, backlog);
        ticks->is_copying = true;
        ticks->copied_from = first;
    }
    return status;
}

ls_status ls_confirmed_ticks_backlog_status(const ls_confirmed_ticks *ticks)
{
    return ticks->backlogged;
}

/* ---- receiving ---- */

static ls_coded_tick *coded_of(ls_confirmed_ticks *ticks, ls_tick tick)
{
    return &ticks->coded[tick % LS_BASE_TICKS];
}

/* False: the backlog does not take it. */
static bool add_to_backlog(ls_confirmed_ticks *ticks, const ls_tick_inputs *inputs)
{
    if (!ticks->backlog) {
        return true;
    }
    if (ticks->is_copying) {
        /* A tick that finds no room here afterwards comes again, and is copied already. */
        if (inputs->tick >= ticks->copied_from && ticks->backlogged == LS_OK) {
            ticks->backlogged = ls_tick_backlog_add(ticks->backlog, inputs);
            ticks->copied_from = inputs->tick + 1;
        }
        return true; /* without the copy the tick is stepped all the same */
    }
    ticks->backlogged = ls_tick_backlog_add(ticks->backlog, inputs);
    if (ticks->backlogged == LS_OK) {
        ls_confirmed_ticks_forget_before_state(ticks, inputs->tick + 1);
    }
    return ticks->backlogged == LS_OK;
}

/* Stores the cursor's tick as the next one. False when there is no room because this machine does
 * not keep up: then the tick is not acknowledged and comes again. */
LS_TICK_CODE static bool store_tick(ls_confirmed_ticks *ticks)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_cursor_inputs(&ticks->cursor, slots);
    ls_tick_inputs inputs = {
        .tick = ticks->end, .slot_count = ticks->cursor.slot_count, .slots = slots};
    if (!add_to_backlog(ticks, &inputs)) {
        return false;
    }
    ls_status stored = ls_input_buffer_put_tick(ticks->inputs, &inputs);
    if (stored != LS_OK) {
        LS_ASSERT(stored == LS_FUTURE);
        return false;
    }
    coded_of(ticks, inputs.tick)->bits = 0;
    ticks->chain = ls_tick_chain_next(ticks->chain, &inputs);
    ticks->end++;
    ticks->newest_arrival_ns = ticks->context->now_ns;
    ticks->is_hold_taken = false;
    return true;
}

LS_TICK_CODE static ls_status start_cursor(ls_confirmed_ticks *ticks, ls_tick first)
{
    ls_slot_input before[LS_PLAYERS_MAX];
    bool is_keyframe = first == ticks->keyframe;
    if (!is_keyframe && ls_input_buffer_tick(ticks->inputs, first - 1, before) != LS_OK) {
        return LS_STALE;
    }
    ls_tick_cursor_start(&ticks->cursor, ticks->context->offer.config.players,
                         ticks->context->simulation->input_bytes_max, is_keyframe ? NULL : before);
    return LS_OK;
}

/* Passes over the ticks that came before and come again in the same bits; returns the first other
 * one. */
static ls_tick skip_repeated(ls_confirmed_ticks *ticks, ls_bit_stream *stream, ls_tick first)
{
    while (first < ticks->end && ticks->end - first <= LS_BASE_TICKS &&
           ls_coded_tick_skip(coded_of(ticks, first), stream)) {
        first++;
    }
    return first;
}

/* *last_bits: where the last tick that is carried ends. */
static ls_status check_ticks(ls_confirmed_ticks *ticks, ls_bit_stream *stream, ls_tick first,
                             size_t *last_bits, ls_confirmed_packet *out)
{
    ls_status status = start_cursor(ticks, first);
    if (status != LS_OK) {
        return status;
    }
    out->carried_end = first;
    while (ls_ticks_read_tick(stream, &ticks->cursor)) {
        out->carried_end++;
        *last_bits = stream->position_bits;
    }
    ls_tick_seal_bits(stream, &out->seal);
    return ls_bits_is_complete(stream) ? LS_OK : LS_MALFORMED;
}

/* The cursor has just read a tick, whose bits begin at `start_bits`: stores it if it is the next
 * one. False when there is no room. */
static bool store_if_next(ls_confirmed_ticks *ticks, ls_tick tick, ls_bit_stream *stream,
                          size_t start_bits)
{
    if (tick != ticks->end) {
        return true;
    }
    if (!store_tick(ticks)) {
        return false;
    }
    ls_coded_tick_capture(coded_of(ticks, tick), stream, start_bits);
    return true;
}

/* Stores checked ticks, whose bits begin where the stream stands. */
static void store_ticks(ls_confirmed_ticks *ticks, ls_bit_stream *stream, ls_tick first)
{
    size_t start_bits = stream->position_bits;
    ls_status status = start_cursor(ticks, first);
    LS_ASSERT(status == LS_OK);
    for (ls_tick tick = first; ls_ticks_read_tick(stream, &ticks->cursor) &&
                               store_if_next(ticks, tick, stream, start_bits);
         tick++) {
        start_bits = stream->position_bits;
    }
}

/* Stores the ticks that came whole in parts, perhaps before the ones before them. `fresh` is the
 * tick that the newest packet has completed, if any: when the others came is not known. */
LS_TICK_CODE static ls_status store_whole_ticks(ls_confirmed_ticks *ticks, ls_tick fresh)
{
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    while ((bytes = ls_tick_parts_pop(&ticks->parts, ticks->end, &size)) != NULL) {
        ls_tick tick = ticks->end;
        ls_status status = start_cursor(ticks, tick);
        LS_ASSERT(status == LS_OK);
        ls_bit_stream whole = ls_bit_reader(bytes, size);
        if (!ls_ticks_read_tick(&whole, &ticks->cursor) || !ls_bits_is_complete(&whole)) {
            return LS_MALFORMED;
        }
        if (!store_tick(ticks)) {
            return LS_OK;
        }
        ticks->is_hold_taken = tick != fresh;
    }
    return LS_OK;
}

/* Checks the packet's ticks, then stores them. Most packets carry a single new tick: that one is
 * not read a second time, as the cursor stands at it. */
LS_TICK_CODE static ls_status handle_ticks(ls_confirmed_ticks *ticks, ls_bit_stream *stream,
                                           ls_confirmed_packet *out)
{
    ls_tick first = skip_repeated(ticks, stream, out->header.first);
    size_t start_bits = stream->position_bits;
    size_t last_bits = start_bits;
    ls_status status = check_ticks(ticks, stream, first, &last_bits, out);
    if (status != LS_OK || out->carried_end == first) {
        return status;
    }
    if (out->carried_end - first == 1) {
        stream->position_bits = last_bits;
        (void)store_if_next(ticks, first, stream, start_bits);
    } else {
        stream->position_bits = start_bits;
        store_ticks(ticks, stream, first);
    }
    return LS_OK;
}

static void keep_seal(ls_confirmed_ticks *ticks, const ls_confirmed_packet *packet)
{
    bool is_newer = !ticks->has_seal || packet->carried_end > ticks->sealed_tick;
    if (packet->seal.is_there && is_newer && packet->carried_end <= ticks->end) {
        ticks->has_seal = true;
        ticks->sealed_tick = packet->carried_end;
        ticks->seal = packet->seal.value;
    }
}

LS_TICK_CODE static ls_status receive_ticks(ls_confirmed_ticks *ticks, ls_bit_stream *stream,
                                            ls_confirmed_packet *out)
{
    ls_ticks_header *header = &out->header;
    ls_ticks_header_bits(stream, header, ticks->end);
    if (stream->is_failed || (int64_t)header->wanted - (int64_t)ticks->end > LS_WINDOW_TICKS) {
        return LS_MALFORMED;
    }
    if (header->first > ticks->end) {
        /* Packets were lost; the server hears of it, and begins with what is missing. */
        out->arrival =
            ls_link_meter_add(&ticks->downlink, header->sequence, 0, ticks->context->now_ns);
        out->has_header = true;
        return LS_OK;
    }
    ls_status status = handle_ticks(ticks, stream, out);
    if (status != LS_OK) {
        return status;
    }
    keep_seal(ticks, out);
    status = store_whole_ticks(ticks, UINT32_MAX);
    const ls_session *context = ticks->context;
    bool makes_inputs = context->state == LS_SESSION_PLAYING && !context->config.is_spectator;
    bool is_late = makes_inputs && ls_tick_sync_is_uneven(context->sync, context->now_ns);
    int64_t stamp_ns = is_late ? LS_LINK_STAMP_NONE : (int64_t)(out->carried_end * context->dt_ns);
    out->arrival =
        ls_link_meter_add(&ticks->downlink, header->sequence, stamp_ns, ticks->context->now_ns);
    out->has_header = true;
    return status;
}

static ls_status receive_part(ls_confirmed_ticks *ticks, ls_bit_stream *stream)
{
    ls_tick_part part;
    ls_tick_part_bits(stream, &part);
    if (!ls_bits_is_complete(stream)) {
        return LS_MALFORMED;
    }
    ls_status status = ls_tick_parts_add(&ticks->parts, &part, ticks->end);
    return status == LS_OK ? store_whole_ticks(ticks, part.tick) : status;
}

ls_status ls_confirmed_ticks_receive(ls_confirmed_ticks *ticks, uint32_t kind, const uint8_t *bytes,
                                     size_t size, ls_confirmed_packet *out)
{
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    *out = (ls_confirmed_packet){.first = ticks->end};
    ls_status status = kind == LS_MESSAGE_TICKS ? receive_ticks(ticks, &stream, out)
                                                : receive_part(ticks, &stream);
    out->end = ticks->end;
    return status;
}

/* ---- reading ---- */

ls_tick ls_confirmed_ticks_end(const ls_confirmed_ticks *ticks)
{
    return ticks->end;
}

uint64_t ls_confirmed_ticks_chain(const ls_confirmed_ticks *ticks)
{
    return ticks->chain;
}

bool ls_confirmed_ticks_seal(const ls_confirmed_ticks *ticks, ls_tick *tick, uint32_t *seal)
{
    *tick = ticks->sealed_tick;
    *seal = ticks->seal;
    return ticks->has_seal;
}

uint32_t ls_confirmed_ticks_held(const ls_confirmed_ticks *ticks)
{
    ls_tick first = ls_input_buffer_first(ticks->inputs);
    return first < ticks->end ? ticks->end - first : 0;
}

bool ls_confirmed_ticks_lack_base(const ls_confirmed_ticks *ticks)
{
    return ticks->keyframe > 0 && ticks->end == ticks->keyframe;
}

const ls_input_buffer *ls_confirmed_ticks_inputs(const ls_confirmed_ticks *ticks)
{
    return ticks->inputs;
}

ls_tick_inputs ls_confirmed_ticks_get(const ls_confirmed_ticks *ticks, ls_tick tick,
                                      ls_slot_input slots[LS_PLAYERS_MAX])
{
    ls_status held = ls_input_buffer_tick(ticks->inputs, tick, slots);
    LS_ASSERT(held == LS_OK);
    return (ls_tick_inputs){
        .tick = tick, .slot_count = ticks->context->offer.config.players, .slots = slots};
}

const ls_link_meter *ls_confirmed_ticks_downlink(const ls_confirmed_ticks *ticks)
{
    return &ticks->downlink;
}

uint32_t ls_confirmed_ticks_pop_hold(ls_confirmed_ticks *ticks)
{
    if (ticks->end == 0 || ticks->is_hold_taken) {
        return LS_HOLD_NONE;
    }
    ticks->is_hold_taken = true;
    return ls_hold_from_ns(ticks->context->now_ns - ticks->newest_arrival_ns);
}

void ls_confirmed_ticks_forget_before_state(ls_confirmed_ticks *ticks, ls_tick tick)
{
    if (tick > ticks->held_ticks) {
        ls_input_buffer_forget_before(ticks->inputs, tick - ticks->held_ticks);
    }
}

/* ---- what a resumed server lacks ---- */

static void send_tick(ls_tick tick, const uint8_t *bytes, uint32_t total_bytes,
                      ls_session_outbox *outbox)
{
    ls_tick_part *part = &ls_session_outbox_begin(outbox, LS_MESSAGE_CLOSED_TICK)->body.closed_tick;
    for (uint32_t index = 0; index < ls_tick_part_count(total_bytes); index++) {
        part->tick = tick;
        part->total_bytes = total_bytes;
        part->index = index;
        memcpy(part->bytes, bytes + (size_t)index * LS_TICK_PART_BYTES,
               ls_tick_part_size(total_bytes, index));
        ls_session_outbox_send(outbox);
    }
}

/* Codes a tick against empty inputs, as it is not known what the server has before it. 0 when the
 * tick is not held. */
static uint32_t code_tick(const ls_confirmed_ticks *ticks, ls_tick tick, uint8_t *bytes)
{
    const ls_slot_input empty[LS_PLAYERS_MAX] = {{0}};
    ls_slot_input slots[LS_PLAYERS_MAX];
    if (ls_input_buffer_tick(ticks->inputs, tick, slots) != LS_OK) {
        return 0;
    }
    ls_bit_stream stream = ls_bit_writer(bytes, LS_TICK_BYTES_MAX);
    bool is_written =
        ls_ticks_write_tick(&stream, ticks->context->offer.config.players, empty, slots);
    LS_ASSERT(is_written);
    return (uint32_t)ls_bits_size_bytes(&stream);
}

void ls_confirmed_ticks_send(const ls_confirmed_ticks *ticks, const ls_ticks_request *request)
{
    uint8_t *bytes = ls_allocate(ticks->context->allocator, LS_TICK_BYTES_MAX);
    ls_tick tick = request->first;
    for (uint32_t i = 0; bytes && i < request->count && tick < ticks->end; i++, tick++) {
        uint32_t size = code_tick(ticks, tick, bytes);
        if (size > 0) {
            send_tick(tick, bytes, size, ticks->context->outbox);
        }
    }
    ls_release(ticks->context->allocator, bytes);
}

/* ---- ticks that come in parts ---- */

ls_status ls_tick_parts_init(ls_tick_parts *parts, uint32_t slot_count, uint32_t input_bytes_max,
                             const ls_allocator *allocator)
{
    parts->allocator = allocator;
    parts->capacity_bytes = (uint32_t)ls_ticks_tick_bytes_max(slot_count, input_bytes_max);
    parts->bytes = ls_allocate_array(allocator, LS_TICK_PARTS_AHEAD, parts->capacity_bytes);
    return parts->bytes ? LS_OK : LS_NO_MEMORY;
}

void ls_tick_parts_deinit(ls_tick_parts *parts)
{
    if (parts->bytes) {
        ls_release(parts->allocator, parts->bytes);
        parts->bytes = NULL;
    }
}

static uint8_t *bytes_of(const ls_tick_parts *parts, ls_tick tick)
{
    return parts->bytes + (size_t)(tick % LS_TICK_PARTS_AHEAD) * parts->capacity_bytes;
}

ls_status ls_tick_parts_add(ls_tick_parts *parts, const ls_tick_part *part, ls_tick next)
{
    if (part->total_bytes > parts->capacity_bytes) {
        return LS_MALFORMED;
    }
    if (part->tick < next || part->tick - next >= LS_TICK_PARTS_AHEAD) {
        return LS_OK;
    }
    ls_tick_whole *whole = &parts->ticks[part->tick % LS_TICK_PARTS_AHEAD];
    if (whole->tick != part->tick || whole->total_bytes != part->total_bytes) {
        *whole = (ls_tick_whole){.tick = part->tick, .total_bytes = part->total_bytes};
    }
    memcpy(bytes_of(parts, part->tick) + part->index * LS_TICK_PART_BYTES, part->bytes, part->size);
    whole->received |= UINT32_C(1) << part->index;
    return LS_OK;
}

const uint8_t *ls_tick_parts_pop(ls_tick_parts *parts, ls_tick tick, uint32_t *size)
{
    ls_tick_whole *whole = &parts->ticks[tick % LS_TICK_PARTS_AHEAD];
    if (whole->tick != tick || whole->total_bytes == 0) {
        return NULL;
    }
    uint32_t all = UINT32_MAX >> (LS_TICK_PARTS_MAX - ls_tick_part_count(whole->total_bytes));
    if (whole->received != all) {
        return NULL;
    }
    *size = whole->total_bytes;
    whole->total_bytes = 0;
    return bytes_of(parts, tick);
}

/* ---- backlog ---- */

enum {
    CHUNK_HEAD_BYTES = 16
};

typedef struct chunk {
    struct chunk *next;
    uint32_t size; /* of its block; 0 while that is written */
    uint8_t block[LS_TICK_BACKLOG_CHUNK_BYTES - CHUNK_HEAD_BYTES];
} chunk;

_Static_assert(sizeof(chunk) <= LS_TICK_BACKLOG_CHUNK_BYTES, "what the limit counts in");

struct ls_tick_backlog {
    const ls_allocator *allocator;
    ls_tick_backlog_config config;
    chunk *oldest; /* read first */
    chunk *newest; /* written to, unless its block is finished */
    chunk *spare;  /* so that what comes and goes tick by tick takes no memory each time */
    uint32_t chunks;
    uint32_t count;
    bool is_reading; /* `reader` is in the oldest one */
    ls_tick_block_writer writer;
    ls_tick_block_reader reader;
};

ls_status ls_tick_backlog_create(const ls_tick_backlog_config *config,
                                 const ls_allocator *allocator, ls_tick_backlog **out)
{
    LS_ASSERT(config->bytes_max >= LS_TICK_BACKLOG_CHUNK_BYTES);
    size_t tick_bytes = ls_tick_block_tick_bytes(config->slot_count, config->input_bytes_max);
    LS_ASSERT(LS_TICK_BLOCK_HEAD_BYTES + tick_bytes <= sizeof((chunk *)NULL)->block);
    ls_tick_backlog *backlog = ls_allocate(allocator, sizeof *backlog);
    if (!backlog) {
        return LS_NO_MEMORY;
    }
    backlog->allocator = allocator;
    backlog->config = *config;
    *out = backlog;
    return LS_OK;
}

void ls_tick_backlog_destroy(ls_tick_backlog *backlog)
{
    if (!backlog) {
        return;
    }
    while (backlog->oldest) {
        chunk *next = backlog->oldest->next;
        ls_release(backlog->allocator, backlog->oldest);
        backlog->oldest = next;
    }
    ls_release(backlog->allocator, backlog->spare);
    ls_release(backlog->allocator, backlog);
}

/* ---- adding ---- */

static bool is_writing(const ls_tick_backlog *backlog)
{
    return backlog->newest && backlog->newest->size == 0;
}

static void finish_block(ls_tick_backlog *backlog)
{
    backlog->newest->size = (uint32_t)ls_tick_block_finish(&backlog->writer, 0);
}

static chunk *get_chunk(ls_tick_backlog *backlog)
{
    chunk *taken = backlog->spare ? backlog->spare : ls_allocate(backlog->allocator, sizeof *taken);
    backlog->spare = NULL;
    return taken;
}

static ls_status start_block(ls_tick_backlog *backlog)
{
    if (backlog->chunks == backlog->config.bytes_max / LS_TICK_BACKLOG_CHUNK_BYTES) {
        return LS_FULL;
    }
    chunk *added = get_chunk(backlog);
    if (!added) {
        return LS_NO_MEMORY;
    }
    added->next = NULL;
    added->size = 0;
    if (is_writing(backlog)) {
        finish_block(backlog);
    }
    if (backlog->newest) {
        backlog->newest->next = added;
    } else {
        backlog->oldest = added;
    }
    backlog->newest = added;
    backlog->chunks++;
    ls_tick_block_start(&backlog->writer, added->block, sizeof added->block,
                        backlog->config.slot_count);
    return LS_OK;
}

ls_status ls_tick_backlog_add(ls_tick_backlog *backlog, const ls_tick_inputs *inputs)
{
    if (!is_writing(backlog) || !ls_tick_block_add(&backlog->writer, inputs, 0)) {
        ls_status status = start_block(backlog);
        if (status != LS_OK) {
            return status;
        }
        bool is_added = ls_tick_block_add(&backlog->writer, inputs, 0);
        LS_ASSERT(is_added);
    }
    backlog->count++;
    return LS_OK;
}

/* ---- taking ---- */

static void open_oldest(ls_tick_backlog *backlog)
{
    if (backlog->oldest->size == 0) {
        finish_block(backlog);
    }
    ls_status status =
        ls_tick_block_open(&backlog->reader, backlog->oldest->block, backlog->oldest->size,
                           backlog->config.slot_count, backlog->config.input_bytes_max);
    LS_ASSERT(status == LS_OK);
    backlog->is_reading = true;
}

static void drop_oldest(ls_tick_backlog *backlog)
{
    chunk *read = backlog->oldest;
    backlog->oldest = read->next;
    backlog->newest = read->next ? backlog->newest : NULL;
    backlog->chunks--;
    backlog->is_reading = false;
    if (backlog->spare) {
        ls_release(backlog->allocator, read);
    } else {
        backlog->spare = read;
    }
}

ls_status ls_tick_backlog_pop(ls_tick_backlog *backlog, ls_slot_input slots[LS_PLAYERS_MAX],
                              ls_tick_inputs *out)
{
    uint64_t state_hash = 0;
    if (backlog->count == 0) {
        return LS_NOT_FOUND;
    }
    if (!backlog->is_reading) {
        open_oldest(backlog);
    }
    ls_status status = ls_tick_block_next(&backlog->reader, slots, out, &state_hash);
    LS_ASSERT(status == LS_OK);
    backlog->count--;
    if (backlog->reader.next == backlog->reader.head.first + backlog->reader.head.count) {
        drop_oldest(backlog); /* the inputs are the reader's */
    }
    return LS_OK;
}

/* ---- what it holds ---- */

uint32_t ls_tick_backlog_count(const ls_tick_backlog *backlog)
{
    return backlog->count;
}

uint32_t ls_tick_backlog_bytes(const ls_tick_backlog *backlog)
{
    return backlog->chunks * LS_TICK_BACKLOG_CHUNK_BYTES;
}
