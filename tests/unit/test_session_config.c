#include "lockstep/client/session/session_config.h"

#include <criterion/criterion.h>
#include <string.h>

static const ls_simulation *find_none(void *user, const char *name)
{
    (void)user;
    (void)name;
    return NULL;
}

static ls_session_config right(void)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_none;
    return config;
}

Test(session_config, defaults_are_what_the_header_says)
{
    ls_session_config config = right();
    ls_text why = {{0}};
    cr_expect_eq(ls_session_config_check(&config, &why), LS_OK, "%s", why.bytes);
    cr_expect_str_eq(config.name, "player");
    cr_expect_eq(config.frame_max_ms, 250u);
    cr_expect(config.finds_causes);
    cr_expect_not(config.is_spectator);
    cr_expect_eq(config.predict_ticks, 0u);
    cr_expect_eq(config.reconnect_ms, 0u);
    cr_expect_eq(config.ticks, 0u);
}

Test(session_config, a_config_that_is_not_made_by_its_default_is_refused)
{
    ls_session_config config = right();
    ls_text why = {{0}};
    config.cookie = 0;
    cr_expect_eq(ls_session_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "ls_session_config_default"), "%s", why.bytes);
}

Test(session_config, every_row_is_held_to_its_range)
{
    uint32_t checked = 0;
    for (uint32_t i = 0; i < ls_session_settings.count; i++) {
        const ls_setting_row *row = &ls_session_settings.rows[i];
        if (row->type != LS_SETTING_IS_U32) {
            continue;
        }
        ls_session_config config = right();
        ls_text why = {{0}};
        ls_setting_store(row, &config, row->max);
        cr_expect_eq(ls_session_config_check(&config, NULL), LS_OK, "%s", row->name);
        ls_setting_store(row, &config, row->max + 1);
        cr_expect_eq(ls_session_config_check(&config, &why), LS_BAD_ARGUMENT, "%s", row->name);
        cr_expect(strncmp(why.bytes, row->name, strlen(row->name)) == 0, "%s", why.bytes);
        checked++;
    }
    cr_expect_eq(checked, 4u);
    ls_session_config config = right();
    config.frame_max_ms = 0;
    cr_expect_eq(ls_session_config_check(&config, NULL), LS_BAD_ARGUMENT);
}
