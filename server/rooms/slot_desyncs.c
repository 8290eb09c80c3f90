#include "lockstep/server/rooms/slot_desyncs.h"

#include "lockstep/server/rooms/match_summary.h"

#include <string.h>

void ls_slot_desyncs_deinit(ls_slot_desyncs *desyncs)
{
    ls_release(ls_allocator_heap(), desyncs->first_finding);
    desyncs->first_finding = NULL;
}

void ls_slot_desyncs_notice(ls_slot_desyncs *desyncs, const ls_match_event *event)
{
    desyncs->count++;
    desyncs->bundle[0] = '\0'; /* which is of an older one */
    if (desyncs->count == 1) {
        desyncs->first = (ls_summary_desync){.tick = event->tick,
                                             .slot = event->slot,
                                             .server_hash = event->server_hash,
                                             .client_hash = event->client_hash,
                                             .clients = event->clients};
    }
}

void ls_slot_desyncs_cause(ls_slot_desyncs *desyncs, const ls_desync_finding *finding)
{
    if (desyncs->count != 1 || desyncs->first_finding) {
        return;
    }
    desyncs->first_finding = ls_allocate(ls_allocator_heap(), sizeof *finding);
    if (desyncs->first_finding) {
        *desyncs->first_finding = *finding;
    }
    memcpy(desyncs->first_bundle, desyncs->bundle, sizeof desyncs->first_bundle);
}

static const char *path_or_null(const char *path)
{
    return path[0] != '\0' ? path : NULL;
}

void ls_slot_desyncs_summarize(const ls_slot_desyncs *desyncs, ls_summary_desync *newest,
                               ls_summary_desync *first)
{
    newest->times = desyncs->count;
    newest->bundle = path_or_null(desyncs->bundle);
    *first = desyncs->first;
    first->times = 1;
    first->why = newest->has_cause ? NULL : newest->why;
    if (desyncs->first_finding) {
        ls_desync_finding_summarize(desyncs->first_finding, first);
    }
    first->bundle = path_or_null(desyncs->first_bundle);
}
