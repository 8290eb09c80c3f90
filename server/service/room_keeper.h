/* Room keeper: the rooms of a service on its workers: keeps as many open as the configuration asks
 * for, gives each to a worker, lets it go on from its journal when that worker was started again,
 * and carries out what an operator asks for. Owns the workers. Called by supervisor. */
#ifndef LOCKSTEP_SERVER_SERVICE_ROOM_KEEPER_H
#define LOCKSTEP_SERVER_SERVICE_ROOM_KEEPER_H

#include "lockstep/server/host/publisher.h"
#include "lockstep/server/service/service_view.h"
#include "lockstep/server/service/worker_pool.h"

typedef struct ls_room_keeper_config {
    const ls_service_config *service; /* outlives the keeper */
    const char *register_path;        /* see room_register.h; NULL: none */
    uint32_t workers;
    const int *sockets;               /* of each worker, as in worker_pool.h */
    const char *program;              /* likewise */
    const ls_worker_settings *worker; /* likewise */
    const ls_upload_report *uploads;  /* see service_view.h; outlives the keeper */
    const ls_door_report *door;       /* likewise; NULL: no pages */
    const ls_storage_report *storage; /* likewise */
    ls_event_loop *loop;
    const ls_log *log;
    /* How to get into a room, see service_view.h. */
    void (*invite)(void *user, const ls_room_report *room, char *out, size_t capacity);
    void (*link)(void *user, const char *invite, char *out, size_t capacity); /* as in the view */
    /* This worker has the intake, and knows it: newcomers are to come to it from now on. */
    void (*on_intake)(void *user, uint32_t worker);
    void *user;
} ls_room_keeper_config;

typedef struct ls_room_keeper ls_room_keeper;

/* IO, MALFORMED (of the register) or NO_MEMORY, with `why`. */
ls_status ls_room_keeper_create(const ls_room_keeper_config *config, ls_room_keeper **out,
                                ls_text *why);
/* Kills the workers that still run. Before the loop is destroyed. NULL is allowed. */
void ls_room_keeper_destroy(ls_room_keeper *keeper);

/* Opens what is missing; about once a second. */
void ls_room_keeper_tend(ls_room_keeper *keeper);

/* Another configuration is about to take the place of that of the service: rooms of kinds that it
 * lacks, or has otherwise, end where nobody is in them, and play on where somebody is. */
void ls_room_keeper_reconfigure(ls_room_keeper *keeper, const ls_service_config *fresh);

/* Where a router leads to the workers' port; all zero: nowhere. Players of a relay try that. */
void ls_room_keeper_set_outside(ls_room_keeper *keeper, const ls_endpoint *outside);

/* How the workers are registered with a relay, for ls_publisher_announce. */
const ls_publisher_shared *ls_room_keeper_published(const ls_room_keeper *keeper);

/* Whether a journal is that of a room which is there. */
bool ls_room_keeper_has_journal(const ls_room_keeper *keeper, const char *path);

/* No new rooms from now on; rooms where nobody plays are ended. */
void ls_room_keeper_drain(ls_room_keeper *keeper);
/* The workers end, and leave their rooms in the journals. */
void ls_room_keeper_leave(ls_room_keeper *keeper);

bool ls_room_keeper_is_empty(const ls_room_keeper *keeper); /* but for those that wait to go on */
bool ls_room_keeper_has_left(const ls_room_keeper *keeper); /* no worker runs */

/* For those who show and steer the service; as good as the keeper. */
const ls_service_view *ls_room_keeper_view(const ls_room_keeper *keeper);

#endif
