/* JSON: objects that programs fill while they work, and that are written at the end or line by
 * line. 64-bit values travel as strings: hashes as 16 hex digits, seeds in decimal. When memory is
 * out, what is added is left out. Called by the writers of summaries and reports.
 * Its .c alone names cJSON. */
#ifndef LOCKSTEP_COMMON_PROGRAM_JSON_H
#define LOCKSTEP_COMMON_PROGRAM_JSON_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cJSON ls_json;

ls_json *ls_json_create(void); /* an object */
void ls_json_destroy(ls_json *json);

/* `text` may be NULL: then it is null. */
void ls_json_text(ls_json *object, const char *key, const char *text);
void ls_json_number(ls_json *object, const char *key, double number);
void ls_json_ms(ls_json *object, const char *key, uint64_t ns); /* in milliseconds */
void ls_json_known(ls_json *object, const char *key, bool is_known, double number); /* or null */
void ls_json_bool(ls_json *object, const char *key, bool value);
void ls_json_null(ls_json *object, const char *key);
void ls_json_hash(ls_json *object, const char *key, uint64_t hash);
void ls_json_decimal(ls_json *object, const char *key, uint64_t number);
void ls_json_bytes(ls_json *object, const char *key, const uint8_t *bytes, size_t size);

/* Owned by what they are added to. */
ls_json *ls_json_object(ls_json *object, const char *key);
ls_json *ls_json_array(ls_json *object, const char *key);
ls_json *ls_json_append(ls_json *array); /* an object */
void ls_json_append_number(ls_json *array, double number);
void ls_json_append_text(ls_json *array, const char *text);

/* ---- members from the fields of a struct ---- */

typedef enum ls_json_type {
    LS_JSON_U16,
    LS_JSON_U32,
    LS_JSON_U64,
    LS_JSON_DOUBLE,
    LS_JSON_BOOL,
    LS_JSON_TEXT,  /* const char *, or NULL */
    LS_JSON_CHARS, /* char[] or ls_text, with its NUL */
} ls_json_type;

typedef struct ls_json_field {
    const char *key;
    size_t offset;
    ls_json_type type;
    size_t capacity; /* bytes of the field */
} ls_json_field;

/* clang-format off */
/* A row of a table: the field of a struct under a key, or under its own name. */
#define LS_JSON_FIELD_AS(key, type, member)                                                        \
    {(key), offsetof(type, member),                                                                \
     _Generic(((type *)0)->member,                                                                 \
              uint16_t: LS_JSON_U16, uint32_t: LS_JSON_U32, uint64_t: LS_JSON_U64,                 \
              double: LS_JSON_DOUBLE, bool: LS_JSON_BOOL, const char *: LS_JSON_TEXT,              \
              char *: LS_JSON_CHARS, ls_text: LS_JSON_CHARS),                                      \
     sizeof(((type *)0)->member)}
#define LS_JSON_FIELD(type, member) LS_JSON_FIELD_AS(#member, type, member)
/* clang-format on */

/* Adds the fields of the struct to the object; NULL in place of the struct: each is null. */
void ls_json_fields(ls_json *object, const ls_json_field *fields, size_t count, const void *from);
#define LS_JSON_ADD(object, table, from)                                                           \
    ls_json_fields((object), (table), sizeof(table) / sizeof((table)[0]), (from))

/* The field of a struct, which is no text and no bool. */
double ls_json_field_number(const ls_json_field *field, const void *from);

/* ---- out ---- */

/* One object, filled by the function, to a file or to standard output for "-". IO or NO_MEMORY. */
ls_status ls_json_save(void (*fill)(ls_json *json, const void *report), const void *report,
                       const char *path, ls_text *why);

/* To a file, or standard output for "-"; or as one line. IO or NO_MEMORY. */
ls_status ls_json_write(const ls_json *json, const char *path, ls_text *why);
ls_status ls_json_write_line(const ls_json *json, FILE *file);

/* The object as one line without its newline, for ls_json_release_line; NULL: memory is out. */
char *ls_json_print_line(const ls_json *json);
void ls_json_release_line(char *line); /* NULL is allowed */

/* ---- JSON reading: takes apart what another process or a client sent, without trusting a byte
 * of it: bounded in size and depth, every value checked for its type. Shares the tables of
 * fields with the writing ---- */

/* NULL: it is no JSON value as a whole by the letter of RFC 8259, has a key twice or more than 256
 * keys in one object, a text with a NUL (\u0000) in it, is nested too deeply, or memory is out.
 * Whether texts are UTF-8 is not looked at: our own may have paths. For ls_json_destroy. */
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

/* ---- plain: a flat object of texts, put together in a handler of signals, where nothing else here
 * can be used. Bytes that JSON would have to escape become '?' ---- */

void ls_json_plain_begin(ls_plain_text *out);
/* Of an object that has begun; the key is plain. */
void ls_json_plain_text(ls_plain_text *out, const char *key, const char *value);
void ls_json_plain_end(ls_plain_text *out);

#endif
