#include "lockstep/client/session/reconnector.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"

#define PAUSE_MIN_NS (UINT64_C(250) * LS_NS_PER_MS)
#define PAUSE_MAX_NS (UINT64_C(4) * LS_NS_PER_SECOND)

void ls_reconnector_lose(ls_reconnector *reconnector, ls_status status, bool in_lobby,
                         ls_seat_claim claim)
{
    reconnector->status = status;
    reconnector->pause_ns = PAUSE_MIN_NS;
    reconnector->was_in_lobby = in_lobby;
    reconnector->claim = claim;
}

bool ls_reconnector_fail(ls_reconnector *reconnector, ls_status status, uint64_t now_ns)
{
    if (now_ns < reconnector->retry_ns) {
        return false;
    }
    reconnector->claim = status == LS_NOT_FOUND ? LS_CLAIM_NONE : reconnector->claim;
    return true;
}

uint64_t ls_reconnector_plan(ls_reconnector *reconnector, uint64_t now_ns)
{
    uint64_t pause_ns = reconnector->pause_ns;
    reconnector->attempt = LS_RECONNECT_NONE;
    reconnector->retry_ns = now_ns + pause_ns;
    reconnector->pause_ns = LS_MIN(2 * pause_ns, PAUSE_MAX_NS);
    return pause_ns;
}

void ls_reconnector_claim_seat(ls_reconnector *reconnector, ls_seat_claim claim)
{
    reconnector->attempt = LS_RECONNECT_SEATED;
    reconnector->claim = claim;
}
