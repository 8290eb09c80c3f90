/* Code: from the types of a state to C code: the fields of a simulation, in the macros of
 * common/simulation/simulation.h where they can say it. The layout comes first, the fields that
 * describe every byte of the state: structs taken apart, one array of structs on the way as items,
 * holes declared as padding. A layout that a schema cannot describe is refused with a sentence.
 * Pure; the code is also C++. Called by lockstep-schema's main. */
#ifndef LOCKSTEP_TOOLS_SCHEMA_CODE_H
#define LOCKSTEP_TOOLS_SCHEMA_CODE_H

#include "lockstep/tools/schema/debug_types.h"

#include <stdio.h>

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

/* Fills an empty layout. UNSUPPORTED for what no field, or no schema's number of them, describes;
 * BAD_ARGUMENT for notes that fit nothing and for paths that are too long or there twice; `why`
 * names the member. The layout borrows the types and what the parts and options point to. */
ls_status schema_layout_make(const schema_layout_part *parts, uint32_t part_count,
                             const schema_layout_options *options, schema_layout *layout,
                             ls_text *why);

/* The rows alone, each "LS_FIELD_...," on a line: to be included within the braces of an array
 * of ls_field. */
void schema_code_rows(FILE *file, const schema_layout *layout);

/* A comment, what must hold of the structs' sizes, and `static uint32_t NAME(config, out,
 * capacity)` as ls_simulation.fields wants it. `source` is the file that the types came from. */
void schema_code_function(FILE *file, const schema_layout *layout, const schema_layout_part *parts,
                          uint32_t part_count, const char *name, const char *source);

#endif
