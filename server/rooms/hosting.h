/* Hosting: the settings of whoever hosts matches, beside those of a match: the game, where it
 * listens, who gets in, and which files it writes. Called by lockstep-server and by the shared
 * library. */
#ifndef LOCKSTEP_SERVER_ROOMS_HOSTING_H
#define LOCKSTEP_SERVER_ROOMS_HOSTING_H

#include "lockstep/common/base/setting_row.h"
#include "lockstep/server/host/admission.h"

typedef struct ls_hosting {
    const char *sim, *bind_host, *bundle_dir, *journal_dir, *resume_path;
    uint32_t port, bundle_limit;
    ls_admission_options admission;
} ls_hosting;

extern const ls_setting_table ls_hosting_settings; /* of an ls_hosting */

ls_hosting ls_hosting_default(void);

/* Whether settings fit together. BAD_ARGUMENT. */
ls_status ls_hosting_check(const ls_hosting *hosting, ls_text *why);

#endif
