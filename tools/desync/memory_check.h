/* Memory check: the bad step of a bundle under valgrind's memcheck, where that is installed: which
 * memory was never set that reaches the state, and where it was made. Called by explain; read by
 * the reports, and by main for the helper. */
#ifndef LOCKSTEP_TOOLS_DESYNC_MEMORY_CHECK_H
#define LOCKSTEP_TOOLS_DESYNC_MEMORY_CHECK_H

#include "lockstep/tools/desync/reproduce.h"

/* Whether this process is the one under valgrind. Then main returns the other one. */
bool explain_memory_helper_is_asked(int argc, char **argv);
int explain_memory_helper_run(void);

/* A sentence: what memcheck says, or why it says nothing. */
void explain_memory_check(const explain_runs *runs, ls_text *out);

#endif
