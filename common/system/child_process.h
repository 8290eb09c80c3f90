/* Child process: starts a program, or a copy of this process, beside this one, and learns how it
 * ended. Nothing else in the tree makes processes. Knows nothing of what they do; what waits says
 * so, and is never called from the thread of a loop that a match is played in. */
#ifndef LOCKSTEP_COMMON_SYSTEM_CHILD_PROCESS_H
#define LOCKSTEP_COMMON_SYSTEM_CHILD_PROCESS_H

#include "lockstep/common/base/text.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_CHILD_STREAMS 3    /* standard input, output and errors */
#define LS_CHILD_INPUT 0      /* in a child: what it was given for standard input */
#define LS_CHILD_OUR_OUTPUT 1 /* streams of this process */
#define LS_CHILD_OUR_ERRORS 2
#define LS_CHILD_DESCRIPTOR_FIRST LS_CHILD_STREAMS
#define LS_CHILD_DESCRIPTORS_MAX 4u
#define LS_CHILD_THIS_PROGRAM "" /* in the place of a program's name: this one */
#define LS_CHILD_WAIT_FOREVER UINT32_MAX

/* {0}: none. */
typedef struct ls_child_process {
    int id;         /* 0: there is none */
    int ended;      /* a descriptor that can be read once it has ended, as an event loop waits for
                     * it */
    bool has_group; /* of its own */
    bool is_timed;
} ls_child_process;

typedef struct ls_child_process_end {
    int64_t exit_code;
    int signal;          /* that ended it; 0: it ended by itself */
    bool is_overdue;     /* it was ended when its time was up */
    uint64_t worked_ns;  /* for which it had a processor */
    size_t output_bytes; /* of ls_child_process_run */
} ls_child_process_end;

/* ---- a program ---- */

typedef struct ls_child_process_config {
    const char *program;            /* a path, or a name that is looked for in PATH */
    const char *const *arguments;   /* the program's name first, NULL last */
    const char *const *environment; /* "NAME=value", NULL last; NULL: this process's own */
    int streams[LS_CHILD_STREAMS];  /* its standard ones; 0: nowhere */
    int descriptors[LS_CHILD_DESCRIPTORS_MAX]; /* in the child from FIRST on */
    uint32_t descriptor_count;
    bool has_group;        /* what it starts itself is in a group with it, and gets its signals */
    bool dies_with_parent; /* with the thread that starts it, which has to last */
    bool has_plain_heap;   /* all that its malloc gives out is filled by ls_heap_fill: else glibc
                            * leaves out the blocks in a thread's cache */
    bool has_large_pages;  /* its malloc asks for pages of 2 MiB, with glibc on Linux: for many MB
                            * that are touched in turn. GLIBC_TUNABLES in the environment can
                            * refuse them */
    /* In the child, before it becomes the program: calls what may be called behind a fork, which
     * takes no memory and no lock. NULL: nothing. */
    void (*prepare)(const void *user);
    const void *user;
} ls_child_process_config;

/* All of it is borrowed for the call; the descriptors may be closed behind it. NOT_FOUND: there is
 * no such program; IO. Both with the reason in `why`. */
ls_status ls_child_process_start(const ls_child_process_config *config, ls_child_process *process,
                                 ls_text *why);

/* The input that a program is given, and room for what it gives. */
typedef struct ls_child_process_exchange {
    const uint8_t *input; /* all of its standard input; borrowed. NULL: as the config has it */
    size_t input_bytes;
    uint8_t *output; /* room for its standard output; what is beyond it ends the child */
    size_t output_bytes_max;
    uint32_t time_max_ms;          /* then it is killed, */
    uint32_t work_max_ms;          /* or once it had a processor for so long; 0: for any time */
    const atomic_bool *is_stopped; /* once another thread has set it the child is killed soon; NULL:
                                    * never */
} ls_child_process_exchange;

/* Starts it, and waits for its end. As start, and IO; it dies with its parent. */
ls_status ls_child_process_run(const ls_child_process_config *config,
                               const ls_child_process_exchange *exchange, ls_child_process_end *end,
                               ls_text *why);

/* Writes the variables of this process, for an environment: with `changed` ("NAME=value", NULL
 * last) in the place of its own of these names, and of the others those that `keeps` accepts (NULL:
 * all). `variables` has room for `variables_max` and the final NULL; what is beyond is left out. */
void ls_child_process_variables(const char *const *changed, bool (*keeps)(const char *variable),
                                const char **variables, uint32_t variables_max);

/* The name of a simulation as a child can load it, whose working directory may be another one: of a
 * file that is there its absolute path, else the name. False: it takes more than `capacity`. */
bool ls_child_process_file(const char *name, char *out, size_t capacity);

/* ---- a copy of this process ---- */

typedef struct ls_child_process_work {
    /* In the copy, which ends with it and with the exit code that it returns, without what this
     * process does at its end. `channel` is a socket (socket.h) to that of fork; -1: there is
     * none. */
    int (*run)(const void *user, int channel);
    const void *user;
    uint32_t time_max_ms; /* then it is ended; 0: it has any time */
    bool outlives_parent; /* else it dies with it, as a program does with dies_with_parent */
    bool is_background;   /* it has the lowest priority, and what asks the process to stop is not
                           * for it */
} ls_child_process_work;

/* It has the memory as it is now, of the threads the calling one alone, and every open file. Bytes
 * that wait in streams of <stdio.h> are written by both who flush them. `channel` may be NULL.
 * NO_MEMORY, IO. */
ls_status ls_child_process_fork(const ls_child_process_work *work, ls_child_process *process,
                                int *channel, ls_text *why);

/* In a child: closes all that is open above the standard streams but this, which has the number
 * that is returned from then on; -1: it cannot. */
int ls_child_process_keep(int descriptor);

/* Standard output and errors lead nowhere from now on. */
bool ls_child_process_hush(void);

/* ---- any ---- */

/* False: it has not ended within that time. Once it has there is none, and `end` (NULL: not asked
 * for) says how. */
bool ls_child_process_wait(ls_child_process *process, uint32_t wait_ms, ls_child_process_end *end);

/* Asks it, and its group if it has one, to end (SIGTERM), or ends it the hard way, and does not
 * wait until it has. */
void ls_child_process_ask(const ls_child_process *process);
void ls_child_process_strike(const ls_child_process *process);

/* Ends it, and waits until it has; where there is none nothing happens. */
void ls_child_process_kill(ls_child_process *process);

LS_C_END

#endif
