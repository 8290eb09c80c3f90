/* Differing line: the line of code at which the two sides of a desync part. The bad step runs
 * twice: as it is, and with the change that gives the other side's result; the first write in which
 * the two differ is the line. Where no change does, it is the first write to a value that differs.
 * Decides nothing of the class. Called by explain; read by the reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_DIFFERING_LINE_H
#define LOCKSTEP_TOOLS_DESYNC_DIFFERING_LINE_H

#include "lockstep/tools/desync/write_stream.h"

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

#endif
