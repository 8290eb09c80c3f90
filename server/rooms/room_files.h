/* Room files: which files the parameters of a service's room may name. A room that is made over
 * the API or by an annotation gets files from beneath the folders that the operator has named, and
 * from nowhere else; a file that the operator's configuration names may lie anywhere. Code is taken
 * by its digest alone. Called by room_game. */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_FILES_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_FILES_H

#include "lockstep/common/game/param_files.h"

/* Lists of lines, of which each ends with a newline; NULL: an empty list. */
typedef struct ls_room_files {
    const char *folders; /* that files are taken from */
    const char *named;   /* "name=PATH" of the configuration */
    const char *code;    /* SHA-256 of files that may be run, in 64 hexadecimal digits each */
    bool is_foreign;     /* set once a file was taken from a folder */
} ls_room_files;

/* The files outlive it. */
ls_param_gate ls_room_files_gate(ls_room_files *files);

#endif
