/* Relay options: the settings of a relay as its command line has them: one table, by which the file
 * of a service that is also a relay is checked as well. Called by main and service_program. */
#ifndef LOCKSTEP_SERVER_RELAY_RELAY_OPTIONS_H
#define LOCKSTEP_SERVER_RELAY_RELAY_OPTIONS_H

#include "lockstep/common/program/option.h"
#include "lockstep/server/relay/relay_program.h"

extern const ls_setting_table ls_relay_settings; /* of ls_relay_program_config */

ls_relay_program_config ls_relay_options_default(void);

/* Whether they fit together. BAD_ARGUMENT. */
ls_status ls_relay_options_check(const ls_relay_program_config *config, ls_text *why);

#endif
