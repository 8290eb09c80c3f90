/* Debug types: the types of a built file as its debug information (DWARF, -g) has them, in a form
 * that knows nothing of DWARF. The only place that names libdw. Reads one file, runs nothing in it.
 * Called by lockstep-schema's parts and by their tests. */
#ifndef LOCKSTEP_TOOLS_SCHEMA_DEBUG_TYPES_H
#define LOCKSTEP_TOOLS_SCHEMA_DEBUG_TYPES_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/simulation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum schema_debug_kind {
    SCHEMA_DEBUG_SCALAR, /* one element of a field: numbers, enums, bool, ls_fixed, ls_angle */
    SCHEMA_DEBUG_STRUCT,
    SCHEMA_DEBUG_UNION,
    SCHEMA_DEBUG_ARRAY,
    SCHEMA_DEBUG_POINTER, /* of any kind, references too */
    SCHEMA_DEBUG_OTHER,   /* anything else that no field can hold */
} schema_debug_kind;

typedef struct schema_debug_type schema_debug_type;

typedef struct schema_debug_member {
    const char *name; /* "" for an anonymous struct or union, and for a base class */
    size_t offset;    /* bytes, in its struct; that of a bit-field is not known */
    bool is_bit_field;
    const schema_debug_type *type;
} schema_debug_member;

struct schema_debug_type {
    schema_debug_kind kind;
    const char *spelling; /* as code writes it: "ship", "struct ship", "long int"; "" for no name */
    size_t bytes;         /* 0 for an array without a length */
    ls_field_type field;  /* of a scalar */
    bool is_byte;         /* a scalar of one byte: what padding is made of */
    const char *varies;   /* what is other on other machines, as of long; NULL: nothing */
    bool is_letter;       /* a plain char */
    const schema_debug_type *element;   /* of an array; may be an array */
    uint32_t length;                    /* of an array; 0: it has none */
    const schema_debug_member *members; /* of a struct, in the order of the source */
    uint32_t member_count;
};

/* A struct that has a name. */
typedef struct schema_debug_name {
    const char *name; /* without "struct" */
    size_t bytes;
} schema_debug_name;

typedef struct schema_debug_file schema_debug_file;

/* IO for a file that cannot be read; UNSUPPORTED with what to do for one that is no shared object
 * or program, or has no debug information; NO_MEMORY. */
ls_status schema_debug_open(const char *path, schema_debug_file **out, ls_text *why);
void schema_debug_close(schema_debug_file *file);

/* Every struct once, by name; valid until close. */
const schema_debug_name *schema_debug_names(const schema_debug_file *file, uint32_t *count);

/* The struct of that name ("ship" or "struct ship"), valid until close. NOT_FOUND with names that
 * are near; BAD_ARGUMENT when there are two of different sizes; MALFORMED, NO_MEMORY. */
ls_status schema_debug_find(schema_debug_file *file, const char *name,
                            const schema_debug_type **out, ls_text *why);

#endif
