/* Settings: what a handle was set to by name, over the tables of the programs (hosting, match and
 * session); and a table of the few that are a client's alone. Owns the texts. */
#ifndef LOCKSTEP_TOOLS_LIBLOCKSTEP_SETTINGS_H
#define LOCKSTEP_TOOLS_LIBLOCKSTEP_SETTINGS_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/rooms/hosting.h"
#include "lockstep/tools/liblockstep/lockstep.h"

typedef struct lockstep_settings {
    /* Of a client, and of a simulation. */
    const char *server, *token_path, *seat_path, *sim;
    uint32_t connect_wait_ms;
    bool is_insecure;
    bool has_thread; /* of a host, too */
    ls_session_config session;

    ls_hosting hosting;
    ls_match_config match; /* fields of it, ... */
    uint64_t match_given;  /* ... of these rows of ls_match_settings */
    ls_param_options params;

    char **texts; /* that the values are borrowed from */
    uint32_t text_count;
} lockstep_settings;

void lockstep_settings_init(lockstep_settings *settings);
void lockstep_settings_deinit(lockstep_settings *settings);

/* NOT_FOUND, BAD_ARGUMENT, NO_MEMORY, with `why`. */
ls_status lockstep_settings_set(lockstep_settings *settings, int kind, const char *name,
                                const char *value, ls_text *why);

/* The row of a setting by its number; NULL: there is none. */
const ls_setting_row *lockstep_settings_row(int kind, uint32_t number);

#endif
