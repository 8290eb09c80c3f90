/* Perturbed process: the program started again with one perturbation: it loads the simulation, does
 * its task and tells the exchange. It shares nothing else with the program that started it, so a
 * plug-in may do what it likes. Called by the program's main before anything else. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PERTURBED_PROCESS_H
#define LOCKSTEP_TOOLS_SYNCTEST_PERTURBED_PROCESS_H

#include <stdbool.h>

/* The argument of such a process, which has the files of the exchange, in their order, as the first
 * descriptors of a child. */
#define SYNCTEST_PERTURBED_ARGUMENT "--perturbed"

bool synctest_perturbed_process_is_wanted(int argc, char **argv);

/* Returns what the process exits with; the results are in the exchange. */
int synctest_perturbed_process_run(void);

#endif
