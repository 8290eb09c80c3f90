#include "lockstep/server/host/output_limits.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/server/journal/event_rows.h"

ls_log_budget *ls_output_limits_lines(ls_log_budget *slots, ls_log_budget *peers,
                                      const ls_match_event *event)
{
    ls_event_scope scope = ls_event_row_of(event)->scope;
    bool is_limited = scope == LS_EVENT_OF_SLOT && !LS_FAULT(LINES_UNLIMITED);
    return scope == LS_EVENT_OF_PEER ? peers : is_limited ? &slots[event->slot] : NULL;
}

bool ls_output_limits_reserve_bundle(uint32_t *bundles)
{
    bool may_be = *bundles < LS_SLOT_BUNDLES_MAX || LS_FAULT(BUNDLES_UNLIMITED);
    *bundles += may_be ? 1 : 0;
    return may_be;
}
