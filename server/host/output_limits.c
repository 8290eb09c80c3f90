#include "lockstep/server/host/output_limits.h"

#include "lockstep/common/base/fault.h"

ls_log_budget *ls_output_limits_lines(ls_log_budget *slots, ls_log_budget *peers,
                                      const ls_match_event *event)
{
    switch (event->kind) {
    case LS_MATCH_PEER_REFUSED:
    case LS_MATCH_SPECTATOR_CAME:
    case LS_MATCH_SPECTATOR_LEFT:
        return peers;
    case LS_MATCH_STARTED:
    case LS_MATCH_RESUMED:
    case LS_MATCH_STALLED:
    case LS_MATCH_ENDED:
    case LS_MATCH_FINISHED:
        return NULL;
    default:
        return LS_FAULT(LINES_UNLIMITED) ? NULL : &slots[event->slot];
    }
}

bool ls_output_limits_take_bundle(uint32_t *bundles)
{
    bool may_be = *bundles < LS_SLOT_BUNDLES_MAX || LS_FAULT(BUNDLES_UNLIMITED);
    *bundles += may_be ? 1 : 0;
    return may_be;
}
