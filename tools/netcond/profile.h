/* Profile: settings of both directions under one name, for the networks that players have.
 * Starting points, not measurements: each figure can be set anew beside it. Called by settings, and
 * by main, which lists them. */
#ifndef LOCKSTEP_TOOLS_NETCOND_PROFILE_H
#define LOCKSTEP_TOOLS_NETCOND_PROFILE_H

#include "lockstep/tools/netcond/settings.h"

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
