#include "lockstep/protocol/sealed/address_limits.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>

#define PER_ADDRESS 4u
#define NOW (1000 * LS_NS_PER_SECOND)

static ls_address_limits *limits;

static void begin(void)
{
    const ls_address_limits_config config = {
        .connections_max = 16, .per_address_max = PER_ADDRESS, .seed = 0x9e3779b97f4a7c15};
    cr_assert_eq(ls_address_limits_create(&config, ls_allocator_heap(), &limits), LS_OK);
}

static void end(void)
{
    ls_address_limits_destroy(limits);
}

TestSuite(address_limits, .init = begin, .fini = end);

static ls_endpoint of_ipv4(uint32_t number)
{
    return ls_endpoint_from_ipv4(number, (uint16_t)(1000 + number % 7));
}

static bool asks(ls_endpoint address, uint64_t now_ns)
{
    return ls_address_limits_count_question(limits, &address, now_ns);
}

static uint32_t count_questions(ls_endpoint address, uint64_t now_ns)
{
    uint32_t count = 0;
    while (count < 10000 && asks(address, now_ns)) {
        count++;
    }
    return count;
}

Test(address_limits, address_asks_32_times_a_second_and_more_at_once)
{
    cr_assert_eq(count_questions(of_ipv4(1), NOW), 32 + PER_ADDRESS);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + LS_NS_PER_SECOND / 32 - 1), 0);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + LS_NS_PER_SECOND / 32), 1);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + LS_NS_PER_SECOND), 31);
    cr_assert_eq(count_questions(of_ipv4(1), NOW + 100 * LS_NS_PER_SECOND), 32 + PER_ADDRESS);
}

Test(address_limits, address_that_asks_too_often_takes_nothing_from_others)
{
    for (uint32_t i = 0; i < 100000; i++) {
        asks(of_ipv4(1), NOW);
    }
    cr_assert_eq(count_questions(of_ipv4(2), NOW + LS_NS_PER_SECOND / 10), 32 + PER_ADDRESS);
}

/* So many new hosts ask a millisecond, for so long; returns how many may. */
static uint32_t ask_once_each(uint32_t hosts, uint64_t length_ms)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < length_ms * hosts; i++) {
        count += asks(of_ipv4(1 + i), NOW + i / hosts * LS_NS_PER_MS);
    }
    return count;
}

Test(address_limits, all_together_ask_80_times_at_once)
{
    cr_assert_eq(ask_once_each(10000, 1), 64 + 16);
}

Test(address_limits, all_together_ask_2500_times_a_second_while_it_lasts)
{
    uint32_t count = ask_once_each(100, 1000);
    cr_assert_geq(count, 2490);
    cr_assert_leq(count, 2500 + 80);
}

Test(address_limits, all_together_ask_512_times_a_second_in_the_long_run)
{
    uint32_t count = ask_once_each(10, 20000);
    cr_assert_geq(count, 4096 + 19 * 512);
    cr_assert_leq(count, 4096 + 20 * 512);
}

/* Asks as often as it can, for 10 s; returns how often it may. */
static uint32_t ask_often(uint32_t first, uint32_t hosts)
{
    uint32_t count = 0;
    for (uint64_t now_ns = NOW; now_ns < NOW + 10 * LS_NS_PER_SECOND; now_ns += LS_NS_PER_MS) {
        for (uint32_t host = first; host < first + hosts; host++) {
            count += asks(of_ipv4(host), now_ns);
        }
    }
    return count;
}

Test(address_limits, hosts_that_use_up_all_questions_leave_some_for_those_that_ask_rarely)
{
    uint32_t count = ask_often(1, 300);
    cr_assert_leq(count, 4096 + 10 * 512);
    uint32_t rare = 0;
    for (uint32_t address = 1000; address < 1100; address++) {
        uint64_t now_ns = NOW + 10 * LS_NS_PER_SECOND + (address - 1000) * 2 * LS_NS_PER_MS;
        rare += asks(of_ipv4(address), now_ns);
    }
    cr_assert_eq(rare, 100);
}

/* Every host of a network asks as often as it may, one after the other within 51 ms. */
static void check_network(bool is_ipv6, uint64_t start_ns)
{
    uint32_t count = 0;
    ls_endpoint address = {.address = {0x20, 1, 0x0d, 0xb8, 1, 2}};
    for (uint32_t i = 0; i < 256; i++) {
        address.address[6] = (uint8_t)i;
        count += count_questions(is_ipv6 ? address : of_ipv4(7 + (i << 24)),
                                 start_ns + i * LS_NS_PER_MS / 5);
    }
    cr_assert_geq(count, 128 + PER_ADDRESS);
    cr_assert_leq(count, 128 + PER_ADDRESS + 7, "and what 51 ms give");
}

Test(address_limits, addresses_of_one_network_share)
{
    check_network(false, NOW);
    uint64_t later_ns = NOW + LS_NS_PER_SECOND;
    cr_assert_eq(count_questions(of_ipv4(8), later_ns), 32 + PER_ADDRESS);
    check_network(true, later_ns + LS_NS_PER_SECOND);
}

static bool requests(ls_endpoint address, uint64_t now_ns)
{
    return ls_address_limits_count_request(limits, &address, now_ns);
}

Test(address_limits, requests_are_limited_for_a_network_and_in_all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        count += requests(of_ipv4(7 + (i << 24)), NOW);
    }
    cr_assert_eq(count, 1024 + PER_ADDRESS);
    cr_assert_not(requests(of_ipv4(7), NOW));
    cr_assert(requests(of_ipv4(7), NOW + LS_NS_PER_SECOND / 2048));
    for (uint32_t address = 100; address < 100000; address++) {
        count += requests(of_ipv4(address), NOW);
    }
    cr_assert_eq(count + 1, 8192, "with the one that was not counted");
    cr_assert(requests(of_ipv4(8), NOW + LS_NS_PER_SECOND / 16384));
}

Test(address_limits, ports_share_and_addresses_do_not)
{
    for (uint32_t i = 0; i < 32 + PER_ADDRESS; i++) {
        ls_endpoint address = ls_endpoint_from_ipv4(1, (uint16_t)(i + 1));
        cr_assert(asks(address, NOW));
    }
    cr_assert_not(asks(ls_endpoint_from_ipv4(1, 999), NOW));
    cr_assert(asks(ls_endpoint_from_ipv4(2, 999), NOW));
}

Test(address_limits, addresses_of_one_56_share)
{
    ls_endpoint address = {.address = {0x20, 1, 0x0d, 0xb8, 1, 2, 3}};
    for (uint8_t i = 0; i < 32 + PER_ADDRESS; i++) {
        address.address[7] = i;
        address.address[15] = (uint8_t)(255 - i);
        cr_assert(asks(address, NOW));
    }
    cr_assert_not(asks(address, NOW));
    address.address[6] = 4;
    cr_assert(asks(address, NOW));
}

Test(address_limits, connections_of_one_address_are_limited)
{
    ls_endpoint address = of_ipv4(1), other = of_ipv4(2);
    for (uint32_t i = 0; i < PER_ADDRESS; i++) {
        cr_assert(ls_address_limits_add_connection(limits, &address));
    }
    cr_assert_not(ls_address_limits_add_connection(limits, &address));
    cr_assert(ls_address_limits_add_connection(limits, &other));
    ls_address_limits_remove_connection(limits, &address);
    cr_assert(ls_address_limits_add_connection(limits, &address));
    cr_assert_not(ls_address_limits_add_connection(limits, &address));
}

Test(address_limits, address_with_connections_is_never_forgotten)
{
    ls_endpoint address = of_ipv4(1);
    for (uint32_t i = 0; i < PER_ADDRESS; i++) {
        cr_assert(ls_address_limits_add_connection(limits, &address));
    }
    uint64_t now_ns = NOW;
    for (uint32_t other = 2; other < 3 * LS_ADDRESS_LIMITS_IDLE_MAX; other++) {
        now_ns += LS_NS_PER_SECOND / 512;
        cr_assert(asks(of_ipv4(other), now_ns));
    }
    cr_assert_not(ls_address_limits_add_connection(limits, &address));
    for (uint32_t i = 0; i < PER_ADDRESS; i++) {
        ls_address_limits_remove_connection(limits, &address);
    }
}

Test(address_limits, address_that_asked_lately_is_remembered)
{
    cr_assert_eq(count_questions(of_ipv4(1), NOW), 32 + PER_ADDRESS);
    for (uint32_t other = 2; other < 4000; other++) {
        asks(of_ipv4(other), NOW);
    }
    cr_assert_not(asks(of_ipv4(1), NOW));
}

Test(address_limits, an_address_guesses_wrong_16_times_at_once_and_then_once_a_second)
{
    ls_endpoint guesser = of_ipv4(1), other = of_ipv4(2);
    cr_assert(asks(guesser, NOW) && asks(other, NOW));
    uint32_t count = 0;
    while (count < 100 && ls_address_limits_may_guess(limits, &guesser, NOW)) {
        ls_address_limits_count_wrong_guess(limits, &guesser, NOW);
        count++;
    }
    cr_assert_eq(count, 16);
    cr_assert(ls_address_limits_may_guess(limits, &other, NOW));
    cr_assert_not(ls_address_limits_may_guess(limits, &guesser, NOW + LS_NS_PER_SECOND - 1));
    cr_assert(ls_address_limits_may_guess(limits, &guesser, NOW + LS_NS_PER_SECOND));
}
