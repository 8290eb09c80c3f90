#include "lockstep/common/program/json.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/system/output.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

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
    static const char digits[] = "0123456789abcdef";
    char text[2 * LS_INPUT_BYTES_MAX + 1];
    size = size < LS_INPUT_BYTES_MAX ? size : LS_INPUT_BYTES_MAX;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 0xfu];
    }
    text[2 * size] = '\0';
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
