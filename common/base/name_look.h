/* Name look: what a name looks like to a reader, as numbers: of two names that could be taken for
 * each other one number is the same. Made by player_name; kept and compared by a match, which knows
 * nothing of letters. */
#ifndef LOCKSTEP_COMMON_BASE_NAME_LOOK_H
#define LOCKSTEP_COMMON_BASE_NAME_LOOK_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_NAME_LOOK_NUMBERS 3u

/* For the number behind a name, which a server gives to one that looks like another: whatever
 * stands there stays. */
#define LS_NAME_AS_GIVEN 0u

/* All 0: like no other. */
typedef struct ls_name_look {
    uint64_t numbers[LS_NAME_LOOK_NUMBERS];
} ls_name_look;

static inline bool ls_name_look_is_like(const ls_name_look *look, const ls_name_look *other)
{
    for (uint32_t i = 0; i < LS_NAME_LOOK_NUMBERS * LS_NAME_LOOK_NUMBERS; i++) {
        uint64_t number = look->numbers[i / LS_NAME_LOOK_NUMBERS];
        if (number != 0 && number == other->numbers[i % LS_NAME_LOOK_NUMBERS]) {
            return true;
        }
    }
    return false;
}

LS_C_END

#endif
