/* Rate: how often a second, exactly: 60, 59.7275 or 262144/4389. Read from what people write and
 * written as they would. */
#ifndef LOCKSTEP_COMMON_BASE_RATE_H
#define LOCKSTEP_COMMON_BASE_RATE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_RATE_DENOMINATOR_MAX 1000000u

/* numerator/denominator Hz. */
typedef struct ls_rate {
    uint32_t numerator;
    uint32_t denominator;
} ls_rate;

/* "60", "59.7275" (up to 6 decimals) or "262144/4389", in lowest terms. BAD_ARGUMENT for anything
 * else, and for one outside of LS_TICK_RATE_MIN_HZ .. LS_TICK_RATE_MAX_HZ. */
ls_status ls_rate_read(const char *text, ls_rate *out, ls_text *why);

/* As read takes it: in decimals where those are exact. */
void ls_rate_add_text(ls_rate rate, ls_text *text);

/* In lowest terms, within the limits of a tick rate, and of a denominator that there can be. */
bool ls_rate_is_good(ls_rate rate);

uint32_t ls_rate_nearest_hz(ls_rate rate); /* of a good one */
double ls_rate_hz(ls_rate rate);           /* likewise */

LS_C_END

#endif
