/* Near names: what somebody may have meant by a name that does not exist: those that contain it or
 * differ from it by a few letters. Keeps the best three of all that it is offered; allocates
 * nothing. Called where a lookup by name fails. */
#ifndef LOCKSTEP_TOOLS_SCHEMA_NEAR_NAMES_H
#define LOCKSTEP_TOOLS_SCHEMA_NEAR_NAMES_H

#include "lockstep/common/base/text.h"

#include <stdint.h>

#define SCHEMA_NEAR_NAMES_MAX 3u

typedef struct schema_near_names {
    const char *wanted; /* borrowed, like the names */
    const char *names[SCHEMA_NEAR_NAMES_MAX];
    uint32_t distances[SCHEMA_NEAR_NAMES_MAX];
    uint32_t count;
} schema_near_names;

schema_near_names schema_near_names_make(const char *wanted);
void schema_near_names_offer(schema_near_names *near, const char *name);

/* Adds "; did you mean a, b or c?" when there are any. */
void schema_near_names_say(const schema_near_names *near, ls_text *why);

#endif
