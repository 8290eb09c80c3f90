/* Difference chain: why a field differs, backwards: the write in which two builds differ, the
 * elements which that statement read, which of those differed before it, the write that made them
 * differ, and so on to the first difference in the step. With one build alone, elements that differ
 * after the step are followed. Reads evidence, prints nothing. Called by explain. */
#ifndef LOCKSTEP_TOOLS_DESYNC_DIFFERENCE_CHAIN_H
#define LOCKSTEP_TOOLS_DESYNC_DIFFERENCE_CHAIN_H

#include "lockstep/tools/desync/evidence.h"

#define EXPLAIN_LINKS_MAX 16u
#define EXPLAIN_ORIGINS_MAX 32u /* elements that a value was computed from */

/* An element that a statement read, with the values that it had then. */
typedef struct explain_read {
    ls_schema_place place;
    uint8_t here[8];
    uint8_t other[8];
    bool differs; /* before the statement; with one build alone: after the step */
} explain_read;

/* A write that made a difference; one of the two is missing when only the other build wrote. */
typedef struct explain_link {
    bool has_here;
    bool has_other;
    explain_field_write here;
    explain_field_write other;
    bool reads_inputs;
    bool reads_more; /* than are listed */
    bool is_decided; /* what differs was not computed with: it decided a branch */
    uint32_t read_count;
    explain_read reads[EXPLAIN_ORIGINS_MAX];
} explain_link;

typedef struct explain_chain {
    const char *field; /* NULL: there is no chain */
    bool has_other;    /* two builds were compared */
    uint32_t count;
    explain_link *links; /* from the field on back */
    ls_text end;         /* what the last link means, or why there is none */
} explain_chain;

/* Of the bad step. `other` NULL: with one build alone. Release it in any case. */
void explain_chain_find(const explain_evidence *evidence, const ls_bundle_reading *reading,
                        const ls_simulation *const builds[2], const char *field,
                        explain_chain *chain);
void explain_chain_release(explain_chain *chain);

#endif
