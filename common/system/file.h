/* File: what programs ask about files and folders besides reading and writing them, which stdio and
 * output do, and files that are mapped. Where a call is said to give errno, the C library's names
 * of it hold on every system. Called by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_FILE_H
#define LOCKSTEP_COMMON_SYSTEM_FILE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ls_file_kind {
    LS_FILE_PLAIN,
    LS_FILE_FOLDER,
    LS_FILE_OTHER, /* a pipe, a device */
} ls_file_kind;

typedef struct ls_file_facts {
    ls_file_kind kind;
    bool is_link; /* the path names a link to it */
    uint64_t bytes;
    int64_t changed_ns; /* since 1970 */
    int64_t rights_ns;  /* when its owner or its rights changed, or later; 0: the system does not
                           say */
    uint64_t number;    /* on its disk: a file that was replaced has another one */
} ls_file_facts;

/* Of one path: the file was neither replaced nor written meanwhile, and who may read it is the
 * same. */
static inline bool ls_file_is_unchanged(const ls_file_facts *a, const ls_file_facts *b)
{
    return a->number == b->number && a->changed_ns == b->changed_ns && a->bytes == b->bytes &&
           a->rights_ns == b->rights_ns;
}

/* False when there is none, with errno. `out` may be NULL. */
bool ls_file_look(const char *path, ls_file_facts *out);

/* Opens a file for reading by a path from this folder on which neither leaves it by itself nor by a
 * link on its way; a link to another place beneath the folder is followed. -1 with errno: EXDEV for
 * a path that is absolute, has "..", or leaves by a link. */
int ls_file_open_beneath(const char *folder, const char *path);

/* False, with errno. */
bool ls_file_set_executable(const char *path);

/* A lock that ends with this process: a number for ls_file_unlock, or -1 with errno: EWOULDBLOCK
 * when another process has it. The file is made when there is none. */
int ls_file_lock(const char *path);
void ls_file_unlock(int lock); /* -1 is allowed */
/* The same of a file that is open for writing, until it is closed. False with errno. */
bool ls_file_lock_open(int file);

/* Makes a folder, for its owner alone or for all. False with errno: EEXIST when there is one. */
bool ls_folder_make(const char *path, bool is_private);

/* Makes a new one for this user alone where the system has what is soon gone. False with errno. */
bool ls_folder_make_temporary(char *path, size_t capacity);

/* The program works in this folder from now on. False with errno. */
bool ls_folder_enter(const char *path);

/* The folder that this program works in; false when it is not known, or longer. */
bool ls_folder_current(char *path, size_t capacity);

/* The folder below which programs of this user keep what they make for themselves and need again,
 * by the environment: $XDG_STATE_HOME or ~/.local/state, %LOCALAPPDATA% on Windows. It need not be
 * there. False when the environment names none by a path from the root, or a longer one. */
bool ls_folder_of_user(char *path, size_t capacity);

/* The names in a folder, in no order and without "." and "..". NULL with errno. */
typedef struct ls_folder ls_folder;
ls_folder *ls_folder_open(const char *path);
const char *ls_folder_next(ls_folder *folder); /* until the next call; NULL: there are no more */
void ls_folder_close(ls_folder *folder);       /* NULL is allowed */

/* ---- Mapped file: a whole file as bytes. A small one is copied, and on Windows any, so that
 * nothing that another process does with the file changes them: an editor or a copy that writes
 * over a service's configuration cuts it first. A larger one is read from the disk as it is
 * looked at, and ends the program where another process has cut off what is looked at. The only
 * place that maps files ---- */

#define LS_MAPPED_FILE_COPY_MAX ((size_t)16 << 20)

typedef struct ls_mapped_file {
    const uint8_t *bytes; /* NULL: an empty file */
    size_t size;
} ls_mapped_file;

/* IO with the path and the reason. */
ls_status ls_mapped_file_open(const char *path, ls_mapped_file *out, ls_text *why);
/* The same of a file beneath a folder, as ls_file_open_beneath has it: NOT_FOUND when there is none
 * there, BAD_ARGUMENT when the path leaves the folder. */
ls_status ls_mapped_file_open_beneath(const char *folder, const char *path, ls_mapped_file *out,
                                      ls_text *why);
/* The same of a file that is open already, and stays so; `name` stands for its path. */
ls_status ls_mapped_file_of(int file, const char *name, ls_mapped_file *out, ls_text *why);
void ls_mapped_file_close(ls_mapped_file *file);

#endif
