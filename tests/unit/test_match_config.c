#include "lockstep/server/match/match_config.h"
#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ls_match_config right(void)
{
    return ls_match_config_default(counter_simulation());
}

Test(match_config, defaults_are_what_the_header_says)
{
    ls_match_config config = right();
    ls_text why = {{0}};
    cr_expect_eq(ls_match_config_check(&config, &why), LS_OK, "%s", why.bytes);
    cr_expect_eq(config.match_id, 1u);
    cr_expect_eq(config.late_rule, LS_LATE_REPEAT);
    cr_expect_eq(config.send_rate, LS_SEND_AUTO);
    cr_expect_eq(config.on_desync, LS_ON_DESYNC_REPORT);
    cr_expect(config.finds_causes);
    cr_expect_not(config.adapts_input_delay);
    cr_expect_eq(config.hash_interval_ticks, 1u);
    cr_expect_eq(config.timeout_ms, 10000u);
    cr_expect_eq(config.wait_limit_ms, 2000u);
    cr_expect_eq(config.start_delay_ms, 250u);
    cr_expect_eq(config.start_players, 0u);
    cr_expect_eq(config.keep_seat_ms, 30000u);
    cr_expect_eq(config.joiners_max, 4u);
    cr_expect_eq(config.join_bytes_per_s, 1u << 20);
    cr_expect_eq(config.resume_wait_ms, 30000u);
    cr_expect_eq(config.spectators_max, 0u);
    cr_expect_eq(config.spectator_delay_ticks, 60u);
    cr_expect_eq(config.spectator_bytes_per_s, 8u << 20);
}

Test(match_config, a_config_that_is_not_made_by_its_default_is_refused)
{
    ls_match_config config = right();
    ls_text why = {{0}};
    config.cookie = 0;
    cr_expect_eq(ls_match_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "ls_match_config_default"), "%s", why.bytes);
    memset(&config, 0, sizeof config);
    cr_expect_eq(ls_match_config_check(&config, NULL), LS_BAD_ARGUMENT);
}

static void expect_refused(const ls_match_config *config, const ls_setting_row *row)
{
    ls_text why = {{0}};
    cr_expect_eq(ls_match_config_check(config, &why), LS_BAD_ARGUMENT, "%s", row->name);
    /* A simulation has a sentence of its own about its players and tick rate. */
    bool is_of_simulation = strncmp(row->name, "sim.", 4) == 0;
    cr_expect(is_of_simulation || strncmp(why.bytes, row->name, strlen(row->name)) == 0, "%s: %s",
              row->name, why.bytes);
    if (row->flag && !is_of_simulation) {
        char flag[64];
        snprintf(flag, sizeof flag, "--%s takes ", row->flag);
        ls_setting_table_check(&ls_match_settings, config, true, &why);
        cr_expect(strncmp(why.bytes, flag, strlen(flag)) == 0, "%s", why.bytes);
    }
}

Test(match_config, every_row_is_held_to_its_range)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if (row->type != LS_SETTING_IS_U32) {
            continue;
        }
        ls_match_config config = right();
        uint64_t max = row->limit > 0 ? config.sim.players : row->max;
        ls_setting_store(row, &config, max + 1);
        expect_refused(&config, row);
        if (row->min > 0) {
            ls_setting_store(row, &config, row->min - 1);
            expect_refused(&config, row);
        }
        if (row->flag && strcmp(row->flag, "players") != 0) {
            ls_setting_store(row, &config, max);
            cr_expect_eq(ls_match_config_check(&config, NULL), LS_OK, "%s", row->name);
        }
        checked++;
    }
    cr_expect_gt(checked, 12);
    ls_match_config config = right();
    config.on_desync = (ls_on_desync)4;
    cr_expect_eq(ls_match_config_check(&config, NULL), LS_BAD_ARGUMENT);
}

Test(match_config, a_flag_is_checked_in_its_own_unit)
{
    ls_match_config config = right();
    ls_text why = {{0}};
    config.keep_seat_ms = 601000;
    ls_setting_table_check(&ls_match_settings, &config, true, &why);
    cr_expect_str_eq(why.bytes, "--keep-seat takes 0 to 600, not 601");
    ls_match_config_check(&config, &why);
    cr_expect_str_eq(why.bytes, "keep_seat_ms takes 0 to 600000, not 601000");
    config = right();
    config.start_players = config.sim.players + 1;
    ls_setting_table_check(&ls_match_settings, &config, true, &why);
    cr_expect_str_eq(why.bytes, "--start-players takes 1 to 2, not 3");
}

/* Every setting another one than the default, then through a header and back. */
Test(match_config, a_header_gives_back_what_its_rows_keep)
{
    ls_match_config config = right();
    ls_match_config copy = right();
    ls_journal_header header = {0};
    uint32_t recorded = 0;
    config.match_id = 42;
    config.key.bytes[5] = 7;
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if (row->recorded > 0) {
            ls_setting_store(row, &config, ls_setting_value(row, &config) == 1 ? 2 : 1);
            recorded++;
        }
    }
    cr_expect_eq(recorded, 12u);
    ls_match_config_record(&config, &header);
    ls_match_config_recall(&copy, &header);
    cr_expect_eq(copy.match_id, 42u);
    cr_expect_eq(copy.key.bytes[5], 7);
    for (uint32_t i = 0; i < ls_match_settings.count; i++) {
        const ls_setting_row *row = &ls_match_settings.rows[i];
        if (row->recorded > 0) {
            cr_expect_eq(ls_setting_value(row, &copy), ls_setting_value(row, &config), "%s",
                         row->name);
        }
    }
    cr_expect_eq(header.timeout_ms, 1u);
    cr_expect_eq(header.config.players, 1u);
    cr_expect(header.adapts_input_delay);
    cr_expect_eq(ls_match_config_compare(&config, &copy, NULL), LS_OK);
}

static uint64_t hash_nothing(const ls_sim_config *config, const void *state)
{
    (void)config;
    (void)state;
    return 1;
}

Test(match_config, values_of_an_engine_without_a_schema_cannot_be_healed)
{
    static ls_simulation engine;
    engine = *counter_simulation();
    engine.fields = NULL;
    engine.hash = hash_nothing;
    ls_match_config config = ls_match_config_default(&engine);
    ls_text why = {{0}};
    cr_expect_eq(ls_match_config_check(&config, &why), LS_OK, "%s", why.bytes);
    config.on_desync = LS_ON_DESYNC_HEAL;
    cr_expect_eq(ls_match_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "has neither a schema nor save and load"), "%s", why.bytes);
}
