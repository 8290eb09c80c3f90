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

static test_datagram with_time(void)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0x8000);
    add_u16(&made, 0x1234);
    return made;
}

static test_datagram without_time(void)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0);
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

static void add_acknowledgement(test_datagram *datagram)
{
    add_command(datagram, 0x01, 0, 1, 4);
}

static ls_datagram_rejection judge(const test_datagram *datagram, uint16_t reliable_received)
{
    /* On the heap in its exact size, so that a sanitizer sees the first byte too far. */
    uint8_t *copy = malloc(datagram->size ? datagram->size : 1);
    memcpy(copy, datagram->bytes, datagram->size);
    ls_datagram_rejection rejection =
        ls_enet_datagram_check(copy, datagram->size, reliable_received);
    free(copy);
    return rejection;
}

Test(enet_datagram, every_command_that_we_send_is_accepted)
{
    static const struct {
        uint8_t command;
        uint8_t channel;
    } commands[] = {{0x01, 0xff}, {0x01, 0}, {0x84, 0xff}, {0x44, 0xff}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        test_datagram datagram = with_time();
        add_command(&datagram, commands[i].command, commands[i].channel, 1, 4);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED, "%#x", commands[i].command);
        add_reliable(&datagram, 1, LS_PACKET_BYTES_MAX);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED, "%#x", commands[i].command);
    }
    test_datagram datagram = without_time();
    add_acknowledgement(&datagram);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
}

/* Those of handshakes, pings, fragments, sequenced and unsequenced packets and limits, too. */
Test(enet_datagram, every_command_byte_but_ours_is_unsupported)
{
    static const uint8_t ours[] = {0x01, 0x84, 0x44, 0x86};
    for (unsigned command = 0; command < 256; command++) {
        if (memchr(ours, (int)command, sizeof ours)) {
            continue;
        }
        test_datagram datagram = with_time();
        add_command(&datagram, (uint8_t)command, 0xff, 1, 60);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "%#x", command);
    }
}

/* A connection's ENet has one peer: seat 0, and its session is not sent. */
Test(enet_datagram, a_header_that_names_a_seat_a_session_or_compression_is_unsupported)
{
    for (unsigned bit = 0; bit < 15; bit++) {
        test_datagram datagram = {.size = 0};
        add_u16(&datagram, 1u << bit);
        add_acknowledgement(&datagram);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "bit %u", bit);
    }
}

Test(enet_datagram, every_cut_of_a_good_datagram_but_at_a_command_is_malformed)
{
    test_datagram whole = with_time();
    size_t ends[3];
    add_acknowledgement(&whole);
    ends[0] = whole.size;
    add_reliable(&whole, 1, 20);
    ends[1] = whole.size;
    add_command(&whole, 0x84, 0xff, 1, 4);
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
        add_acknowledgement(&datagram);
    }
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
    add_acknowledgement(&datagram);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, a_packet_above_the_limit_is_oversize)
{
    test_datagram datagram = with_time();
    add_reliable(&datagram, 1, LS_PACKET_BYTES_MAX + 1);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_OVERSIZE);
    datagram = without_time();
    datagram.size = LS_ENET_DATAGRAM_BYTES_MAX + 1;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, a_packet_longer_than_its_datagram_is_malformed)
{
    test_datagram datagram = with_time();
    add_reliable(&datagram, 1, 100);
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
    add_reliable(&datagram, 1, 4);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, commands_belong_to_their_channel)
{
    static const struct {
        uint8_t command;
        uint8_t channel;
    } strays[] = {{0x84, 0}, {0x44, 0}, {0x86, 1}, {0x86, 0xff}, {0x01, 1}};
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
        test_datagram datagram = with_time();
        add_command(&datagram, strays[i].command, strays[i].channel, 1, 4);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "case %zu", i);
    }
}
