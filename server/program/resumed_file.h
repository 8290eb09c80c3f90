/* Resumed file: the journal on a disk from which a match goes on, mapped and read. Decides nothing
 * about the match. Called by main. */
#ifndef LOCKSTEP_SERVER_PROGRAM_RESUMED_FILE_H
#define LOCKSTEP_SERVER_PROGRAM_RESUMED_FILE_H

#include "lockstep/common/program/mapped_file.h"
#include "lockstep/server/journal/resume.h"

typedef struct ls_resumed_file {
    ls_mapped_file file;
    ls_resume *resume;
} ls_resumed_file;

/* IO, or what ls_resume_open says; the path and the reason in `why`. */
ls_status ls_resumed_file_open(const char *path, ls_resumed_file *out, ls_text *why);

/* Also of one that was never opened, all zero. */
void ls_resumed_file_close(ls_resumed_file *resumed);

#endif
