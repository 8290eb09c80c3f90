/* Pending commands: the commands of operators that a worker has and whose results are awaited, and
 * those who asked. Sends nothing. Called by room_keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_PENDING_COMMANDS_H
#define LOCKSTEP_SERVER_SERVICE_PENDING_COMMANDS_H

#include "lockstep/server/service/service_view.h"

#define LS_PENDING_COMMANDS_MAX 256u

/* The one who is told the result, once. */
typedef struct ls_service_asker {
    void (*done)(void *user, const ls_service_result *result); /* NULL: the service did itself */
    void *user;
} ls_service_asker;

typedef struct ls_pending_command {
    uint64_t id; /* 0: the place is free */
    uint32_t worker;
    ls_service_command_kind kind;
    uint32_t seconds;
    char room[LS_ROOM_NAME_BYTES_MAX];
    ls_text text;
    ls_service_asker asker;
} ls_pending_command;

/* Zero: there is none. */
typedef struct ls_pending_commands {
    uint64_t ids;
    ls_pending_command rows[LS_PENDING_COMMANDS_MAX];
} ls_pending_commands;

/* With an id of its own. NULL: too many wait. */
ls_pending_command *ls_pending_commands_add(ls_pending_commands *pending,
                                            const ls_service_command *command, uint32_t worker,
                                            const ls_service_asker *asker);

/* NULL: there is none of this id. */
ls_pending_command *ls_pending_commands_find(ls_pending_commands *pending, uint64_t id);

/* Tells the result, and forgets the command; or all of a worker. */
void ls_pending_command_finish(ls_pending_command *command, const ls_service_result *result);
void ls_pending_commands_lose(ls_pending_commands *pending, uint32_t worker,
                              const ls_service_result *result);

/* Tells a result where nothing has to be awaited. */
void ls_service_asker_tell(const ls_service_asker *asker, ls_status status, const char *text);

#endif
