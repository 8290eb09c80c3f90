/* Plug-in choice: the file of a room's simulation: one of the service's folder by its name, and by
 * the digest of its bytes where the operator says so. Loads nothing. Called by worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_PLUGIN_CHOICE_H
#define LOCKSTEP_SERVER_SERVICE_PLUGIN_CHOICE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>

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
