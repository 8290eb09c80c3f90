/* JSON: objects that programs fill while they work, and that are written at the end or line by
 * line. 64-bit values travel as strings: hashes as 16 hex digits, seeds in decimal. When memory is
 * out, what is added is left out. Called by the writers of summaries and reports; json_read.h
 * reads. These two alone name cJSON. */
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

#endif
