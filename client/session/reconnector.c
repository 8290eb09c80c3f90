#include "lockstep/client/session/reconnector.h"

#include "lockstep/common/base/clock.h"

#define PAUSE_MIN_NS (UINT64_C(250) * LS_NS_PER_MS)
#define PAUSE_MAX_NS (UINT64_C(4) * LS_NS_PER_SECOND)

/* How far an attempt to make the link anew has got. */
typedef enum attempt {
    ATTEMPT_NONE,
    ATTEMPT_GREETED, /* HELLO sent */
    ATTEMPT_SEATED,  /* READY sent */
} attempt;

struct ls_reconnector {
    const ls_allocator *allocator;
    ls_status status;  /* why the link was lost */
    uint64_t pause_ns; /* before the next attempt */
    uint64_t retry_ns; /* when that is due */
    attempt attempt;
    bool was_in_lobby; /* START or JOIN may come */
    bool has_claim;    /* to the seat of the last OFFER */
};

ls_status ls_reconnector_create(const ls_allocator *allocator, ls_reconnector **out)
{
    ls_reconnector *reconnector = ls_allocate(allocator, sizeof *reconnector);
    if (!reconnector) {
        return LS_NO_MEMORY;
    }
    reconnector->allocator = allocator;
    *out = reconnector;
    return LS_OK;
}

void ls_reconnector_destroy(ls_reconnector *reconnector)
{
    if (reconnector) {
        ls_release(reconnector->allocator, reconnector);
    }
}

/* ---- losing the link ---- */

void ls_reconnector_lose(ls_reconnector *reconnector, ls_status status, bool in_lobby,
                         bool is_running)
{
    reconnector->status = status;
    reconnector->pause_ns = PAUSE_MIN_NS;
    reconnector->was_in_lobby = in_lobby;
    reconnector->has_claim = !reconnector->was_in_lobby || is_running;
}

bool ls_reconnector_fail(ls_reconnector *reconnector, ls_status status, uint64_t now_ns)
{
    if (now_ns < reconnector->retry_ns) {
        return false;
    }
    reconnector->has_claim = reconnector->has_claim && status != LS_NOT_FOUND;
    return true;
}

uint64_t ls_reconnector_plan(ls_reconnector *reconnector, uint64_t now_ns)
{
    uint64_t pause_ns = reconnector->pause_ns;
    reconnector->attempt = ATTEMPT_NONE;
    reconnector->retry_ns = now_ns + pause_ns;
    reconnector->pause_ns = 2 * pause_ns < PAUSE_MAX_NS ? 2 * pause_ns : PAUSE_MAX_NS;
    return pause_ns;
}

/* ---- an attempt ---- */

void ls_reconnector_greet(ls_reconnector *reconnector)
{
    reconnector->attempt = ATTEMPT_GREETED;
}

void ls_reconnector_take_seat(ls_reconnector *reconnector, bool is_running)
{
    reconnector->attempt = ATTEMPT_SEATED;
    reconnector->has_claim = !reconnector->was_in_lobby || is_running;
}

void ls_reconnector_join(ls_reconnector *reconnector)
{
    reconnector->attempt = ATTEMPT_NONE;
}

/* ---- reading ---- */

bool ls_reconnector_expects_offer(const ls_reconnector *reconnector)
{
    return reconnector->attempt == ATTEMPT_GREETED;
}

bool ls_reconnector_is_seated(const ls_reconnector *reconnector)
{
    return reconnector->attempt == ATTEMPT_SEATED;
}

bool ls_reconnector_has_claim(const ls_reconnector *reconnector)
{
    return reconnector->has_claim;
}

bool ls_reconnector_was_in_lobby(const ls_reconnector *reconnector)
{
    return reconnector->was_in_lobby;
}

ls_status ls_reconnector_status(const ls_reconnector *reconnector)
{
    return reconnector->status;
}

uint64_t ls_reconnector_retry_ns(const ls_reconnector *reconnector)
{
    return reconnector->retry_ns;
}
