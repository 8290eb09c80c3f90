#include "lockstep/common/program/json.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/output.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

ls_json *ls_json_create(void)
{
    return cJSON_CreateObject();
}

void ls_json_destroy(ls_json *json)
{
    cJSON_Delete(json);
}

void ls_json_text(ls_json *object, const char *key, const char *text)
{
    cJSON_AddItemToObject(object, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void ls_json_number(ls_json *object, const char *key, double number)
{
    cJSON_AddNumberToObject(object, key, number);
}

void ls_json_ms(ls_json *object, const char *key, uint64_t ns)
{
    ls_json_number(object, key, (double)ns / 1e6);
}

void ls_json_known(ls_json *object, const char *key, bool is_known, double number)
{
    if (is_known) {
        ls_json_number(object, key, number);
    } else {
        ls_json_null(object, key);
    }
}

void ls_json_bool(ls_json *object, const char *key, bool value)
{
    cJSON_AddBoolToObject(object, key, value);
}

void ls_json_null(ls_json *object, const char *key)
{
    cJSON_AddNullToObject(object, key);
}

void ls_json_hash(ls_json *object, const char *key, uint64_t hash)
{
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    cJSON_AddStringToObject(object, key, text);
}

void ls_json_decimal(ls_json *object, const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    cJSON_AddStringToObject(object, key, text);
}

void ls_json_bytes(ls_json *object, const char *key, const uint8_t *bytes, size_t size)
{
    char text[2 * LS_INPUT_BYTES_MAX + 1];
    ls_hex_write(text, bytes, size < LS_INPUT_BYTES_MAX ? size : LS_INPUT_BYTES_MAX);
    cJSON_AddStringToObject(object, key, text);
}

ls_json *ls_json_object(ls_json *object, const char *key)
{
    return cJSON_AddObjectToObject(object, key);
}

ls_json *ls_json_array(ls_json *object, const char *key)
{
    return cJSON_AddArrayToObject(object, key);
}

ls_json *ls_json_append(ls_json *array)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(array, object);
    return object;
}

void ls_json_append_number(ls_json *array, double number)
{
    cJSON_AddItemToArray(array, cJSON_CreateNumber(number));
}

void ls_json_append_text(ls_json *array, const char *text)
{
    cJSON_AddItemToArray(array, cJSON_CreateString(text));
}

double ls_json_field_number(const ls_json_field *field, const void *from)
{
    const void *at = (const char *)from + field->offset;
    switch (field->type) {
    case LS_JSON_U16:
        return *(const uint16_t *)at;
    case LS_JSON_U32:
        return *(const uint32_t *)at;
    case LS_JSON_U64:
        return (double)*(const uint64_t *)at;
    default:
        return *(const double *)at;
    }
}

void ls_json_fields(ls_json *object, const ls_json_field *fields, size_t count, const void *from)
{
    for (size_t i = 0; i < count; i++) {
        const ls_json_field *field = &fields[i];
        const char *at = from ? (const char *)from + field->offset : NULL;
        if (!at) {
            ls_json_null(object, field->key);
        } else if (field->type == LS_JSON_BOOL) {
            ls_json_bool(object, field->key, *(const bool *)at);
        } else if (field->type == LS_JSON_TEXT) {
            ls_json_text(object, field->key, *(const char *const *)(const void *)at);
        } else if (field->type == LS_JSON_CHARS) {
            ls_json_text(object, field->key, at);
        } else {
            ls_json_number(object, field->key, ls_json_field_number(field, from));
        }
    }
}

ls_status ls_json_save(void (*fill)(ls_json *json, const void *report), const void *report,
                       const char *path, ls_text *why)
{
    ls_json *json = ls_json_create();
    fill(json, report);
    ls_status status = ls_json_write(json, path, why);
    ls_json_destroy(json);
    return status;
}

ls_status ls_json_write(const ls_json *json, const char *path, ls_text *why)
{
    char *text = cJSON_Print(json);
    if (!text) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    ls_status status = ls_output_write(path, text, why);
    cJSON_free(text);
    return status;
}

ls_status ls_json_write_line(const ls_json *json, FILE *file)
{
    char *text = cJSON_PrintUnformatted(json);
    if (!text) {
        return LS_NO_MEMORY;
    }
    int written = fprintf(file, "%s\n", text);
    cJSON_free(text);
    return written < 0 ? LS_IO : LS_OK;
}

char *ls_json_print_line(const ls_json *json)
{
    return cJSON_PrintUnformatted(json);
}

void ls_json_release_line(char *line)
{
    cJSON_free(line);
}

/* ---- reading ---- */

enum {
    DEPTH_MAX = 32,
    HASH_DIGITS = 16,
    KEYS_MAX = 256,       /* of one object: each is compared with all others */
    WORD_BYTES_MAX = 400, /* numbers are printed in fewer */
};

#define WHOLE_MAX 1e15             /* above it cJSON rounds what it writes */
#define EXACT_MAX 9007199254740991 /* above it a double stands for several whole numbers */

/* cJSON would take the NUL for the end of the text. */
static bool is_escaped_nul(const char *text, size_t size)
{
    return size >= 6 && memcmp(text, "\\u0000", 6) == 0;
}

/* Bytes of a text from its quote to the other one; 0: it has no end, or what no text may have. */
static size_t string_bytes(const char *text, size_t size)
{
    for (size_t i = 1; i < size; i++) {
        if (text[i] == '"') {
            return i + 1;
        }
        if ((unsigned char)text[i] < ' ' || is_escaped_nul(text + i, size - i)) {
            return 0;
        }
        i += text[i] == '\\';
    }
    return 0;
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* cJSON takes 01, +1, .5 and 1. for numbers, which others read as octal ones, or not at all. */
static bool is_number(const char *text)
{
    text += *text == '-';
    size_t whole = digits(text);
    bool is_right = whole > 0 && (whole == 1 || text[0] != '0');
    text += whole;
    if (*text == '.') {
        whole = digits(++text);
        is_right = is_right && whole > 0;
        text += whole;
    }
    if (*text == 'e' || *text == 'E') {
        text += 1 + (text[1] == '+' || text[1] == '-');
        whole = digits(text);
        is_right = is_right && whole > 0;
        text += whole;
    }
    return is_right && *text == '\0';
}

/* Bytes of a word or number; 0: it is none. */
static size_t word_bytes(const char *text, size_t size)
{
    char word[WORD_BYTES_MAX + 1];
    size_t bytes = 0;
    while (bytes < size && bytes < WORD_BYTES_MAX && !strchr(" \t\r\n,:[]{}\"", text[bytes])) {
        word[bytes] = text[bytes];
        bytes++;
    }
    word[bytes] = '\0';
    bool is_right = strcmp(word, "true") == 0 || strcmp(word, "false") == 0 ||
                    strcmp(word, "null") == 0 || is_number(word);
    return is_right ? bytes : 0;
}

/* Each piece of the text is one of JSON, and it is not nested too deeply: cJSON goes down a call
 * for each level, takes any control character for a blank, and skips a byte order mark. The text
 * has no NUL. */
static bool has_right_pieces(const char *text, size_t size)
{
    int depth = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < size && depth <= DEPTH_MAX; i += bytes) {
        bytes = text[i] == '"'                     ? string_bytes(text + i, size - i)
                : strchr(" \t\r\n,:[]{}", text[i]) ? 1
                                                   : word_bytes(text + i, size - i);
        if (bytes == 0) {
            return false;
        }
        depth += text[i] == '[' || text[i] == '{' ? 1 : 0;
        depth -= text[i] == ']' || text[i] == '}' ? 1 : 0;
    }
    return depth <= DEPTH_MAX;
}

/* Of two members with one key a reader may take the first or the last. */
static bool has_keys_once(const ls_json *json)
{
    uint32_t count = 0;
    for (const ls_json *at = ls_json_first(json); at; at = at->next) {
        count++;
        if (!has_keys_once(at) || (at->string && count > KEYS_MAX)) {
            return false;
        }
        for (const ls_json *other = at->next; other && at->string; other = other->next) {
            if (strcmp(at->string, other->string) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Nothing but white space may stand behind the value. */
static bool is_whole(const char *end, const char *text, size_t size)
{
    while (end < text + size && strchr(" \t\r\n", *end) && *end != '\0') {
        end++;
    }
    return end == text + size;
}

ls_json *ls_json_parse(const char *text, size_t size)
{
    if (size == 0 || memchr(text, '\0', size) || !has_right_pieces(text, size)) {
        return NULL;
    }
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (json && (!is_whole(end, text, size) || !has_keys_once(json))) {
        cJSON_Delete(json);
        return NULL;
    }
    return json;
}

bool ls_json_is_object(const ls_json *json)
{
    return cJSON_IsObject(json);
}

static const cJSON *find(const ls_json *object, const char *key)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool ls_json_has(const ls_json *object, const char *key)
{
    return find(object, key) != NULL;
}

const char *ls_json_read_text(const ls_json *object, const char *key)
{
    const cJSON *item = find(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

bool ls_json_value_number(const ls_json *member, double *out)
{
    if (!cJSON_IsNumber(member) || !isfinite(member->valuedouble)) {
        return false;
    }
    *out = member->valuedouble;
    return true;
}

bool ls_json_read_number(const ls_json *object, const char *key, double *out)
{
    return ls_json_value_number(find(object, key), out);
}

bool ls_json_read_u64(const ls_json *object, const char *key, uint64_t *out)
{
    double number = 0;
    if (!ls_json_read_number(object, key, &number) || number < 0 || number > WHOLE_MAX ||
        floor(number) != number) {
        return false;
    }
    *out = (uint64_t)number;
    return true;
}

bool ls_json_read_u32(const ls_json *object, const char *key, uint32_t *out)
{
    uint64_t number = 0;
    if (!ls_json_read_u64(object, key, &number) || number > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)number;
    return true;
}

bool ls_json_read_bool(const ls_json *object, const char *key, bool *out)
{
    const cJSON *item = find(object, key);
    if (!cJSON_IsBool(item)) {
        return false;
    }
    *out = cJSON_IsTrue(item);
    return true;
}

bool ls_json_read_hash(const ls_json *object, const char *key, uint64_t *out)
{
    const char *text = ls_json_read_text(object, key);
    return text && strlen(text) == HASH_DIGITS && ls_hex_read_number(text, HASH_DIGITS, out);
}

const ls_json *ls_json_read_object(const ls_json *object, const char *key)
{
    const cJSON *item = find(object, key);
    return cJSON_IsObject(item) ? item : NULL;
}

const ls_json *ls_json_read_members(const ls_json *object, const char *key)
{
    return ls_json_first(find(object, key));
}

const ls_json *ls_json_first(const ls_json *json)
{
    return cJSON_IsObject(json) || cJSON_IsArray(json) ? json->child : NULL;
}

const ls_json *ls_json_next(const ls_json *member)
{
    return member->next;
}

const char *ls_json_key(const ls_json *member)
{
    return member->string;
}

/* In as few digits as are needed to read the same number again; -1: it cannot be exact. */
static int print_number(double number, char *out, size_t capacity)
{
    if (!isfinite(number) || fabs(number) > EXACT_MAX) {
        return -1;
    }
    if (floor(number) == number) {
        return snprintf(out, capacity, "%" PRId64, (int64_t)number);
    }
    int bytes = snprintf(out, capacity, "%.15g", number);
    bool is_exact = bytes > 0 && (size_t)bytes < capacity && strtod(out, NULL) == number;
    return is_exact ? bytes : snprintf(out, capacity, "%.17g", number);
}

bool ls_json_value_text(const ls_json *member, char *out, size_t capacity)
{
    int bytes = -1;
    if (cJSON_IsString(member)) {
        bytes = snprintf(out, capacity, "%s", member->valuestring);
    } else if (cJSON_IsNumber(member)) {
        bytes = print_number(member->valuedouble, out, capacity);
    } else if (cJSON_IsBool(member)) {
        bytes = snprintf(out, capacity, "%s", cJSON_IsTrue(member) ? "on" : "off");
    }
    return bytes >= 0 && (size_t)bytes < capacity;
}

static bool read_chars(const ls_json *object, const char *key, char *to, size_t capacity)
{
    const char *text = ls_json_read_text(object, key);
    bool fits = text && strlen(text) < capacity;
    if (fits) {
        memcpy(to, text, strlen(text) + 1);
    }
    return fits;
}

static bool read_u16(const ls_json *object, const char *key, uint16_t *to)
{
    uint32_t number = 0;
    bool fits = ls_json_read_u32(object, key, &number) && number <= UINT16_MAX;
    if (fits) {
        *to = (uint16_t)number;
    }
    return fits;
}

static bool read_borrowed(const ls_json *object, const char *key, const char **to)
{
    const cJSON *item = find(object, key);
    bool fits = cJSON_IsString(item) || cJSON_IsNull(item);
    if (fits) {
        *to = item->valuestring;
    }
    return fits;
}

static bool read_field(const ls_json *object, const ls_json_field *field, void *to)
{
    switch (field->type) {
    case LS_JSON_U16:
        return read_u16(object, field->key, to);
    case LS_JSON_U32:
        return ls_json_read_u32(object, field->key, to);
    case LS_JSON_U64:
        return ls_json_read_u64(object, field->key, to);
    case LS_JSON_DOUBLE:
        return ls_json_read_number(object, field->key, to);
    case LS_JSON_BOOL:
        return ls_json_read_bool(object, field->key, to);
    case LS_JSON_CHARS:
        return read_chars(object, field->key, to, field->capacity);
    case LS_JSON_TEXT:
        return read_borrowed(object, field->key, to);
    }
    return false;
}

bool ls_json_read_fields(const ls_json *object, const ls_json_field *fields, size_t count, void *to)
{
    bool are_all_there = true;
    for (size_t i = 0; i < count; i++) {
        bool is_there = read_field(object, &fields[i], (char *)to + fields[i].offset);
        are_all_there = are_all_there && is_there;
    }
    return are_all_there;
}

/* ---- plain ---- */

void ls_json_plain_begin(ls_plain_text *out)
{
    ls_plain_text_add(out, "{");
}

void ls_json_plain_text(ls_plain_text *out, const char *key, const char *value)
{
    bool is_first = out->size > 0 && out->bytes[out->size - 1] == '{';
    ls_plain_text_add(out, is_first ? "\"" : ",\"");
    ls_plain_text_add(out, key);
    ls_plain_text_add(out, "\":\"");
    ls_plain_text_add_clean(out, value);
    ls_plain_text_add(out, "\"");
}

void ls_json_plain_end(ls_plain_text *out)
{
    ls_plain_text_add(out, "}");
}
