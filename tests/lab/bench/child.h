/* Child: a process of the benchmark's own beside it: made by fork, tells its parent through a pipe,
 * ended by its parent and with it. Called by the sections that need several processes. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_CHILD_H
#define LOCKSTEP_TESTS_LAB_BENCH_CHILD_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/child_process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_PATH_BYTES_MAX 4096

typedef struct bench_child {
    ls_child_process process;
    int pipe; /* what it tells; of a program nothing */
} bench_child;

/* The work of a child process; it ends when this returns. `pipe` leads to the parent. */
typedef void (*bench_child_work)(const void *user, int pipe);

/* IO when the system has no more processes or descriptors. */
ls_status bench_child_start(bench_child *child, bench_child_work work, const void *user,
                            ls_text *why);

/* The next so many bytes that the child told; IO when it ended or took longer. */
ls_status bench_child_receive(const bench_child *child, void *bytes, size_t size, int patience_ms,
                              ls_text *why);

/* In the child. */
void bench_child_send(int pipe, const void *bytes, size_t size);

/* In the child: runs on one core alone, as far as the machine has so many. Load that would come
 * from another machine leaves the measured programs their cores. */
void bench_child_stay_on(unsigned core);

/* A program, or a plug-in, by its path from the folder of this program. NOT_FOUND when there is
 * none. */
ls_status bench_child_find_program(const char *name, char path[BENCH_PATH_BYTES_MAX], ls_text *why);

/* Starts a program, whose output goes nowhere. `arguments` begin with its path and end with NULL.
 */
ls_status bench_child_start_program(bench_child *child, const char *const *arguments, ls_text *why);

/* Ends it if it runs. */
void bench_child_stop(bench_child *child);

/* The same by SIGTERM, and by SIGKILL when it has not ended after so long. */
void bench_child_ask_to_stop(bench_child *child, uint32_t patience_ms);

/* The number behind a word at the beginning of a line of /proc/PROCESS/NAME, 0: there is none; and
 * how many libraries the process has loaded, the linker too. */
double bench_process_number(int process, const char *name, const char *word);
uint32_t bench_process_libraries(int process);

#endif
