#include "lockstep/server/service/ban_list.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define S UINT64_C(1000000000)

static ls_ban_list list;

Test(ban_list, every_port_of_a_banned_host_is_banned_until_its_time_is_over)
{
    ls_ban_list_add(&list, "192.0.2.7:7000", 10 * S);
    cr_assert_eq(ls_ban_list_left_s(&list, "192.0.2.7:8000", 1), 10);
    cr_assert_eq(ls_ban_list_left_s(&list, "192.0.2.70:7000", 1), 0);
    cr_assert_eq(ls_ban_list_left_s(&list, "192.0.2.7:7000", 10 * S), 0);
}

Test(ban_list, the_longer_ban_of_a_host_counts)
{
    ls_ban_list_add(&list, "[2001:db8::1]:7000", 20 * S);
    ls_ban_list_add(&list, "[2001:db8::1]:7001", 10 * S);
    cr_assert_eq(ls_ban_list_left_s(&list, "[2001:db8::1]:1", 0), 20);
}

Test(ban_list, the_ban_that_ends_first_gives_way_when_all_places_are_taken)
{
    char address[32];
    for (uint32_t i = 0; i <= LS_BANS_MAX; i++) {
        snprintf(address, sizeof address, "10.0.%u.%u:1", i / 250, i % 250);
        ls_ban_list_add(&list, address, (1000 - i) * S);
    }
    cr_assert_eq(ls_ban_list_left_s(&list, "10.0.0.0:1", 0), 1000);
    snprintf(address, sizeof address, "10.0.%u.%u:1", (LS_BANS_MAX - 1) / 250,
             (LS_BANS_MAX - 1) % 250);
    cr_assert_eq(ls_ban_list_left_s(&list, address, 0), 0);
}
