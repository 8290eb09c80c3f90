/* Worker pool: the worker processes of a service: starts them, with one socket of the UDP port
 * each, starts one again that has ended or hangs, and carries messages. Knows nothing of rooms.
 * Called by supervisor. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_POOL_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_POOL_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/service/service_config.h"
#include "lockstep/server/service/worker_message.h"

#define LS_WORKER_HANGS_MS 10000u /* without a word; then it is killed and started again */

typedef struct ls_worker_pool_config {
    uint32_t workers;                   /* 1 .. LS_SERVICE_WORKERS_MAX */
    const int *sockets;                 /* of the UDP port, one for each worker; outlive the pool */
    int shared;                         /* the descriptor of ls_worker_shared */
    const char *program;                /* its path */
    const ls_worker_settings *settings; /* of every worker, but for its number; borrowed */
    ls_event_loop *loop;
    const ls_log *log;
    /* A worker takes messages: at first, and each time that it was started again. */
    void (*on_ready)(void *user, uint32_t worker);
    /* A worker has ended: its rooms are gone for now. It was at work for this one; NULL: for
     * none. */
    void (*on_lost)(void *user, uint32_t worker, const char *room);
    void (*on_message)(void *user, uint32_t worker, const ls_worker_message *message);
    void *user;
} ls_worker_pool_config;

typedef struct ls_worker_pool ls_worker_pool;

/* IO or NO_MEMORY, with `why`. */
ls_status ls_worker_pool_create(const ls_worker_pool_config *config, ls_worker_pool **out,
                                ls_text *why);
/* Kills the workers that still run. Before the loop is destroyed. NULL is allowed. */
void ls_worker_pool_destroy(ls_worker_pool *pool);

/* False: the worker is not there, or does not take it. */
bool ls_worker_pool_send(ls_worker_pool *pool, uint32_t worker, const ls_worker_message *message);
void ls_worker_pool_send_all(ls_worker_pool *pool, const ls_worker_message *message);

/* No worker is started again from now on; each is asked to leave its rooms in their journals. */
void ls_worker_pool_leave(ls_worker_pool *pool);

/* It takes what it is told, now or once it is ready. */
bool ls_worker_pool_is_started(const ls_worker_pool *pool, uint32_t worker);
bool ls_worker_pool_is_ready(const ls_worker_pool *pool, uint32_t worker);
uint32_t ls_worker_pool_running(const ls_worker_pool *pool); /* processes */
const ls_worker_report *ls_worker_pool_report(const ls_worker_pool *pool, uint32_t worker);

#endif
