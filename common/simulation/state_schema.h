/* State schema: the checked list of a state's fields, and what can be asked of it. Built once per
 * instance; every byte is covered exactly once or building fails and names the byte ranges. Called
 * by hashing, by desync reports and by tools; never changes a state. */
#ifndef LOCKSTEP_COMMON_SIMULATION_STATE_SCHEMA_H
#define LOCKSTEP_COMMON_SIMULATION_STATE_SCHEMA_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

/* ---- Field types: how many bytes a field of a state takes, and what its type is called. Keeps
 * nothing ---- */

/* 0 and "unknown" for a number that is no type. */
uint32_t ls_field_type_bytes(ls_field_type type);
const char *ls_field_type_name(ls_field_type type);

/* Whether an item is one text for a person: an array of u8 with the unit "text". */
bool ls_field_is_text(const ls_field *field);

/* Bytes of one item of a checked field: its neighbouring elements. */
size_t ls_field_item_bytes(const ls_field *field);

/* ---- schema ---- */

typedef struct ls_schema ls_schema;

/* Names one element of the state. */
typedef struct ls_schema_place {
    const ls_field *field;
    uint32_t item;    /* 0 .. field->count-1 */
    uint32_t element; /* 0 .. field->length-1 */
    size_t offset;    /* of the element's first byte */
} ls_schema_place;

/* SCHEMA when bytes are uncovered, covered twice or outside the state, when an element would not
 * be read whole, or when a path is missing, too long or used twice; `why` names the fields and the
 * byte ranges, the first eight of them and the count of all. Fields are copied, their strings are
 * borrowed from the simulation. */
ls_status ls_schema_create(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                           const ls_allocator *allocator, ls_schema **out, ls_text *why);
void ls_schema_destroy(ls_schema *schema);

uint32_t ls_schema_field_count(const ls_schema *schema);
const ls_field *ls_schema_field(const ls_schema *schema, uint32_t index); /* by offset */
size_t ls_schema_state_bytes(const ls_schema *schema);

/* Over paths, units, types, counts and places: equal digests mean states that can be compared. */
uint64_t ls_schema_digest(const ls_schema *schema);

/* The element that holds byte `offset` (< state_bytes). */
ls_schema_place ls_schema_at(const ls_schema *schema, size_t offset);

/* The first element that differs between two states, or false. */
bool ls_schema_first_difference(const ls_schema *schema, const void *a, const void *b,
                                ls_schema_place *out);

/* "ships[3].position.x": the item's index follows the part's name, or stands where the path has an
 * LS_FIELD_ITEM_MARK. A text has no index of an element. Returns what snprintf does. */
int ls_schema_place_name(const ls_schema_place *place, char *text, size_t capacity);

/* The element's value as a person reads it, with its unit: "12.500000 m"; angles in degrees
 * whatever their unit: "90.000 deg"; "nan 0x7ff8000000000001", "-0 (negative zero)"; of a text the
 * whole item, in quotes. Values with different bits read differently. Returns as snprintf does. */
int ls_schema_place_value(const ls_schema_place *place, const void *state, char *text,
                          size_t capacity);

/* The offset of the first declared padding byte that is not zero, or false. */
bool ls_schema_dirty_padding(const ls_schema *schema, const void *state, size_t *offset);

/* Whether this machine keeps states as they are hashed and sent: little-endian. */
bool ls_schema_is_canonical_here(void);

/* Copies a state of state_bytes so that every element is little-endian, and back. */
void ls_schema_to_canonical(const ls_schema *schema, const void *state, uint8_t *canonical);
void ls_schema_from_canonical(const ls_schema *schema, const uint8_t *canonical, void *state);

/* Copies state_bytes with the bytes of every element reversed: what the two above do on a
 * big-endian machine; public so that a test can check it on any. The blocks must not overlap. */
void ls_schema_copy_swapped(const ls_schema *schema, const void *from, void *to);

LS_C_END

/* ---- Schema coverage: whether a list of fields describes every byte of a state exactly once.
 * Only looks and explains; keeps nothing ---- */

/* SCHEMA, with the field in `why`, when one cannot be used by itself: its path is missing, too
 * long or an earlier field's, its type, length, count or stride makes no sense, or it ends outside
 * the state. */
ls_status ls_schema_check_fields(const ls_field *fields, uint32_t field_count, size_t state_bytes,
                                 ls_text *why);

#endif
