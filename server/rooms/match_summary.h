/* Match summary: what a match came to, as the summary object and as a table for a person, and what
 * it found out about a desync, as lines. Reads the match only. Called by server.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_MATCH_SUMMARY_H
#define LOCKSTEP_SERVER_ROOMS_MATCH_SUMMARY_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/match/match.h"

/* `traffic` has one entry per slot, as the server's transport counted it. */
void ls_match_summarize(ls_match *match, const ls_match_config *config,
                        const ls_transport_traffic *traffic, ls_summary *summary);

/* Adds what was found out about a desync; its texts are borrowed. */
void ls_desync_finding_summarize(const ls_desync_finding *finding, ls_summary_desync *out);

/* Why a match of this configuration finds out nothing about a desync; NULL: it does. */
const char *ls_match_unknown_why(const ls_match_config *config);

/* A table of the players, then one line: ticks, hashes compared, differences. */
void ls_match_summary_log(const ls_summary *summary, const ls_log *log);

/* `player`: its name and slot, as text. `bundle`: path of the file; NULL: there is none. */
void ls_desync_report_log(const ls_desync_finding *finding, const char *player, const char *bundle,
                          const ls_simulation *simulation, const ls_log *log);

/* The command that explains it; empty: there is none. */
ls_text ls_desync_finding_command(const char *bundle, const ls_simulation *simulation);

#endif
