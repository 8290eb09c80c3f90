/* Room settings: what a room is to be, as the configuration file, the administration interface and
 * the channel to a worker have it: flags of lockstep-server without their dashes, and their values
 * as text ("players" "4", "late" "wait", "sim" "arena"). A value is understood where the room is
 * opened, by the rows that read the command line. Several "param" rows may stand behind one
 * another, and several "rotation" rows. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_SETTINGS_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_SETTINGS_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Room name: which names a room may have: they stand in paths, files and metrics as they
 * are ---- */

#define LS_ROOM_NAME_BYTES_MAX 48u

/* 1 to LS_ROOM_NAME_BYTES_MAX - 1 letters, digits, '-' and '_'. */
bool ls_room_name_is_valid(const char *name);

/* ---- the settings ---- */

#define LS_ROOM_SETTINGS_MAX 64u

typedef struct ls_room_setting {
    char flag[32];
    char value[256];
} ls_room_setting;

typedef struct ls_room_settings {
    uint32_t count;
    ls_room_setting rows[LS_ROOM_SETTINGS_MAX];
} ls_room_settings;

/* Replaces a row of the same flag, but for "param": of that the same name's ("size=3"), and for
 * "rotation", of which each row is one more. "private" becomes "on" or "off". FULL or BAD_ARGUMENT
 * (no flag, too long, or a word that "private" does not take) with a sentence. */
ls_status ls_room_settings_set(ls_room_settings *settings, const char *flag, const char *value,
                               ls_text *why);

/* `over` wins; a rotation as a whole. */
ls_status ls_room_settings_merge(ls_room_settings *settings, const ls_room_settings *over,
                                 ls_text *why);

/* Moves the row "name", a room's name, out of the settings; `out` stays as it is when there is
 * none. BAD_ARGUMENT with a sentence. */
ls_status ls_room_settings_pop_name(ls_room_settings *settings, char out[LS_ROOM_NAME_BYTES_MAX],
                                    ls_text *why);

/* "join-timeout": a room that has been without players for so many seconds before its match begins
 * is ended; 0, and without the row: never. BAD_ARGUMENT with a sentence. */
#define LS_ROOM_JOIN_TIMEOUT_S_MAX 86400u
ls_status ls_room_settings_join_timeout(const ls_room_settings *settings, uint32_t *seconds,
                                        ls_text *why);

/* A copy on the heap that takes the memory of its rows alone: no row can be added to it, and it is
 * copied by ls_room_settings_copy. NULL: memory is out. */
ls_room_settings *ls_room_settings_keep(const ls_room_settings *settings);
/* NULL is allowed. */
void ls_room_settings_release(const ls_room_settings *kept);

/* Copies the rows that there are. */
void ls_room_settings_copy(ls_room_settings *to, const ls_room_settings *from);

/* NULL when it is not there. */
const char *ls_room_settings_find(const ls_room_settings *settings, const char *flag);

/* As an object: {"players": "4", "param": ["size=3"], "rotation": ["map=plain"]}; numbers and
 * booleans are taken for texts. */
void ls_room_settings_write(const ls_room_settings *settings, ls_json *object);
ls_status ls_room_settings_read(const ls_json *object, ls_room_settings *out, ls_text *why);

/* ---- Plug-in choice: the file of a room's simulation: one of the service's folder by its name,
 * and by the digest of its bytes where the operator says so. Loads nothing. Called by worker_rooms
 * ---- */

typedef struct ls_plugin_choice {
    const char *directory; /* NULL: built-in simulations alone */
    const char *name;      /* of a file there, which ends in ".so", or of a built-in; NULL: none */
    const char *sha256;    /* 64 hexadecimal digits, as sha256sum prints them; NULL: any bytes */
} ls_plugin_choice;

/* Whether a simulation of this name is a file, as the loader takes it, and no built-in. */
bool ls_plugin_choice_is_file(const char *name);

/* The path of the file, or the name of the built-in. BAD_ARGUMENT with a sentence: a path that
 * leads elsewhere, a file of another digest, or one that cannot be read. */
ls_status ls_plugin_choice_find(const ls_plugin_choice *choice, char *path, size_t capacity,
                                ls_text *why);

#endif
