/* JSON reading: takes apart what another process or a client sent, without trusting a byte of it:
 * bounded in size and depth, every value checked for its type. Shares the tables of fields with the
 * writing (json.h). Called by the channel between supervisor and workers, by the administration
 * interface and by lockstep-admin. */
#ifndef LOCKSTEP_COMMON_PROGRAM_JSON_READ_H
#define LOCKSTEP_COMMON_PROGRAM_JSON_READ_H

#include "lockstep/common/program/json.h"

/* NULL: it is no JSON value as a whole, is nested too deeply, has a text with a NUL (\u0000) in it,
 * or memory is out. For ls_json_destroy. */
ls_json *ls_json_parse(const char *text, size_t size);

bool ls_json_is_object(const ls_json *json);

bool ls_json_has(const ls_json *object, const char *key); /* of whatever type */

/* Below, a missing key is NULL, or false with `out` as it was; so is a value of another type. */
const char *ls_json_read_text(const ls_json *object, const char *key);
bool ls_json_read_number(const ls_json *object, const char *key, double *out);
bool ls_json_read_u64(const ls_json *object, const char *key, uint64_t *out); /* whole, >= 0 */
bool ls_json_read_u32(const ls_json *object, const char *key, uint32_t *out);
bool ls_json_read_bool(const ls_json *object, const char *key, bool *out);
bool ls_json_read_hash(const ls_json *object, const char *key, uint64_t *out); /* 16 hex digits */
const ls_json *ls_json_read_object(const ls_json *object, const char *key);

/* The first member of an object or array, under `key` or itself; then the next one; NULL: none. */
const ls_json *ls_json_read_members(const ls_json *object, const char *key);
const ls_json *ls_json_first(const ls_json *json);
const ls_json *ls_json_next(const ls_json *member);
const char *ls_json_key(const ls_json *member); /* NULL in an array */

/* A member as text: "x", 3, 0.5, true as "on" and false as "off". False when it is none of these,
 * is longer than the capacity, or a whole number beyond 2^53 - 1, of which JSON's readers keep no
 * more than the first digits. */
bool ls_json_value_text(const ls_json *member, char *out, size_t capacity);

/* A member that is a finite number. */
bool ls_json_value_number(const ls_json *member, double *out);

/* The fields of a struct; what is missing or does not fit stays as it is, and the result is false.
 * A LS_JSON_TEXT points into the object, or is NULL for null. */
bool ls_json_read_fields(const ls_json *object, const ls_json_field *fields, size_t count,
                         void *to);
#define LS_JSON_TAKE(object, table, to)                                                            \
    ls_json_read_fields((object), (table), sizeof(table) / sizeof((table)[0]), (to))

#endif
