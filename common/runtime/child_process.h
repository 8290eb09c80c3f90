/* Child process: runs a program to its end, with bytes on its standard input, and collects what it
 * writes to its standard output. It waits, so it is called from the thread of a job, never from a
 * loop's own. Knows nothing of what the bytes mean. Called by rerun_process. */
#ifndef LOCKSTEP_COMMON_RUNTIME_CHILD_PROCESS_H
#define LOCKSTEP_COMMON_RUNTIME_CHILD_PROCESS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ls_child_process_config {
    const char *program;            /* a path */
    const char *const *arguments;   /* the program's name first, NULL last */
    const char *const *environment; /* "NAME=value", NULL last; NULL: this process's own */
    const uint8_t *input;           /* all of its standard input; borrowed */
    size_t input_bytes;
    const int *input_file; /* an open file that is its standard input instead; NULL: none */
    uint8_t *output;       /* room for its standard output; what is beyond it ends the child */
    size_t output_bytes_max;
    uint32_t time_max_ms;          /* then it is killed */
    const atomic_bool *is_stopped; /* once another thread has set it the child is killed soon */
} ls_child_process_config;

typedef struct ls_child_process_end {
    size_t output_bytes;
    int64_t exit_code;
    int signal;      /* that ended it; 0: it ended by itself */
    bool is_overdue; /* it was killed when its time was up */
} ls_child_process_end;

/* Writes the variables of this process, for an environment: with `changed` ("NAME=value", NULL
 * last) in the place of its own of these names, and of the others those that `keeps` accepts (NULL:
 * all). `variables` has room for `variables_max` and the final NULL; what is beyond is left out. */
void ls_child_process_variables(const char *const *changed, bool (*keeps)(const char *variable),
                                const char **variables, uint32_t variables_max);

/* The name of a simulation as a child can load it, whose working directory may be another one: of a
 * file that is there its absolute path, else the name. False: it takes more than `capacity`. */
bool ls_child_process_file(const char *name, char *out, size_t capacity);

/* IO when the program cannot be started, with `why`. */
ls_status ls_child_process_run(const ls_child_process_config *config, ls_child_process_end *end,
                               ls_text *why);

#endif
