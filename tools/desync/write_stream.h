/* Write stream: all writes of the bad step of a bundle, made in a helper process with one thing
 * about the machine changed, and the first of them in which two such processes part. A write has
 * the code that made it when it is asked for. Called by line, and by main for the helper. */
#ifndef LOCKSTEP_TOOLS_DESYNC_WRITE_STREAM_H
#define LOCKSTEP_TOOLS_DESYNC_WRITE_STREAM_H

#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/reproduce.h"

/* A write, and the code that made it: `levels` from the inside out to the pass. */
typedef struct explain_stream_code {
    explain_stream_write write;
    uint32_t level_count; /* 0: not known */
    explain_code_level levels[EXPLAIN_LEVELS_MAX];
} explain_stream_code;

/* All that a helper tells. */
typedef struct explain_stream {
    uint64_t state_hash; /* at the end of the step */
    uint32_t count;
    explain_stream_write *list;
} explain_stream;

/* Whether this process is such a helper. Then main returns explain_stream_helper_run(argv). */
bool explain_stream_helper_is_asked(int argc, char **argv);
int explain_stream_helper_run(char **argv);

/* Runs a helper. `pass`: of its writes alone, or LS_NO_PASS. False, with `why`: it told nothing.
 * Release it in any case. */
bool explain_stream_take(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                         explain_stream *out, ls_text *why);
void explain_stream_release(explain_stream *stream);

/* The same once more, for the code of one of its writes. */
bool explain_stream_code_of(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                            uint32_t index, explain_stream_code *out, ls_text *why);

typedef struct explain_stream_difference {
    uint32_t at[2];     /* the index in each stream; UINT32_MAX: it does not write it any more */
    bool is_finer_in_b; /* which writes the element more often: its line says more */
} explain_stream_difference;

/* The first write to an element that has another value at the end of its pass, in the first pass
 * that has one. False: there is none, and `out` is not set. */
bool explain_stream_compare(const explain_stream *a, const explain_stream *b,
                            explain_stream_difference *out);

/* The earliest of the last writes, each of its pass, to any of these elements: the first that is
 * known to have left another value. UINT32_MAX: none is written. */
uint32_t explain_stream_find(const explain_stream *stream, const size_t *offsets, uint32_t count);

#endif
