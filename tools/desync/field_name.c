#include "lockstep/tools/desync/field_name.h"

#include <string.h>

enum {
    INDICES_MAX = 2
};

/* A name without its indices, and these. */
typedef struct parsed_name {
    char path[LS_NAME_BYTES_MAX];
    uint32_t indices[INDICES_MAX];
    uint32_t index_count;
    bool is_first_at_part; /* the first index follows the part, not the whole path */
} parsed_name;

/* Digits and a ']' behind a '['. */
static bool read_index(const char **text, uint32_t *out)
{
    uint64_t index = 0;
    const char *at = *text;
    while (*at >= '0' && *at <= '9' && index < UINT32_MAX) {
        index = index * 10 + (uint64_t)(*at++ - '0');
    }
    if (at == *text || *at != ']' || index >= UINT32_MAX) {
        return false;
    }
    *text = at + 1;
    *out = (uint32_t)index;
    return true;
}

static bool parse(const char *name, parsed_name *out)
{
    size_t length = 0;
    *out = (parsed_name){.path = ""};
    while (*name != '\0') {
        if (*name != '[') {
            if (length == sizeof out->path - 1) {
                return false;
            }
            out->path[length++] = *name++;
            continue;
        }
        name++;
        if (out->index_count == INDICES_MAX || length == 0 ||
            !read_index(&name, &out->indices[out->index_count])) {
            return false;
        }
        out->is_first_at_part = out->is_first_at_part || (out->index_count == 0 && *name == '.');
        out->index_count++;
    }
    return length > 0;
}

static const ls_field *find_field(const ls_schema *schema, const char *path)
{
    for (uint32_t i = 0; i < ls_schema_field_count(schema); i++) {
        if (strcmp(ls_schema_field(schema, i)->path, path) == 0) {
            return ls_schema_field(schema, i);
        }
    }
    return NULL;
}

/* The fields of the same part, as many as fit a sentence. */
static ls_status refuse_unknown(const ls_schema *schema, const char *path, ls_text *why)
{
    uint32_t count = 0;
    ls_text_set(why, "the state has no field '%s'", path);
    for (uint32_t pass = 0; pass < 2 && count == 0; pass++) {
        for (uint32_t i = 0; i < ls_schema_field_count(schema) && count < 8; i++) {
            const char *other = ls_schema_field(schema, i)->path;
            if (pass == 1 || strncmp(other, path, strcspn(path, ".")) == 0) {
                ls_text_add(why, "%s%s", count++ == 0 ? "; there are " : ", ", other);
            }
        }
    }
    return LS_NOT_FOUND;
}

static ls_status check_index(const char *what, uint32_t index, uint32_t count, ls_text *why)
{
    if (index == UINT32_MAX || index < count) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "%s %u is out of range: there are %u", what, index, count);
}

ls_status explain_field_choice_parse(const ls_schema *schema, const char *name,
                                     explain_field_choice *out, ls_text *why)
{
    parsed_name parsed;
    if (!parse(name, &parsed)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "'%s' is not the name of a field, as in bodies[3].position.x", name);
    }
    const ls_field *field = find_field(schema, parsed.path);
    if (!field) {
        return refuse_unknown(schema, parsed.path, why);
    }
    explain_field_choice choice = {field, UINT32_MAX, UINT32_MAX};
    /* A lone index behind a whole path is the item's where there are items, else the element's. */
    bool is_item = parsed.is_first_at_part || parsed.index_count == 2 || field->count > 1;
    if (parsed.index_count > 0) {
        *(is_item ? &choice.item : &choice.element) = parsed.indices[0];
    }
    if (parsed.index_count == 2) {
        choice.element = parsed.indices[1];
    }
    ls_status status = check_index("item", choice.item, field->count, why);
    if (status == LS_OK) {
        status = check_index("element", choice.element, field->length, why);
    }
    if (status == LS_OK) {
        *out = choice;
    }
    return status;
}

bool explain_field_choice_has(const explain_field_choice *choice, const ls_schema_place *place)
{
    return place->field == choice->field &&
           (choice->item == UINT32_MAX || choice->item == place->item) &&
           (choice->element == UINT32_MAX || choice->element == place->element);
}
