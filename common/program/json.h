/* JSON: objects that programs fill while they work, and that are written at the end or line by
 * line. 64-bit values travel as strings: hashes as 16 hex digits, seeds in decimal. When memory is
 * out, what is added is left out. The only place that names cJSON. Called by the writers of
 * summaries and reports. */
#ifndef LOCKSTEP_COMMON_PROGRAM_JSON_H
#define LOCKSTEP_COMMON_PROGRAM_JSON_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cJSON ls_json;

ls_json *ls_json_create(void); /* an object */
void ls_json_destroy(ls_json *json);

/* `text` may be NULL: then it is null. */
void ls_json_text(ls_json *object, const char *key, const char *text);
void ls_json_number(ls_json *object, const char *key, double number);
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

/* To a file, or standard output for "-"; or as one line. IO or NO_MEMORY. */
ls_status ls_json_write(const ls_json *json, const char *path, ls_text *why);
ls_status ls_json_write_line(const ls_json *json, FILE *file);

#endif
