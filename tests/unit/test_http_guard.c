#include "lockstep/server/control/http_guard.h"

#include <criterion/criterion.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static uint32_t lines;
static char newest[256];

static void count_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    lines++;
    strncpy(newest, line, sizeof newest - 1);
}

static ls_endpoint address(uint32_t number)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, 80);
    memcpy(made.address + 12, &number, sizeof number);
    return made;
}

Test(http_guard, addresses_localhost_and_configured_names_are_known)
{
    static const char *const known[] = {"127.0.0.1",      "127.0.0.1:9300",      "[::1]",
                                        "[::1]:9300",     "[::ffff:10.0.0.1]:1", "localhost",
                                        "LocalHost:9300", "a.example",           "B.example:80"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert(ls_http_host_is_known(known[i], " a.example,b.example "), "%s", known[i]);
    }
}

Test(http_guard, other_hosts_and_what_is_none_are_not_known)
{
    static const char *const other[] = {"",
                                        ":80",
                                        "evil.example",
                                        "xa.example",
                                        "a.example.evil",
                                        "a",
                                        "[::1",
                                        "[::1]x",
                                        "[]",
                                        "127.0.0.1.evil.example",
                                        "127.0.0.1x",
                                        "127.0.0.",
                                        "localhost:80x",
                                        "localhost.evil",
                                        "localhost@evil",
                                        "[g::1]",
                                        "127.0.0.1:80:evil",
                                        "a.example,b.example",
                                        "12"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        cr_assert(!ls_http_host_is_known(other[i], "a.example, b.example"), "%s", other[i]);
    }
    cr_assert(!ls_http_host_is_known("a.example", NULL));
}

Test(http_guard, an_address_has_ten_wrong_tokens_and_one_a_second)
{
    ls_http_guard guard = {.count = 0};
    ls_endpoint hostile = address(1);
    ls_endpoint other = address(2);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        taken += ls_http_guard_count(&guard, &hostile, 100 * SECOND);
    }
    cr_assert_eq(taken, 10);
    cr_assert(ls_http_guard_count(&guard, &other, 100 * SECOND));
    cr_assert(ls_http_guard_count(&guard, &hostile, 101 * SECOND));
    cr_assert(!ls_http_guard_count(&guard, &hostile, 101 * SECOND));
}

Test(http_guard, many_addresses_take_the_place_of_those_that_were_not_there_for_long)
{
    ls_http_guard guard = {.count = 0};
    ls_endpoint hostile = address(1);
    for (uint32_t i = 0; i < 10; i++) {
        cr_assert(ls_http_guard_count(&guard, &hostile, 100 * SECOND));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        ls_endpoint other = address(2 + i);
        cr_assert(ls_http_guard_count(&guard, &other, 100 * SECOND));
    }
    cr_assert(!ls_http_guard_count(&guard, &hostile, 100 * SECOND));
}

Test(http_guard, addresses_of_one_56_of_ipv6_share_their_wrong_tokens)
{
    ls_http_guard guard = {.count = 0};
    ls_endpoint from = {.address = {0x20, 1, 0x0d, 0xb8, 0, 1, 2}};
    for (uint8_t i = 0; i < 10; i++) {
        from.address[7] = i;
        from.address[15] = i;
        cr_assert(ls_http_guard_count(&guard, &from, SECOND));
    }
    cr_assert_not(ls_http_guard_count(&guard, &from, SECOND));
    from.address[6]++;
    cr_assert(ls_http_guard_count(&guard, &from, SECOND), "its neighbour");
}

Test(http_guard, a_line_a_minute_says_how_many_there_were)
{
    ls_log log = {.level = LS_LOG_INFO, .write = count_line};
    ls_http_guard guard = {.count = 0};
    ls_endpoint hostile = address(0x0100000a);
    ls_http_guard_log(&guard, &log, 100 * SECOND);
    cr_assert_eq(lines, 0);
    for (uint32_t second = 100; second < 220; second++) {
        for (uint32_t i = 0; i < 50; i++) {
            (void)ls_http_guard_count(&guard, &hostile, second * SECOND);
        }
        ls_http_guard_log(&guard, &log, second * SECOND);
    }
    cr_assert_eq(lines, 2);
    cr_assert(strstr(newest, "3000 wrong tokens"), "%s", newest);
    cr_assert(strstr(newest, "10.0.0.1"), "%s", newest);
}
