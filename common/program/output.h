/* Output: where a program writes its result: a file, or standard output for "-".
 * Called by the writers of summaries, reports and port files. */
#ifndef LOCKSTEP_COMMON_PROGRAM_OUTPUT_H
#define LOCKSTEP_COMMON_PROGRAM_OUTPUT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

/* Writes the text and a newline. IO, with the path and the reason in `why`. */
ls_status ls_output_write(const char *path, const char *text, ls_text *why);

#endif
