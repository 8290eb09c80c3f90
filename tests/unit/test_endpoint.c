#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/common/system/socket_layer.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- endpoint ---- */

static void assert_refused(const char *text, ls_status expected, const char *expected_text)
{
    ls_endpoint endpoint = ls_endpoint_from_ipv4(1, 2);
    ls_text error = {""};
    cr_assert_eq(ls_endpoint_parse(text, &endpoint, &error), expected, "'%s'", text);
    cr_assert(strstr(error.bytes, expected_text), "'%s': %s", text, error.bytes);
    cr_assert_eq(ls_endpoint_ipv4(&endpoint), 1);
    cr_assert_eq(endpoint.port, 2);
    cr_assert_eq(ls_endpoint_parse(text, &endpoint, NULL), expected);
}

Test(endpoint, a_numeric_host_and_a_port_are_read)
{
    ls_endpoint endpoint;
    cr_assert_eq(ls_endpoint_parse("192.0.2.7:7777", &endpoint, NULL), LS_OK);
    cr_assert_eq(ls_endpoint_ipv4(&endpoint), htonl(0xc0000207));
    cr_assert_eq(endpoint.port, 7777);
    cr_assert_eq(ls_endpoint_parse("127.0.0.1:1", &endpoint, NULL), LS_OK);
    cr_assert_eq(endpoint.port, 1);
    cr_assert_eq(ls_endpoint_parse("127.0.0.1:65535", &endpoint, NULL), LS_OK);
    cr_assert_eq(endpoint.port, 65535);
    cr_assert_eq(ls_endpoint_parse("127.0.0.1", &endpoint, NULL), LS_OK);
    cr_assert_eq(endpoint.port, 7300);
}

Test(endpoint, a_host_alone_takes_any_port)
{
    ls_endpoint endpoint;
    cr_assert_eq(ls_endpoint_resolve("0.0.0.0", 0, &endpoint, NULL), LS_OK);
    cr_assert(ls_endpoint_is_ipv4(&endpoint));
    cr_assert_eq(ls_endpoint_ipv4(&endpoint), 0);
    cr_assert_eq(endpoint.port, 0);
}

Test(endpoint, text_that_is_not_host_and_port_is_refused)
{
    assert_refused("", LS_BAD_ARGUMENT, "HOST[:PORT]");
    assert_refused(":7777", LS_BAD_ARGUMENT, "HOST[:PORT]");
    assert_refused("127.0.0.1:", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("127.0.0.1:0", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("127.0.0.1:65536", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("127.0.0.1:4294967297", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("127.0.0.1:-1", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("127.0.0.1:77x", LS_BAD_ARGUMENT, "1 to 65535");
}

Test(endpoint, ipv6_is_read_in_brackets)
{
    static const uint8_t expected[LS_ENDPOINT_ADDRESS_BYTES] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7};
    ls_endpoint endpoint;
    cr_assert_eq(ls_endpoint_parse("[2001:db8::7]:7777", &endpoint, NULL), LS_OK);
    cr_assert_arr_eq(endpoint.address, expected, sizeof expected);
    cr_assert_eq(endpoint.port, 7777);
    cr_assert_not(ls_endpoint_is_ipv4(&endpoint));
    cr_assert_eq(ls_endpoint_ipv4(&endpoint), 0);
    cr_assert_eq(ls_endpoint_parse("[::1]", &endpoint, NULL), LS_OK);
    cr_assert_eq(endpoint.port, LS_ENDPOINT_DEFAULT_PORT);
}

Test(endpoint, all_addresses_are_told_from_one)
{
    static const char *const hosts[][2] = {{"0.0.0.0", "127.0.0.1"}, {"::", "::1"}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        ls_endpoint any, own;
        cr_assert_eq(ls_endpoint_resolve(hosts[i][0], 7, &any, NULL), LS_OK);
        cr_assert_eq(ls_endpoint_resolve(hosts[i][1], 7, &own, NULL), LS_OK);
        cr_assert(ls_endpoint_is_any(&any));
        cr_assert_not(ls_endpoint_is_any(&own));
        ls_endpoint loopback = ls_endpoint_loopback_like(&any);
        cr_assert(ls_endpoint_is_equal(&loopback, &own));
    }
}

Test(endpoint, ipv6_without_whole_brackets_is_refused)
{
    assert_refused("::1", LS_BAD_ARGUMENT, "brackets");
    assert_refused("2001:db8::1:7777", LS_BAD_ARGUMENT, "brackets");
    assert_refused("[::1", LS_BAD_ARGUMENT, "HOST[:PORT]");
    assert_refused("[::1]7777", LS_BAD_ARGUMENT, "HOST[:PORT]");
    assert_refused("[]:7777", LS_BAD_ARGUMENT, "HOST[:PORT]");
    assert_refused("[::1]:", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("[::1]:0", LS_BAD_ARGUMENT, "1 to 65535");
    assert_refused("[::zz]:1", LS_NOT_FOUND, "cannot find the host '::zz'");
}

/* An invite that is not whole is read as a host and port, and somebody copies the error. */
Test(endpoint, what_stands_behind_a_slash_or_hash_is_refused_and_not_shown)
{
    static const char *const texts[] = {"a:7300/#KEY.SECRET", "a/KEY.SECRET", "a#SECRET",
                                        "b:c:7300/#KEY.SECRET", "lockstep:a:7300/SECRET"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_endpoint endpoint;
        ls_text error = {{0}};
        cr_assert_eq(ls_endpoint_parse(texts[i], &endpoint, &error), LS_BAD_ARGUMENT);
        cr_assert(error.bytes[0] != '\0' && !strstr(error.bytes, "SECRET"), "%s", error.bytes);
    }
}

Test(endpoint, a_mapped_address_is_the_ipv4_one)
{
    ls_endpoint mapped, plain;
    cr_assert_eq(ls_endpoint_parse("[::ffff:192.0.2.1]:9", &mapped, NULL), LS_OK);
    cr_assert_eq(ls_endpoint_parse("192.0.2.1:9", &plain, NULL), LS_OK);
    cr_assert(ls_endpoint_is_equal(&mapped, &plain));
    mapped.via = 1;
    cr_assert_not(ls_endpoint_is_equal(&mapped, &plain), "one way is not the other");
    mapped.via = 0;
    plain.port++;
    cr_assert_not(ls_endpoint_is_equal(&mapped, &plain));
}

Test(endpoint, a_name_that_nobody_has_is_not_found)
{
    assert_refused("no..such..host:7777", LS_NOT_FOUND, "cannot find the host 'no..such..host'");
}

Test(endpoint, a_text_of_any_length_is_safe)
{
    char text[2 * LS_ENDPOINT_BYTES_MAX];
    for (size_t size = LS_ENDPOINT_BYTES_MAX - 8; size < sizeof text; size++) {
        memset(text, '.', size);
        memcpy(text + size - 5, ":7777", 6);
        ls_status status = ls_endpoint_parse(text, &(ls_endpoint){0}, NULL);
        cr_assert_eq(status, size < LS_ENDPOINT_BYTES_MAX ? LS_NOT_FOUND : LS_BAD_ARGUMENT);
    }
}

Test(endpoint, is_written_as_it_is_read)
{
    static const char *const texts[] = {"0.0.0.0:1", "127.0.0.1:7300", "255.255.255.255:65535",
                                        "[::1]:1", "[2001:db8::7]:7300"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_endpoint endpoint;
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        cr_assert_eq(ls_endpoint_parse(texts[i], &endpoint, NULL), LS_OK);
        ls_endpoint_format(&endpoint, text);
        cr_assert_str_eq(text, texts[i]);
    }
}

static uint64_t origin_of(const char *text)
{
    ls_endpoint endpoint;
    cr_assert_eq(ls_endpoint_parse(text, &endpoint, NULL), LS_OK);
    return ls_endpoint_origin(&endpoint);
}

Test(endpoint, the_origin_of_this_machine_is_known)
{
    cr_assert(ls_endpoint_origin_is_loopback(origin_of("127.0.0.1:1")));
    cr_assert(ls_endpoint_origin_is_loopback(origin_of("127.3.2.1:1")));
    cr_assert(ls_endpoint_origin_is_loopback(origin_of("[::1]:1")));
    cr_assert_not(ls_endpoint_origin_is_loopback(origin_of("192.0.2.127:1")));
    cr_assert_not(ls_endpoint_origin_is_loopback(origin_of("[7f00::1]:1")));
    cr_assert_not(ls_endpoint_origin_is_loopback(0));
}

Test(endpoint, an_origin_is_an_ipv4_address_or_the_56_bits_before_an_ipv6_one)
{
    cr_assert_eq(origin_of("192.0.2.7:1"), origin_of("192.0.2.7:2"));
    cr_assert_neq(origin_of("192.0.2.7"), origin_of("192.0.2.8"));
    cr_assert_eq(origin_of("[2001:db8:1:200::1]:1"), origin_of("[2001:db8:1:2ff:ffff::1]:2"));
    cr_assert_neq(origin_of("[2001:db8:1:200::1]"), origin_of("[2001:db8:1:300::1]"));
    cr_assert_neq(origin_of("0.0.0.0"), 0);
    cr_assert_neq(origin_of("[::1]"), 0);
    cr_assert_neq(origin_of("[::1]"), origin_of("0.0.0.0"));
}

Test(endpoint, public_addresses_are_those_that_all_hosts_might_reach)
{
    static const struct {
        uint8_t first, second; /* of an address of IPv4 */
        bool is_public;
    } hosts[] = {
        {0, 0, false},    {9, 255, true},   {10, 0, false},    {10, 255, false},  {11, 0, true},
        {100, 63, true},  {100, 64, false}, {100, 127, false}, {100, 128, true},  {126, 255, true},
        {127, 0, false},  {128, 0, true},   {169, 254, false}, {169, 255, true},  {172, 15, true},
        {172, 16, false}, {172, 31, false}, {172, 32, true},   {192, 167, true},  {192, 168, false},
        {192, 169, true}, {223, 255, true}, {224, 0, false},   {255, 255, false},
    };
    static const struct {
        const char *host;
        bool is_public;
    } wide[] = {{"2001:db8::1", true},
                {"fe80::1", false},
                {"fc00::1", false},
                {"::1", false},
                {"ff02::1", false}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        ls_endpoint endpoint = ls_endpoint_from_ipv4(0, 1);
        endpoint.address[12] = hosts[i].first;
        endpoint.address[13] = hosts[i].second;
        cr_assert_eq(ls_endpoint_is_public(&endpoint), hosts[i].is_public, "%u.%u", hosts[i].first,
                     hosts[i].second);
    }
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        ls_endpoint endpoint;
        cr_assert_eq(ls_endpoint_resolve(wide[i].host, 1, &endpoint, NULL), LS_OK);
        cr_assert_eq(ls_endpoint_is_public(&endpoint), wide[i].is_public, "%s", wide[i].host);
    }
}

/* ---- socket_layer ---- */

/* The socket beneath: every datagram that comes to it is one byte, and what leaves is kept. */
static ls_datagram_socket beneath;
static uint8_t coming_bytes[128];
static uint32_t coming_count, taken;
static uint8_t taken_byte;
static uint8_t left[LS_UDP_WAITING_MAX];
static uint32_t left_count, flushes, closed;
static uint64_t lost_beneath;

static void begin_turn(ls_datagram_socket *socket, uint64_t now_ns)
{
    (void)socket;
    (void)now_ns;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    (void)socket;
    if (taken == coming_count) {
        return LS_UDP_EMPTY;
    }
    taken_byte = coming_bytes[taken++];
    *out = (ls_udp_datagram){.bytes = &taken_byte, .size = 1};
    return LS_UDP_RECEIVED;
}

static bool has_received(const ls_datagram_socket *socket)
{
    (void)socket;
    return taken < coming_count;
}

static const uint8_t *coming(const ls_datagram_socket *socket, uint32_t others, size_t *size)
{
    (void)socket;
    *size = 1;
    return taken + others < coming_count ? &coming_bytes[taken + others] : NULL;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    (void)socket;
    (void)to;
    cr_assert_eq(size, 1);
    left[left_count++] = bytes[0];
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    flushes++;
    return (ls_udp_sent){.lost = lost_beneath};
}

static int descriptor(const ls_datagram_socket *socket)
{
    (void)socket;
    return 5;
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7300;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
    closed++;
}

static const ls_datagram_socket_operations operations = {
    .begin_turn = begin_turn,
    .receive = receive,
    .has_received = has_received,
    .coming = coming,
    .send = send_datagram,
    .flush = flush,
    .descriptor = descriptor,
    .port = port,
    .close = close_socket,
};

/* A layer to which odd bytes that come belong; of those that go 'l' has no way, 'o' is the layer's
 * to send, and 'a' leaves as 'A'. */
static uint32_t own_left;
static uint8_t own_byte = 'w';
static uint32_t closed_layers;

static bool layer_has_own(const ls_socket_layer *layer)
{
    (void)layer;
    return own_left > 0;
}

static void layer_receive_own(ls_socket_layer *layer, ls_udp_datagram *out)
{
    (void)layer;
    own_left--;
    *out = (ls_udp_datagram){.bytes = &own_byte, .size = 1};
}

static bool layer_receive(ls_socket_layer *layer, ls_udp_datagram *came)
{
    (void)layer;
    return came->bytes[0] % 2 == 0;
}

static ls_layer_fate layer_send(ls_socket_layer *layer, ls_outgoing_datagram *going)
{
    (void)layer;
    if (going->bytes[0] == 'a') {
        going->room[0] = 'A';
        going->bytes = going->room;
    }
    return going->bytes[0] == 'l'   ? LS_LAYER_LOST
           : going->bytes[0] == 'o' ? LS_LAYER_SENT
                                    : LS_LAYER_FORWARDED;
}

static void layer_closed(ls_socket_layer *layer)
{
    cr_assert_null(layer->inner);
    closed_layers++;
}

static const ls_socket_layer_kind plain = {.receive = layer_receive, .send = layer_send};
static const ls_socket_layer_kind full = {.has_own = layer_has_own,
                                          .receive_own = layer_receive_own,
                                          .receive = layer_receive,
                                          .send = layer_send,
                                          .closed = layer_closed};
static ls_socket_layer layer;

static ls_datagram_socket *begin(const ls_socket_layer_kind *kind)
{
    beneath.operations = &operations;
    coming_count = taken = left_count = flushes = closed = own_left = closed_layers = 0;
    lost_beneath = 0;
    ls_socket_layer_init(&layer, kind, &beneath);
    return &layer.base;
}

static void come(const char *bytes, size_t size)
{
    memcpy(coming_bytes, bytes, size);
    coming_count = (uint32_t)size;
}

Test(socket_layer, transport_receives_what_is_not_the_layers_and_its_own_ways_first)
{
    ls_datagram_socket *socket = begin(&full);
    ls_udp_datagram came;
    come("13245", 5);
    own_left = 1;
    cr_assert(ls_datagram_socket_has_received(socket));
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.bytes[0], 'w');
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.bytes[0], '2');
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.bytes[0], '4');
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_EMPTY);
    own_left = 1;
    cr_assert(ls_datagram_socket_has_received(socket), "though nothing is left beneath");
}

Test(socket_layer, flood_of_its_own_returns_to_the_transport)
{
    ls_datagram_socket *socket = begin(&plain);
    ls_udp_datagram came = {.size = 1};
    memset(coming_bytes, '1', sizeof coming_bytes);
    coming_count = sizeof coming_bytes;
    cr_assert_eq(ls_datagram_socket_receive(socket, &came), LS_UDP_RECEIVED);
    cr_assert_eq(came.size, 0);
    cr_assert_lt(taken, coming_count);
}

Test(socket_layer, fates_are_told_by_the_transports_count)
{
    ls_datagram_socket *socket = begin(&plain);
    const ls_endpoint to = ls_endpoint_from_ipv4(0x7f000001, 7300);
    for (const char *each = "xlaoyl"; *each; each++) {
        ls_datagram_socket_send(socket, &to, (const uint8_t *)each, 1);
    }
    cr_assert_eq(left_count, 3);
    cr_assert_arr_eq(left, "xAy", 3);
    lost_beneath = 1u << 2; /* the third that the socket beneath was given */
    ls_udp_sent sent = ls_datagram_socket_flush(socket);
    cr_assert_eq(sent.lost, 1u << 1 | 1u << 4 | 1u << 5);
    lost_beneath = 0;
    sent = ls_datagram_socket_flush(socket);
    cr_assert_eq(sent.lost, 0, "nothing waits any more");
}

Test(socket_layer, own_datagrams_never_leave_among_the_transports)
{
    ls_datagram_socket *socket = begin(&plain);
    const ls_endpoint to = ls_endpoint_from_ipv4(0x7f000001, 7300);
    ls_socket_layer_send_own(&layer, &to, (const uint8_t *)"p", 1);
    cr_assert_eq(left_count, 1);
    cr_assert_eq(flushes, 1);
    ls_datagram_socket_send(socket, &to, (const uint8_t *)"x", 1);
    ls_socket_layer_send_own(&layer, &to, (const uint8_t *)"p", 1);
    cr_assert_eq(left_count, 2);
    (void)ls_datagram_socket_flush(socket);
    ls_socket_layer_send_own(&layer, &to, (const uint8_t *)"p", 1);
    cr_assert_eq(left_count, 3);
}

Test(socket_layer, the_rest_is_that_of_the_socket_beneath)
{
    ls_datagram_socket *socket = begin(&full);
    size_t size = 0;
    come("24", 2);
    cr_assert_eq(*ls_datagram_socket_coming(socket, 1, &size), '4');
    cr_assert_null(ls_datagram_socket_coming(socket, 2, &size));
    cr_assert_eq(ls_datagram_socket_descriptor(socket), 5);
    cr_assert_eq(ls_datagram_socket_port(socket), 7300);
    cr_assert_not(ls_datagram_socket_reroute(socket));
    ls_datagram_socket_close(socket);
    cr_assert_eq(closed, 1);
    cr_assert_eq(closed_layers, 1);
}
