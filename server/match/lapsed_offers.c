#include "lockstep/server/match/lapsed_offers.h"

void ls_lapsed_offers_note(ls_lapsed_offers *lapsed, uint64_t origin, uint64_t now_ns)
{
    ls_lapsed_offer *taken = &lapsed->rows[0];
    if (origin == 0) {
        return;
    }
    for (uint32_t row = 0; row < LS_LAPSED_OFFERS_MAX && taken->origin != origin; row++) {
        ls_lapsed_offer *each = &lapsed->rows[row];
        bool is_better = each->origin == origin || each->newest_ns < taken->newest_ns;
        taken = is_better ? each : taken;
    }
    *taken = (ls_lapsed_offer){.origin = origin, .newest_ns = now_ns};
}

bool ls_lapsed_offers_has(const ls_lapsed_offers *lapsed, uint64_t origin, uint64_t now_ns)
{
    for (uint32_t row = 0; origin != 0 && row < LS_LAPSED_OFFERS_MAX; row++) {
        const ls_lapsed_offer *each = &lapsed->rows[row];
        if (each->origin == origin) {
            return now_ns - each->newest_ns < LS_LAPSED_OFFERS_NS;
        }
    }
    return false;
}
