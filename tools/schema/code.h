/* Code: a layout as C code: the fields of a simulation, in the macros of
 * common/simulation/simulation.h where they can say it. Pure text; also C++. Called by
 * lockstep-schema's main and by tests. */
#ifndef LOCKSTEP_TOOLS_SCHEMA_CODE_H
#define LOCKSTEP_TOOLS_SCHEMA_CODE_H

#include "lockstep/tools/schema/layout.h"

#include <stdio.h>

/* The rows alone, each "LS_FIELD_...," on a line: to be included within the braces of an array
 * of ls_field. */
void schema_code_rows(FILE *file, const schema_layout *layout);

/* A comment, what must hold of the structs' sizes, and `static uint32_t NAME(config, out,
 * capacity)` as ls_simulation.fields wants it. `source` is the file that the types came from. */
void schema_code_function(FILE *file, const schema_layout *layout, const schema_layout_part *parts,
                          uint32_t part_count, const char *name, const char *source);

#endif
