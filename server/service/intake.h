/* Intake: which worker newcomers come to (room_directory.h says what workers do with it), and how
 * it is given from one to another. Called by the room keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_INTAKE_H
#define LOCKSTEP_SERVER_SERVICE_INTAKE_H

#include "lockstep/server/service/worker_pool.h"

typedef struct ls_intake {
    uint32_t workers;
    uint32_t worker; /* that has it */
    ls_worker_seats seats[LS_SERVICE_WORKERS_MAX];
    /* This worker has the intake, and knows it: newcomers are to come to it from now on. */
    void (*on_known)(void *user, uint32_t worker);
    void *user;
} ls_intake;

/* A worker has started, and hears who has the intake. */
void ls_intake_greet(const ls_intake *intake, ls_worker_pool *pool, uint32_t worker);

/* The seats of a worker have changed: all workers hear of it. */
void ls_intake_note_seats(ls_intake *intake, ls_worker_pool *pool, uint32_t worker,
                          const ls_worker_seats *seats);

/* No more rooms are opened: newcomers are to come where somebody can tell them so, to the worker
 * with the most players. */
void ls_intake_drain(ls_intake *intake, ls_worker_pool *pool);

/* A worker has ended: its seats are gone, and the intake is given to another. */
void ls_intake_lose(ls_intake *intake, ls_worker_pool *pool, uint32_t worker);

/* `worker` says that `to` has the intake: itself when it knows so, or the one it hands it on to. A
 * message of a worker that has it no more is out of date. */
void ls_intake_receive(ls_intake *intake, ls_worker_pool *pool, uint32_t worker, uint32_t to);

#endif
