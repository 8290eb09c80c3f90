#include "lockstep/protocol/enet/enet_datagram.h"

#include "lockstep/common/base/limits.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A datagram under construction. */
typedef struct test_datagram {
    uint8_t bytes[8192];
    size_t size;
} test_datagram;

static void add_u16(test_datagram *datagram, unsigned value)
{
    datagram->bytes[datagram->size++] = (uint8_t)(value >> 8);
    datagram->bytes[datagram->size++] = (uint8_t)value;
}

/* Header of seat 3, session 1. */
static test_datagram with_time(void)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0x8000 | 0x1000 | 3);
    add_u16(&made, 0x1234);
    return made;
}

static test_datagram without_time(void)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0x1000 | 3);
    return made;
}

static void add_command(test_datagram *datagram, uint8_t command, uint8_t channel,
                        unsigned sequence, size_t body_bytes)
{
    datagram->bytes[datagram->size++] = command;
    datagram->bytes[datagram->size++] = channel;
    add_u16(datagram, sequence);
    datagram->size += body_bytes;
}

static void add_reliable(test_datagram *datagram, unsigned sequence, unsigned packet_bytes)
{
    add_command(datagram, 0x86, 0, sequence, 0);
    add_u16(datagram, packet_bytes);
    datagram->size += packet_bytes;
}

static void add_unsequenced(test_datagram *datagram, unsigned packet_bytes)
{
    add_command(datagram, 0x49, 0, 0, 2);
    add_u16(datagram, packet_bytes);
    datagram->size += packet_bytes;
}

/* CONNECT and VERIFY_CONNECT have their datagram limit eight bytes in. */
static void set_mtu(uint8_t *command, unsigned mtu)
{
    command[8] = command[9] = 0;
    command[10] = (uint8_t)(mtu >> 8);
    command[11] = (uint8_t)mtu;
}

static test_datagram connect_request(unsigned mtu)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0x8fff);
    add_u16(&made, 0);
    add_command(&made, 0x82, 0xff, 1, 44);
    set_mtu(made.bytes + 4, mtu);
    return made;
}

static ls_datagram_rejection judge(const test_datagram *datagram, uint16_t reliable_received)
{
    /* On the heap in its exact size, so that a sanitizer sees the first byte too far. */
    uint8_t *copy = malloc(datagram->size ? datagram->size : 1);
    memcpy(copy, datagram->bytes, datagram->size);
    ls_enet_header header;
    ls_datagram_rejection rejection = ls_enet_datagram_read(copy, datagram->size, &header);
    if (rejection == LS_DATAGRAM_ACCEPTED) {
        rejection = ls_enet_datagram_check(copy, datagram->size, &header, reliable_received);
    }
    free(copy);
    return rejection;
}

Test(enet_datagram, a_header_is_read)
{
    test_datagram datagram = with_time();
    ls_enet_header header;
    cr_assert_eq(ls_enet_datagram_read(datagram.bytes, 4, &header), LS_DATAGRAM_ACCEPTED);
    cr_assert_eq(header.seat, 3);
    cr_assert_eq(header.session, 1);
    cr_assert_eq(header.bytes, 4);
    cr_assert(header.has_time);
    cr_assert_not(header.is_connect);
    datagram = without_time();
    cr_assert_eq(ls_enet_datagram_read(datagram.bytes, 2, &header), LS_DATAGRAM_ACCEPTED);
    cr_assert_eq(header.bytes, 2);
    cr_assert_not(header.has_time);
    datagram = connect_request(LS_ENET_MTU_BYTES);
    cr_assert_eq(ls_enet_datagram_read(datagram.bytes, datagram.size, &header),
                 LS_DATAGRAM_ACCEPTED);
    cr_assert(header.is_connect);
}

Test(enet_datagram, every_command_that_we_send_is_accepted)
{
    static const struct {
        uint8_t command;
        uint8_t channel;
        size_t body_bytes;
    } commands[] = {
        {0x01, 0xff, 4}, {0x01, 0, 4},    {0x84, 0xff, 4},  {0x44, 0xff, 4},
        {0x85, 0xff, 0}, {0x8a, 0xff, 8}, {0x8b, 0xff, 12},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        test_datagram datagram = with_time();
        add_command(&datagram, commands[i].command, commands[i].channel, 1, commands[i].body_bytes);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED, "%#x", commands[i].command);
        add_unsequenced(&datagram, 0);
        add_reliable(&datagram, 1, LS_PACKET_BYTES_MAX);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED, "%#x", commands[i].command);
    }
    test_datagram datagram = without_time();
    add_unsequenced(&datagram, LS_PACKET_BYTES_MAX);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
    datagram = connect_request(LS_ENET_MTU_BYTES);
    cr_assert_eq(datagram.size, LS_ENET_CONNECT_BYTES);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
}

Test(enet_datagram, every_command_byte_but_ours_is_unsupported)
{
    static const uint8_t ours[] = {0x01, 0x83, 0x84, 0x44, 0x85, 0x86, 0x49, 0x8a, 0x8b};
    for (unsigned command = 0; command < 256; command++) {
        if (memchr(ours, (int)command, sizeof ours)) {
            continue;
        }
        test_datagram datagram = with_time();
        add_command(&datagram, (uint8_t)command, 0xff, 1, 60);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "%#x", command);
    }
}

Test(enet_datagram, every_cut_of_a_good_datagram_but_at_a_command_is_malformed)
{
    test_datagram whole = with_time();
    size_t ends[3];
    add_command(&whole, 0x85, 0xff, 1, 0);
    ends[0] = whole.size;
    add_reliable(&whole, 1, 20);
    ends[1] = whole.size;
    add_unsequenced(&whole, 9);
    ends[2] = whole.size;
    for (size_t size = 0; size <= whole.size; size++) {
        test_datagram cut = whole;
        cut.size = size;
        bool is_whole = size == ends[0] || size == ends[1] || size == ends[2];
        cr_assert_eq(judge(&cut, 0), is_whole ? LS_DATAGRAM_ACCEPTED : LS_DATAGRAM_MALFORMED,
                     "%zu bytes", size);
    }
}

Test(enet_datagram, at_most_32_commands_fit)
{
    test_datagram datagram = with_time();
    for (int i = 0; i < 32; i++) {
        add_command(&datagram, 0x85, 0xff, 1, 0);
    }
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
    add_command(&datagram, 0x85, 0xff, 1, 0);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, a_packet_above_the_limit_is_oversize)
{
    test_datagram datagram = with_time();
    add_reliable(&datagram, 1, LS_PACKET_BYTES_MAX + 1);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_OVERSIZE);
    datagram = without_time();
    add_unsequenced(&datagram, LS_PACKET_BYTES_MAX + 1);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_OVERSIZE);
    datagram = without_time();
    datagram.size = LS_ENET_DATAGRAM_BYTES_MAX + 1;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, a_packet_longer_than_its_datagram_is_malformed)
{
    test_datagram datagram = without_time();
    add_unsequenced(&datagram, 100);
    datagram.size--;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, reliable_packets_stay_within_the_window)
{
    static const struct {
        unsigned sequence;
        uint16_t received;
        ls_datagram_rejection expected;
    } cases[] = {
        {LS_RELIABLE_AHEAD_MAX, 0, LS_DATAGRAM_ACCEPTED},
        {LS_RELIABLE_AHEAD_MAX + 1, 0, LS_DATAGRAM_TOO_FAR_AHEAD},
        {0x7fff, 0, LS_DATAGRAM_TOO_FAR_AHEAD},
        {5, 9, LS_DATAGRAM_ACCEPTED},      /* a repeat */
        {5, 0xfff0, LS_DATAGRAM_ACCEPTED}, /* the numbers went round */
        {0xfff0, 5, LS_DATAGRAM_ACCEPTED}, /* a repeat from before they did */
        {LS_RELIABLE_AHEAD_MAX, 0xffff, LS_DATAGRAM_TOO_FAR_AHEAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_datagram datagram = with_time();
        add_reliable(&datagram, cases[i].sequence, 1);
        cr_assert_eq(judge(&datagram, cases[i].received), cases[i].expected, "case %zu", i);
    }
}

Test(enet_datagram, a_datagram_that_wants_an_answer_carries_a_time)
{
    test_datagram datagram = without_time();
    add_command(&datagram, 0x85, 0xff, 1, 0);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, commands_belong_to_their_channel)
{
    test_datagram datagram = with_time();
    add_command(&datagram, 0x85, 0, 1, 0);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED);
    datagram = with_time();
    add_command(&datagram, 0x86, 1, 1, 2);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED);
    datagram = with_time();
    add_command(&datagram, 0x01, 1, 1, 4);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED);
}

static bool is_plain(const test_datagram *datagram, ls_enet_plain *plain)
{
    ls_enet_header header;
    cr_assert_eq(ls_enet_datagram_read(datagram->bytes, datagram->size, &header),
                 LS_DATAGRAM_ACCEPTED);
    return ls_enet_datagram_is_plain(datagram->bytes, datagram->size, &header, plain);
}

Test(enet_datagram, one_unsequenced_packet_and_nothing_else_is_plain)
{
    for (unsigned size = 0; size <= LS_PACKET_BYTES_MAX + 1; size++) {
        test_datagram datagram = size % 2 ? with_time() : without_time();
        size_t start = datagram.size;
        add_unsequenced(&datagram, size);
        datagram.bytes[start + 4] = 0x12; /* the group */
        datagram.bytes[start + 5] = 0x34;
        ls_enet_plain plain = {.size = SIZE_MAX};
        cr_assert_eq(is_plain(&datagram, &plain), size <= LS_PACKET_BYTES_MAX, "%u", size);
        cr_assert_eq(judge(&datagram, 0) == LS_DATAGRAM_ACCEPTED, size <= LS_PACKET_BYTES_MAX);
        if (size > LS_PACKET_BYTES_MAX) {
            cr_assert_eq(plain.size, SIZE_MAX, "changed");
            break;
        }
        cr_assert_eq(plain.size, size);
        cr_assert_eq(plain.group, 0x1234);
        cr_assert_eq(plain.bytes, datagram.bytes + start + 8);
    }
}

Test(enet_datagram, nothing_else_is_plain)
{
    ls_enet_plain plain;
    test_datagram datagram = without_time();
    add_unsequenced(&datagram, 20);
    size_t size = datagram.size;
    for (datagram.size = 2; datagram.size < size; datagram.size++) {
        cr_assert_not(is_plain(&datagram, &plain), "cut to %zu", datagram.size);
    }
    datagram.size = size + 1;
    cr_assert_not(is_plain(&datagram, &plain), "a byte too many");
    datagram.size = size;
    add_unsequenced(&datagram, 20);
    cr_assert_not(is_plain(&datagram, &plain), "two packets");
    datagram = with_time();
    add_reliable(&datagram, 1, 20);
    cr_assert_not(is_plain(&datagram, &plain), "a reliable one");
    datagram = without_time();
    add_unsequenced(&datagram, 20);
    datagram.bytes[3] = 0xff;
    cr_assert_not(is_plain(&datagram, &plain), "of another channel");
    datagram = connect_request(LS_ENET_MTU_BYTES);
    cr_assert_not(is_plain(&datagram, &plain), "a request to connect");
}

Test(enet_datagram, compression_is_unsupported)
{
    test_datagram datagram = without_time();
    add_unsequenced(&datagram, 4);
    datagram.bytes[0] |= 0x40;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED);
}

Test(enet_datagram, a_request_to_connect_stands_alone_and_leaves_room_for_our_packets)
{
    test_datagram datagram = connect_request(LS_ENET_MTU_BYTES - 1);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED);
    datagram = connect_request(LS_ENET_MTU_BYTES);
    add_command(&datagram, 0x85, 0xff, 1, 0);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
    datagram = connect_request(LS_ENET_MTU_BYTES);
    datagram.size--;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
    datagram = connect_request(LS_ENET_MTU_BYTES);
    datagram.bytes[0] = 0x90; /* from somebody who has a seat */
    datagram.bytes[1] = 3;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED);
}

Test(enet_datagram, an_answer_to_connect_leaves_room_for_our_packets)
{
    for (unsigned short_by = 0; short_by < 2; short_by++) {
        test_datagram datagram = with_time();
        add_command(&datagram, 0x83, 0xff, 1, 40);
        set_mtu(datagram.bytes + 4, LS_ENET_MTU_BYTES - short_by);
        cr_assert_eq(judge(&datagram, 0),
                     short_by ? LS_DATAGRAM_UNSUPPORTED : LS_DATAGRAM_ACCEPTED);
    }
}

/* Four bytes in: the seat that the other machine is to name in its headers, which have 12 bits. */
Test(enet_datagram, a_connection_is_made_only_from_a_seat_that_headers_can_name)
{
    static const unsigned seats[] = {0, 0x0ffe, 0x0fff, 0x1000, 0xffff};
    for (size_t i = 0; i < sizeof seats / sizeof seats[0]; i++) {
        ls_datagram_rejection expected = i < 2 ? LS_DATAGRAM_ACCEPTED : LS_DATAGRAM_UNSUPPORTED;
        test_datagram request = connect_request(LS_ENET_MTU_BYTES);
        test_datagram answer = with_time();
        add_command(&answer, 0x83, 0xff, 1, 40);
        set_mtu(answer.bytes + 4, LS_ENET_MTU_BYTES);
        request.bytes[8] = answer.bytes[8] = (uint8_t)(seats[i] >> 8);
        request.bytes[9] = answer.bytes[9] = (uint8_t)seats[i];
        cr_assert_eq(judge(&request, 0), expected);
        cr_assert_eq(judge(&answer, 0), expected);
    }
}

Test(enet_datagram, random_bytes_are_judged_within_their_bounds)
{
    uint32_t random = 1;
    size_t accepted = 0;
    size_t rejected[LS_DATAGRAM_REJECTION_COUNT] = {0};
    for (int round = 0; round < 200000; round++) {
        test_datagram datagram = with_time();
        add_reliable(&datagram, 1, 3);
        add_unsequenced(&datagram, 5);
        for (int change = 0; change < round % 8; change++) {
            random = random * 1664525u + 1013904223u;
            datagram.bytes[(random >> 8) % datagram.size] = (uint8_t)(random >> 24);
        }
        random = random * 1664525u + 1013904223u;
        datagram.size -= round % 3 == 0 ? (random >> 8) % datagram.size : 0;
        ls_datagram_rejection rejection = judge(&datagram, 0);
        if (rejection == LS_DATAGRAM_ACCEPTED) {
            accepted++;
        } else {
            rejected[rejection]++;
        }
    }
    cr_assert_gt(accepted, 1000);
    cr_assert_gt(rejected[LS_DATAGRAM_MALFORMED], 1000);
    cr_assert_gt(rejected[LS_DATAGRAM_UNSUPPORTED], 1000);
    cr_assert_gt(rejected[LS_DATAGRAM_OVERSIZE], 1000);
    cr_assert_gt(rejected[LS_DATAGRAM_TOO_FAR_AHEAD], 1000);
}

Test(enet_datagram, every_rejection_has_a_name_of_its_own)
{
    cr_assert_str_eq(ls_datagram_rejection_name(LS_DATAGRAM_MALFORMED), "MALFORMED");
    cr_assert_str_eq(ls_datagram_rejection_name(LS_DATAGRAM_TOO_FAR_AHEAD), "TOO_FAR_AHEAD");
    cr_assert_str_eq(ls_datagram_rejection_name(LS_DATAGRAM_ACCEPTED), "ACCEPTED");
}
