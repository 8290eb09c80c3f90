#include "lockstep/server/host/output_limits.h"

#include "lockstep/common/base/fault.h"

bool ls_output_limits_is_of_match(ls_match_event_kind kind)
{
    return kind == LS_MATCH_STARTED || kind == LS_MATCH_RESUMED || kind == LS_MATCH_STALLED ||
           kind == LS_MATCH_ENDED || kind == LS_MATCH_FINISHED;
}

ls_log_budget *ls_output_limits_lines(ls_log_budget *slots, ls_log_budget *peers,
                                      const ls_match_event *event)
{
    if (ls_output_limits_is_of_match(event->kind)) {
        return NULL;
    }
    switch (event->kind) {
    case LS_MATCH_PEER_REFUSED:
    case LS_MATCH_SPECTATOR_CAME:
    case LS_MATCH_SPECTATOR_LEFT:
        return peers;
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
