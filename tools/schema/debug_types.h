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

/* Why a member may have another meaning on another machine or in another build: what is a clause
 * about its type. */
typedef struct schema_debug_doubt {
    const char *why;
    const char *instead;
    bool is_of_size; /* how many bytes it has is the doubt */
} schema_debug_doubt;

typedef struct schema_debug_member {
    const char *name; /* "" for an anonymous struct or union, and for a base class */
    size_t offset;    /* bytes, in its struct; that of a bit-field is not known */
    bool is_bit_field;
    const schema_debug_type *type;
    const char *file; /* in which it is declared, without folders; "": not known */
    int line;
} schema_debug_member;

struct schema_debug_type {
    schema_debug_kind kind;
    const char *spelling; /* as code writes it: "ship", "struct ship", "long int"; "" for no name */
    size_t bytes;         /* 0 for an array without a length */
    ls_field_type field;  /* of a scalar */
    bool is_byte;         /* a scalar of one byte: what padding is made of */
    const schema_debug_doubt *doubt;    /* of a long, a short enum and a char; NULL: none */
    bool is_letter;                     /* a plain char, of which an array is a text */
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

extern const schema_debug_doubt schema_debug_bit_field, schema_debug_address;

/* The doubt about a member, whatever its kind; NULL: it means the same everywhere. */
const schema_debug_doubt *schema_debug_doubt_of(const schema_debug_member *member);

/* Where a state is given to a function. */
typedef enum schema_debug_given {
    SCHEMA_DEBUG_GIVEN_IN_STEP, /* an ls_step is one of its parameters */
    SCHEMA_DEBUG_GIVEN_AS_VOID, /* or a void *, which many other functions have */
} schema_debug_given;

/* The structs of one of these sizes that functions which are given a state have pointers to; each
 * name once, valid until close. Returns how many there are. */
uint32_t schema_debug_states(schema_debug_file *file, const size_t *sizes, uint32_t size_count,
                             schema_debug_given given, const schema_debug_type **out,
                             uint32_t capacity);

#endif
