#include "lockstep/common/base/clock.h"
#include "lockstep/tools/netcond/settings.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MS LS_NS_PER_MS

static const ls_link_config *resolve(const netcond_settings *settings)
{
    static ls_link_config links[NETCOND_DIRECTION_COUNT];
    ls_text why = {{0}};
    cr_assert_eq(netcond_settings_resolve(settings, links, &why), LS_OK, "%s", why.bytes);
    return links;
}

/* One setting of both directions. */
static ls_link_config resolve_one(netcond_setting setting, const char *value)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][setting] = value;
    const ls_link_config *links = resolve(&settings);
    return links[NETCOND_DIRECTION_UP];
}

Test(netcond_settings, nothing_said_is_a_perfect_link)
{
    netcond_settings settings = {{{0}}};
    const ls_link_config *links = resolve(&settings);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        cr_assert_eq(links[i].delay_ns, 0);
        cr_assert_eq(links[i].loss_ppm, 0);
        cr_assert_eq(links[i].rate_bps, 0);
        cr_assert_eq(links[i].partition_length_ns, 0);
    }
}

Test(netcond_settings, each_value_becomes_its_field_in_its_unit)
{
    cr_assert_eq(resolve_one(NETCOND_SETTING_DELAY, "33.5").delay_ns, 33500 * LS_NS_PER_US);
    cr_assert_eq(resolve_one(NETCOND_SETTING_JITTER, "0.001").jitter_ns, LS_NS_PER_US);
    cr_assert_not(resolve_one(NETCOND_SETTING_OVERTAKE, "").keeps_order);
    cr_assert_eq(resolve_one(NETCOND_SETTING_LOSS, "2.5").loss_ppm, 25000);
    cr_assert_eq(resolve_one(NETCOND_SETTING_DUPLICATE, "0.0001").duplicate_ppm, 1);
    cr_assert_eq(resolve_one(NETCOND_SETTING_RATE, "512").rate_bps, 512000);
    cr_assert_eq(resolve_one(NETCOND_SETTING_BUCKET, "1.5").bucket_bytes, 1500);
    cr_assert_eq(resolve_one(NETCOND_SETTING_QUEUE, "16").queue_bytes, 16000);
    ls_link_config burst = resolve_one(NETCOND_SETTING_BURST, "2:5.5:80");
    cr_assert_eq(burst.burst_ppm, 20000);
    cr_assert_eq(burst.burst_milli, 5500);
    cr_assert_eq(burst.burst_loss_ppm, 800000);
    ls_link_config reorder = resolve_one(NETCOND_SETTING_REORDER, "3:40");
    cr_assert_eq(reorder.reorder_ppm, 30000);
    cr_assert_eq(reorder.reorder_ns, 40 * MS);
    ls_link_config partition = resolve_one(NETCOND_SETTING_PARTITION, "1000:200:5000");
    cr_assert_eq(partition.partition_start_ns, 1000 * MS);
    cr_assert_eq(partition.partition_length_ns, 200 * MS);
    cr_assert_eq(partition.partition_every_ns, 5000 * MS);
}

Test(netcond_settings, a_setting_of_both_directions_is_one_of_each)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_DELAY] = "8";
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_OVERTAKE] = "";
    const ls_link_config *links = resolve(&settings);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        cr_assert_eq(links[i].delay_ns, 8 * MS);
        cr_assert_not(links[i].keeps_order);
    }
}

Test(netcond_settings, a_part_left_out_has_its_default)
{
    cr_assert_eq(resolve_one(NETCOND_SETTING_BURST, "2:5").burst_loss_ppm, 1000000);
    cr_assert_eq(resolve_one(NETCOND_SETTING_REORDER, "3").reorder_ns, 25 * MS);
    cr_assert_eq(resolve_one(NETCOND_SETTING_PARTITION, "1:2").partition_every_ns, 0);
}

Test(netcond_settings, one_direction_counts_more_than_both_and_both_more_than_a_profile)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_PROFILE] = "bad";
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_DELAY] = "7";
    settings.values[NETCOND_SCOPE_DOWN][NETCOND_SETTING_DELAY] = "9";
    settings.values[NETCOND_SCOPE_UP][NETCOND_SETTING_LOSS] = "0";
    const ls_link_config *links = resolve(&settings);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].delay_ns, 7 * MS);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].delay_ns, 9 * MS);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].loss_ppm, 0);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].loss_ppm, 50000);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].jitter_ns, 40 * MS);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].rate_bps, 512000);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].rate_bps, 1024000);
}

Test(netcond_settings, each_direction_may_have_a_profile_of_its_own)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_PROFILE] = "lan";
    settings.values[NETCOND_SCOPE_DOWN][NETCOND_SETTING_PROFILE] = "satellite";
    const ls_link_config *links = resolve(&settings);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].delay_ns, 200 * LS_NS_PER_US);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].delay_ns, 280 * MS);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].loss_ppm, 0);
}

Test(netcond_settings, every_profile_is_a_valid_link_of_its_name)
{
    static const char *const names[] = {"lan", "wifi", "4g", "bad", "satellite"};
    uint64_t delay_ns = 0;
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_str_eq(netcond_profile_at(i)->name, names[i]);
        ls_link_config link;
        netcond_settings settings = {{{0}}};
        settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_PROFILE] = names[i];
        link = resolve(&settings)[NETCOND_DIRECTION_UP];
        cr_assert_gt(link.delay_ns, delay_ns, "%s", names[i]); /* each farther than the last */
        delay_ns = link.delay_ns;
    }
    cr_assert_null(netcond_profile_at(sizeof names / sizeof names[0]));
}

static void assert_refused(netcond_setting_scope scope, netcond_setting setting, const char *value,
                           const char *sentence)
{
    ls_link_config links[NETCOND_DIRECTION_COUNT];
    memset(links, 0x5a, sizeof links);
    netcond_settings settings = {{{0}}};
    settings.values[scope][setting] = value;
    ls_text why = {{0}};
    cr_assert_eq(netcond_settings_resolve(&settings, links, &why), LS_BAD_ARGUMENT, "'%s'", value);
    cr_assert_str_eq(why.bytes, sentence);
    for (size_t i = 0; i < sizeof links; i++) {
        cr_assert_eq(((const uint8_t *)links)[i], 0x5a, "a failure left something behind");
    }
}

Test(netcond_settings, an_impossible_value_is_refused_with_the_possible_ones)
{
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_DELAY, "10000.001",
                   "--delay takes a number from 0 to 10000 with up to 3 decimals, not '10000.001'");
    assert_refused(NETCOND_SCOPE_UP, NETCOND_SETTING_LOSS, "-1",
                   "--up-loss takes a number from 0 to 100 with up to 4 decimals, not '-1'");
    assert_refused(NETCOND_SCOPE_DOWN, NETCOND_SETTING_RATE, "1.5",
                   "--down-rate takes a number from 0 to 10000000, not '1.5'");
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_QUEUE, "2.999",
                   "--queue takes a number from 3 to 65536 with up to 3 decimals, not '2.999'");
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_PROFILE, "5g",
                   "--profile takes lan or wifi or 4g or bad or satellite, not '5g'");
    assert_refused(NETCOND_SCOPE_DOWN, NETCOND_SETTING_PROFILE, "",
                   "--down-profile takes lan or wifi or 4g or bad or satellite, not ''");
}

Test(netcond_settings, values_of_several_parts_are_checked_part_by_part)
{
    static const char *const shapes[] = {"", "2", "2:5:80:1",
                                         ":::", "2:55555555555555555555555555555555"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char sentence[120];
        snprintf(sentence, sizeof sentence, "--burst takes PCT:LENGTH[:LOSS], not '%s'", shapes[i]);
        assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, shapes[i], sentence);
    }
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, "2:0.999",
                   "--burst LENGTH takes a number from 1 to 10000 with up to 3 decimals, not "
                   "'0.999'");
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, "91:500",
                   "--burst PCT takes a number from 0 to 90 with up to 4 decimals, not '91'");
    assert_refused(NETCOND_SCOPE_UP, NETCOND_SETTING_BURST, "2:5:",
                   "--up-burst LOSS takes a number from 0 to 100 with up to 4 decimals, not ''");
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_REORDER, "5:0",
                   "--reorder MS takes a number from 1 to 10000 with up to 3 decimals, not '0'");
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_PARTITION, "1:86400001",
                   "--partition LENGTH takes a number from 0 to 86400000, not '86400001'");
}

Test(netcond_settings, numbers_that_do_not_go_together_are_refused)
{
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, "60:1.25",
                   "burst: periods of 1.250 packets are too short to meet 60.0000 % of the "
                   "packets");
    assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_PARTITION, "0:500:500",
                   "partition: it comes again before it has ended, so nothing ever passes");
}

/* Overridden is not unchecked. */
Test(netcond_settings, a_wrong_value_is_refused_even_where_another_counts_more)
{
    ls_link_config links[NETCOND_DIRECTION_COUNT];
    for (uint32_t i = 0; i < 2; i++) {
        netcond_setting setting = i == 0 ? NETCOND_SETTING_DELAY : NETCOND_SETTING_PROFILE;
        netcond_settings settings = {{{0}}};
        settings.values[NETCOND_SCOPE_BOTH][setting] = "x";
        settings.values[NETCOND_SCOPE_UP][setting] = i == 0 ? "1" : "bad";
        settings.values[NETCOND_SCOPE_DOWN][setting] = i == 0 ? "1" : "bad";
        cr_assert_eq(netcond_settings_resolve(&settings, links, NULL), LS_BAD_ARGUMENT);
    }
}
