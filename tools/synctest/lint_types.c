#include "lockstep/tools/synctest/lint_types.h"

#include "lockstep/tools/schema/debug_types.h"

#include <stdio.h>
#include <string.h>

enum {
    STATES_MAX = 32,
};

/* A struct without a name counts as its owner. */
static const char *owner_of(const schema_debug_type *type, const char *around)
{
    const char *name = type->spelling;
    name += strncmp(name, "struct ", 7) == 0 ? 7 : 0;
    return name[0] != '\0' ? name : around;
}

/* Two structs of a state may hold the same one. */
static bool is_there(const synctest_lint_report *report, const synctest_lint_item *item)
{
    for (uint32_t i = 0; i < report->count; i++) {
        const synctest_lint_item *other = &report->items[i];
        if (other->kind == item->kind && strcmp(other->name, item->name) == 0 &&
            strcmp(other->place, item->place) == 0) {
            return true;
        }
    }
    return false;
}

static const char *words_for(const schema_debug_member *member)
{
    const schema_debug_type *type = member->type;
    while (type->kind == SCHEMA_DEBUG_ARRAY) {
        type = type->element;
    }
    return member->is_bit_field                 ? "a bit-field"
           : type->kind == SCHEMA_DEBUG_POINTER ? "a pointer"
                                                : type->spelling;
}

static void add_member(synctest_lint_report *report, const char *owner,
                       const schema_debug_member *member, const schema_debug_doubt *doubt)
{
    synctest_lint_item item = {.kind = SYNCTEST_LINT_TYPE,
                               .count = member->type->bytes,
                               .topic = "type of the state",
                               .why = doubt->why,
                               .instead = doubt->instead};
    snprintf(item.name, sizeof item.name, "%s.%s (%s)", owner, member->name, words_for(member));
    snprintf(item.place, sizeof item.place, "%s:%d", member->file, member->line);
    if (!is_there(report, &item)) {
        synctest_lint_add(report, &item);
    }
}

static void lint_struct(synctest_lint_report *report, const schema_debug_type *type,
                        const char *around)
{
    const char *owner = owner_of(type, around);
    for (uint32_t i = 0; i < type->member_count; i++) {
        const schema_debug_member *member = &type->members[i];
        const schema_debug_doubt *doubt = schema_debug_doubt_of(member);
        const schema_debug_type *inner = member->type;
        while (inner->kind == SCHEMA_DEBUG_ARRAY) {
            inner = inner->element;
        }
        if (doubt) {
            add_member(report, owner, member, doubt);
        } else {
            lint_struct(report, inner, owner);
        }
    }
}

void synctest_lint_types(const char *path, size_t state_bytes, const size_t *item_bytes,
                         uint32_t item_sizes, synctest_lint_report *report)
{
    schema_debug_file *file = NULL;
    const schema_debug_type *states[STATES_MAX];
    ls_text why = {{0}};
    if (schema_debug_open(path, &file, &why) != LS_OK) {
        return;
    }
    uint32_t count =
        schema_debug_states(file, &state_bytes, 1, SCHEMA_DEBUG_GIVEN_AS_VOID, states, STATES_MAX);
    if (count == 0) {
        count = schema_debug_states(file, item_bytes, item_sizes, SCHEMA_DEBUG_GIVEN_IN_STEP,
                                    states, STATES_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        lint_struct(report, states[i], "");
    }
    schema_debug_close(file);
}
