/* Writes the seeds of the fuzz corpora: small runs with structure, from which libFuzzer starts.
 * Usage: make_fuzz_seeds DIRECTORY, which holds a directory for each target. The same files come
 * out every time. What a seed's bytes mean stands at the top of each target. */
#include "lockstep/common/diagnosis/desync_bundle_format.h"
#include "lockstep/common/journal/journal_record.h"
#include "lockstep/common/journal/tick_block.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_orders.h"
#include "lockstep/protocol/blob/blob_packet.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <stdio.h>
#include <string.h>

enum {
    SEED_BYTES_MAX = 4096,
    RUNS = 12,
};

typedef struct seed {
    uint8_t bytes[SEED_BYTES_MAX];
    size_t size;
} seed;

static const char *base;
static int failures;
static ls_rng rng;

static void save(const seed *made, const char *target, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", base, target, name);
    FILE *file = fopen(path, "wb");
    bool is_written = file && fwrite(made->bytes, 1, made->size, file) == made->size;
    if (!file || fclose(file) != 0 || !is_written) {
        perror(path);
        failures++;
    }
}

static void save_numbered(const seed *made, const char *target, uint32_t number)
{
    char name[32];
    snprintf(name, sizeof name, "seed-%02u", number);
    save(made, target, name);
}

static void add(seed *made, uint32_t byte)
{
    if (made->size < SEED_BYTES_MAX) {
        made->bytes[made->size++] = (uint8_t)byte;
    }
}

static void add_bytes(seed *made, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        add(made, bytes[i]);
    }
}

static void add_random(seed *made, uint32_t count)
{
    for (; count > 0; count--) {
        add(made, ls_rng_next(&rng));
    }
}

static void add_u16(seed *made, uint32_t value)
{
    add(made, value);
    add(made, value >> 8);
}

/* ---- message ---- */

static void save_message(const ls_message *message, uint32_t players, const char *name)
{
    seed made = {.size = 0};
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    add(&made, players << 2);
    add_bytes(&made, bytes, ls_message_write(message, bytes));
    save(&made, "message", name);
}

static void make_greetings(void)
{
    static ls_message message;
    message.kind = LS_MESSAGE_HELLO;
    message.body.hello = ls_hello_make("Ada");
    save_message(&message, 0, "hello");
    message.body.hello.back = (ls_return){
        .match_id = 7, .confirmed = 100, .tick_chain = 9, .held = 60, .is_desynced = true};
    save_message(&message, 0, "hello-back");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_OFFER;
    ls_offer *offer = &message.body.offer;
    offer->match_id = 1;
    ls_name_copy(offer->simulation, sizeof offer->simulation, "arena");
    offer->config = ls_sim_config_default(ls_arena_simulation());
    offer->slot = 1;
    offer->hash_interval_ticks = 1;
    offer->timeout_ms = 10000;
    save_message(&message, 0, "offer");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_READY;
    message.body.ready.initial_hash = 1;
    save_message(&message, 0, "ready");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_START;
    message.body.start.players = 4;
    message.body.start.delay_us = 250000;
    ls_name_copy(message.body.start.names[2], LS_PLAYER_NAME_BYTES_MAX, "Grace");
    save_message(&message, 4, "start");
}

static void make_close_reasons(void)
{
    static ls_message message;
    message.kind = LS_MESSAGE_REFUSE;
    message.body.close_reason.negated_status = 30;
    ls_text_set(&message.body.close_reason.text, "every seat is taken");
    save_message(&message, 0, "refuse");
    message.kind = LS_MESSAGE_GOODBYE;
    save_message(&message, 0, "goodbye");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_END;
    message.body.end.final_tick = 1200;
    save_message(&message, 0, "end");
    message.kind = LS_MESSAGE_FINISHED;
    message.body.finished.confirm_latency_max_us = 70000;
    save_message(&message, 0, "finished");
}

static void make_orders(void)
{
    static ls_message message;
    message.kind = LS_MESSAGE_HASH_REQUEST;
    message.body.hash_request = (ls_hash_request){100, 200};
    save_message(&message, 0, "hash-request");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_HASHES;
    message.body.hashes.count = 5;
    message.body.hashes.state_hashes[3] = 77;
    save_message(&message, 0, "hashes");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_DESYNC;
    message.body.desync.slot = 3;
    save_message(&message, 0, "desync");
    message.kind = LS_MESSAGE_WAITING;
    message.body.waiting = (ls_waiting){50, 5, 600};
    save_message(&message, 0, "waiting");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_INPUT_DELAY;
    message.body.input_delay_ticks = 7;
    save_message(&message, 0, "input-delay");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_TREE_ANSWER;
    message.body.tree_answer.asked.query.nodes.count = 2;
    message.body.tree_answer.size = 16;
    save_message(&message, 0, "tree-answer");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_DESYNC_CAUSE;
    ls_name_copy(message.body.cause.field, sizeof message.body.cause.field, "ships[3].x");
    save_message(&message, 0, "desync-cause");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_HEAL_LEAF;
    message.body.heal_leaf.size = 8;
    save_message(&message, 0, "heal-leaf");
    memset(&message, 0, sizeof message);
    message.kind = LS_MESSAGE_CLOSED_TICK;
    message.body.closed_tick = (ls_tick_part){.tick = 50, .total_bytes = 20, .size = 20};
    save_message(&message, 0, "closed-tick");
}

static ls_slot_input random_input(uint8_t bytes[16])
{
    for (uint32_t i = 0; i < 16; i++) {
        bytes[i] = (uint8_t)ls_rng_below(&rng, 3);
    }
    uint32_t size = ls_rng_below(&rng, 17);
    return (ls_slot_input){bytes, size, ls_rng_below(&rng, 4)};
}

static void make_tick_packets(void)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint8_t input_bytes[2][4][16];
    for (uint32_t number = 0; number < RUNS; number++) {
        bool is_inputs = number % 2 == 0;
        seed made = {.size = 0};
        ls_slot_input inputs[2][4] = {{{0}}};
        ls_inputs_header up = {
            .sequence = number, .next = 300, .chain_tick = 298, .first = 303 - number};
        ls_ticks_header down = {
            .sequence = number, .first = 300, .wanted = 306, .slack = 9 - (int32_t)number};
        up.has_health = number % 3 == 0;
        up.health = (ls_client_health){{9, 40}, 120, number};
        down.has_uplink = number % 3 == 1;
        down.uplink = (ls_link_figures){5, 70};
        ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
        if (is_inputs) {
            ls_inputs_header_bits(&stream, &up, 0);
        } else {
            ls_ticks_header_bits(&stream, &down, 0);
        }
        for (uint32_t tick = 0; tick < number; tick++) {
            ls_slot_input *before = inputs[tick % 2];
            ls_slot_input *now = inputs[1 - tick % 2];
            for (uint32_t slot = 0; slot < 4; slot++) {
                now[slot] = random_input(input_bytes[tick % 2][slot]);
            }
            if (is_inputs) {
                ls_inputs_write_tick(&stream, before, now);
            } else {
                ls_ticks_write_tick(&stream, 4, before, now);
            }
        }
        ls_tick_packet_write_end(&stream);
        add(&made, (3u << 2) | (is_inputs ? 1u : 2u));
        add_u16(&made, 300);
        add_u16(&made, 0);
        add_bytes(&made, bytes, ls_bits_size_bytes(&stream));
        save_numbered(&made, "message", number);
    }
}

static void make_part(void)
{
    static ls_tick_part part = {.tick = 9, .total_bytes = 1103, .index = 1};
    seed made = {.size = 0};
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_tick_part_bits(&stream, &part);
    add(&made, 3);
    add_bytes(&made, bytes, ls_bits_size_bytes(&stream));
    save(&made, "message", "part");
}

/* ---- datagram ---- */

static void add_command(seed *made, uint32_t command, uint32_t channel, uint32_t body_bytes)
{
    add(made, command);
    add(made, channel);
    add_u16(made, 0x0100);
    for (; body_bytes > 0; body_bytes--) {
        add(made, 0);
    }
}

static seed open_datagram(bool has_time)
{
    seed made = {.size = 0};
    add_u16(&made, 0);
    add(&made, has_time ? 0x80 : 0);
    add(&made, 3);
    if (has_time) {
        add_u16(&made, 0x3412);
    }
    return made;
}

static void make_datagrams(void)
{
    static const struct {
        uint8_t command, channel, body;
    } commands[] = {{0x01, 0xff, 4}, {0x83, 0xff, 40}, {0x84, 0xff, 4},
                    {0x44, 0xff, 4}, {0x85, 0xff, 0},  {0x86, 0, 2},
                    {0x49, 0, 4},    {0x8a, 0xff, 8},  {0x8b, 0xff, 12}};
    seed all = open_datagram(true);
    for (uint32_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        seed made = open_datagram(commands[i].command & 0x80);
        add_command(&made, commands[i].command, commands[i].channel, commands[i].body);
        add_command(&all, commands[i].command, commands[i].channel, commands[i].body);
        save_numbered(&made, "datagram", i);
    }
    save(&all, "datagram", "all");
    seed connect = {.size = 0};
    add_u16(&connect, 0);
    add_u16(&connect, 0xff8f);
    add_u16(&connect, 0);
    add_command(&connect, 0x82, 0xff, 44);
    connect.bytes[2 + 4 + 10] = 0x05; /* MTU 1,280 */
    save(&connect, "datagram", "connect");
    seed packet = open_datagram(true);
    add_command(&packet, 0x86, 0, 2);
    packet.bytes[packet.size - 1] = 20;
    add_random(&packet, 20);
    save(&packet, "datagram", "packet");
}

/* ---- match ---- */

static void add_inputs(seed *made, uint32_t peer)
{
    uint32_t count = ls_rng_below(&rng, 7);
    add(made, 13 | peer << 4);
    add(made, 0u - ls_rng_below(&rng, 3)); /* next */
    add(made, ls_rng_below(&rng, 20));     /* hold */
    add(made, ls_rng_below(&rng, 4));      /* chain tick */
    add(made, ls_rng_below(&rng, 3));      /* chain */
    add(made, ls_rng_below(&rng, 3));      /* first */
    add(made, count << 2);
    for (; count > 0; count--) {
        uint32_t size = ls_rng_below(&rng, 9);
        add(made, size);
        add_random(made, size);
    }
}

static void add_match_move(seed *made)
{
    uint32_t peer = ls_rng_below(&rng, 4);
    uint32_t move = ls_rng_below(&rng, 20);
    if (move >= 13) {
        add_inputs(made, peer);
        add(made, 0);
        add(made, ls_rng_below(&rng, 30));
        return;
    }
    add(made, move | peer << 4);
    if (move == 2 || move == 3) {
        uint32_t size = ls_rng_below(&rng, 30);
        add_u16(made, size);
        add_random(made, size);
    } else {
        add_random(made, 3);
    }
}

static void make_matches(void)
{
    for (uint32_t number = 0; number < 2 * RUNS; number++) {
        seed made = {.size = 0};
        add_random(&made, 2);
        for (uint32_t moves = 4 + ls_rng_below(&rng, 30); moves > 0; moves--) {
            add_match_move(&made);
        }
        save_numbered(&made, "match", number);
    }
}

/* ---- session ---- */

static void add_ticks(seed *made)
{
    uint32_t count = ls_rng_below(&rng, 6);
    uint32_t shape = ls_rng_below(&rng, 16);
    add(made, 12);
    add(made, count << 4 | shape);
    for (uint32_t flag = 1; flag <= 2; flag *= 2) {
        if (shape & flag) {
            add(made, ls_rng_below(&rng, 8) - 4);
        }
    }
    if (shape & 4u) {
        add_random(made, 3);
    }
    for (; count > 0; count--) {
        uint32_t size = ls_rng_below(&rng, 9);
        add(made, 1);
        add(made, size << 2);
        add_random(made, size);
    }
}

static void add_session_move(seed *made)
{
    uint32_t move = ls_rng_below(&rng, 20);
    if (move >= 12) {
        add_ticks(made);
        add(made, 0);
        add(made, ls_rng_below(&rng, 30));
        return;
    }
    add(made, move);
    if (move == 3 || move == 4) {
        uint32_t size = ls_rng_below(&rng, 30);
        add_u16(made, size);
        add_random(made, size);
    } else {
        add_random(made, 3);
    }
}

static void make_sessions(void)
{
    for (uint32_t number = 0; number < 2 * RUNS; number++) {
        seed made = {.size = 0};
        add(&made, number < RUNS ? ls_rng_below(&rng, 64) : ls_rng_next(&rng));
        add_random(&made, 1);
        for (uint32_t moves = 4 + ls_rng_below(&rng, 40); moves > 0; moves--) {
            add_session_move(&made);
        }
        save_numbered(&made, "session", number);
    }
}

/* ---- join ---- */

static void add_join_move(seed *made)
{
    static const uint8_t moves[] = {1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 14};
    uint32_t move = moves[ls_rng_below(&rng, sizeof moves)];
    add(made, move);
    if (move == 7 || move == 8) {
        add(made, ls_rng_below(&rng, 3));
        add(made, 0); /* no bit is flipped */
        add(made, ls_rng_below(&rng, 4) == 0 ? 1u << ls_rng_below(&rng, 8) : 0);
    } else if (move == 9 || move == 10 || move == 13) {
        add(made, 0);
    } else if (move >= 14) {
        add(made, (1 + ls_rng_below(&rng, 3)) << 3);
    } else if (move != 12) {
        add(made, ls_rng_below(&rng, 30));
    }
}

static void make_joins(void)
{
    for (uint32_t number = 0; number < 2 * RUNS; number++) {
        seed made = {.size = 0};
        add(&made, ls_rng_next(&rng) & ~16u);
        add(&made, 7); /* JOIN with a snapshot, as it should be */
        add(&made, 1);
        add(&made, 0);
        add(&made, 0);
        add(&made, 9);
        add(&made, 0);
        for (uint32_t moves = 4 + ls_rng_below(&rng, 40); moves > 0; moves--) {
            add_join_move(&made);
        }
        save_numbered(&made, "join", number);
    }
}

/* ---- resume ---- */

/* All are back, say how far each got, and answer what they are asked for. */
static void make_resumes(void)
{
    for (uint32_t number = 0; number < RUNS; number++) {
        seed made = {.size = 0};
        uint32_t players = 1 + number % 4;
        add(&made, (players - 1) | (number % 3 == 0 ? 4 : 0) | ls_rng_below(&rng, 32) << 3);
        for (uint32_t peer = 0; peer < players; peer++) {
            add(&made, 5 | peer << 4);
            add(&made, peer);
            add(&made, 40 + ls_rng_below(&rng, 60));
            add(&made, 20 + ls_rng_below(&rng, 60));
        }
        add(&made, 0);
        add(&made, ls_rng_below(&rng, 30));
        for (uint32_t answers = 2 + ls_rng_below(&rng, 20); answers > 0; answers--) {
            add(&made, 9 | ls_rng_below(&rng, players) << 4);
            add(&made, ls_rng_below(&rng, 8) == 0 ? 1u << ls_rng_below(&rng, 4) : 0);
        }
        save_numbered(&made, "resume", number);
    }
}

/* ---- simulations ---- */

static void make_arenas(void)
{
    for (uint32_t number = 0; number < RUNS; number++) {
        seed made = {.size = 0};
        uint32_t players = 1 + ls_rng_below(&rng, 8);
        add(&made, players - 1);
        add_random(&made, 9);
        for (uint32_t ticks = 10 + ls_rng_below(&rng, 40); ticks > 0; ticks--) {
            uint32_t who = ls_rng_next(&rng) & ((1u << players) - 1u);
            add(&made, who);
            for (uint32_t slot = 0; slot < players; slot++) {
                if (who >> slot & 1u) {
                    add(&made, ls_rng_below(&rng, 20) == 0 ? 2 : 0);
                    add(&made, 2);
                    add_random(&made, 2);
                }
            }
        }
        save_numbered(&made, "arena", number);
    }
}

static uint32_t random_order(uint8_t *bytes, uint32_t capacity)
{
    ls_units_order order = {.verb = (ls_units_verb)(1 + ls_rng_below(&rng, 4)),
                            .select = (ls_units_select)(1 + ls_rng_below(&rng, 3)),
                            .kinds = (uint8_t)ls_rng_next(&rng),
                            .list_count = (uint8_t)ls_rng_below(&rng, 6),
                            .target = (uint16_t)ls_rng_below(&rng, 40)};
    order.corners[1] = (ls_units_point){0xffff, 0xffff};
    order.point.x = (uint16_t)ls_rng_next(&rng);
    order.point.y = (uint16_t)ls_rng_next(&rng);
    for (uint32_t i = 0; i < order.list_count; i++) {
        order.list[i] = (uint16_t)ls_rng_below(&rng, 40);
    }
    return ls_units_order_write(&order, bytes, capacity);
}

static void make_battles(void)
{
    uint8_t bytes[200];
    for (uint32_t number = 0; number < RUNS; number++) {
        seed made = {.size = 0};
        add(&made, 1 + ls_rng_below(&rng, 3));
        add(&made, 8 + ls_rng_below(&rng, 20));
        add_random(&made, 1);
        for (uint32_t ticks = 10 + ls_rng_below(&rng, 30); ticks > 0; ticks--) {
            uint32_t size = 0;
            for (uint32_t orders = ls_rng_below(&rng, 3); orders > 0; orders--) {
                size += random_order(bytes + size, (uint32_t)sizeof bytes - size);
            }
            add(&made, 1u << ls_rng_below(&rng, 3));
            add(&made, ls_rng_below(&rng, 20) == 0 ? 2 : 0);
            add(&made, size);
            add_bytes(&made, bytes, size);
        }
        save_numbered(&made, "units", number);
    }
}

/* ---- blob ---- */

/* Without their checks, and filled up to what the target can say of sizes. */
static void add_blob_part(seed *made, uint32_t index, bool is_last)
{
    static const uint8_t content[LS_BLOB_PART_BYTES];
    uint8_t bytes[LS_PACKET_BYTES_MAX] = {0};
    ls_blob_part part = {.is_last = is_last, .index = index, .packet = index, .bytes = content};
    part.size = is_last ? 26 : LS_BLOB_PART_BYTES;
    size_t size = ls_blob_part_write(&part, bytes) - 4;
    add(made, (uint32_t)(size + 4) / 5);
    add_bytes(made, bytes, (size + 4) / 5 * 5);
    add(made, ls_rng_below(&rng, 20));
}

static void add_blob_ack(seed *made, uint32_t first)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX] = {0};
    ls_blob_ack ack = {.first = first, .received = first + 1, .newest = first};
    ack.count = first * 13;
    ack.has[0] = (uint8_t)ls_rng_next(&rng);
    size_t size = ls_blob_ack_write(&ack, bytes) - 4;
    add(made, (uint32_t)(size + 4) / 5);
    add_bytes(made, bytes, (size + 4) / 5 * 5);
    add(made, ls_rng_below(&rng, 100));
}

static void make_blobs(void)
{
    for (uint32_t number = 0; number < RUNS; number++) {
        seed made = {.size = 0};
        add(&made, number % 4 + number * 16);
        if (number % 4 == 1) {
            add_blob_part(&made, number / 4, false);
            add_blob_part(&made, 1, true);
        } else if (number % 4 == 3) {
            add_random(&made, 20 * number);
        } else {
            for (uint32_t first = 0; first < number; first++) {
                add_blob_ack(&made, first);
            }
        }
        save_numbered(&made, "blob", number);
    }
}

/* ---- bundle ---- */

enum {
    BUNDLE_STATE_BYTES = 12,
};

static void add_section(seed *made, uint32_t kind, const ls_byte_stream *stream)
{
    add(made, kind);
    add_u16(made, (uint32_t)stream->at);
    add_bytes(made, stream->to, stream->at);
}

static void add_state(seed *made, uint32_t kind)
{
    add(made, kind);
    add_u16(made, BUNDLE_STATE_BYTES);
    add_random(made, BUNDLE_STATE_BYTES);
}

static void add_schema(seed *made)
{
    uint8_t bytes[SEED_BYTES_MAX];
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    uint32_t count = 2;
    ls_field fields[2] = {{"a.x", "m", LS_FIELD_U32, 1, 1, 0, 4},
                          {"a.y", "", LS_FIELD_U16, 2, 2, 4, 4}};
    ls_byte_stream_u32(&stream, &count);
    for (uint32_t i = 0; i < count; i++) {
        char path[LS_NAME_BYTES_MAX] = "", unit[LS_NAME_BYTES_MAX] = "";
        ls_name_copy(path, sizeof path, fields[i].path);
        ls_name_copy(unit, sizeof unit, fields[i].unit);
        ls_bundle_field_stream(&stream, &fields[i], path, unit);
    }
    add_section(made, LS_BUNDLE_FIELDS, &stream);
}

static void add_bundle_inputs(seed *made, const ls_desync_bundle *bundle)
{
    uint8_t bytes[SEED_BYTES_MAX];
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    uint32_t first = bundle->snapshot_tick, count = bundle->tick - first, size = 0, events = 1;
    ls_byte_stream_u32(&stream, &first);
    ls_byte_stream_u32(&stream, &count);
    for (uint32_t i = 0; i < count * bundle->config.players; i++) {
        ls_bundle_input_stream(&stream, bundle->input_bytes_max, &size, &events);
    }
    add_section(made, LS_BUNDLE_INPUTS, &stream);
}

static void add_lists(seed *made, ls_desync_bundle *bundle)
{
    uint8_t bytes[SEED_BYTES_MAX];
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_bundle_match_stream(&stream, bundle);
    add_section(made, LS_BUNDLE_MATCH, &stream);
    stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_bundle_verdict_stream(&stream, bundle);
    add_section(made, LS_BUNDLE_VERDICT, &stream);
    stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_bundle_passes_stream(&stream, bundle);
    add_section(made, LS_BUNDLE_PASSES, &stream);
    stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_bundle_side_stream(&stream, &bundle->server);
    add_section(made, LS_BUNDLE_SERVER, &stream);
    add_section(made, LS_BUNDLE_CLIENT, &stream);
}

static void make_bundles(void)
{
    for (uint32_t number = 0; number < RUNS; number++) {
        seed made = {.size = 0};
        uint32_t ticks = 1 + ls_rng_below(&rng, 5);
        ls_desync_bundle bundle = {.simulation = "fuzz",
                                   .config = {.seed = 1, .tick_rate_hz = 60, .players = 2},
                                   .input_bytes_max = 4,
                                   .tick = 100 + ticks,
                                   .slot = 1,
                                   .state_bytes = BUNDLE_STATE_BYTES,
                                   .pass_count = 1,
                                   .passes = {"run"},
                                   .snapshot_tick = 100};
        add(&made, 0);
        add_lists(&made, &bundle);
        add_schema(&made);
        add(&made, LS_BUNDLE_SNAPSHOT);
        add_u16(&made, 12 + BUNDLE_STATE_BYTES);
        add_u16(&made, bundle.snapshot_tick);
        add_u16(&made, 0);
        add_random(&made, 8 + BUNDLE_STATE_BYTES);
        add_bundle_inputs(&made, &bundle);
        add_state(&made, LS_BUNDLE_SERVER_STATE);
        add_state(&made, LS_BUNDLE_CLIENT_STATE);
        save_numbered(&made, "bundle", number);
    }
}

/* ---- journal ---- */

static size_t make_block(uint8_t *bytes, ls_tick first, uint32_t ticks)
{
    static ls_tick_block_writer writer;
    uint8_t input[16] = {0};
    ls_tick_block_start(&writer, bytes, SEED_BYTES_MAX, 2);
    for (uint32_t i = 0; i < ticks; i++) {
        input[ls_rng_below(&rng, sizeof input)] ^= (uint8_t)(1u << ls_rng_below(&rng, 8));
        ls_slot_input slots[2] = {{input, ls_rng_below(&rng, 8) < 6 ? 16 : 3, 0},
                                  {input, 4, ls_rng_below(&rng, 4)}};
        ls_tick_inputs inputs = {first + i, 2, slots};
        ls_tick_block_add(&writer, &inputs, i % 2);
    }
    return ls_tick_block_finish(&writer, ls_rng_next(&rng));
}

static void add_record(seed *made, uint32_t kind, const uint8_t *bytes, size_t size)
{
    add(made, kind);
    add_u16(made, (uint32_t)size);
    add_bytes(made, bytes, size);
}

static void add_snapshot(seed *made, ls_tick tick)
{
    uint8_t bytes[LS_JOURNAL_SNAPSHOT_HEAD_BYTES + 12] = {0};
    ls_journal_snapshot snapshot = {.tick = tick, .state_hash = 7, .state_bytes = 12};
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_journal_snapshot_stream(&stream, &snapshot);
    add_record(made, LS_JOURNAL_SNAPSHOT, bytes, sizeof bytes);
}

static void add_event(seed *made, ls_tick tick)
{
    uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
    ls_journal_event event = {.kind = LS_JOURNAL_EVENT_GAP, .tick = tick, .text = {"why"}};
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_journal_event_stream(&stream, &event);
    add_record(made, LS_JOURNAL_EVENT, bytes, stream.at);
}

static void make_journals(void)
{
    uint8_t bytes[SEED_BYTES_MAX];
    for (uint32_t number = 0; number < RUNS; number++) {
        seed made = {.size = 0};
        ls_tick tick = 0;
        bool is_block = number % 3 == 0;
        add(&made, is_block ? 1 : 2);
        if (is_block) {
            add(&made, 1); /* two slots */
            add(&made, 4); /* 16 bytes */
            add_bytes(&made, bytes, make_block(bytes, number, 5 + number));
        }
        for (uint32_t i = 0; !is_block && i < 4; i++) {
            uint32_t ticks = 1 + ls_rng_below(&rng, 6);
            add_record(&made, LS_JOURNAL_TICKS | (i % 2) << 4, bytes,
                       make_block(bytes, tick, ticks));
            tick += ticks + (number % 4 == 1 ? 3 : 0);
            add_snapshot(&made, tick);
            add_event(&made, tick);
        }
        save_numbered(&made, "journal", number);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_fuzz_seeds DIRECTORY\n");
        return 2;
    }
    base = argv[1];
    rng = ls_rng_make(1, 1);
    make_greetings();
    make_close_reasons();
    make_orders();
    make_tick_packets();
    make_part();
    make_datagrams();
    make_matches();
    make_sessions();
    make_joins();
    make_arenas();
    make_battles();
    make_blobs();
    make_bundles();
    make_journals();
    make_resumes();
    return failures > 0;
}
