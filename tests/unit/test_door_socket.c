/* A server's socket with a door: what the transport above and the wire below see. */
#include "lockstep/common/base/allocator.h"
#include "lockstep/protocol/door/door_socket.h"

#include <criterion/criterion.h>
#include <string.h>

/* The wire: one datagram that comes, and those that leave. */
typedef struct wire {
    ls_datagram_socket base;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
    ls_udp_datagram comes; /* size 0: none */
    uint32_t sent;
    ls_endpoint to[LS_UDP_WAITING_MAX];
    uint8_t out[LS_UDP_WAITING_MAX][LS_UDP_DATAGRAM_BYTES_MAX];
    size_t sizes[LS_UDP_WAITING_MAX];
    uint64_t lost;
    bool is_closed;
} wire;

static ls_udp_receipt wire_receive(ls_datagram_socket *base, ls_udp_datagram *out)
{
    wire *of = (wire *)base;
    *out = of->comes;
    of->comes.size = 0;
    return out->size > 0 ? LS_UDP_RECEIVED : LS_UDP_EMPTY;
}

static void wire_send(ls_datagram_socket *base, const ls_endpoint *to, const uint8_t *bytes,
                      size_t size)
{
    wire *of = (wire *)base;
    of->to[of->sent] = *to;
    of->sizes[of->sent] = size;
    memcpy(of->out[of->sent++], bytes, size);
}

static ls_udp_sent wire_flush(ls_datagram_socket *base)
{
    return (ls_udp_sent){.lost = ((wire *)base)->lost};
}

static void wire_close(ls_datagram_socket *base)
{
    ((wire *)base)->is_closed = true;
}

static const ls_datagram_socket_operations wire_operations = {
    .receive = wire_receive, .send = wire_send, .flush = wire_flush, .close = wire_close};

static wire below;
static ls_door_link link_of;
static ls_door_socket *door;
static ls_datagram_socket *above;
static ls_endpoint player;

static void open_door(void)
{
    memset(&below, 0, sizeof below);
    below.base.operations = &wire_operations;
    link_of.door = ls_endpoint_from_ipv4(0x0100007f, 5000);
    memset(link_of.secret, 0x5a, sizeof link_of.secret);
    player = ls_endpoint_from_ipv4(0x010200c0, 6000);
    player.via = LS_DOOR_VIA_FIRST + 7;
    cr_assert_eq(ls_door_socket_create(&link_of, ls_allocator_heap(), &door), LS_OK);
    above = ls_door_socket_around(door, &below.base);
}

static void close_door(void)
{
    ls_datagram_socket_close(above);
    cr_assert(below.is_closed);
    ls_door_socket_destroy(door);
}

TestSuite(door_socket, .init = open_door, .fini = close_door);

static void come(const ls_endpoint *from, const ls_endpoint *said, const uint8_t *secret)
{
    memcpy(below.bytes, "\x80sealed", 7);
    below.comes = (ls_udp_datagram){.from = *from, .bytes = below.bytes, .size = 7};
    if (said) {
        below.comes.size = ls_door_carry_add(below.bytes, 7, said, secret);
    }
}

Test(door_socket, player_in_a_page_is_where_it_really_is)
{
    ls_udp_datagram out;
    come(&link_of.door, &player, link_of.secret);
    cr_assert_eq(ls_datagram_socket_receive(above, &out), LS_UDP_RECEIVED);
    cr_assert(ls_endpoint_is_equal(&out.from, &player));
    cr_assert(out.size == 7 && memcmp(out.bytes, "\x80sealed", 7) == 0);
}

Test(door_socket, nobody_else_says_where_a_player_is)
{
    uint8_t wrong[LS_DOOR_SECRET_BYTES];
    ls_endpoint elsewhere = ls_endpoint_from_ipv4(0x0100007f, 5001);
    ls_endpoint direct = player;
    ls_udp_datagram out;
    memcpy(wrong, link_of.secret, sizeof wrong);
    wrong[15] ^= 1;
    come(&elsewhere, &player, link_of.secret); /* not the door */
    cr_assert_eq(ls_datagram_socket_receive(above, &out), LS_UDP_RECEIVED);
    cr_assert(ls_endpoint_is_equal(&out.from, &elsewhere) && out.size > 7);
    come(&link_of.door, &player, wrong);
    cr_assert_eq(ls_datagram_socket_receive(above, &out), LS_UDP_RECEIVED);
    cr_assert(ls_endpoint_is_equal(&out.from, &link_of.door) && out.size > 7);
    direct.via = 0; /* one that would be reached past the door */
    come(&link_of.door, &direct, link_of.secret);
    cr_assert_eq(ls_datagram_socket_receive(above, &out), LS_UDP_RECEIVED);
    cr_assert(ls_endpoint_is_equal(&out.from, &link_of.door));
}

Test(door_socket, answers_go_by_the_door_and_end_as_they_did)
{
    static const uint8_t answer[] = {1, 2, 3, 0x99};
    ls_endpoint other = ls_endpoint_from_ipv4(0x010200c0, 6001);
    ls_datagram_socket_send(above, &player, answer, sizeof answer);
    ls_datagram_socket_send(above, &other, answer, sizeof answer);
    below.lost = 2;
    cr_assert_eq(ls_datagram_socket_flush(above).lost, 2);
    cr_assert_eq(below.sent, 2);
    cr_assert(ls_endpoint_is_equal(&below.to[0], &link_of.door));
    cr_assert_eq(below.out[0][below.sizes[0] - 1], 0x99, "what steers it stands last");
    ls_endpoint said;
    cr_assert(ls_door_carry_take(below.out[0], &below.sizes[0], link_of.secret, &said));
    cr_assert(ls_endpoint_is_equal(&said, &player));
    cr_assert(below.sizes[0] == sizeof answer && memcmp(below.out[0], answer, 4) == 0);
    cr_assert(ls_endpoint_is_equal(&below.to[1], &other) && below.sizes[1] == sizeof answer);
}

Test(door_socket, link_reads_as_it_was_written)
{
    char text[LS_DOOR_LINK_BYTES];
    ls_door_link read;
    ls_door_link_write(&link_of, text);
    cr_assert_eq(ls_door_link_read(text, &read), LS_OK);
    cr_assert(ls_endpoint_is_equal(&read.door, &link_of.door));
    cr_assert_arr_eq(read.secret, link_of.secret, sizeof read.secret);
    text[0] = 'x';
    cr_assert_eq(ls_door_link_read(text, &read), LS_MALFORMED);
    cr_assert_eq(ls_door_link_read("0011", &read), LS_MALFORMED);
}

Test(door_socket, carry_of_any_other_size_is_refused)
{
    uint8_t bytes[LS_DOOR_CARRIED_BYTES_MAX + LS_DOOR_CARRY_BYTES + 1] = {0x80};
    ls_endpoint said;
    size_t whole = ls_door_carry_add(bytes, LS_DOOR_CARRIED_BYTES_MAX, &player, link_of.secret);
    size_t size = whole;
    cr_assert(ls_door_carry_take(bytes, &size, link_of.secret, &said));
    cr_assert_eq(size, LS_DOOR_CARRIED_BYTES_MAX);
    for (size_t wrong = 0; wrong <= LS_DOOR_CARRY_BYTES; wrong++) {
        size = wrong;
        cr_assert_not(ls_door_carry_take(bytes + whole - wrong, &size, link_of.secret, &said));
    }
    size = whole + 1;
    cr_assert_not(ls_door_carry_take(bytes, &size, link_of.secret, &said));
}
