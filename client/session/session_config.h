/* Session config: the settings of a session as one table. A setting is its row here, its field in
 * ls_session_config, its use and its test. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_CONFIG_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_CONFIG_H

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/setting_row.h"

/* Their heading in --help, which the program gives. */
#define LS_SESSION_GROUP_PLAYER 1

/* The fields of ls_session_config that are numbers, words and switches. */
extern const ls_setting_table ls_session_settings;

#endif
