#include "lockstep/tools/schema/code.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

static const char *type_code(ls_field_type type)
{
    static const char *const names[] = {
#define TYPE_CODE(name, bytes, text) "LS_FIELD_" #name,
        LS_FIELD_TYPE_MAP(TYPE_CODE)
#undef TYPE_CODE
    };
    LS_ASSERT(type < LS_FIELD_TYPE_COUNT);
    return names[type];
}

static void count_code(FILE *file, const schema_layout_array *array)
{
    if (array->count != NULL) {
        fprintf(file, "%s", array->count);
    } else {
        fprintf(file, "%u", array->length);
    }
}

static void offset_code(FILE *file, const schema_layout_array *array)
{
    if (array->owner != NULL) {
        fprintf(file, "offsetof(%s, %s)", array->owner->spelling, array->member);
    } else {
        fprintf(file, "%s", array->offset);
    }
}

/* Whether the macros can name where the row lies: a member, in a struct that has a name. */
static bool has_macro_place(const schema_layout_row *row)
{
    return row->member[0] != '\0' && row->owner->spelling[0] != '\0';
}

/* LS_FIELD_EACH makes its path of the array's name and the member. */
static void each_row(FILE *file, const schema_layout_row *row)
{
    fprintf(file, "LS_FIELD_EACH(\"%s\", ", row->array->name);
    offset_code(file, row->array);
    fprintf(file, ", ");
    count_code(file, row->array);
    fprintf(file, ", %s, %s, %s, \"%s\")", row->owner->spelling, row->member, type_code(row->type),
            row->unit);
}

static void member_row(FILE *file, const schema_layout_row *row)
{
    bool is_array = row->length > 1;
    fprintf(file, "%s(%s, %s, ", is_array ? "LS_FIELD_ARRAY_OF" : "LS_FIELD_OF",
            row->owner->spelling, row->member);
    if (is_array) {
        fprintf(file, "%u, ", row->length);
    }
    fprintf(file, "%s, \"%s\")", type_code(row->type), row->unit);
}

/* Fields that no macro can describe: arrays within items, holes, items of a type without a name. */
static void plain_row(FILE *file, const schema_layout_row *row)
{
    fprintf(file, "LS_LITERAL(ls_field){\"%s\", \"%s\", %s, %u, ", row->path, row->unit,
            type_code(row->type), row->length);
    if (row->array == NULL) {
        fprintf(file, "1, %zu, 0}", row->offset);
        return;
    }
    count_code(file, row->array);
    fprintf(file, ", (");
    offset_code(file, row->array);
    if (has_macro_place(row)) {
        fprintf(file, ") + offsetof(%s, %s), ", row->owner->spelling, row->member);
    } else {
        fprintf(file, ") + %zu, ", row->offset);
    }
    if (row->owner->spelling[0] != '\0') {
        fprintf(file, "sizeof(%s)}", row->owner->spelling);
    } else {
        fprintf(file, "%zu}", row->owner->bytes);
    }
}

static void write_rows(FILE *file, const schema_layout *layout, const char *indent)
{
    for (uint32_t i = 0; i < layout->row_count; i++) {
        const schema_layout_row *row = &layout->rows[i];
        fprintf(file, "%s", indent);
        if (!has_macro_place(row) || (row->array != NULL && row->length > 1)) {
            plain_row(file, row);
        } else if (row->array != NULL) {
            each_row(file, row);
        } else {
            member_row(file, row);
        }
        fprintf(file, ",\n");
    }
}

void schema_code_rows(FILE *file, const schema_layout *layout)
{
    write_rows(file, layout, "");
}

/* "struct ship" and "game::ship" as a part of a name. */
static void name_code(FILE *file, const char *spelling)
{
    for (const char *c = spelling; *c != '\0'; c++) {
        bool is_letter =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        fputc(is_letter ? *c : '_', file);
    }
}

static bool is_checked_before(const schema_layout *layout, const schema_layout_part *parts,
                              uint32_t part_count, const char *spelling, uint32_t index)
{
    for (uint32_t i = 0; i < part_count && i < index; i++) {
        if (strcmp(parts[i].type->spelling, spelling) == 0) {
            return true;
        }
    }
    for (uint32_t i = part_count; i < index; i++) {
        if (strcmp(layout->arrays[i - part_count].item->spelling, spelling) == 0) {
            return true;
        }
    }
    return false;
}

/* One line for each struct that offsets were counted in; works in C and in C++. */
static void size_checks(FILE *file, const schema_layout *layout, const schema_layout_part *parts,
                        uint32_t part_count)
{
    for (uint32_t i = 0; i < part_count + layout->array_count; i++) {
        const schema_debug_type *type =
            i < part_count ? parts[i].type : layout->arrays[i - part_count].item;
        if (type->kind != SCHEMA_DEBUG_STRUCT || type->spelling[0] == '\0' ||
            is_checked_before(layout, parts, part_count, type->spelling, i)) {
            continue;
        }
        fprintf(file, "typedef char ");
        name_code(file, type->spelling);
        fprintf(file, "_has_changed_since[sizeof(%s) == %zu ? 1 : -1];\n", type->spelling,
                type->bytes);
    }
}

void schema_code_function(FILE *file, const schema_layout *layout, const schema_layout_part *parts,
                          uint32_t part_count, const char *name, const char *source)
{
    fprintf(file,
            "/* Written by lockstep-schema from %s: make it again when a struct changes.\n"
            " * Include it after the structs; ls_simulation.fields = %s. */\n",
            source, name);
    size_checks(file, layout, parts, part_count);
    fprintf(file,
            "\nstatic uint32_t %s(const ls_sim_config *config, ls_field *out, uint32_t capacity)\n"
            "{\n    const ls_field all[] = {\n",
            name);
    write_rows(file, layout, "        ");
    fprintf(file, "    };\n"
                  "    (void)config;\n"
                  "    return ls_fields_copy(all, sizeof all / sizeof all[0], out, capacity);\n"
                  "}\n");
}
