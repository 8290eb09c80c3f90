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

typedef enum ls_debug_kind {
    LS_DEBUG_SCALAR, /* one element of a field: numbers, enums, bool, ls_fixed, ls_angle */
    LS_DEBUG_STRUCT,
    LS_DEBUG_UNION,
    LS_DEBUG_ARRAY,
    LS_DEBUG_POINTER, /* of any kind, references too */
    LS_DEBUG_OTHER,   /* anything else that no field can hold */
} ls_debug_kind;

typedef struct ls_debug_type ls_debug_type;

typedef struct ls_debug_member {
    const char *name; /* "" for an anonymous struct or union, and for a base class */
    size_t offset;    /* bytes, in its struct; that of a bit-field is not known */
    bool is_bit_field;
    const ls_debug_type *type;
} ls_debug_member;

struct ls_debug_type {
    ls_debug_kind kind;
    const char *spelling; /* as code writes it: "ship", "struct ship", "long int"; "" for no name */
    size_t bytes;         /* 0 for an array without a length */
    ls_field_type field;  /* of a scalar */
    bool is_byte;         /* a scalar of one byte: what padding is made of */
    bool varies;          /* long and the like: has another size on other machines */
    const ls_debug_type *element;   /* of an array; may be an array */
    uint32_t length;                /* of an array; 0: it has none */
    const ls_debug_member *members; /* of a struct, in the order of the source */
    uint32_t member_count;
};

/* A struct that has a name. */
typedef struct ls_debug_name {
    const char *name; /* without "struct" */
    size_t bytes;
} ls_debug_name;

typedef struct ls_debug_file ls_debug_file;

/* IO for a file that cannot be read; UNSUPPORTED with what to do for one that is no shared object
 * or program, or has no debug information; NO_MEMORY. */
ls_status ls_debug_open(const char *path, ls_debug_file **out, ls_text *why);
void ls_debug_close(ls_debug_file *file);

/* Every struct once, by name; valid until close. */
const ls_debug_name *ls_debug_names(const ls_debug_file *file, uint32_t *count);

/* The struct of that name ("ship" or "struct ship"), valid until close. NOT_FOUND with names that
 * are near; BAD_ARGUMENT when there are two of different sizes; MALFORMED, NO_MEMORY. */
ls_status ls_debug_find(ls_debug_file *file, const char *name, const ls_debug_type **out,
                        ls_text *why);

#endif
