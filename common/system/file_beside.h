/* File beside: a file is made beside its place, under a name of its own, until it is whole and gets
 * its name. For no other folder: output and private_file are made with it. */
#ifndef LOCKSTEP_COMMON_SYSTEM_FILE_BESIDE_H
#define LOCKSTEP_COMMON_SYSTEM_FILE_BESIDE_H

#include "lockstep/common/system/output.h"

enum {
    LS_FILE_OF_ALL = -1,     /* as the user's files are */
    LS_FILE_OF_OWNER = 0600, /* or other rights, as POSIX numbers them */
    LS_FILE_NAMES_TRIED = 10000,
};

/* A new file for writing, with its name in `beside`; -1 with errno. */
int ls_file_beside_make(const char *path, int rights, char *beside, size_t capacity);

/* Forgets a file that has not become whole; errno stays. */
void ls_file_beside_drop(const char *beside);

/* ---- of each system; failures are told by errno ---- */

/* A file that was not there, for writing; -1 with EEXIST when it was. Windows knows two rights. */
int ls_file_make(const char *path, int rights);

/* EEXIST when there is one that may not be replaced. */
bool ls_file_give_name(const char *beside, const char *path, bool may_replace);

/* Waits for the disk. */
bool ls_file_flush(int file);

/* ---- of each system, for output ---- */

#ifdef _WIN32
#define LS_OUTPUT_PART_SLASHES "/\\"
#else
#define LS_OUTPUT_PART_SLASHES "/"
#endif

/* Whether a file, or "-", can be opened for writing; False with errno, here and below. */
bool ls_output_part_can_write(const char *path);
FILE *ls_output_part_stream(int file); /* of an open file, which it closes at its end */
bool ls_output_part_can_make_in(const char *folder);

/* A stream that replaces what the file holds. NULL with errno. */
FILE *ls_output_part_open(const char *path, ls_output_wait wait);

/* Whether another file takes the place of what the path names; `rights` are those of what is there
 * and has to be written to where no other file can be made beside it. */
bool ls_output_part_is_replaced(const char *path, int *rights);

/* Whether the path names anything, a link to nothing too. */
bool ls_output_part_is_there(const char *path);

#endif
