/* Field name: which elements a person means by "bodies[3].position.x": one element, or all of a
 * field when indices are left out. Reads text, never a state. Called by the write trace's users. */
#ifndef LOCKSTEP_TOOLS_DESYNC_FIELD_NAME_H
#define LOCKSTEP_TOOLS_DESYNC_FIELD_NAME_H

#include "lockstep/common/simulation/state_schema.h"

typedef struct explain_field_choice {
    const ls_field *field;
    uint32_t item; /* UINT32_MAX: every one */
    uint32_t element;
} explain_field_choice;

/* NOT_FOUND with a field that looks alike, BAD_ARGUMENT with the range of an index. */
ls_status explain_field_choice_parse(const ls_schema *schema, const char *name,
                                     explain_field_choice *out, ls_text *why);

/* Whether the place is one of those that were meant. */
bool explain_field_choice_has(const explain_field_choice *choice, const ls_schema_place *place);

#endif
