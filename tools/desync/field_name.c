#include "lockstep/tools/desync/field_name.h"

#include "lockstep/common/diagnosis/state_difference.h"

#include <string.h>

/* A name without the indices that are not part of a path. */
typedef struct given_indices {
    uint32_t item; /* UINT32_MAX: not given */
    uint32_t element;
} given_indices;

/* Digits in brackets. */
static bool read_index(const char **text, uint32_t *out)
{
    uint64_t index = 0;
    const char *at = *text + 1;
    if (**text != '[' || *at < '0' || *at > '9') {
        return false;
    }
    while (*at >= '0' && *at <= '9' && index < UINT32_MAX) {
        index = index * 10 + (uint64_t)(*at++ - '0');
    }
    if (*at != ']' || index >= UINT32_MAX) {
        return false;
    }
    *text = at + 1;
    *out = (uint32_t)index;
    return true;
}

/* A lone index behind a whole path is the item's where there are items, else the element's. */
static bool read_last_indices(const ls_field *field, const char *name, given_indices *given)
{
    uint32_t indices[2];
    uint32_t count = 0, used = 0;
    while (count < 2 && read_index(&name, &indices[count])) {
        count++;
    }
    if (given->item == UINT32_MAX && (count == 2 || (count == 1 && field->count > 1))) {
        given->item = indices[used++];
    }
    if (used < count) {
        given->element = indices[used++];
    }
    return used == count && *name == '\0';
}

/* Whether the name is one of the field's, as ls_schema_place_name writes them or with indices left
 * out. Indices that stand in the path itself are read as they are. */
static bool is_name_of(const ls_field *field, const char *name, given_indices *out)
{
    given_indices given = {UINT32_MAX, UINT32_MAX};
    const char *mark = strstr(field->path, LS_FIELD_ITEM_MARK);
    size_t mark_bytes = mark ? strlen(LS_FIELD_ITEM_MARK) : 0;
    const char *spot = mark ? mark : field->path + strcspn(field->path, ".");
    for (const char *path = field->path; *path != '\0'; path++, name++) {
        if (path == spot) {
            bool has_mark = strncmp(name, LS_FIELD_ITEM_MARK, mark_bytes) == 0;
            name += has_mark ? mark_bytes : 0;
            path += mark_bytes;
            read_index(&name, &given.item);
        }
        if (*path == '\0') {
            break;
        }
        if (*path != *name) {
            return false;
        }
    }
    bool is_whole = read_last_indices(field, name, &given);
    *out = given;
    return is_whole;
}

static const ls_field *find_field(const ls_schema *schema, const char *name, given_indices *given)
{
    for (uint32_t i = 0; i < ls_schema_field_count(schema); i++) {
        if (is_name_of(ls_schema_field(schema, i), name, given)) {
            return ls_schema_field(schema, i);
        }
    }
    return NULL;
}

/* Words with indices behind them, at most two at a place. */
static bool is_well_formed(const char *name)
{
    bool is_short = strlen(name) < LS_PLACE_NAME_BYTES_MAX;
    uint32_t run = 0, index = 0;
    if (*name == '[' || *name == '\0') {
        return false;
    }
    while (*name != '\0' && run <= 2) {
        if (*name != '[') {
            name++;
            run = 0;
        } else if (read_index(&name, &index)) {
            run++;
        } else {
            return false;
        }
    }
    return is_short && run <= 2;
}

/* The fields of the same part, as many as fit a sentence. */
static ls_status refuse_unknown(const ls_schema *schema, const char *name, ls_text *why)
{
    uint32_t count = 0;
    ls_text_set(why, "the state has no field '%s'", name);
    for (uint32_t pass = 0; pass < 2 && count == 0; pass++) {
        for (uint32_t i = 0; i < ls_schema_field_count(schema) && count < 8; i++) {
            const char *other = ls_schema_field(schema, i)->path;
            if (pass == 1 || strncmp(other, name, strcspn(name, ".[")) == 0) {
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
    given_indices given;
    const ls_field *field = find_field(schema, name, &given);
    if (!field && !is_well_formed(name)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "'%s' is not the name of a field, as in bodies[3].position.x", name);
    }
    if (!field) {
        return refuse_unknown(schema, name, why);
    }
    explain_field_choice choice = {field, given.item, given.element};
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
