/* Holds the messages of coming late and coming back against protocol/PROTOCOL.md, as
 * test_message.c does the others. */
#include "lockstep/tests/unit/message_layout.h"

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
