/* Settings: what a person says about a link, in words, and how it becomes a link's config. One
 * table has every setting's name, form and help; profiles are settings under one name. Pure: no
 * files, no command line. Called by main and by tests.
 *
 * A setting is said of both directions or of one. What is said of one counts more than what is said
 * of both, and either counts more than a profile, in whatever order they are given. */
#ifndef LOCKSTEP_TOOLS_NETCOND_SETTINGS_H
#define LOCKSTEP_TOOLS_NETCOND_SETTINGS_H

#include "lockstep/tools/netcond/conditioner.h"

typedef enum ls_setting {
    LS_SETTING_PROFILE,
    LS_SETTING_DELAY,
    LS_SETTING_JITTER,
    LS_SETTING_OVERTAKE,
    LS_SETTING_LOSS,
    LS_SETTING_BURST,
    LS_SETTING_DUPLICATE,
    LS_SETTING_REORDER,
    LS_SETTING_RATE,
    LS_SETTING_BUCKET,
    LS_SETTING_QUEUE,
    LS_SETTING_PARTITION,
    LS_SETTING_COUNT,
} ls_setting;

typedef enum ls_setting_scope {
    LS_SCOPE_UP = LS_DIRECTION_UP,
    LS_SCOPE_DOWN = LS_DIRECTION_DOWN,
    LS_SCOPE_BOTH,
    LS_SCOPE_COUNT,
} ls_setting_scope;

typedef struct ls_setting_info {
    const char *name;
    const char *form; /* of its value; NULL: it has none */
    const char *help;
} ls_setting_info;

/* What was said, by scope: NULL where nothing was; for a setting without value any text. */
typedef struct ls_settings {
    const char *values[LS_SCOPE_COUNT][LS_SETTING_COUNT];
} ls_settings;

const ls_setting_info *ls_setting_info_of(ls_setting setting);

/* "", "up-" or "down-": stands before the setting's name. */
const char *ls_setting_scope_prefix(ls_setting_scope scope);

/* BAD_ARGUMENT with the setting that cannot be right and what would be. */
ls_status ls_settings_resolve(const ls_settings *settings, ls_link_config links[LS_DIRECTION_COUNT],
                              ls_text *why);

#endif
