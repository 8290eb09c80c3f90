/* Name tables: what Unicode says of characters beyond what utf8proc knows: which look like others,
 * and which join their neighbours in writing. Written by tools/make-name-tables. Called by
 * player_name. */
#ifndef LOCKSTEP_COMMON_PROGRAM_NAME_TABLES_H
#define LOCKSTEP_COMMON_PROGRAM_NAME_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One character of those that another one looks like: "rn" for "m" is two rows. In the order of
 * `point`. */
typedef struct ls_look_alike {
    int32_t point;
    int32_t looks_like;
} ls_look_alike;

/* Letters that are written together with the one before them, or the one behind. In order. */
typedef struct ls_joining_range {
    int32_t first, last;
    bool joins_before, joins_behind;
} ls_joining_range;

extern const ls_look_alike ls_look_alikes[];
extern const size_t ls_look_alikes_count;
extern const ls_joining_range ls_joining_ranges[];
extern const size_t ls_joining_ranges_count;

#endif
