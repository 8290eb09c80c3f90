/* Room directory: which worker has which room, where newcomers find seats, and which worker has the
 * intake, as each worker knows it of all of them: so that a worker can tell a client where its
 * place is.
 *
 * One worker at a time has the intake: newcomers without a token come to it, and it hands the
 * intake on when another worker suits them better. So of players who come in the same moment no two
 * sit down on different workers and wait there for one another. Called by worker. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_DIRECTORY_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_DIRECTORY_H

#include "lockstep/server/service/service_config.h"
#include "lockstep/server/service/worker_message.h"

typedef struct ls_room_directory ls_room_directory;

/* NO_MEMORY. */
ls_status ls_room_directory_create(ls_room_directory **out);
/* NULL is allowed. */
void ls_room_directory_destroy(ls_room_directory *directory);

/* A worker has a room, open or about to go on; a match id of 0: the room is gone. One too many is
 * left out. */
void ls_room_directory_note(ls_room_directory *directory, const char *name, uint64_t match_id,
                            uint32_t worker, bool is_open);

/* The worker of a room, by its name or by the id of its match in 16 hex digits; UINT32_MAX: there
 * is no such room. */
uint32_t ls_room_directory_find(const ls_room_directory *directory, const char *name);

/* The same by the id alone, or by that of the match before it in the same room: its players come
 * back there. 0: there is no such room. */
uint32_t ls_room_directory_find_match(const ls_room_directory *directory, uint64_t match_id);

/* Whether a room of this name, or one whose match has this id, is not open and will be. */
bool ls_room_directory_is_expected(const ls_room_directory *directory, const char *name,
                                   uint64_t match_id);

/* The seats of a worker have changed. */
void ls_room_directory_note_seats(ls_room_directory *directory, uint32_t worker,
                                  const ls_worker_seats *seats);

/* The worker that has the intake: 0 at first. A number beyond LS_SERVICE_WORKERS_MAX changes
 * nothing. */
uint32_t ls_room_directory_intake(const ls_room_directory *directory);
void ls_room_directory_set_intake(ls_room_directory *directory, uint32_t worker);

/* Whether another worker than `own` has the intake, and a seat: a newcomer who would be alone here
 * may meet others there. */
bool ls_room_directory_is_other_intake(const ls_room_directory *directory, uint32_t own);

/* The worker to send a newcomer to, from `own`: the one that has the intake; or another with a
 * seat, `own` if it has one, when those who were sent to that one since its seats were told have
 * taken all of them. One that asks again in the same `attempt` is sent where it was sent before,
 * and takes no second seat. UINT32_MAX: there is no seat anywhere. */
uint32_t ls_room_directory_send(ls_room_directory *directory, uint32_t own, uint64_t attempt);

/* A second has passed. Newcomers who were sent away before the last call have come by now, and the
 * seats of their worker were told, or they never will: their seats are free. */
void ls_room_directory_lapse(ls_room_directory *directory);

/* Hands on the intake of the worker `own`, if it has it, nobody waits for one more player there and
 * another worker is better for newcomers; whether it did. */
bool ls_room_directory_hand_on(ls_room_directory *directory, uint32_t own);

/* The worker where a newcomer is best off: where others are waiting for one more, or else that with
 * the fewest players of those that have a seat. UINT32_MAX: none has. */
uint32_t ls_room_directory_best(const ls_room_directory *directory);

/* The same of seats that are not in a directory, one for each worker. */
uint32_t ls_worker_seats_best(const ls_worker_seats *seats, uint32_t workers);

#endif
