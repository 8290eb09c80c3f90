/* Differing line: the line of code at which the two sides of a desync part. The bad step runs
 * twice: as it is, and with the change that gives the other side's result; the first write in which
 * the two differ is the line. Where no change does, it is the first write to a value that differs.
 * Decides nothing of the class. Called by explain; read by the reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_DIFFERING_LINE_H
#define LOCKSTEP_TOOLS_DESYNC_DIFFERING_LINE_H

#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/reproduce.h"

#include <stdbool.h>

/* A write, and the code that made it: `levels` from the inside out to the pass. */
typedef struct explain_stream_code {
    explain_stream_write write;
    uint32_t level_count; /* 0: not known */
    explain_code_level levels[EXPLAIN_LEVELS_MAX];
} explain_stream_code;

/* Whether this process is a helper that makes the writes of a step, with one thing about the
 * machine changed. Then main returns explain_stream_helper_run(argv). */
bool explain_stream_helper_is_asked(int argc, char **argv);
int explain_stream_helper_run(char **argv);

/* The second run, beside the one with nothing changed. */
typedef enum explain_line_kind {
    EXPLAIN_LINE_UNKNOWN,
    EXPLAIN_LINE_BUILDS,  /* the other build */
    EXPLAIN_LINE_CAUSE,   /* the change that gives the other side's result */
    EXPLAIN_LINE_SUSPECT, /* one that a right simulation does not notice */
    EXPLAIN_LINE_VALUES,  /* none: the values of the bundle that differ */
} explain_line_kind;

typedef struct explain_line {
    explain_line_kind kind;
    char change[256];            /* "with nothing changed" becomes this in the second run */
    bool has_code[2];            /* of the run with nothing changed, and of the second */
    explain_stream_code code[2]; /* false: it does not write the element any more */
    uint32_t shown;              /* the one of which the line is known */
    ls_schema_place place;       /* the element */
    uint32_t level;              /* of the one code there is, that is shown */
    uint32_t container; /* the level with a loop over an unordered container by which values that
                           differ in order alone are explained; UINT32_MAX: none does */
    char source[160];   /* the line as it stands in its file; "": not found */
    ls_text why;        /* there is none */
} explain_line;

/* `other`: another build, or NULL. */
void explain_line_find(const explain_runs *runs, const explain_reproductions *reproductions,
                       explain_line *out);

/* Looks for the file of the side that the one with nothing changed is not, in the folder of the
 * simulation's own: what lies beside a bundle came from others, and is not run unasked. False: it
 * is not there. */
bool explain_line_find_build(const explain_evidence *evidence, const char *simulation, char *path,
                             size_t capacity);

/* NULL: there is none. */
const explain_stream_code *explain_line_code(const explain_line *line);
const explain_code_level *explain_line_level(const explain_line *line);

/* "iteration order of an unordered container"; "": nothing says so. */
const char *explain_line_cause(const explain_line *line);

/* "game.c:13, in warm (pass warm)", and below it what was written; `lines` of them. */
#define EXPLAIN_LINE_TEXTS 4u
uint32_t explain_line_text(const explain_line *line, const explain_evidence *evidence,
                           ls_text lines[EXPLAIN_LINE_TEXTS]);

/* Every field has the same values on both sides, and some not in the same places, as they do where
 * code goes through a hash table. False where no memory is left, too. */
bool explain_states_differ_in_order(const ls_schema *schema, const uint8_t *a, const uint8_t *b);

#endif
