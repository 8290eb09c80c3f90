/* Supervised process: a child that runs beside the loop, for as long as it likes, with descriptors
 * that it inherits; its owner hears how it ended. Owned by a program that starts it again. */
#ifndef LOCKSTEP_COMMON_RUNTIME_SUPERVISED_PROCESS_H
#define LOCKSTEP_COMMON_RUNTIME_SUPERVISED_PROCESS_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"

LS_C_BEGIN

#define LS_SUPERVISED_DESCRIPTORS_MAX 4u
#define LS_SUPERVISED_DESCRIPTOR_FIRST                                                             \
    3 /* in the child; 0 is empty, 1 and 2 are this process's                                      \
       */

typedef struct ls_supervised_process_config {
    const char *program;                            /* a path */
    const char *const *arguments;                   /* the program's name first, NULL last */
    int descriptors[LS_SUPERVISED_DESCRIPTORS_MAX]; /* 3, 4 ... in the child */
    uint32_t descriptor_count;
    bool has_group; /* what it starts itself is in a group with it, and gets its signals */
    /* It has ended, with this exit code, or by this signal. The process may be destroyed within. */
    void (*on_end)(void *user, int64_t exit_code, int signal_number);
    void *user;
} ls_supervised_process_config;

typedef struct ls_supervised_process ls_supervised_process;

/* IO with the reason, NO_MEMORY. The texts are borrowed for the call. The descriptors stay the
 * caller's, who may close them. */
ls_status ls_supervised_process_create(const ls_supervised_process_config *config,
                                       ls_event_loop *loop, const ls_allocator *allocator,
                                       ls_supervised_process **out, ls_text *why);

/* Kills it when it still runs; on_end is not called any more. NULL is allowed. */
void ls_supervised_process_destroy(ls_supervised_process *process);

/* Sends it, and its group if it has one, a signal, of <signal.h>. Nothing happens once it has
 * ended. */
void ls_supervised_process_signal(ls_supervised_process *process, int signal_number);

uint32_t ls_supervised_process_id(const ls_supervised_process *process);

LS_C_END

#endif
