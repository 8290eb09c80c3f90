/* Settings: a link as a person describes it, in words, and how that becomes a link's config. One
 * table has every setting's name, form and help; profiles are settings under one name. Pure: no
 * files, no command line. Called by main and by tests.
 *
 * A setting is said of both directions or of one. A setting of one counts more than a setting of
 * both, and either counts more than a profile, in whatever order they are given. */
#ifndef LOCKSTEP_TOOLS_NETCOND_SETTINGS_H
#define LOCKSTEP_TOOLS_NETCOND_SETTINGS_H

#include "lockstep/tools/netcond/conditioner.h"

typedef enum netcond_setting {
    NETCOND_SETTING_PROFILE,
    NETCOND_SETTING_DELAY,
    NETCOND_SETTING_JITTER,
    NETCOND_SETTING_OVERTAKE,
    NETCOND_SETTING_LOSS,
    NETCOND_SETTING_BURST,
    NETCOND_SETTING_DUPLICATE,
    NETCOND_SETTING_REORDER,
    NETCOND_SETTING_RATE,
    NETCOND_SETTING_BUCKET,
    NETCOND_SETTING_QUEUE,
    NETCOND_SETTING_PARTITION,
    NETCOND_SETTING_COUNT,
} netcond_setting;

typedef enum netcond_setting_scope {
    NETCOND_SCOPE_UP = NETCOND_DIRECTION_UP,
    NETCOND_SCOPE_DOWN = NETCOND_DIRECTION_DOWN,
    NETCOND_SCOPE_BOTH,
    NETCOND_SCOPE_COUNT,
} netcond_setting_scope;

typedef struct netcond_setting_info {
    const char *name;
    const char *form; /* of its value; NULL: it has none */
    const char *help;
} netcond_setting_info;

/* The text of the setting, by scope: NULL where it was not given; for a setting without value any
 * text. */
typedef struct netcond_settings {
    const char *values[NETCOND_SCOPE_COUNT][NETCOND_SETTING_COUNT];
} netcond_settings;

const netcond_setting_info *netcond_setting_info_of(netcond_setting setting);

/* "", "up-" or "down-": stands before the setting's name. */
const char *netcond_setting_scope_prefix(netcond_setting_scope scope);

/* BAD_ARGUMENT with the setting that cannot be right and what would be. */
ls_status netcond_settings_resolve(const netcond_settings *settings,
                                   ls_link_config links[NETCOND_DIRECTION_COUNT], ls_text *why);

/* ---- Profile: settings of both directions under one name, for the networks that players have.
 * Starting points, not measurements: each figure can be set anew beside it ---- */

#define NETCOND_PROFILES_MAX 16u

typedef struct netcond_profile {
    const char *name;
    const char *help;
    const char
        *values[NETCOND_DIRECTION_COUNT][NETCOND_SETTING_COUNT]; /* NULL: as in a perfect link */
} netcond_profile;

/* NULL beyond the last one. */
const netcond_profile *netcond_profile_at(uint32_t index);

#endif
