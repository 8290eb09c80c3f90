/* Value order: whether the values of two states differ in their order alone, as they do where code
 * goes through a hash table. Compares, decides nothing. Called by differing_line. */
#ifndef LOCKSTEP_TOOLS_DESYNC_VALUE_ORDER_H
#define LOCKSTEP_TOOLS_DESYNC_VALUE_ORDER_H

#include "lockstep/common/simulation/state_schema.h"

#include <stdbool.h>

/* Every field has the same values on both sides, and some not in the same places. False where no
 * memory is left, too. */
bool explain_states_differ_in_order(const ls_schema *schema, const uint8_t *a, const uint8_t *b);

#endif
