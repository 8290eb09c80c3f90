/* lockstep-schema: reads the command line, and the types of a file; writes the schema as code. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/schema/debug_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Code: from the types of a state to C code: the fields of a simulation, in the macros of
 * common/simulation/simulation.h where they can say it. The layout comes first, the fields that
 * describe every byte of the state: structs taken apart, one array of structs on the way as
 * items, holes declared as padding. A layout that a schema cannot describe is refused with a
 * sentence. Pure; the code is also C++ ---- */

#define SCHEMA_LAYOUT_MEMBER_BYTES_MAX 128u
#define SCHEMA_LAYOUT_UNIT_BYTES_MAX 32u
#define SCHEMA_LAYOUT_ARRAYS_MAX 256u
#define SCHEMA_LAYOUT_PARTS_MAX 64u

/* One struct of the state. Strings are C code for the output, borrowed. */
typedef struct schema_layout_part {
    const schema_debug_type *type;
    const char *name;   /* of the items, "ships"; NULL: the part is the whole state */
    const char *count;  /* how many; NULL: 1 */
    const char *offset; /* where in the state the first one is; NULL: 0 */
} schema_layout_part;

/* A person's note on a place: a unit, or how many items an array has. */
typedef struct schema_layout_note {
    const char *path;
    const char *text;
} schema_layout_note;

#define SCHEMA_LAYOUT_NOTES_MAX 256u

typedef struct schema_layout_notes {
    schema_layout_note list[SCHEMA_LAYOUT_NOTES_MAX];
    uint32_t count;
} schema_layout_notes;

/* The notes of unions and paddings have no text. */
typedef struct schema_layout_options {
    schema_layout_notes units;    /* path, or its last parts: "velocity.x" */
    schema_layout_notes counts;   /* C code: of arrays without a length */
    schema_layout_notes unions;   /* to take as bytes */
    schema_layout_notes paddings; /* names of members that are padding, as "padding..." is */
    void (*warn)(void *user, const char *text); /* may be NULL */
    void *user;
} schema_layout_options;

/* An array of items: its owner's member, or a part with a name. */
typedef struct schema_layout_array {
    char name[LS_NAME_BYTES_MAX];
    const schema_debug_type *item;
    const schema_debug_type *owner;              /* the state, or NULL for a part with a name */
    char member[SCHEMA_LAYOUT_MEMBER_BYTES_MAX]; /* in the owner */
    const char *offset;                          /* C code, of a part with a name */
    const char *count;                           /* C code; NULL: length */
    uint32_t length;
} schema_layout_array;

typedef struct schema_layout_row {
    char path[LS_NAME_BYTES_MAX];
    char member[SCHEMA_LAYOUT_MEMBER_BYTES_MAX]; /* in the owner, as offsetof takes it; "" for a
                                                    hole */
    char unit[SCHEMA_LAYOUT_UNIT_BYTES_MAX];
    ls_field_type type;
    uint32_t length;
    size_t offset;                    /* bytes, in the owner */
    const schema_debug_type *owner;   /* the items' type, or the state's */
    const schema_layout_array *array; /* NULL: a single one */
} schema_layout_row;

typedef struct schema_layout {
    schema_layout_row rows[LS_FIELDS_MAX];
    uint32_t row_count;
    schema_layout_array arrays[SCHEMA_LAYOUT_ARRAYS_MAX];
    uint32_t array_count;
} schema_layout;

/* ---- layout ---- */

/* Where the walk stands. Copied from struct to member: each keeps its own. */
typedef struct place {
    char member[SCHEMA_LAYOUT_MEMBER_BYTES_MAX]; /* in the owner; "" at its start */
    size_t offset;
    const schema_debug_type *owner;
    const schema_layout_array *array;
} place;

typedef struct walker {
    schema_layout *layout;
    const schema_layout_options *options;
    const schema_layout_part *part;
    ls_text *why;
    char words[LS_NAME_BYTES_MAX + SCHEMA_LAYOUT_MEMBER_BYTES_MAX]; /* of words_for */
} walker;

static ls_status walk_type(walker *w, const place *at, const schema_debug_type *type);

static const schema_layout_note *find_note(const schema_layout_notes *notes, const char *path)
{
    for (uint32_t i = 0; i < notes->count; i++) {
        if (strcmp(path, notes->list[i].path) == 0) {
            return &notes->list[i];
        }
    }
    return NULL;
}

/* "fleet.ships[2]" for a sentence: the owner's name where there is no member yet. */
static const char *words_for(walker *w, const place *at)
{
    const char *array = at->array == NULL ? "" : at->array->name;
    const char *member = at->member;
    if (array[0] == '\0' && member[0] == '\0') {
        return at->owner->spelling[0] != '\0' ? at->owner->spelling : "the struct";
    }
    const char *dot = array[0] != '\0' && member[0] != '\0' ? "." : "";
    snprintf(w->words, sizeof w->words, "%s%s%s", array, dot, member);
    return w->words;
}

static ls_status refuse(walker *w, const place *at, const char *reason)
{
    return ls_fail(LS_UNSUPPORTED, w->why, "%s %s", words_for(w, at), reason);
}

static ls_status refuse_doubt(walker *w, const place *at, const char *what,
                              const schema_debug_doubt *doubt)
{
    return ls_fail(LS_UNSUPPORTED, w->why, "%s is %s: %s; %s", words_for(w, at), what, doubt->why,
                   doubt->instead);
}

static void code_warn(walker *w, const char *text)
{
    if (w->options->warn != NULL) {
        w->options->warn(w->options->user, text);
    }
}

/* `inner` is the place of a member, or of an element, of what is at `at`. */
static ls_status go_to(walker *w, const place *at, const char *separator, const char *name,
                       place *inner)
{
    *inner = *at;
    const char *between = at->member[0] == '\0' ? "" : separator;
    int bytes = snprintf(inner->member, sizeof inner->member, "%s%s%s", at->member, between, name);
    if (bytes < 0 || (size_t)bytes >= sizeof inner->member) {
        return ls_fail(LS_BAD_ARGUMENT, w->why, "%s.%s lies too deep: its name is too long",
                       at->member, name);
    }
    return LS_OK;
}

/* ---- rows ---- */

static ls_status set_path(walker *w, const place *at, const char *member, schema_layout_row *row)
{
    const char *array = at->array == NULL ? "" : at->array->name;
    const char *dot = array[0] != '\0' && member[0] != '\0' ? "." : "";
    int bytes = snprintf(row->path, sizeof row->path, "%s%s%s", array, dot, member);
    if (bytes < 0 || (size_t)bytes >= sizeof row->path) {
        return ls_fail(LS_BAD_ARGUMENT, w->why,
                       "%s%s%s is longer than the %u bytes that a path may have", array, dot,
                       member, LS_NAME_BYTES_MAX - 1);
    }
    return LS_OK;
}

static ls_status add_row(walker *w, const place *at, ls_field_type type, size_t length)
{
    if (w->layout->row_count == LS_FIELDS_MAX) {
        return ls_fail(LS_UNSUPPORTED, w->why,
                       "there are more than %u fields at %s: arrays of structs within arrays of "
                       "structs take one for each inner item",
                       LS_FIELDS_MAX, words_for(w, at));
    }
    if (length == 0 || length > UINT32_MAX) {
        return refuse(w, at, "is longer than a field can be");
    }
    schema_layout_row *row = &w->layout->rows[w->layout->row_count];
    *row = (schema_layout_row){.type = type,
                               .length = (uint32_t)length,
                               .offset = at->offset,
                               .owner = at->owner,
                               .array = at->array};
    memcpy(row->member, at->member, sizeof row->member);
    ls_status status = set_path(w, at, at->member, row);
    w->layout->row_count += status == LS_OK;
    return status;
}

/* Bytes between two members, or after the last; named by their place in the owner, which no other
 * hole of it has. */
static ls_status add_hole(walker *w, const place *at, size_t start, size_t end)
{
    char name[32], text[LS_TEXT_BYTES_MAX];
    place hole;
    snprintf(name, sizeof name, "padding_at_%zu", at->offset + start);
    ls_status status = go_to(w, at, ".", name, &hole);
    if (status != LS_OK) {
        return status;
    }
    hole.offset = at->offset + start;
    snprintf(text, sizeof text,
             "%s: %zu bytes that belong to no member; a member of their own, named padding, would "
             "make every compiler agree on them",
             words_for(w, &hole), end - start);
    code_warn(w, text);
    status = add_row(w, &hole, LS_FIELD_PADDING, end - start);
    if (status == LS_OK) {
        w->layout->rows[w->layout->row_count - 1].member[0] = '\0';
    }
    return status;
}

/* The last word of "ships.padding". */
static const char *last_name(const char *member)
{
    const char *dot = strrchr(member, '.');
    return dot == NULL ? member : dot + 1;
}

static bool is_padding(const walker *w, const place *at, const schema_debug_type *type)
{
    const char *name = last_name(at->member);
    return type->is_byte && (strncmp(name, "padding", strlen("padding")) == 0 ||
                             find_note(&w->options->paddings, name));
}

static ls_status add_scalar(walker *w, const place *at, const schema_debug_type *type, size_t count)
{
    if (type->doubt && (!type->is_letter || count == 1)) { /* more letters are a text */
        ls_text text = {{0}};
        ls_text_set(&text, "%s is %s: ", words_for(w, at), type->spelling);
        if (type->doubt->is_of_size) {
            ls_text_add(&text, "%zu bytes here, but ", type->bytes);
        }
        ls_text_add(&text, "%s; %s", type->doubt->why, type->doubt->instead);
        code_warn(w, text.bytes);
    }
    return add_row(w, at, is_padding(w, at, type) ? LS_FIELD_PADDING : type->field, count);
}

/* ---- arrays ---- */

/* How many items the longest array of structs has within a type: 1 without any. */
static uint64_t longest_inside(const schema_debug_type *type)
{
    uint64_t count = 1, longest = 1;
    while (type->kind == SCHEMA_DEBUG_ARRAY) {
        count *= type->length;
        type = type->element;
    }
    for (uint32_t i = 0; i < type->member_count; i++) {
        uint64_t inside = longest_inside(type->members[i].type);
        longest = LS_MAX(inside, longest);
    }
    bool has_items = type->kind == SCHEMA_DEBUG_STRUCT;
    return has_items && count > longest ? count : longest;
}

static schema_layout_array *new_array(walker *w, const schema_debug_type *item)
{
    if (w->layout->array_count == SCHEMA_LAYOUT_ARRAYS_MAX) {
        ls_text_set(w->why, "there are more than %u arrays of structs", SCHEMA_LAYOUT_ARRAYS_MAX);
        return NULL;
    }
    schema_layout_array *array = &w->layout->arrays[w->layout->array_count++];
    *array = (schema_layout_array){.item = item};
    return array;
}

/* A report writes the item's index behind the part's name, which ends at the first dot; in other
 * names the path says where it belongs: "fleet.ships[]". */
static ls_status name_array(walker *w, const place *at, schema_layout_array *array)
{
    const char *mark = strpbrk(at->member, ".[") ? LS_FIELD_ITEM_MARK : "";
    int bytes = snprintf(array->name, sizeof array->name, "%s%s", at->member, mark);
    return bytes > 0 && (size_t)bytes < sizeof array->name
               ? LS_OK
               : refuse(w, at, "has too long a name for a path");
}

/* The elements of the array at `at` are the items of fields. */
static ls_status walk_items(walker *w, const place *at, const schema_debug_type *item,
                            uint64_t length, const char *count)
{
    schema_layout_array *array = new_array(w, item);
    if (array == NULL) {
        return LS_UNSUPPORTED;
    }
    array->owner = at->owner;
    array->length = (uint32_t)length;
    array->count = count;
    memcpy(array->member, at->member, sizeof array->member);
    ls_status status = name_array(w, at, array);
    if (status != LS_OK) {
        return status;
    }
    const place first = {.owner = item, .array = array};
    return walk_type(w, &first, item);
}

/* The elements of the array at `at` are fields of their own, "slots[2]". */
static ls_status walk_elements(walker *w, const place *at, const schema_debug_type *array)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < array->length; i++) {
        char index[16];
        place element;
        snprintf(index, sizeof index, "[%u]", i);
        status = go_to(w, at, "", index, &element);
        element.offset = at->offset + i * array->element->bytes;
        LS_THEN(status, walk_type(w, &element, array->element));
    }
    return status;
}

static ls_status walk_open_array(walker *w, const place *at, const schema_debug_type *element)
{
    const schema_layout_note *count = find_note(&w->options->counts, at->member);
    if (count == NULL || at->array != NULL) {
        return ls_fail(LS_UNSUPPORTED, w->why,
                       "%s is an array without a length: say how many items it has by --count "
                       "%s=EXPRESSION",
                       at->member, at->member);
    }
    return walk_items(w, at, element, 0, count->text);
}

static ls_status walk_array(walker *w, const place *at, const schema_debug_type *array)
{
    const schema_debug_type *element = array;
    uint64_t count = 1;
    while (element->kind == SCHEMA_DEBUG_ARRAY) {
        count *= element->length;
        element = element->element;
    }
    if (array->length == 0) {
        return walk_open_array(w, at, array->element);
    }
    if (count == 0 || count > UINT32_MAX) {
        return refuse(w, at, "has a length that no field can have");
    }
    if (element->kind == SCHEMA_DEBUG_SCALAR) {
        return add_scalar(w, at, element, count);
    }
    if (at->array == NULL && element->kind == SCHEMA_DEBUG_STRUCT &&
        count >= longest_inside(element)) {
        return walk_items(w, at, element, count, NULL);
    }
    return walk_elements(w, at, array);
}

/* ---- structs ---- */

static ls_status walk_member(walker *w, const place *at, const schema_debug_member *member)
{
    place inner;
    ls_status status = go_to(w, at, ".", member->name, &inner);
    if (status != LS_OK) {
        return status;
    }
    if (member->name[0] == '\0') { /* what an unnamed struct holds counts as its owner's */
        memcpy(inner.member, at->member, sizeof inner.member);
    }
    if (member->is_bit_field) {
        return refuse_doubt(w, &inner, "a bit-field", &schema_debug_bit_field);
    }
    inner.offset = at->offset + member->offset;
    if (member->name[0] == '\0' && member->type->kind == SCHEMA_DEBUG_UNION) {
        return refuse(w, &inner,
                      "has a union without a name: which of its members counts no schema can know; "
                      "give it a name and see --union-as-bytes");
    }
    return walk_type(w, &inner, member->type);
}

static ls_status walk_struct(walker *w, const place *at, const schema_debug_type *type)
{
    size_t end = 0;
    bool is_open = false;
    for (uint32_t i = 0; i < type->member_count; i++) {
        const schema_debug_member *member = &type->members[i];
        bool is_empty =
            member->type->kind == SCHEMA_DEBUG_STRUCT && member->type->member_count == 0;
        if (is_empty) {
            continue; /* of C++: its byte, if it has one, is a hole */
        }
        ls_status status = LS_OK;
        if (!member->is_bit_field && member->offset > end) {
            status = add_hole(w, at, end, member->offset);
        }
        LS_THEN(status, walk_member(w, at, member));
        if (status != LS_OK) {
            return status;
        }
        end = member->offset + member->type->bytes;
        is_open = member->type->kind == SCHEMA_DEBUG_ARRAY && member->type->length == 0;
    }
    if (end == 0 && !is_open) {
        return refuse(w, at, "has no members");
    }
    return type->bytes > end && !is_open ? add_hole(w, at, end, type->bytes) : LS_OK;
}

static ls_status walk_type(walker *w, const place *at, const schema_debug_type *type)
{
    switch (type->kind) {
    case SCHEMA_DEBUG_SCALAR:
        return add_scalar(w, at, type, 1);
    case SCHEMA_DEBUG_STRUCT:
        return walk_struct(w, at, type);
    case SCHEMA_DEBUG_ARRAY:
        return walk_array(w, at, type);
    case SCHEMA_DEBUG_UNION:
        if (find_note(&w->options->unions, at->member)) {
            return add_row(w, at, LS_FIELD_U8, type->bytes);
        }
        return refuse(w, at,
                      "is a union: which of its members counts no schema can know; make it a "
                      "struct, or take it as bytes by --union-as-bytes (one byte order only)");
    case SCHEMA_DEBUG_POINTER:
        return refuse_doubt(w, at, "a pointer", &schema_debug_address);
    case SCHEMA_DEBUG_OTHER:
        break;
    }
    return ls_fail(LS_UNSUPPORTED, w->why, "%s is of a type that no field has: %s, %zu bytes",
                   words_for(w, at), type->spelling[0] != '\0' ? type->spelling : "without a name",
                   type->bytes);
}

/* ---- notes ---- */

/* "slots[2].health" to "slots.health": a unit is that of every element. */
static void without_indices(const char *path, char plain[LS_NAME_BYTES_MAX])
{
    bool is_index = false;
    size_t bytes = 0;
    for (const char *c = path; *c != '\0'; c++) {
        is_index = (is_index || *c == '[') && *c != ']';
        if (!is_index && *c != ']') {
            plain[bytes++] = *c;
        }
    }
    plain[bytes] = '\0';
}

/* "velocity.x" fits "ships.velocity.x" and itself. */
static bool fits(const char *path, const char *ending)
{
    char plain[LS_NAME_BYTES_MAX];
    without_indices(path, plain);
    size_t plain_bytes = strlen(plain), bytes = strlen(ending);
    if (bytes > plain_bytes || strcmp(plain + plain_bytes - bytes, ending) != 0) {
        return false;
    }
    return bytes == plain_bytes || plain[plain_bytes - bytes - 1] == '.';
}

static ls_status note_unit(schema_layout *layout, const schema_layout_note *note, ls_text *why)
{
    bool is_used = false;
    if (strlen(note->text) >= SCHEMA_LAYOUT_UNIT_BYTES_MAX ||
        strpbrk(note->text, "\"\\\n") != NULL) {
        return ls_fail(LS_BAD_ARGUMENT, why, "\"%s\" cannot be a unit", note->text);
    }
    for (uint32_t i = 0; i < layout->row_count; i++) {
        if (fits(layout->rows[i].path, note->path)) {
            strncpy(layout->rows[i].unit, note->text, SCHEMA_LAYOUT_UNIT_BYTES_MAX - 1);
            is_used = true;
        }
    }
    if (!is_used) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there is no field %s to have the unit %s", note->path,
                       note->text);
    }
    return LS_OK;
}

static ls_status check_count_used(const schema_layout *layout, const schema_layout_note *note,
                                  ls_text *why)
{
    for (uint32_t i = 0; i < layout->array_count; i++) {
        if (layout->arrays[i].count == note->text) {
            return LS_OK;
        }
    }
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "there is no array %s without a length to have the count %s", note->path,
                   note->text);
}

static ls_status check_paths(const schema_layout *layout, ls_text *why)
{
    for (uint32_t i = 0; i < layout->row_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(layout->rows[i].path, layout->rows[j].path) == 0) {
                return ls_fail(LS_BAD_ARGUMENT, why,
                               "two fields would have the path %s: rename a member, or a part",
                               layout->rows[i].path);
            }
        }
    }
    return LS_OK;
}

static ls_status walk_part(walker *w)
{
    place start = {.owner = w->part->type};
    if (w->part->name != NULL) {
        schema_layout_array *array = new_array(w, w->part->type);
        if (array == NULL) {
            return LS_UNSUPPORTED;
        }
        if (strlen(w->part->name) >= sizeof array->name) {
            return ls_fail(LS_BAD_ARGUMENT, w->why, "%s is too long a name for a part",
                           w->part->name);
        }
        strncpy(array->name, w->part->name, sizeof array->name - 1);
        array->count = w->part->count;
        array->length = 1;
        array->offset = w->part->offset == NULL ? "0" : w->part->offset;
        start.array = array;
    }
    return walk_type(w, &start, w->part->type);
}

/* Fills an empty layout. UNSUPPORTED for what no field, or no schema's number of them, describes;
 * BAD_ARGUMENT for notes that fit nothing and for paths that are too long or there twice; `why`
 * names the member. The layout borrows the types and what the parts and options point to. */
static ls_status schema_layout_make(const schema_layout_part *parts, uint32_t part_count,
                                    const schema_layout_options *options, schema_layout *layout,
                                    ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < part_count; i++) {
        walker w = {.layout = layout, .options = options, .part = &parts[i], .why = why};
        status = walk_part(&w);
    }
    for (uint32_t i = 0; status == LS_OK && i < options->counts.count; i++) {
        status = check_count_used(layout, &options->counts.list[i], why);
    }
    for (uint32_t i = 0; status == LS_OK && i < options->units.count; i++) {
        status = note_unit(layout, &options->units.list[i], why);
    }
    return status == LS_OK ? check_paths(layout, why) : status;
}

/* ---- code ---- */

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

/* Fields that no macro can describe: arrays within items, holes, items of a type without a name;
 * and those of lockstep.h, whose struct has the same members in the same order. */
static void plain_row(FILE *file, const schema_layout_row *row, bool is_of_one_header)
{
    const char *type = type_code(row->type);
    fprintf(file, "%s{\"%s\", \"%s\", %s%s, %u, ", is_of_one_header ? "" : "LS_LITERAL(ls_field)",
            row->path, row->unit, is_of_one_header ? "LOCKSTEP" : "",
            is_of_one_header ? type + strlen("LS_FIELD") : type, row->length);
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

static void write_rows(FILE *file, const schema_layout *layout, const char *indent,
                       bool is_of_one_header)
{
    for (uint32_t i = 0; i < layout->row_count; i++) {
        const schema_layout_row *row = &layout->rows[i];
        fprintf(file, "%s", indent);
        if (is_of_one_header || !has_macro_place(row) || (row->array != NULL && row->length > 1)) {
            plain_row(file, row, is_of_one_header);
        } else if (row->array != NULL) {
            each_row(file, row);
        } else {
            member_row(file, row);
        }
        fprintf(file, ",\n");
    }
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

/* A comment, what must hold of the structs' sizes, and `static uint32_t NAME(config, out,
 * capacity)` as ls_simulation.fields wants it. `source` is the file that the types came from. */
static void schema_code_function(FILE *file, const schema_layout *layout,
                                 const schema_layout_part *parts, uint32_t part_count,
                                 const char *name, const char *source)
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
    write_rows(file, layout, "        ", false);
    fprintf(file, "    };\n"
                  "    (void)config;\n"
                  "    return ls_fields_copy(all, sizeof all / sizeof all[0], out, capacity);\n"
                  "}\n");
}

/* ---- the program ---- */

typedef struct arguments {
    const char *file;
    char *parts[SCHEMA_LAYOUT_PARTS_MAX]; /* TYPE[:NAME[:COUNT[:OFFSET]]] */
    uint32_t part_count;
    schema_layout_options layout;
    const char *output, *function;
    bool is_list, is_rows, is_of_one_header, is_quiet;
} arguments;

static ls_status add_note(schema_layout_notes *all, const char *path, const char *text,
                          ls_text *why)
{
    if (all->count == SCHEMA_LAYOUT_NOTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are too many options like '%s'", path);
    }
    all->list[all->count++] = (schema_layout_note){path, text};
    return LS_OK;
}

static ls_status add_value(schema_layout_notes *all, char *text, ls_text *why)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is not PATH=VALUE", text);
    }
    *equals = '\0';
    return add_note(all, text, equals + 1, why);
}

static ls_status read_unit(void *target, char *text, ls_text *why)
{
    return add_value(&((arguments *)target)->layout.units, text, why);
}

static ls_status read_count(void *target, char *text, ls_text *why)
{
    return add_value(&((arguments *)target)->layout.counts, text, why);
}

static ls_status read_union(void *target, char *text, ls_text *why)
{
    return add_note(&((arguments *)target)->layout.unions, text, "", why);
}

static ls_status read_padding(void *target, char *text, ls_text *why)
{
    return add_note(&((arguments *)target)->layout.paddings, text, "", why);
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_SWITCH, FIELD(is_list), .flag = "list", .letter = 'l',
     .help = "List the structs that the file has, with their sizes"},
    {LS_SETTING_IS_TEXT, FIELD(output), .flag = "output", .letter = 'o', .argument = "FILE",
     .help = "Write there; -: to standard output"},
    {LS_SETTING_IS_READ, .read = read_unit, .flag = "unit", .letter = 'u', .argument = "PATH=UNIT",
     .help = "Unit of a field, or of all whose paths end so: velocity.x=m/s"},
    {LS_SETTING_IS_READ, .read = read_count, .flag = "count", .letter = 'c',
     .argument = "PATH=EXPRESSION",
     .help = "How many items an array without a length has, as C code: units=config->params[0]"},
    {LS_SETTING_IS_READ, .read = read_union, .flag = "union-as-bytes", .argument = "PATH",
     .help = "Take this union as bytes: its values then have no names, and only machines of one "
             "byte order can share a match"},
    {LS_SETTING_IS_READ, .read = read_padding, .flag = "padding", .argument = "NAME",
     .help = "Byte members of this name are padding and stay zero, like those called padding..."},
    {LS_SETTING_IS_SWITCH, FIELD(is_rows), .flag = "rows",
     .help = "Only the fields, to include within the braces of an array"},
    {LS_SETTING_IS_SWITCH, FIELD(is_of_one_header), .flag = "lockstep-fields",
     .help = "The same, in an array of lockstep_field, for a game of lockstep.h"},
    {LS_SETTING_IS_TEXT, FIELD(function), .flag = "function", .argument = "NAME",
     .help = "Name of the function"},
    {LS_SETTING_IS_SWITCH, FIELD(is_quiet), .flag = "quiet", .letter = 'q',
     .help = "Do not warn of holes, and of types that differ between machines"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_argument(void *user, char *value, ls_text *why)
{
    arguments *args = user;
    if (args->file == NULL) {
        args->file = value;
    } else if (args->part_count == SCHEMA_LAYOUT_PARTS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are more than %u types",
                       SCHEMA_LAYOUT_PARTS_MAX);
    } else {
        args->parts[args->part_count++] = value;
    }
    return LS_OK;
}

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    if (args->file == NULL) {
        return ls_fail(LS_BAD_ARGUMENT, why, "FILE is missing");
    }
    if (!args->is_list && args->part_count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "TYPE is missing; --list shows those that there are");
    }
    return LS_OK;
}

static ls_status list_structs(const schema_debug_file *file, FILE *out)
{
    uint32_t count = 0;
    const schema_debug_name *names = schema_debug_names(file, &count);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%10zu  %s\n", names[i].bytes, names[i].name);
    }
    return LS_OK;
}

/* "a:b" to "a", and gives "b"; NULL without a colon. A C++ name's "::" is none. */
static char *cut(char *text)
{
    for (char *c = text; text != NULL && *c != '\0'; c++) {
        if (c[0] == ':' && c[1] == ':') {
            c++;
        } else if (c[0] == ':') {
            *c = '\0';
            return c + 1;
        }
    }
    return NULL;
}

static ls_status find_parts(schema_debug_file *file, const arguments *args,
                            schema_layout_part *parts, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < args->part_count; i++) {
        char *name = cut(args->parts[i]);
        char *count = cut(name);
        parts[i] = (schema_layout_part){.name = name, .count = count, .offset = cut(count)};
        status = schema_debug_find(file, args->parts[i], &parts[i].type, why);
    }
    return status;
}

static void warn(void *user, const char *text)
{
    ls_console *console = user;
    ls_log_line(&console->log, LS_LOG_WARNING, "%s", text);
}

static ls_status write_schema(schema_debug_file *file, const arguments *args, FILE *out,
                              ls_text *why)
{
    static schema_layout layout;
    schema_layout_part parts[SCHEMA_LAYOUT_PARTS_MAX];
    ls_status status = find_parts(file, args, parts, why);
    LS_THEN(status, schema_layout_make(parts, args->part_count, &args->layout, &layout, why));
    if (status != LS_OK) {
        return status;
    }
    if (args->is_rows || args->is_of_one_header) {
        write_rows(out, &layout, "", args->is_of_one_header);
    } else {
        const char *slash = strrchr(args->file, '/');
        schema_code_function(out, &layout, parts, args->part_count, args->function,
                             slash == NULL ? args->file : slash + 1);
    }
    return LS_OK;
}

/* Into memory first: a file is written whole or not at all. */
static ls_status run(const arguments *args, ls_text *why)
{
    schema_debug_file *file = NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    ls_status status = out == NULL ? LS_NO_MEMORY : schema_debug_open(args->file, &file, why);
    LS_THEN(status, args->is_list ? list_structs(file, out) : write_schema(file, args, out, why));
    if (out != NULL && fclose(out) != 0 && status == LS_OK) {
        status = LS_NO_MEMORY;
    }
    if (status == LS_OK && bytes > 0) {
        text[bytes - 1] = '\0'; /* the last line's end comes with the writing */
        status = ls_output_write(args->output, text, why);
    }
    free(text);
    schema_debug_close(file);
    return status;
}

int main(int argc, char **argv)
{
    static arguments args = {.output = "-", .function = "fields"};
    const ls_command_line line = {
        .summary = "Writes the schema of a simulation's state as C code, from the debug "
                   "information of its .so (compiled with -g), so that nobody has to by hand.",
        .words = "FILE TYPE[:NAME[:COUNT[:OFFSET]]]...\nFILE --list",
        .ending =
            "TYPE is the state's struct. A state that is laid out by hand has parts: each is a "
            "struct with the NAME of its items, how many there are, and where the first one is, "
            "as C code in which config is the ls_sim_config:\n\n"
            "  lockstep-schema game.so head:match 'ship:ships:config->players:sizeof(head)'\n\n"
            "Exit codes: 0 written, 1 the file cannot be read or has no such struct, 2 usage, "
            "a file that is no ELF or has no debug information, or a type that no schema "
            "describes, 4 internal.",
        .parts = {{&table, &args, NULL}},
        .read_word = read_argument,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    ls_console console;
    ls_console_init(&console, "lockstep-schema", args.is_quiet ? LS_LOG_ERROR : LS_LOG_INFO);
    ls_text why = {{0}};
    args.layout.warn = warn;
    args.layout.user = &console;
    ls_status status = run(&args, &why);
    return ls_exit_report(&console.log, status, &why);
}
