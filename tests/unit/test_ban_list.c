#include "lockstep/server/service/ban_list.h"

#include "lockstep/common/system/endpoint_text.h"

#include <criterion/criterion.h>
#include <stdio.h>

static ls_ban_list list;
static ls_text why;

static uint64_t ban(uint32_t kind, const char *what, uint64_t until_unix_s, const char *reason)
{
    ls_ban made = {.until_unix_s = until_unix_s};
    snprintf(made.why, sizeof made.why, "%s", reason);
    cr_assert_eq(ls_ban_set(&made, kind, what, &why), LS_OK, "%s", why.bytes);
    return ls_ban_list_add(&list, &made)->number;
}

/* How long somebody of this address is banned; 0: not. */
static uint64_t left_s(const char *address, uint64_t now_unix_s)
{
    ls_endpoint endpoint;
    uint64_t origin = ls_endpoint_read(address, &endpoint) ? ls_endpoint_origin(&endpoint) : 0;
    const ls_ban_subject who = {.origin = origin, .name = "ann"};
    const ls_ban *found = ls_ban_list_find(&list, &who, now_unix_s);
    return found ? found->until_unix_s - now_unix_s : 0;
}

static bool is_name_banned(const char *name)
{
    const ls_ban_subject who = {.name = name};
    return ls_ban_list_find(&list, &who, 1) != NULL;
}

Test(ban_list, every_port_of_a_banned_host_is_banned_until_its_time_is_over)
{
    ban(LS_BAN_ADDRESS, "192.0.2.7:7000", 10, "");
    cr_assert_eq(left_s("192.0.2.7:8000", 1), 9);
    cr_assert_eq(left_s("192.0.2.70:7000", 1), 0);
    cr_assert_eq(left_s("192.0.2.7:7000", 10), 0);
    cr_assert_eq(left_s("", 1), 0);
}

Test(ban_list, an_address_is_banned_however_it_is_written)
{
    static const char *const forms[] = {"2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:7000",
                                        "2001:DB8::1", "2001:db8:0:0:0::1"};
    for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        cr_assert_eq(ban(LS_BAN_ADDRESS, forms[i], 10, ""), 1);
    }
    cr_assert_eq(left_s("[2001:db8::1]:9", 1), 9);
    cr_assert_eq(ban(LS_BAN_ADDRESS, "::ffff:192.0.2.7", 10, ""), 2);
    cr_assert_eq(left_s("192.0.2.7:9", 1), 9);
}

/* A host of IPv6 has as many addresses as it likes: what limits count as one is banned as one. */
Test(ban_list, all_of_a_56_of_ipv6_are_banned_and_no_neighbour)
{
    ban(LS_BAN_ADDRESS, "2001:db8:0:12ff::1", 10, "");
    cr_assert_eq(left_s("[2001:db8:0:1200:5:6:7:8]:9", 1), 9);
    cr_assert_eq(left_s("[2001:db8:0:1300::1]:9", 1), 0);
    cr_assert_eq(left_s("[2001:db8:0:11ff::1]:9", 1), 0);
}

Test(ban_list, the_longer_ban_of_a_host_counts_and_the_newer_reason)
{
    cr_assert_eq(ban(LS_BAN_ADDRESS, "192.0.2.7", 20, "rude"), 1);
    cr_assert_eq(ban(LS_BAN_ADDRESS, "192.0.2.7", 10, "cheats"), 1);
    cr_assert_eq(left_s("192.0.2.7:1", 0), 20);
    cr_assert_str_eq(list.rows[0].why, "cheats");
}

Test(ban_list, an_account_is_banned_wherever_it_comes_from)
{
    ban(LS_BAN_ACCOUNT, "4711", 10, "");
    ls_ban_subject who = {.origin = 4711, .name = "4711", .has_account = true};
    cr_assert_null(ls_ban_list_find(&list, &who, 1));
    who.account = 4711;
    cr_assert_not_null(ls_ban_list_find(&list, &who, 1));
    who.has_account = false;
    cr_assert_null(ls_ban_list_find(&list, &who, 1));
}

Test(ban_list, a_name_is_banned_with_those_that_look_like_it)
{
    ban(LS_BAN_NAME, "Mallory", 10, "");
    cr_assert(is_name_banned("Mallory"));
    cr_assert(is_name_banned("mallory"));
    cr_assert(is_name_banned("MALLORY (2)"));
    cr_assert_not(is_name_banned("Mallory (x)"));
    cr_assert_not(is_name_banned("Ann"));
    cr_assert_not(is_name_banned(""));
}

/* The server gave the number, and gives another one, or none, when the player comes again. */
Test(ban_list, a_name_is_banned_whatever_number_stands_behind_it)
{
    ban(LS_BAN_NAME, "Mallory (2)", 10, "");
    cr_assert_str_eq(list.rows[0].what, "Mallory");
    cr_assert(is_name_banned("Mallory"));
    cr_assert(is_name_banned("mallory (3)"));
}

Test(ban_list, a_ban_that_is_lifted_is_over)
{
    uint64_t number = ban(LS_BAN_ADDRESS, "192.0.2.7", 20, "");
    ban(LS_BAN_ADDRESS, "192.0.2.8", 20, "");
    cr_assert(ls_ban_list_lift(&list, number));
    cr_assert_not(ls_ban_list_lift(&list, number));
    cr_assert_not(ls_ban_list_lift(&list, 0));
    cr_assert_eq(left_s("192.0.2.7:1", 0), 0);
    cr_assert_eq(left_s("192.0.2.8:1", 0), 20);
    cr_assert_eq(ban(LS_BAN_ADDRESS, "192.0.2.9", 20, ""), 3, "no number is given twice");
}

Test(ban_list, what_is_nobody_is_refused)
{
    static const struct {
        uint32_t kind;
        const char *what;
    } wrong[] = {{LS_BAN_ADDRESS, ""},      {LS_BAN_ADDRESS, "example.org"},
                 {LS_BAN_ADDRESS, ":7300"}, {LS_BAN_ADDRESS, "0:db8::1]:7"},
                 {LS_BAN_ADDRESS, "[::1"},  {LS_BAN_ADDRESS, "dead.beef"},
                 {LS_BAN_ADDRESS, "127.1"}, {LS_BAN_ADDRESS, "[192.0.2.7]"},
                 {LS_BAN_ACCOUNT, "ann"},   {LS_BAN_ACCOUNT, "-1"},
                 {LS_BAN_NAME, ""},         {LS_BAN_NAME, "\x01\x02"},
                 {LS_BAN_KIND_COUNT, "Ann"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ls_ban made = {.number = 0};
        cr_assert_eq(ls_ban_set(&made, wrong[i].kind, wrong[i].what, &why), LS_BAD_ARGUMENT, "%s",
                     wrong[i].what);
    }
}

Test(ban_list, the_ban_that_ends_first_gives_way_when_all_places_are_taken)
{
    char address[32];
    for (uint32_t i = 0; i <= LS_BANS_MAX; i++) {
        snprintf(address, sizeof address, "10.0.%u.%u:1", i / 250, i % 250);
        ban(LS_BAN_ADDRESS, address, 2000 - i, "");
    }
    cr_assert_eq(left_s("10.0.0.0:1", 0), 2000);
    snprintf(address, sizeof address, "10.0.%u.%u:1", (LS_BANS_MAX - 1) / 250,
             (LS_BANS_MAX - 1) % 250);
    cr_assert_eq(left_s(address, 0), 0);
}
