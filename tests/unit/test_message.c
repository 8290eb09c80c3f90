#include "lockstep/common/diagnosis/pass_trace.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/unit/message_layout.h"

#include <signal.h>

/* ---- message ---- */

/* Holds the packets against protocol/PROTOCOL.md: what is expected stands here a second time, in
 * the notation of that page and in its order. */

/* ---- the reliable messages, in the order of the page ---- */

Test(message, hello_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_HELLO);
    ls_hello *hello = &message.body.hello;
    hello->magic = 0x5453434c;
    hello->is_spectator = true;
    hello->protocol_version = LS_PROTOCOL_VERSION;
    hello->arithmetic = UINT64_C(0x0123456789abcdef);
    memcpy(hello->name, "Grace", 6);
    memcpy(hello->token, "token", 6);
    expect_layout(&message, WIRE_MESSAGE(1, U(0x5453434c, 32), U(LS_PROTOCOL_VERSION, 16),
                                         U(UINT64_C(0x0123456789abcdef), 64), TEXT("Grace"),
                                         TEXT("token"), U(1, 1), U(0, 1)));
}

Test(message, a_hello_of_another_version_is_read_up_to_the_version)
{
    wire_bits wire = WIRE_MESSAGE(1, U(LS_PROTOCOL_MAGIC, 32), U(LS_PROTOCOL_VERSION + 1, 16));
    for (unsigned i = 0; i < 100; i++) {
        wire_u(&wire, UINT64_MAX, 64); /* whatever that version sends behind */
    }
    ls_message message;
    cr_assert_eq(ls_message_read(wire.bytes, 800, 0, &message), LS_OK);
    cr_assert_eq(message.body.hello.protocol_version, LS_PROTOCOL_VERSION + 1);
}

/* Worked out by hand, for an error that both encoders would share: "LCST" is moved up by the six
 * bits of the kind, and so on. */
Test(message, hello_is_these_bytes)
{
    ls_message message = message_of(LS_MESSAGE_HELLO);
    message.body.hello.magic = LS_PROTOCOL_MAGIC;
    message.body.hello.protocol_version = 8;
    message.body.hello.arithmetic = 0x80;
    message.body.hello.name[0] = 'A';
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    const uint8_t expected[] = {0x01, 0xd3, 0xd0, 0x14, 0x15, 0x02, 0x00, 0x20, 0x00,
                                0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x08, 0x02, 0x00};
    cr_assert_eq(ls_message_write(&message, bytes), sizeof expected);
    cr_assert_arr_eq(bytes, expected, sizeof expected);
}

Test(message, the_longest_texts_fit_and_longer_ones_are_malformed)
{
    char text[512];
    memset(text, 'x', sizeof text);
    static const struct {
        size_t name;
        size_t token;
        ls_status status;
    } sizes[] = {{31, 255, LS_OK}, {32, 0, LS_MALFORMED}, {0, 256, LS_MALFORMED}};
    for (size_t i = 0; i < 3; i++) {
        wire_bits wire =
            WIRE_MESSAGE(1, U(LS_PROTOCOL_MAGIC, 32), U(LS_PROTOCOL_VERSION, 16), U(0, 64));
        text[sizes[i].name] = '\0';
        wire_text(&wire, text);
        text[sizes[i].name] = 'x';
        text[sizes[i].token] = '\0';
        wire_text(&wire, text);
        text[sizes[i].token] = 'x';
        wire_u(&wire, 0, 2);
        cr_assert_eq(read_wire(&wire), sizes[i].status, "%zu", i);
    }
    for (size_t size = 511; size <= 512; size++) {
        char sentence[513] = {0};
        memset(sentence, 'y', size);
        wire_bits wire = WIRE_MESSAGE(5, U(30, 8), TEXT(sentence));
        cr_assert_eq(read_wire(&wire), size == 511 ? LS_OK : LS_MALFORMED);
    }
}

/* Everything in an OFFER that has a range. */
typedef struct offer_numbers {
    uint64_t tick_rate_hz, players, param_count, slot, hash_interval_ticks, input_delay_ticks;
    uint64_t timeout_ms, late_rule, send_rate, match_id;
    uint64_t string_count, file_count, file_bytes, rate_numerator;
} offer_numbers;

static const offer_numbers usual_offer = {60, 4, 2,    3,     7, 2, 10000, 1, 2, 0x0123456789abcdef,
                                          2,  1, 4711, 262144};

static uint64_t param_of(uint64_t index)
{
    return UINT64_C(0xfffffffffffffff0) + index * UINT64_C(0x1111);
}

static wire_bits offer_wire(offer_numbers numbers)
{
    wire_bits wire =
        WIRE_MESSAGE(2, TEXT("arena"), U(0xa0b0c0d0, 32), U(UINT64_C(0x8877665544332211), 64),
                     UVAR(numbers.tick_rate_hz), U(1, 1), U(numbers.rate_numerator, 32),
                     U(4389, 32), UVAR(numbers.players), UVAR(numbers.param_count));
    for (uint64_t i = 0; i < numbers.param_count; i++) {
        wire_u(&wire, param_of(i), 64);
    }
    wire_uvar(&wire, numbers.string_count);
    for (uint64_t i = 0; i < numbers.string_count; i++) {
        wire_uvar(&wire, 2);
        wire_u(&wire, 'h' + i, 8);
        wire_u(&wire, 'i', 8);
    }
    wire_uvar(&wire, numbers.file_count);
    for (uint64_t i = 0; i < numbers.file_count; i++) {
        wire_u(&wire, numbers.file_bytes, 32);
        wire_u(&wire, UINT64_C(0x1122334455667788) + i, 64);
    }
    wire_uvar(&wire, numbers.slot);
    wire_uvar(&wire, numbers.hash_interval_ticks);
    wire_u(&wire, 1, 1); /* trusts writes */
    wire_uvar(&wire, numbers.input_delay_ticks);
    wire_uvar(&wire, numbers.timeout_ms);
    wire_u(&wire, numbers.late_rule, 1);
    wire_u(&wire, numbers.send_rate, 3);
    wire_u(&wire, numbers.match_id, 64);
    for (uint32_t i = 0; i < LS_SECRET_BYTES; i++) {
        wire_u(&wire, 0x5a, 8);
    }
    wire_u(&wire, 2, 2); /* does not watch, runs */
    return wire;
}

Test(message, offer_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_OFFER);
    ls_offer *offer = &message.body.offer;
    memcpy(offer->simulation, "arena", 6);
    offer->simulation_version = 0xa0b0c0d0;
    offer->config.seed = UINT64_C(0x8877665544332211);
    offer->config.tick_rate_hz = 60;
    offer->config.tick_rate = (ls_rate){262144, 4389};
    offer->config.players = 4;
    offer->config.param_count = 2;
    offer->config.params[0] = -16;
    offer->config.params[1] = 0x1101;
    offer->config.string_count = 2;
    memcpy(offer->config.strings[0], "hi", 3);
    memcpy(offer->config.strings[1], "ii", 3);
    offer->config.file_count = 1;
    offer->config.files[0] = (ls_sim_file){NULL, 4711, UINT64_C(0x1122334455667788)};
    offer->slot = 3;
    offer->hash_interval_ticks = 7;
    offer->trusts_writes = true;
    offer->input_delay_ticks = 2;
    offer->timeout_ms = 10000;
    offer->late_rule = LS_LATE_WAIT;
    offer->send_rate = LS_SEND_TICK;
    offer->match_id = usual_offer.match_id;
    memset(offer->secret, 0x5a, sizeof offer->secret);
    offer->is_running = true;
    expect_layout(&message, offer_wire(usual_offer));
}

Test(message, offer_of_match_0_is_malformed)
{
    offer_numbers numbers = usual_offer;
    numbers.match_id = 0;
    expect_read(offer_wire(numbers), LS_MALFORMED);
}

Test(message, offer_takes_each_number_up_to_its_limits_and_no_further)
{
    static const struct {
        size_t place;
        uint64_t min, max;
    } ranges[] = {
        {offsetof(offer_numbers, tick_rate_hz), 1, 1000},
        {offsetof(offer_numbers, players), 4, LS_PLAYERS_MAX}, /* slot 3 needs four */
        {offsetof(offer_numbers, param_count), 0, 32},
        {offsetof(offer_numbers, slot), 0, 3},
        {offsetof(offer_numbers, string_count), 0, LS_STRING_PARAMS_MAX},
        {offsetof(offer_numbers, file_count), 0, LS_FILE_PARAMS_MAX},
        {offsetof(offer_numbers, file_bytes), 0, LS_FILE_BYTES_MAX},
        {offsetof(offer_numbers, rate_numerator), 4390, 4388999},
        {offsetof(offer_numbers, hash_interval_ticks), 1, 1024},
        {offsetof(offer_numbers, input_delay_ticks), 0, 64},
        {offsetof(offer_numbers, timeout_ms), 1, 600000},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const uint64_t values[] = {ranges[i].min - 1, ranges[i].min, ranges[i].max,
                                   ranges[i].max + 1};
        for (size_t j = ranges[i].min == 0 ? 1 : 0; j < 4; j++) {
            offer_numbers numbers = usual_offer;
            memcpy((uint8_t *)&numbers + ranges[i].place, &values[j], sizeof values[j]);
            wire_bits wire = offer_wire(numbers);
            cr_assert_eq(read_wire(&wire), j == 1 || j == 2 ? LS_OK : LS_MALFORMED,
                         "number %zu, value %zu", i, j);
        }
    }
    offer_numbers largest = {
        1000, 128, 32, 127, 1024, 64, 600000, 1, 3, UINT64_MAX, 4, 4, LS_FILE_BYTES_MAX, 262144};
    expect_read(offer_wire(largest), LS_OK);
    largest.players = 0;
    largest.slot = 0;
    expect_read(offer_wire(largest), LS_MALFORMED); /* a match of nobody */
}

Test(message, ready_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_READY);
    ls_ready *ready = &message.body.ready;
    ready->simulation_version = 7;
    ready->parameter_digest = UINT64_C(0x1000000000000001);
    ready->schema_digest = UINT64_C(0x2000000000000002);
    ready->content_digest = UINT64_C(0x3000000000000003);
    ready->initial_hash = UINT64_C(0x4000000000000004);
    expect_layout(&message, WIRE_MESSAGE(3, U(7, 32), U(UINT64_C(0x1000000000000001), 64),
                                         U(UINT64_C(0x2000000000000002), 64),
                                         U(UINT64_C(0x3000000000000003), 64),
                                         U(UINT64_C(0x4000000000000004), 64)));
}

Test(message, start_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_START);
    message.body.start.delay_us = 266666;
    memcpy(message.body.start.names[0], "Ada", 4);
    memcpy(message.body.start.names[2], "Grace", 6);
    expect_layout(&message, WIRE_MESSAGE(4, UVAR(266666), TEXT("Ada"), TEXT(""), TEXT("Grace")));
}

Test(message, refuse_and_goodbye_have_the_layout_of_the_page)
{
    static const ls_message_kind kinds[] = {LS_MESSAGE_REFUSE, LS_MESSAGE_GOODBYE};
    for (uint32_t i = 0; i < 2; i++) {
        ls_message message = message_of(kinds[i]);
        message.body.close_reason.negated_status = 33;
        memcpy(message.body.close_reason.text.bytes, "tick rate: 60, not 50", 22);
        wire_bits wire = WIRE_MESSAGE(5 + i, U(33, 8), TEXT("tick rate: 60, not 50"));
        expect_layout(&message, wire);
    }
}

static wire_bits hash_request_wire(uint64_t count)
{
    wire_bits wire = WIRE_MESSAGE(7, U(0xfffffff0, 32), UVAR(count));
    return wire;
}

Test(message, hash_request_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_HASH_REQUEST);
    message.body.hash_request = (ls_hash_request){0xfffffff0, 1024};
    expect_layout(&message, hash_request_wire(1024));
    expect_read(hash_request_wire(0), LS_MALFORMED);
    expect_read(hash_request_wire(1), LS_OK);
    expect_read(hash_request_wire(1025), LS_MALFORMED);
}

static uint64_t hash_of(uint64_t index)
{
    return UINT64_C(0xfedcba9876543210) ^ index;
}

static wire_bits hashes_wire(uint64_t count)
{
    wire_bits wire = WIRE_MESSAGE(8, U(0x01020304, 32), UVAR(count));
    for (uint64_t i = 0; i < count; i++) {
        wire_u(&wire, hash_of(i), 64);
    }
    return wire;
}

Test(message, hashes_have_the_layout_of_the_page)
{
    static const uint32_t counts[] = {0, 1, 127, 128};
    for (size_t i = 0; i < 4; i++) {
        ls_message message = message_of(LS_MESSAGE_HASHES);
        message.body.hashes.first = 0x01020304;
        message.body.hashes.count = counts[i];
        for (uint32_t j = 0; j < counts[i]; j++) {
            message.body.hashes.state_hashes[j] = hash_of(j);
        }
        expect_layout(&message, hashes_wire(counts[i]));
    }
    expect_read(hashes_wire(129), LS_MALFORMED);
}

Test(message, desync_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_DESYNC);
    message.body.desync = (ls_desync_notice){31, 0xdeadbeef, UINT64_C(0x0a0b0c0d0e0f0102),
                                             UINT64_C(0x8000000000000001), 5};
    expect_layout(&message,
                  WIRE_MESSAGE(9, UVAR(31), U(0xdeadbeef, 32), U(UINT64_C(0x0a0b0c0d0e0f0102), 64),
                               U(UINT64_C(0x8000000000000001), 64), UVAR(5)));

    wire_bits beyond = WIRE_MESSAGE(9, UVAR(LS_PLAYERS_MAX), U(0, 32), U(0, 64), U(0, 64), UVAR(0));
    cr_assert_eq(read_wire(&beyond), LS_MALFORMED, "no match has such a slot");
    wire_bits many =
        WIRE_MESSAGE(9, UVAR(31), U(0, 32), U(0, 64), U(0, 64), UVAR(LS_PLAYERS_MAX + 1));
    cr_assert_eq(read_wire(&many), LS_MALFORMED, "no match has so many clients");
}

Test(message, end_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_END);
    message.body.end.final_tick = 1200;
    message.body.end.final_hash = UINT64_C(0x1122334455667788);
    expect_layout(&message, WIRE_MESSAGE(10, U(1200, 32), U(UINT64_C(0x1122334455667788), 64)));
}

Test(message, finished_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_FINISHED);
    ls_finished *finished = &message.body.finished;
    finished->tick = 1200;
    finished->state_hash = UINT64_C(0x1122334455667788);
    finished->chain_tick = 1190;
    finished->chain = 0xcafef00d;
    finished->stalled_ticks = 3;
    finished->confirm_latency_p50_us = 41000;
    finished->confirm_latency_p99_us = 52000;
    finished->confirm_latency_max_us = UINT32_MAX;
    finished->rtt_us = 20001;
    finished->frames = 4800;
    expect_layout(&message, WIRE_MESSAGE(11, U(1200, 32), U(UINT64_C(0x1122334455667788), 64),
                                         U(1190, 32), U(0xcafef00d, 32), UVAR(3), UVAR(41000),
                                         UVAR(52000), UVAR(UINT32_MAX), UVAR(20001), UVAR(4800)));
}

Test(message, waiting_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_WAITING);
    message.body.waiting = (ls_waiting){77, {{0x80000005}}, 1500};
    expect_layout(&message, WIRE_MESSAGE(12, U(77, 32), U(0x80000005, 32), UVAR(1500)));
}

Test(message, a_set_of_slots_has_a_word_for_each_32_players)
{
    ls_message message = message_of(LS_MESSAGE_WAITING);
    message.players = 97;
    message.body.waiting = (ls_waiting){77, {{1, 0x80000000, 0, 1}}, 1500};
    expect_layout(&message, WIRE_MESSAGE(12, U(77, 32), U(1, 32), U(0x80000000, 32), U(0, 32),
                                         U(1, 32), UVAR(1500)));
    message = message_of(LS_MESSAGE_LOBBY);
    message.players = 33;
    message.body.lobby = (ls_lobby){.players = {.here = {{1, 1}}}, .names = {"Ann"}};
    message.body.lobby.players.ready.words[0] = UINT32_MAX;
    expect_layout(&message,
                  WIRE_MESSAGE(38, U(1, 32), U(1, 32), U(UINT32_MAX, 32), U(0, 32), TEXT("Ann")));
}

Test(message, names_have_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_NAMES);
    message.players = 98;
    message.body.names = (ls_names){.first = 96, .names = {"Ann", "Bob"}};
    expect_layout(&message, WIRE_MESSAGE(39, UVAR(96), TEXT("Ann"), TEXT("Bob")));
}

Test(message, names_of_slots_that_are_not_there_are_malformed)
{
    static const struct {
        uint32_t first, players;
        ls_status status;
    } cases[] = {{32, 33, LS_OK},          {64, 65, LS_OK},        {32, 32, LS_MALFORMED},
                 {33, 65, LS_MALFORMED},   {0, 1, LS_MALFORMED},   {96, 96, LS_MALFORMED},
                 {128, 128, LS_MALFORMED}, {0, 128, LS_MALFORMED}, {160, 0, LS_MALFORMED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_message read;
        wire_bits wire = WIRE_MESSAGE(39, UVAR(cases[i].first), TEXT("Ann"));
        cr_expect_eq(ls_message_read(wire.bytes, wire_size(&wire), cases[i].players, &read),
                     cases[i].status, "case %zu", i);
    }
}

Test(message, notice_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_NOTICE);
    message.body.notice = (ls_notice){.kind = LS_NOTICE_UNPAUSED, .tick = 77};
    ls_text_set(&message.body.notice.text, "back");
    expect_layout(&message, WIRE_MESSAGE(29, UVAR(2), U(77, 32), TEXT("back")));
    message.body.notice = (ls_notice){.kind = LS_NOTICE_NEXT, .tick = 77};
    ls_text_set(&message.body.notice.text, "a: b");
    expect_layout(&message, WIRE_MESSAGE(29, UVAR(3), U(77, 32), TEXT("a: b")));
    expect_read(WIRE_MESSAGE(29, UVAR(4), U(77, 32), TEXT("")), LS_MALFORMED);
}

Test(message, lag_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_LAG);
    message.body.lag = (ls_lag){.cause = LS_LAG_PLAYER,
                                .whom = 3,
                                .since_tick = 700,
                                .lost_ms = 1500,
                                .late_ppm = 1,
                                .stalled_ppm = 2,
                                .uplink_loss_ppm = 3,
                                .uplink_jitter_us = 4,
                                .downlink_loss_ppm = LS_LAG_ALL_PPM,
                                .downlink_jitter_us = 6,
                                .longest_frame_ms = 7,
                                .suggested_input_delay_ticks = 8};
    expect_layout(&message,
                  WIRE_MESSAGE(30, UVAR(6), UVAR(3), U(700, 32), UVAR(1500), UVAR(1), UVAR(2),
                               UVAR(3), UVAR(LS_LAG_ALL_PPM), UVAR(4), UVAR(6), UVAR(7), UVAR(8)));
    expect_read(WIRE_MESSAGE(30, UVAR(7), UVAR(3), U(700, 32)), LS_MALFORMED);
}

Test(message, chat_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_CHAT);
    message.body.chat = (ls_chat){.slot = 31, .text = "well met", .name = "Ann"};
    expect_layout(&message, WIRE_MESSAGE(31, UVAR(31), UVAR(0), TEXT("well met"), TEXT("Ann")));
    message.body.chat = (ls_chat){.slot = 3, .quick_line = LS_QUICK_LINES};
    expect_layout(&message, WIRE_MESSAGE(31, UVAR(3), UVAR(8), TEXT(""), TEXT("")));
}

Test(message, a_line_of_chat_has_words_or_a_number)
{
    expect_read(WIRE_MESSAGE(31, UVAR(LS_PLAYERS_MAX), UVAR(0), TEXT("x"), TEXT("")), LS_MALFORMED);
    expect_read(WIRE_MESSAGE(31, UVAR(0), UVAR(9), TEXT(""), TEXT("")), LS_MALFORMED);
    expect_read(WIRE_MESSAGE(31, UVAR(0), UVAR(0), TEXT(""), TEXT("")), LS_MALFORMED);
    expect_read(WIRE_MESSAGE(31, UVAR(0), UVAR(1), TEXT("x"), TEXT("")), LS_MALFORMED);
}

Test(message, a_line_of_chat_moves_no_cursor)
{
    ls_message message = message_of(LS_MESSAGE_CHAT);
    ls_message read;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    message.body.chat = (ls_chat){.text = "a\033[2J\r\nb\xE2\x80\xAE\xFF"};
    size_t size = ls_message_write(&message, bytes);
    cr_assert_eq(ls_message_read(bytes, size, 0, &read), LS_OK);
    cr_assert_str_eq(read.body.chat.text, "a?[2J??b????");
}

Test(message, lobby_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_LOBBY);
    message.body.lobby = (ls_lobby){.players = {.here = {{0x80000001}}, .ready = {{1}}},
                                    .names = {"Ann", [31] = "Bob"}};
    expect_layout(&message,
                  WIRE_MESSAGE(38, U(0x80000001, 32), U(1, 32), TEXT("Ann"), TEXT("Bob")));
    message.body.lobby = (ls_lobby){.players.ready = {{2}}};
    expect_layout(&message, WIRE_MESSAGE(38, U(0, 32), U(2, 32)));
    message.body.lobby = (ls_lobby){.players.asks_nobody = true};
    expect_layout(&message, WIRE_MESSAGE(38, U(0, 32), U(UINT32_MAX, 32)));
}

Test(message, input_delay_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_INPUT_DELAY);
    message.body.input_delay_ticks = LS_INPUT_DELAY_TICKS_MAX;
    expect_layout(&message, WIRE_MESSAGE(13, UVAR(LS_INPUT_DELAY_TICKS_MAX)));
    expect_read(WIRE_MESSAGE(13, UVAR(LS_INPUT_DELAY_TICKS_MAX + 1)), LS_MALFORMED);
}

/* ---- the unreliable messages ---- */

Test(message, inputs_have_the_layout_of_the_page)
{
    ls_inputs_header header = {.sequence = 0x6a,
                               .next = 0x12345,
                               .hold = 9,
                               .chain_tick = 0x12340,
                               .chain = 0xcafef00d,
                               .first = 0x1234a,
                               .has_base = true,
                               .base_gap = 3,
                               .has_health = true,
                               .health = {.downlink = {13, 300},
                                          .has_lag = true,
                                          .lag = {.late_inputs = 4,
                                                  .latest_ms = 31,
                                                  .longest_frame_ms = 0xffff,
                                                  .stalled_ticks = 2,
                                                  .held_ticks = 1,
                                                  .held_tick = 99}}};
    const uint8_t old_bytes[] = {0x01, 0x02};
    const uint8_t new_bytes[] = {0x01, 0x42};
    const uint8_t other_bytes[] = {0x01, 0x41};
    ls_slot_input before = {old_bytes, 2, 0};
    ls_slot_input change = {new_bytes, 2, 0};
    ls_slot_input other = {other_bytes, 2, 0};
    ls_slot_input empty = {NULL, 0, 0};
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    cr_assert(ls_inputs_write_tick(&stream, &before, &change));
    cr_assert(ls_inputs_write_tick(&stream, &change, &other));
    cr_assert(ls_inputs_write_tick(&stream, &other, &other));
    cr_assert(ls_inputs_write_tick(&stream, &other, &empty));
    cr_assert(ls_inputs_write_tick(&stream, &empty, &change));
    ls_tick_packet_write_end(&stream);

    wire_bits wire = WIRE(U(32, 6));
    wire_u(&wire, 0x2a, 6);        /* sequence */
    wire_u(&wire, 0x2345, 16);     /* next */
    wire_u(&wire, 9, 8);           /* hold */
    wire_svar(&wire, 5);           /* chain tick */
    wire_u(&wire, 0xcafef00d, 32); /* chain */
    wire_svar(&wire, 5);           /* first */
    wire_u(&wire, 1, 1);           /* base: */
    wire_uvar(&wire, 3);           /* gap */
    wire_u(&wire, 1, 1);           /* health: */
    wire_u(&wire, 13, 8);
    wire_uvar(&wire, 300);
    wire_u(&wire, 1, 1);    /* it was late: */
    wire_u(&wire, 0x37, 6); /* no frame was */
    wire_uvar(&wire, 2);
    wire_uvar(&wire, 4);
    wire_uvar(&wire, 31);
    wire_uvar(&wire, 0xffff);
    wire_uvar(&wire, 1);
    wire_uvar(&wire, 99);
    wire_u(&wire, 1, 1); /* an input with one bit flipped: */
    wire_u(&wire, 1, 2); /* 10 */
    wire_u(&wire, 14, 4);
    wire_u(&wire, 1, 1); /* of the same size: */
    wire_u(&wire, 3, 3); /* 110 */
    wire_u(&wire, 0, 1);
    wire_u(&wire, 1, 1);
    wire_u(&wire, 0x03, 8);
    wire_u(&wire, 1, 1); /* the same bytes: 0 */
    wire_u(&wire, 0, 1);
    wire_u(&wire, 1, 1); /* empty: 1110 */
    wire_u(&wire, 7, 4);
    wire_u(&wire, 1, 1); /* another size: 1111 */
    wire_u(&wire, 15, 4);
    wire_uvar(&wire, 2);
    wire_u(&wire, 0x4201, 16);
    wire_u(&wire, 0, 1); /* end */
    cr_assert_eq(stream.position_bits, wire.count);
    cr_assert_arr_eq(bytes, wire.bytes, wire_size(&wire));
}

Test(message, ticks_have_the_layout_of_the_page)
{
    ls_ticks_header header = {.sequence = 63,
                              .first = 0x2ffff,
                              .hold = 255,
                              .wanted = 0x30004,
                              .has_base = false,
                              .slack = -3,
                              .has_uplink = true,
                              .uplink = {LS_LOSS_MAX, LS_JITTER_MAX}};
    const uint8_t pad[] = {0x81};
    ls_slot_input nothing[3] = {{NULL, 0, 0}, {NULL, 0, 0}, {NULL, 0, 0}};
    ls_slot_input joined[3] = {{NULL, 0, LS_EVENT_JOINED}, {pad, 1, 0}, {NULL, 0, LS_EVENT_LEFT}};
    ls_slot_input later[3] = {{NULL, 0, 0}, {pad, 1, 0}, {NULL, 0, 0}};
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_ticks_header_bits(&stream, &header, 0);
    cr_assert(ls_ticks_write_tick(&stream, 3, nothing, joined));
    cr_assert(ls_ticks_write_tick(&stream, 3, joined, later));
    ls_tick_packet_write_end(&stream);

    wire_bits wire = WIRE(U(33, 6));
    wire_u(&wire, 63, 6);      /* sequence */
    wire_u(&wire, 0xffff, 16); /* first */
    wire_u(&wire, 255, 8);     /* hold */
    wire_svar(&wire, 5);       /* wanted */
    wire_u(&wire, 0, 1);       /* base */
    wire_u(&wire, 0xffd, 12);  /* slack */
    wire_u(&wire, 1, 1);       /* uplink: */
    wire_u(&wire, LS_LOSS_MAX, 8);
    wire_uvar(&wire, LS_JITTER_MAX);
    wire_u(&wire, 1, 1); /* a tick */
    wire_u(&wire, 1, 1); /* with events: */
    wire_u(&wire, 1, 2);
    wire_u(&wire, 0, 2);
    wire_u(&wire, 2, 2);
    wire_u(&wire, 1, 1); /* and inputs: */
    wire_u(&wire, 0, 1);
    wire_u(&wire, 15, 4);
    wire_uvar(&wire, 1);
    wire_u(&wire, 0x81, 8);
    wire_u(&wire, 0, 1);
    wire_u(&wire, 1, 1); /* a tick without events or changes */
    wire_u(&wire, 0, 2);
    wire_u(&wire, 0, 1); /* end */
    cr_assert_eq(stream.position_bits, wire.count);
    cr_assert_arr_eq(bytes, wire.bytes, wire_size(&wire));
}

Test(message, tick_part_has_the_layout_of_the_page)
{
    static ls_tick_part part = {.tick = 0x01020304, .total_bytes = 2203, .index = 2};
    part.bytes[0] = 0xaa;
    part.bytes[2] = 0x55;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_tick_part_bits(&stream, &part);
    wire_bits wire = WIRE(U(34, 6));
    wire_u(&wire, 0x01020304, 32);
    wire_uvar(&wire, 2203);
    wire_u(&wire, 2, 5);
    wire_u(&wire, 0x5500aa, 24); /* two parts hold 2,200 bytes; three are left */
    cr_assert_eq(stream.position_bits, wire.count);
    cr_assert_arr_eq(bytes, wire.bytes, wire_size(&wire));
}

/* ---- the cause of a desync ---- */

static void wire_query(wire_bits *wire, uint32_t count, uint32_t pass)
{
    wire_u(wire, 4000, 32);
    wire_uvar(wire, pass + 1u);
    wire_u(wire, 1, 1);
    wire_u(wire, 77, 32);
    wire_uvar(wire, count);
}

static const ls_wire_query a_query = {4000, 5, {true, {77, 128}}};

Test(message, tree_query_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_TREE_QUERY);
    message.body.tree_query = a_query;
    wire_bits wire = WIRE(U(14, 6));
    wire_query(&wire, 128, 5);
    expect_layout(&message, wire);
    static const uint32_t passes[] = {LS_NO_PASS, 0, LS_PASSES_MAX - 1};
    for (size_t i = 0; i < 3; i++) {
        message.body.tree_query.pass = passes[i];
        wire = WIRE(U(14, 6));
        wire_query(&wire, 128, passes[i]);
        expect_layout(&message, wire);
    }
    wire = WIRE(U(14, 6));
    wire_query(&wire, 128, LS_PASSES_MAX);
    cr_assert_eq(read_wire(&wire), LS_MALFORMED);
    static const uint32_t beyond[] = {0, 129};
    for (size_t i = 0; i < 2; i++) {
        wire = WIRE(U(14, 6));
        wire_query(&wire, beyond[i], 5);
        cr_assert_eq(read_wire(&wire), LS_MALFORMED, "%u nodes", beyond[i]);
    }
}

static wire_bits answer_wire(const uint8_t *bytes, uint32_t size)
{
    wire_bits wire = WIRE(U(15, 6));
    wire_query(&wire, 128, 5);
    wire_uvar(&wire, size);
    wire_bytes(&wire, bytes, size);
    return wire;
}

Test(message, tree_answer_has_the_layout_of_the_page)
{
    static const uint32_t sizes[] = {0, 1, 9, 1024};
    uint8_t bytes[1025];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + 1);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ls_message message = message_of(LS_MESSAGE_TREE_ANSWER);
        ls_wire_answer *answer = &message.body.tree_answer;
        answer->asked = a_query;
        answer->size = sizes[i];
        memcpy(answer->bytes, bytes, sizes[i]);
        expect_layout(&message, answer_wire(bytes, sizes[i]));
    }
    expect_read(answer_wire(bytes, 1025), LS_MALFORMED);
}

Test(message, evidence_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_EVIDENCE_REQUEST);
    message.body.evidence_request =
        (ls_evidence_request){.tick = 4001, .pass = LS_NO_PASS, .time_max_ms = 3000};
    expect_layout(&message, WIRE_MESSAGE(16, U(4001, 32), UVAR(0), U(0, 1), UVAR(3000)));
    message.body.evidence_request.pass = 31;
    message.body.evidence_request.is_single = true;
    expect_layout(&message, WIRE_MESSAGE(16, U(4001, 32), UVAR(32), U(1, 1), UVAR(3000)));

    message = message_of(LS_MESSAGE_EVIDENCE);
    ls_wire_evidence *evidence = &message.body.evidence;
    evidence->tick = 4001;
    evidence->pass = 2;
    memset(evidence->figures, 0x5a, sizeof evidence->figures);
    evidence->pass_count = LS_PASSES_MAX;
    evidence->before = 5;
    wire_bits wire = WIRE_MESSAGE(17, U(4001, 32), UVAR(3));
    wire_bytes(&wire, evidence->figures, 55);
    wire_uvar(&wire, LS_PASSES_MAX);
    wire_u(&wire, 5, 64);
    for (uint32_t i = 0; i < LS_PASSES_MAX; i++) {
        evidence->state_hashes[i] = hash_of(i);
        wire_u(&wire, hash_of(i), 64);
    }
    expect_layout(&message, wire);

    message = message_of(LS_MESSAGE_BUILD_FINGERPRINT);
    message.body.build_fingerprint.size = LS_EVIDENCE_PRINT_BYTES_MAX;
    memset(message.body.build_fingerprint.bytes, 'p', LS_EVIDENCE_PRINT_BYTES_MAX);
    wire = WIRE_MESSAGE(18, UVAR(LS_EVIDENCE_PRINT_BYTES_MAX));
    wire_bytes(&wire, message.body.build_fingerprint.bytes, LS_EVIDENCE_PRINT_BYTES_MAX);
    expect_layout(&message, wire);
}

Test(message, desync_cause_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_DESYNC_CAUSE);
    ls_desync_cause *cause = &message.body.cause;
    *cause = message_of(LS_MESSAGE_DESYNC_CAUSE).body.cause;
    cause->slot = 3;
    cause->tick = 900;
    cause->kind = 2;
    cause->culprit = 1;
    cause->fields = 4;
    cause->elements = UINT32_MAX;
    cause->is_lower_bound = true;
    memset(cause->field, 'f', sizeof cause->field - 1);
    memset(cause->server_value, 's', sizeof cause->server_value - 1);
    memset(cause->client_value, 'c', sizeof cause->client_value - 1);
    memset(cause->pass, 'p', sizeof cause->pass - 1);
    cause->is_behind_pass = true;
    memset(cause->why.bytes, 'w', sizeof cause->why.bytes - 1);
    expect_layout(&message, WIRE_MESSAGE(19, UVAR(3), U(900, 32), UVAR(2), UVAR(1), UVAR(4),
                                         UVAR(UINT32_MAX), U(1, 1), TEXT(cause->field),
                                         TEXT(cause->server_value), TEXT(cause->client_value),
                                         TEXT(cause->pass), U(1, 1), TEXT(cause->why.bytes)));
}

Test(message, healing_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_HEAL_LEAF);
    ls_heal_leaf *leaf = &message.body.heal_leaf;
    leaf->tick = 910;
    leaf->leaf = 12;
    leaf->size = 512;
    memset(leaf->bytes, 0xa5, 512);
    wire_bits wire = WIRE_MESSAGE(20, U(910, 32), U(12, 32), UVAR(512));
    wire_bytes(&wire, leaf->bytes, 512);
    expect_layout(&message, wire);

    message = message_of(LS_MESSAGE_HEAL);
    message.body.heal.tick = 910;
    message.body.heal.state_hash = UINT64_C(0x1122334455667788);
    message.body.heal.chain = UINT64_C(0x99aabbccddeeff00);
    expect_layout(&message, WIRE_MESSAGE(21, U(910, 32), U(UINT64_C(0x1122334455667788), 64),
                                         U(UINT64_C(0x99aabbccddeeff00), 64)));

    message = message_of(LS_MESSAGE_HEALED);
    message.body.healed.tick = 910;
    message.body.healed.is_equal = true;
    expect_layout(&message, WIRE_MESSAGE(22, U(910, 32), U(1, 1)));

    message = message_of(LS_MESSAGE_HEAL_SNAPSHOT);
    ls_heal_snapshot *snapshot = &message.body.heal_snapshot;
    snapshot->tick = 913;
    snapshot->state_hash = UINT64_C(0x1122334455667788);
    snapshot->chain_tick = 912;
    snapshot->chain = UINT64_C(0x99aabbccddeeff00);
    snapshot->blob = 255;
    snapshot->blob_bytes = 16777216;
    snapshot->blob_hash = UINT64_C(0x0123456789abcdef);
    expect_layout(&message, WIRE_MESSAGE(28, U(913, 32), U(UINT64_C(0x1122334455667788), 64),
                                         U(912, 32), U(UINT64_C(0x99aabbccddeeff00), 64), U(255, 8),
                                         UVAR(16777216), U(UINT64_C(0x0123456789abcdef), 64)));
}

/* ---- what is no message ---- */

Test(message, an_unknown_kind_is_malformed)
{
    for (uint32_t kind = 0; kind < 64; kind++) {
        bool is_reliable = (kind >= 1 && kind <= 31) || kind == 38;
        wire_bits wire = WIRE(U(kind, 6));
        wire.count = 1000; /* zeros behind the kind */
        ls_message message;
        ls_status status = LS_MALFORMED;
        for (size_t size = 1; size < 100 && status != LS_OK; size++) {
            status = ls_message_read(wire.bytes, size, 0, &message);
        }
        if (!is_reliable) {
            cr_assert_eq(status, LS_MALFORMED, "kind %u", kind);
        } else if (kind != 2 && kind != 7 && kind != 14 && kind != 15 && kind != 16 && kind != 25 &&
                   kind != 26 && kind != 31) { /* its zeros are out of range */
            cr_assert_eq(status, LS_OK, "kind %u", kind);
        }
    }
}

Test(message, nothing_is_no_message)
{
    ls_message message;
    cr_assert_eq(ls_message_peek(NULL, 0), 0);
    cr_assert_eq(ls_message_read(NULL, 0, 0, &message), LS_MALFORMED);
}

Test(message, an_unreliable_kind_cannot_be_written_here, .signal = SIGABRT)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message message = message_of(LS_MESSAGE_INPUTS);
    ls_message_write(&message, bytes);
}

Test(message, the_largest_of_every_kind_fits_into_a_packet)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message message = message_of(LS_MESSAGE_START);
    message.players = LS_PLAYERS_MAX;
    message.body.start.delay_us = UINT32_MAX;
    for (uint32_t slot = 0; slot < LS_NAMES_PER_MESSAGE; slot++) {
        memset(message.body.start.names[slot], 'n', LS_PLAYER_NAME_BYTES_MAX - 1);
    }
    size_t size = ls_message_write(&message, bytes);
    ls_message read;
    cr_assert_eq(ls_message_read(bytes, size, LS_PLAYERS_MAX, &read), LS_OK);
    cr_assert_eq(memcmp(&read, &message, sizeof read), 0);

    message = message_of(LS_MESSAGE_NAMES);
    message.players = LS_PLAYERS_MAX;
    message.body.names.first = LS_PLAYERS_MAX - LS_NAMES_PER_MESSAGE;
    for (uint32_t i = 0; i < LS_NAMES_PER_MESSAGE; i++) {
        memset(message.body.names.names[i], 'n', LS_PLAYER_NAME_BYTES_MAX - 1);
    }
    ls_message_write(&message, bytes);
    message = message_of(LS_MESSAGE_HASHES);
    message.body.hashes.count = LS_HASHES_PER_MESSAGE;
    ls_message_write(&message, bytes);
    message = message_of(LS_MESSAGE_OFFER);
    memset(message.body.offer.simulation, 's', LS_NAME_BYTES_MAX - 1);
    message.body.offer.config.tick_rate_hz = 1000;
    message.body.offer.config.players = 32;
    message.body.offer.config.param_count = LS_PARAMS_MAX;
    message.body.offer.hash_interval_ticks = LS_HASH_INTERVAL_MAX;
    message.body.offer.timeout_ms = LS_TIMEOUT_MS_MAX;
    message.body.offer.match_id = UINT64_MAX;
    ls_message_write(&message, bytes);
}

/* ---- message_join ---- */

/* Holds the messages of coming late and coming back against protocol/PROTOCOL.md, as
 * test_message.c does the others. */

Test(message_join, hello_of_a_returning_player_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_HELLO);
    ls_hello *hello = &message.body.hello;
    hello->magic = LS_PROTOCOL_MAGIC;
    hello->protocol_version = LS_PROTOCOL_VERSION;
    hello->back = (ls_return){.match_id = UINT64_C(0xfedcba9876543210),
                              .confirmed = 1234,
                              .tick_chain = UINT64_C(0x1122334455667788),
                              .held = 300,
                              .is_desynced = true,
                              .hashed_tick = 1230,
                              .hash_chain = UINT32_C(0x99aabbcc),
                              .has_seal = true,
                              .sealed_tick = 1200,
                              .seal = UINT32_C(0xddeeff00),
                              .is_optional = true,
                              .is_joining = true};
    wire_bits wire =
        WIRE_MESSAGE(1, U(LS_PROTOCOL_MAGIC, 32), U(LS_PROTOCOL_VERSION, 16), U(0, 64), TEXT(""),
                     TEXT(""), U(0, 1), U(1, 1), U(UINT64_C(0xfedcba9876543210), 64));
    for (uint32_t i = 0; i < LS_SECRET_BYTES; i++) {
        hello->back.secret[i] = (uint8_t)(i * 3);
        wire_u(&wire, i * 3, 8);
    }
    wire_u(&wire, 1234, 32);
    wire_u(&wire, UINT64_C(0x1122334455667788), 64);
    wire_bits more = wire;
    wire_uvar(&wire, 300);
    wire_u(&wire, 1, 1);
    wire_uvar(&wire, 4);
    wire_u(&wire, UINT32_C(0x99aabbcc), 32);
    wire_u(&wire, 1, 1);
    wire_uvar(&wire, 34);
    wire_u(&wire, UINT32_C(0xddeeff00), 32);
    wire_u(&wire, 1, 1);
    wire_u(&wire, 1, 1);
    expect_layout(&message, wire);
    wire_uvar(&more, 1235);
    wire_u(&more, 1, 1);
    wire_uvar(&more, 4);
    wire_u(&more, 0, 34);
    cr_assert_eq(read_wire(&more), LS_MALFORMED, "more than there are");
}

static ls_join usual_join(void)
{
    ls_join join;
    memset(&join, 0, sizeof join);
    join.source = LS_JOIN_SNAPSHOT;
    join.tick = 1000;
    join.state_hash = UINT64_C(0x1111222233334444);
    join.chain_tick = 996;
    join.chain = UINT64_C(0x5555666677778888);
    join.tick_chain = UINT64_C(0x9999aaaabbbbcccc);
    join.next_close = 1001;
    join.next_close_us = 12;
    join.blob = 255;
    join.blob_bytes = 9;
    join.blob_hash = UINT64_C(0xddddeeeeffff0000);
    memcpy(join.names[0], "Ada", 4);
    return join;
}

static wire_bits join_wire(const ls_join *join)
{
    wire_bits wire = WIRE_MESSAGE(
        23, U(join->source, 2), U(join->tick, 32), U(join->state_hash, 64), U(join->chain_tick, 32),
        U(join->chain, 64), U(join->tick_chain, 64), U(join->next_close, 32),
        UVAR(join->next_close_us), U(join->blob, 8), UVAR(join->blob_bytes), U(join->blob_hash, 64),
        TEXT(join->names[0]), TEXT(join->names[1]), TEXT(join->names[2]));
    return wire;
}

Test(message_join, join_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_JOIN);
    message.body.join = usual_join();
    expect_layout(&message, join_wire(&message.body.join));
}

Test(message_join, the_largest_join_fits_a_packet)
{
    ls_message message = message_of(LS_MESSAGE_JOIN);
    ls_join *join = &message.body.join;
    message.players = LS_PLAYERS_MAX;
    *join = usual_join();
    join->next_close_us = UINT32_MAX;
    join->blob_bytes = UINT32_MAX;
    for (uint32_t slot = 0; slot < LS_NAMES_PER_MESSAGE; slot++) {
        memset(join->names[slot], 'n', LS_PLAYER_NAME_BYTES_MAX - 1);
    }
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message read;
    size_t size = ls_message_write(&message, bytes);
    cr_assert_eq(ls_message_read(bytes, size, LS_PLAYERS_MAX, &read), LS_OK);
    cr_assert_eq(memcmp(&read, &message, sizeof read), 0);
}

Test(message_join, a_join_that_contradicts_itself_is_malformed)
{
    ls_join join = usual_join();
    join.chain_tick = join.tick + 1;
    expect_read(join_wire(&join), LS_MALFORMED);
    join.chain_tick = join.tick;
    expect_read(join_wire(&join), LS_OK);
}

Test(message_join, joined_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_JOINED);
    message.body.joined.tick = 7;
    message.body.joined.state_hash = UINT64_MAX;
    message.body.joined.first_input = 9;
    expect_layout(&message, WIRE_MESSAGE(24, U(7, 32), U(UINT64_MAX, 64), U(9, 32)));
}

Test(message_join, ticks_request_asks_for_one_to_thirty_two)
{
    ls_message message = message_of(LS_MESSAGE_TICKS_REQUEST);
    message.body.ticks_request = (ls_ticks_request){.first = 70, .count = 32};
    for (uint32_t count = 0; count <= 33; count++) {
        wire_bits wire = WIRE_MESSAGE(25, U(70, 32), UVAR(count));
        bool is_right = count >= 1 && count <= 32;
        cr_assert_eq(read_wire(&wire), is_right ? LS_OK : LS_MALFORMED, "%u", count);
        if (count == 32) {
            expect_layout(&message, wire);
        }
    }
}

Test(message_join, closed_tick_has_the_layout_of_a_tick_part)
{
    ls_message message = message_of(LS_MESSAGE_CLOSED_TICK);
    ls_tick_part *part = &message.body.closed_tick;
    part->tick = 5000;
    part->total_bytes = LS_TICK_PART_BYTES + 2;
    part->index = 1;
    part->size = 2;
    part->bytes[0] = 0xab;
    part->bytes[1] = 0xcd;
    expect_layout(&message, WIRE_MESSAGE(26, U(5000, 32), UVAR(LS_TICK_PART_BYTES + 2), U(1, 5),
                                         U(0xab, 8), U(0xcd, 8)));
}

Test(message_join, resuming_has_the_layout_of_the_page)
{
    ls_message message = message_of(LS_MESSAGE_RESUMING);
    message.body.resuming = (ls_resuming){.slots = {{0x80000001}}, .left_ms = 29000};
    expect_layout(&message, WIRE_MESSAGE(27, U(0x80000001, 32), UVAR(29000)));
}
