/* Writes the seeds of the fuzz corpora: small runs with structure, from which libFuzzer starts.
 * Usage: make_fuzz_seeds DIRECTORY, which holds a directory for each target. The same files come
 * out every time. The top of each target says what a seed's bytes mean. */
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/journal/desync_bundle_format.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/blob/blob.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/relay/relay_listing.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include <stdio.h>

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

enum {
    KINDS = 64,
    KEPT_OF_A_KIND = 3, /* of each direction */
    WHAT_INPUTS = 1,    /* fuzz_message.c */
    WHAT_TICKS = 2,
    WHAT_PART = 3,
    LARGE_INPUT_BYTES = 900,
};

static uint32_t kept[2][KINDS];

/* Keeps the first packets of each kind; `near` is the tick that their reader expects. */
static void keep_packet(const ls_transport_event *event, bool is_up, uint32_t players, ls_tick near)
{
    uint32_t kind = ls_message_peek(event->bytes, event->size);
    uint32_t *count = &kept[is_up][kind % KINDS];
    bool is_blob = kind == LS_MESSAGE_BLOB_PART || kind == LS_MESSAGE_BLOB_ACK;
    if (is_blob || *count == KEPT_OF_A_KIND) {
        return;
    }
    seed made = {.size = 0};
    bool is_ticks = kind == LS_MESSAGE_INPUTS || kind == LS_MESSAGE_TICKS;
    uint32_t what = kind == LS_MESSAGE_INPUTS      ? WHAT_INPUTS
                    : kind == LS_MESSAGE_TICKS     ? WHAT_TICKS
                    : kind == LS_MESSAGE_TICK_PART ? WHAT_PART
                                                   : 0;
    add(&made, players << 2 | what);
    if (is_ticks) {
        add_u16(&made, near);
        add_u16(&made, near >> 16);
    }
    add_bytes(&made, event->bytes, event->size);
    save_numbered(&made, "message", (kind * 2 + is_up) * KEPT_OF_A_KIND + (*count)++);
}

static void keep_up(void *user, const ls_transport_event *event)
{
    const virtual_match *run = user;
    keep_packet(event, true, ls_match_players(run->match), ls_match_tick(run->match));
}

static void keep_down(void *user, virtual_client *client, const ls_transport_event *event)
{
    const virtual_match *run = user;
    keep_packet(event, false, ls_match_players(run->match),
                ls_session_report_of(client->session).confirmed);
}

static virtual_client *add_client(virtual_match *run, bool comes_later, bool is_spectator)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.session.reconnect_ms = 30000;
    setup.session.is_spectator = is_spectator;
    setup.comes_later = comes_later;
    return virtual_match_add_client(run, &setup);
}

/* The packets of whole matches in which a player comes late and one talks, a state is flipped, the
 * server dies, a player is waited for and another one leaves. */
static void play_match(bool is_large)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 900);
    setup.match.sim.players = 3;
    setup.match.sim.params[TEST_PARAM_BYTES] = is_large ? LARGE_INPUT_BYTES : 2;
    setup.match.start_players = 2;
    setup.match.spectators_max = 1;
    setup.match.late_rule = is_large ? LS_LATE_REPEAT : LS_LATE_WAIT;
    setup.match.on_desync = is_large ? LS_ON_DESYNC_REPORT : LS_ON_DESYNC_HEAL;
    setup.match.resume_wait_ms = 5000;
    setup.match.has_chat = true;
    setup.match.has_lobby = !is_large;
    setup.has_journal = true;
    virtual_match *run = virtual_match_create(&setup);
    virtual_observer observer = {
        .user = run, .match_receives = keep_up, .session_receives = keep_down};
    virtual_match_observe(run, &observer);
    virtual_client *first = add_client(run, false, false);
    add_client(run, false, false)->flip.tick = 60;
    virtual_client *late = add_client(run, true, false);
    add_client(run, false, true);
    virtual_match_run_to_tick(run, 100);
    ls_match_set_input_delay(run->match, 0, 7);
    (void)ls_session_chat(first->session, 0, "is anybody there?");
    (void)ls_session_chat(first->session, 1, "");
    virtual_client_come(late);
    virtual_match_run_to_tick(run, 200);
    virtual_match_crash(run, LS_NS_PER_SECOND);
    virtual_match_run_to_tick(run, 500);
    first->is_paused = true;
    virtual_match_run(run, LS_NS_PER_SECOND);
    first->is_paused = false;
    virtual_client_leave(late);
    virtual_match_run_to_end(run);
    virtual_match_destroy(run);
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
    add(&made, 0);
    if (has_time) {
        add_u16(&made, 0x3412);
    }
    return made;
}

static void make_datagrams(void)
{
    static const struct {
        uint8_t command, channel, body;
    } commands[] = {{0x01, 0xff, 4}, {0x84, 0xff, 4}, {0x44, 0xff, 4}, {0x86, 0, 2}};
    seed all = open_datagram(true);
    for (uint32_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        seed made = open_datagram(commands[i].command & 0x80);
        add_command(&made, commands[i].command, commands[i].channel, commands[i].body);
        add_command(&all, commands[i].command, commands[i].channel, commands[i].body);
        save_numbered(&made, "datagram", i);
    }
    save(&all, "datagram", "all");
    seed packet = open_datagram(true);
    add_command(&packet, 0x86, 0, 2);
    packet.bytes[packet.size - 1] = 20;
    add_random(&packet, 20);
    save(&packet, "datagram", "packet");
}

/* ---- discovery ---- */

static void add_answer(seed *made, uint64_t nonce, uint32_t place)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    const ls_discovery_answer answer = {.nonce = nonce,
                                        .server = place / 2,
                                        .port = LS_ENDPOINT_DEFAULT_PORT,
                                        .protocol = LS_PROTOCOL_VERSION,
                                        .simulation = "units",
                                        .state = place % LS_DISCOVERY_STATE_COUNT,
                                        .tick = place * 1000,
                                        .matches = 1 + place,
                                        .seats = 2};
    size_t size = ls_discovery_write_answer(bytes, &answer);
    add(made, place);
    add(made, (uint32_t)size & 255);
    add(made, (uint32_t)size >> 8);
    add_bytes(made, bytes, size);
}

static void make_discovery(void)
{
    seed answers = {.size = 0}, query = {.size = 0};
    uint8_t bytes[LS_DISCOVERY_BYTES];
    for (uint32_t place = 0; place < 8; place++) {
        add_answer(&answers, place % 5, place);
    }
    ls_discovery_write_query(bytes, 1);
    add(&query, 2);
    add(&query, 255);
    add_bytes(&query, bytes, sizeof bytes);
    save(&answers, "discovery", "answers");
    save(&query, "discovery", "query");
}

/* ---- directory ---- */

static const ls_relay_listing listing = {.name = "Friday",
                                         .simulation = "arena",
                                         .region = "eu-west",
                                         .version = "0.1.0",
                                         .players = 1,
                                         .seats = 4,
                                         .needs_token = true,
                                         .secret = {'2', '9', 'F'},
                                         .page = "https://example.com/play#b"};

static void add_list(seed *made, uint32_t place)
{
    const uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
    const ls_relay_list list = {.number = 1, .listing = listing};
    uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
    size_t size = ls_relay_list_write(&list, key, bytes);
    add(made, 0);
    add(made, place);
    add(made, (uint32_t)size);
    add_bytes(made, bytes, size);
}

static void make_directory(void)
{
    seed shown = {.size = 0}, games = {.size = 0};
    const ls_relay_packet look = {.kind = LS_RELAY_LOOK};
    const ls_relay_game game = {.name = {'K', '7', 'Q', 'M'}, .ping_ms = 7, .listing = listing};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    for (uint32_t place = 0; place < 3; place++) {
        add_list(&shown, place);
        add_list(&shown, place | 128);
    }
    add(&shown, 3);
    add(&shown, 0);
    size_t size = ls_relay_games_begin(&look, bytes);
    (void)(ls_relay_games_add(bytes, &size, &game) && ls_relay_games_add(bytes, &size, &game));
    ls_relay_games_end(bytes, 2);
    add(&games, 1);
    add(&games, (uint32_t)size & 255);
    add(&games, (uint32_t)size >> 8);
    add_bytes(&games, bytes, size);
    save(&shown, "directory", "shown");
    save(&games, "directory", "games");
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

static void fill_match(seed *made, uint32_t number)
{
    (void)number;
    add_random(made, 2);
    for (uint32_t moves = 4 + ls_rng_below(&rng, 30); moves > 0; moves--) {
        add_match_move(made);
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

static void fill_session(seed *made, uint32_t number)
{
    add(made, number < RUNS ? ls_rng_below(&rng, 64) : ls_rng_next(&rng));
    add_random(made, 1);
    for (uint32_t moves = 4 + ls_rng_below(&rng, 40); moves > 0; moves--) {
        add_session_move(made);
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

static void fill_join(seed *made, uint32_t number)
{
    (void)number;
    add(made, ls_rng_next(&rng) & ~16u);
    add(made, 7); /* JOIN with a snapshot, as it should be */
    add(made, 1);
    add(made, 0);
    add(made, 0);
    add(made, 9);
    add(made, 0);
    for (uint32_t moves = 4 + ls_rng_below(&rng, 40); moves > 0; moves--) {
        add_join_move(made);
    }
}

/* ---- resume ---- */

/* All are back, say how far each got, and answer what they are asked for. */
static void fill_resume(seed *made, uint32_t number)
{
    uint32_t players = 1 + number % 4;
    add(made, (players - 1) | (number % 3 == 0 ? 4 : 0) | ls_rng_below(&rng, 32) << 3);
    for (uint32_t peer = 0; peer < players; peer++) {
        add(made, 5 | peer << 4);
        add(made, peer);
        add(made, 40 + ls_rng_below(&rng, 60));
        add(made, 20 + ls_rng_below(&rng, 60));
    }
    add(made, 0);
    add(made, ls_rng_below(&rng, 30));
    for (uint32_t answers = 2 + ls_rng_below(&rng, 20); answers > 0; answers--) {
        add(made, 9 | ls_rng_below(&rng, players) << 4);
        add(made, ls_rng_below(&rng, 8) == 0 ? 1u << ls_rng_below(&rng, 4) : 0);
    }
}

/* ---- simulations ---- */

static void fill_arena(seed *made, uint32_t number)
{
    (void)number;
    uint32_t players = 1 + ls_rng_below(&rng, 8);
    add(made, players - 1);
    add_random(made, 9);
    for (uint32_t ticks = 10 + ls_rng_below(&rng, 40); ticks > 0; ticks--) {
        uint32_t who = ls_rng_next(&rng) & ((1u << players) - 1u);
        add(made, who);
        for (uint32_t slot = 0; slot < players; slot++) {
            if (who >> slot & 1u) {
                add(made, ls_rng_below(&rng, 20) == 0 ? 2 : 0);
                add(made, 2);
                add_random(made, 2);
            }
        }
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

static void fill_units(seed *made, uint32_t number)
{
    uint8_t bytes[200];
    (void)number;
    add(made, 1 + ls_rng_below(&rng, 3));
    add(made, 8 + ls_rng_below(&rng, 20));
    add_random(made, 1);
    for (uint32_t ticks = 10 + ls_rng_below(&rng, 30); ticks > 0; ticks--) {
        uint32_t size = 0;
        for (uint32_t orders = ls_rng_below(&rng, 3); orders > 0; orders--) {
            size += random_order(bytes + size, (uint32_t)sizeof bytes - size);
        }
        add(made, 1u << ls_rng_below(&rng, 3));
        add(made, ls_rng_below(&rng, 20) == 0 ? 2 : 0);
        add(made, size);
        add_bytes(made, bytes, size);
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

static void fill_blob(seed *made, uint32_t number)
{
    add(made, number % 4 + number * 16);
    if (number % 4 == 1) {
        add_blob_part(made, number / 4, false);
        add_blob_part(made, 1, true);
    } else if (number % 4 == 3) {
        add_random(made, 20 * number);
    } else {
        for (uint32_t first = 0; first < number; first++) {
            add_blob_ack(made, first);
        }
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

static void fill_bundle(seed *made, uint32_t number)
{
    (void)number;
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
    add(made, 0);
    add_lists(made, &bundle);
    add_schema(made);
    add(made, LS_BUNDLE_SNAPSHOT);
    add_u16(made, 12 + BUNDLE_STATE_BYTES);
    add_u16(made, bundle.snapshot_tick);
    add_u16(made, 0);
    add_random(made, 8 + BUNDLE_STATE_BYTES);
    add_bundle_inputs(made, &bundle);
    add_state(made, LS_BUNDLE_SERVER_STATE);
    add_state(made, LS_BUNDLE_CLIENT_STATE);
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

static void fill_journal(seed *made, uint32_t number)
{
    uint8_t bytes[SEED_BYTES_MAX];
    ls_tick tick = 0;
    bool is_block = number % 3 == 0;
    add(made, is_block ? 1 : 2);
    if (is_block) {
        add(made, 1); /* two slots */
        add(made, 4); /* 16 bytes */
        add_bytes(made, bytes, make_block(bytes, number, 5 + number));
    }
    for (uint32_t i = 0; !is_block && i < 4; i++) {
        uint32_t ticks = 1 + ls_rng_below(&rng, 6);
        add_record(made, LS_JOURNAL_TICKS | (i % 2) << 4, bytes, make_block(bytes, tick, ticks));
        tick += ticks + (number % 4 == 1 ? 3 : 0);
        add_snapshot(made, tick);
        add_event(made, tick);
    }
}

int main(int argc, char **argv)
{
    /* In this order: they draw from one generator. */
    static const struct {
        const char *target;
        uint32_t runs;
        void (*fill)(seed *made, uint32_t number);
    } makers[] = {
        {"match", 2 * RUNS, fill_match}, {"session", 2 * RUNS, fill_session},
        {"join", 2 * RUNS, fill_join},   {"arena", RUNS, fill_arena},
        {"units", RUNS, fill_units},     {"blob", RUNS, fill_blob},
        {"bundle", RUNS, fill_bundle},   {"journal", RUNS, fill_journal},
        {"resume", RUNS, fill_resume},
    };
    if (argc != 2) {
        fprintf(stderr, "usage: make_fuzz_seeds DIRECTORY\n");
        return 2;
    }
    base = argv[1];
    rng = ls_rng_make(1, 1);
    play_match(false);
    play_match(true);
    make_datagrams();
    make_discovery();
    make_directory();
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        for (uint32_t number = 0; number < makers[i].runs; number++) {
            seed made = {.size = 0};
            makers[i].fill(&made, number);
            save_numbered(&made, makers[i].target, number);
        }
    }
    return failures > 0;
}
