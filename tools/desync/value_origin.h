/* Value origin: the elements of the state that a written value was computed from, found by going
 * back from the write through the instructions that were run: registers, the stack and any other
 * memory are followed, the state's own elements end the search. Called by the difference chain. */
#ifndef LOCKSTEP_TOOLS_DESYNC_VALUE_ORIGIN_H
#define LOCKSTEP_TOOLS_DESYNC_VALUE_ORIGIN_H

#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/step_log.h"

#define EXPLAIN_ORIGINS_MAX 32u

typedef struct explain_origins {
    uint32_t count;                      /* the first EXPLAIN_ORIGINS_MAX, the last read first */
    size_t offsets[EXPLAIN_ORIGINS_MAX]; /* of elements of the state */
    bool is_cut;     /* there are more, or the log does not go back far enough */
    bool has_inputs; /* players' inputs were read */
} explain_origins;

/* Of the last instruction of the log, a write. With the `file` of its code, what decided the last
 * branches in there counts as well; NULL: what the value was made of alone. Adds to
 * `out`. */
void explain_origins_add(const explain_machine_code *code, const explain_step_log *log,
                         const ls_schema *schema, const explain_span *file, explain_origins *out);

#endif
