/* Work mark: memory that a worker shares with its supervisor. The worker notes there for which room
 * it is at work, so that the supervisor knows in which room a worker crashed or hung. Called by
 * worker and worker_pool. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORK_MARK_H
#define LOCKSTEP_SERVER_SERVICE_WORK_MARK_H

#include "lockstep/common/base/status.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/service/room_settings.h"

/* In place of the number of a match: the room that is being opened. */
#define LS_WORK_MARK_OPENING LS_MATCHES_MAX

typedef struct ls_work_mark ls_work_mark;

/* The supervisor makes it and hands its descriptor to the worker. IO or NO_MEMORY. */
ls_status ls_work_mark_create(ls_work_mark **out);
/* The worker's end; the descriptor is taken. IO or NO_MEMORY. */
ls_status ls_work_mark_open(int descriptor, ls_work_mark **out);
/* NULL is allowed. */
void ls_work_mark_destroy(ls_work_mark *mark);
int ls_work_mark_descriptor(const ls_work_mark *mark);

/* The worker: a match, .. LS_WORK_MARK_OPENING, is that of a room of this name. */
void ls_work_mark_name(ls_work_mark *mark, uint32_t match, const char *room);
/* The worker: where to write, before each call into a match, its number plus 1, and after it 0. */
uint32_t *ls_work_mark_place(ls_work_mark *mark);
/* The worker is at work for a match, .. LS_WORK_MARK_OPENING, from now on; and for none any more,
 * or not yet. */
void ls_work_mark_begin(ls_work_mark *mark, uint32_t match);
void ls_work_mark_clear(ls_work_mark *mark);
/* The supervisor: the room for which the worker is at work, or was when it ended; false: for none,
 * or what is written there makes no sense. */
bool ls_work_mark_read(const ls_work_mark *mark, char room[LS_ROOM_NAME_BYTES_MAX]);

#endif
