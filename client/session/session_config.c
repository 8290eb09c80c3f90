#include "lockstep/client/session/session_config.h"

/* Says that a config came from ls_session_config_default, so that no field was forgotten. */
#define CONFIG_COOKIE UINT32_C(0x6c736366)

#define FIELD(member) .name = #member, .offset = offsetof(ls_session_config, member)

enum {
    SECONDS = 1000,
    PLAYER = LS_SESSION_GROUP_PLAYER,
};

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_U32, FIELD(ticks), .max = UINT32_MAX - 1, .flag = "ticks", .letter = 't',
     .argument = "N", .group = PLAYER,
     .help = "Leave after tick N of the match; 0: stay to the end"},
    {LS_SETTING_IS_U32, FIELD(predict_ticks), .max = LS_PREDICT_TICKS_MAX, .flag = "predict",
     .argument = "TICKS", .group = PLAYER,
     .help = "Play your own input at once and guess the others', up to TICKS ahead of the server; "
             "where a guess was wrong, go back and step again. 0: play what the server has "
             "confirmed"},
    {LS_SETTING_IS_SWITCH, FIELD(is_spectator), .flag = "spectate", .group = PLAYER,
     .help = "Watch the match, and play nothing"},
    {LS_SETTING_IS_U32, FIELD(reconnect_ms), .max = LS_SESSION_RECONNECT_MS_MAX,
     .flag = "reconnect", .unit = SECONDS, .argument = "SECONDS", .group = PLAYER,
     .help = "When the link is lost, try for so long to come back to the match; 0: never"},
    {LS_SETTING_IS_U32, FIELD(frame_max_ms), .min = 1, .max = 10000, .initial = 250},
    {LS_SETTING_IS_ON_OFF, FIELD(finds_causes), .initial = true, .flag = "find-causes",
     .argument = "on|off", .group = PLAYER,
     .help =
         "Keep the newest states, so that the cause of a desync of this client can be told, "
         "or healed: in the memory of 3.5 states and 1 MiB, or for states of up to 16 KiB in up "
         "to 17 MiB"},
};

const ls_setting_table ls_session_settings = {rows, sizeof rows / sizeof rows[0]};

ls_session_config ls_session_config_default(void)
{
    ls_session_config config = {.cookie = CONFIG_COOKIE, .name = "player"};
    ls_setting_table_reset(&ls_session_settings, &config);
    return config;
}

ls_status ls_session_config_check(const ls_session_config *config, ls_text *why)
{
    const char *wrong = config->cookie != CONFIG_COOKIE
                            ? "the config of a session comes from ls_session_config_default"
                        : !config->find_simulation ? "find_simulation must be given"
                                                   : NULL;
    if (wrong) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s", wrong);
    }
    return ls_setting_table_check(&ls_session_settings, config, false, why);
}
