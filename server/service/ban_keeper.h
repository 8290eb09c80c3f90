/* Ban keeper: tells all workers of a service of the addresses that are banned, and keeps them in
 * the register. Called by room_keeper. */
#ifndef LOCKSTEP_SERVER_SERVICE_BAN_KEEPER_H
#define LOCKSTEP_SERVER_SERVICE_BAN_KEEPER_H

#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/worker_pool.h"

/* A worker has banned an address, "HOST:PORT", for so long: the others do as well. The register is
 * to be saved. */
void ls_ban_keeper_add(ls_room_register *rooms, ls_worker_pool *pool, const char *address,
                       uint32_t seconds);

/* A worker was started: it is told of all bans. */
void ls_ban_keeper_tell(ls_room_register *rooms, ls_worker_pool *pool, uint32_t worker);

#endif
