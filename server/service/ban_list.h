/* Ban list: addresses that no room lets in for a while. Fixed size: the one that ends first gives
 * way. Called by worker_rooms. */
#ifndef LOCKSTEP_SERVER_SERVICE_BAN_LIST_H
#define LOCKSTEP_SERVER_SERVICE_BAN_LIST_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_BANS_MAX 256u
#define LS_BAN_HOST_BYTES 64u

typedef struct ls_ban {
    char host[LS_BAN_HOST_BYTES]; /* "192.0.2.7" or "[2001:db8::1]"; "": free */
    uint64_t until_ns;
} ls_ban;

/* All zero at first. */
typedef struct ls_ban_list {
    ls_ban rows[LS_BANS_MAX];
} ls_ban_list;

/* `address` is "HOST:PORT": any port of that host. One that is banned already is banned for the
 * longer time. */
void ls_ban_list_add(ls_ban_list *list, const char *address, uint64_t until_ns);

/* For how many seconds an address is banned still; 0: it is not. */
uint64_t ls_ban_list_left_s(const ls_ban_list *list, const char *address, uint64_t now_ns);

#endif
