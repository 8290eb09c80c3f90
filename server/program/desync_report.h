/* Desync report: what a match found out about a desync, as lines for a person and as the summary
 * object has it. Reads the finding only. Called by server.c and by match_summary.c. */
#ifndef LOCKSTEP_SERVER_PROGRAM_DESYNC_REPORT_H
#define LOCKSTEP_SERVER_PROGRAM_DESYNC_REPORT_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/server/match/match.h"

/* `player`: its name and slot, as text. `bundle`: path of the file; NULL: there is none. */
void ls_desync_report_log(const ls_desync_finding *finding, const char *player, const char *bundle,
                          const ls_log *log);

/* Adds what was found out; texts are borrowed from the finding. */
void ls_desync_report_summarize(const ls_desync_finding *finding, ls_summary_desync *out);

#endif
