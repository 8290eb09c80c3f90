/* Slot desyncs: what a server program keeps of the desyncs of one slot for its summary: how many
 * there were, the first one as it was reported, and the files that tell of the first and the
 * newest. The match itself keeps the newest alone. Allocates when the first one is known. Called by
 * server.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_SLOT_DESYNCS_H
#define LOCKSTEP_SERVER_ROOMS_SLOT_DESYNCS_H

#include "lockstep/common/program/summary.h"
#include "lockstep/server/match/desync_finding.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/rooms/desync_files.h"

typedef struct ls_slot_desyncs {
    uint32_t count;
    uint32_t bundles;                            /* that were begun */
    ls_summary_desync first;                     /* tick, slot and hashes */
    ls_desync_finding *first_finding;            /* NULL: not known */
    char first_bundle[LS_BUNDLE_PATH_BYTES_MAX]; /* empty: none */
    char bundle[LS_BUNDLE_PATH_BYTES_MAX];       /* of the newest one; empty: none */
} ls_slot_desyncs;

void ls_slot_desyncs_deinit(ls_slot_desyncs *desyncs);

/* A desync was noticed; then it was looked into, and its bundle was written, or not. */
void ls_slot_desyncs_notice(ls_slot_desyncs *desyncs, const ls_match_event *event);
void ls_slot_desyncs_cause(ls_slot_desyncs *desyncs, const ls_desync_finding *finding);

/* Adds to the newest one of the slot what the match does not know, and fills in the first. Their
 * texts are borrowed. */
void ls_slot_desyncs_summarize(const ls_slot_desyncs *desyncs, ls_summary_desync *newest,
                               ls_summary_desync *first);

#endif
