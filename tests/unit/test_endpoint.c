#include "lockstep/common/system/endpoint_text.h"

#include "lockstep/common/system/socket_address.h"

#include <criterion/criterion.h>
#include <string.h>

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
