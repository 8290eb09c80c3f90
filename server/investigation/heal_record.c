#include "lockstep/server/investigation/heal_record.h"

#include "lockstep/common/base/clock.h"

#include <string.h>

#define HEALS_NS (10 * LS_NS_PER_SECOND)
#define HEAL_NS (2 * LS_NS_PER_SECOND)

bool ls_heal_record_begin(ls_heal_record *record, uint64_t now_ns)
{
    uint64_t oldest_ns = record->healed_ns[LS_HEALS_AT_ONCE - 1];
    uint64_t played_ns = now_ns - record->spent_ns;
    if (oldest_ns != 0 && played_ns - oldest_ns < HEALS_NS &&
        played_ns - record->healed_ns[0] < HEAL_NS) {
        return false;
    }
    if (record->begun_ns == 0) {
        record->begun_ns = now_ns;
    }
    return true;
}

void ls_heal_record_end(ls_heal_record *record, uint64_t now_ns)
{
    record->spent_ns += record->begun_ns != 0 ? now_ns - record->begun_ns : 0;
    record->begun_ns = 0;
    record->phase = LS_HEAL_NONE;
}

void ls_heal_record_succeed(ls_heal_record *record, uint64_t now_ns)
{
    ls_heal_record_end(record, now_ns);
    memmove(&record->healed_ns[1], &record->healed_ns[0],
            (LS_HEALS_AT_ONCE - 1) * sizeof record->healed_ns[0]);
    record->healed_ns[0] = now_ns - record->spent_ns;
}
