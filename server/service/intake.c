#include "lockstep/server/service/intake.h"

#include "lockstep/server/service/room_directory.h"

static ls_worker_message message_of_seats(uint32_t worker, const ls_worker_seats *seats)
{
    return (ls_worker_message){.kind = LS_WORKER_SEATS, .worker = worker, .seats = *seats};
}

static void give(ls_intake *intake, ls_worker_pool *pool, uint32_t worker)
{
    const ls_worker_message message = {.kind = LS_WORKER_INTAKE, .worker = worker};
    intake->worker = worker;
    ls_worker_pool_send_all(pool, &message);
}

/* The worker that had it is gone, or it was handed to one that is. */
static void give_anew(ls_intake *intake, ls_worker_pool *pool)
{
    uint32_t best = ls_worker_seats_best(intake->seats, intake->workers);
    for (uint32_t i = 0; i < intake->workers && best == UINT32_MAX; i++) {
        best = ls_worker_pool_is_ready(pool, i) ? i : UINT32_MAX;
    }
    if (best != UINT32_MAX) {
        give(intake, pool, best);
    }
}

void ls_intake_greet(const ls_intake *intake, ls_worker_pool *pool, uint32_t worker)
{
    const ls_worker_message message = {.kind = LS_WORKER_INTAKE, .worker = intake->worker};
    (void)ls_worker_pool_send(pool, worker, &message);
    for (uint32_t i = 0; i < intake->workers; i++) {
        const ls_worker_message seats = message_of_seats(i, &intake->seats[i]);
        (void)ls_worker_pool_send(pool, worker, &seats);
    }
}

void ls_intake_note_seats(ls_intake *intake, ls_worker_pool *pool, uint32_t worker,
                          const ls_worker_seats *seats)
{
    const ls_worker_message message = message_of_seats(worker, seats);
    intake->seats[worker] = *seats;
    for (uint32_t i = 0; i < intake->workers; i++) {
        if (i != worker) {
            (void)ls_worker_pool_send(pool, i, &message);
        }
    }
}

void ls_intake_drain(ls_intake *intake, ls_worker_pool *pool)
{
    uint32_t best = intake->worker;
    for (uint32_t i = 0; i < intake->workers; i++) {
        best = intake->seats[i].players > intake->seats[best].players ? i : best;
    }
    if (best != intake->worker) {
        give(intake, pool, best);
    }
}

void ls_intake_lose(ls_intake *intake, ls_worker_pool *pool, uint32_t worker)
{
    ls_intake_note_seats(intake, pool, worker, &(ls_worker_seats){.open = 0});
    if (worker == intake->worker) {
        give_anew(intake, pool);
    }
}

void ls_intake_receive(ls_intake *intake, ls_worker_pool *pool, uint32_t worker, uint32_t to)
{
    if (worker != intake->worker || to >= intake->workers) {
        return;
    }
    if (to == worker) {
        intake->on_known(intake->user, worker);
    } else if (ls_worker_pool_is_ready(pool, to)) {
        give(intake, pool, to);
    } else {
        give_anew(intake, pool);
    }
}
