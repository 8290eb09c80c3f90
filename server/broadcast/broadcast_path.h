/* Broadcast path: what a path of a broadcast names: the list of all, the index of a match, or one
 * of its segments. Reads any text, and knows neither HTTP nor which of them are there. Pure. Called
 * by broadcast_http. */
#ifndef LOCKSTEP_SERVER_BROADCAST_BROADCAST_PATH_H
#define LOCKSTEP_SERVER_BROADCAST_BROADCAST_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define LS_BROADCAST_ROOT "/broadcast"

typedef enum ls_broadcast_path_kind {
    LS_BROADCAST_PATH_LIST,
    LS_BROADCAST_PATH_INDEX,
    LS_BROADCAST_PATH_SEGMENT,
} ls_broadcast_path_kind;

typedef struct ls_broadcast_path {
    ls_broadcast_path_kind kind;
    uint64_t match_id;
    uint32_t segment;
} ls_broadcast_path;

/* Each has one spelling, so that a cache keeps it once. False: nothing is there. */
bool ls_broadcast_path_read(const char *path, ls_broadcast_path *out);

#endif
