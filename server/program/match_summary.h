/* Match summary: what a match came to, as the summary object and as a table for a person.
 * Reads the match only. Called by server.c and by tools that host matches. */
#ifndef LOCKSTEP_SERVER_PROGRAM_MATCH_SUMMARY_H
#define LOCKSTEP_SERVER_PROGRAM_MATCH_SUMMARY_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/server/match/match.h"

/* `traffic` has one entry per slot, as the server's transport counted it. */
void ls_match_summarize(ls_match *match, const ls_match_config *config,
                        const ls_transport_traffic *traffic, ls_summary *summary);

/* A table of the players, then one line: ticks, hashes compared, differences. */
void ls_match_summary_log(const ls_summary *summary, const ls_log *log);

#endif
