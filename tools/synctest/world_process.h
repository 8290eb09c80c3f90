/* World process: the program started again to live in one world: it loads the simulation there,
 * does its task and tells the exchange. It shares nothing else with the program that started it,
 * so a plug-in may do what it likes. Called by the program's main before anything else. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_WORLD_PROCESS_H
#define LOCKSTEP_TOOLS_SYNCTEST_WORLD_PROCESS_H

#include <stdbool.h>

/* The first argument of such a process; the files' numbers follow, in the exchange's order. */
#define SYNCTEST_WORLD_PROCESS_ARGUMENT "--in-world"
#define SYNCTEST_WORLD_PROCESS_ARGUMENTS 7 /* with the program's name */

bool synctest_world_process_is_wanted(int argc, char **argv);

/* Returns what the process exits with; what matters stands in the exchange. */
int synctest_world_process_run(char **argv);

#endif
