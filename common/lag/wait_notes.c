#include "lockstep/common/lag/wait_notes.h"

#include "lockstep/common/base/clock.h"

#include <inttypes.h>

static const uint64_t OVER_NS = 10 * LS_NS_PER_SECOND; /* as of lag that all is fine again */

bool ls_wait_notes_add(ls_wait_notes *notes, ls_slot_set slots, ls_tick tick, uint32_t waited_ms,
                       uint64_t now_ns)
{
    bool is_new = !ls_slot_set_is_empty(ls_slot_set_minus(slots, notes->slots));
    if (notes->waits == 0 || tick != notes->tick) {
        notes->waited_ms += notes->newest_ms;
        notes->waits++;
        notes->tick = tick;
    }
    ls_slot_set_add_all(&notes->slots, &slots);
    notes->newest_ms = waited_ms;
    notes->newest_ns = now_ns;
    return is_new;
}

bool ls_wait_notes_is_over(const ls_wait_notes *notes, uint64_t now_ns)
{
    return notes->waits > 0 && now_ns >= notes->newest_ns + OVER_NS;
}

void ls_wait_notes_text(const ls_wait_notes *notes, ls_text *text)
{
    uint32_t ms = (uint32_t)(notes->waited_ms + notes->newest_ms);
    ls_text_set(text, "%" PRIu32 " wait%s of %.1f s in all", notes->waits,
                notes->waits == 1 ? "" : "s", ms / 1e3);
}
