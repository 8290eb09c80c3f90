#include "lockstep/server/service/ban_list.h"

#include "lockstep/common/base/clock.h"

#include <string.h>

/* The host is the part before the last colon. */
static void host_of(const char *address, char host[LS_BAN_HOST_BYTES])
{
    const char *colon = strrchr(address, ':');
    size_t bytes = colon ? (size_t)(colon - address) : strlen(address);
    bytes = LS_MIN(bytes, LS_BAN_HOST_BYTES - 1);
    memset(host, 0, LS_BAN_HOST_BYTES);
    memcpy(host, address, bytes);
}

void ls_ban_list_add(ls_ban_list *list, const char *address, uint64_t until_ns)
{
    char host[LS_BAN_HOST_BYTES];
    host_of(address, host);
    ls_ban *place = &list->rows[0];
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        ls_ban *row = &list->rows[i];
        if (strcmp(row->host, host) == 0) {
            row->until_ns = LS_MAX(row->until_ns, until_ns);
            return;
        }
        place = row->until_ns < place->until_ns ? row : place;
    }
    memcpy(place->host, host, sizeof place->host);
    place->until_ns = until_ns;
}

uint64_t ls_ban_list_left_s(const ls_ban_list *list, const char *address, uint64_t now_ns)
{
    char host[LS_BAN_HOST_BYTES];
    host_of(address, host);
    for (uint32_t i = 0; i < LS_BANS_MAX && host[0] != '\0'; i++) {
        const ls_ban *row = &list->rows[i];
        if (row->until_ns > now_ns && strcmp(row->host, host) == 0) {
            return (row->until_ns - now_ns + LS_NS_PER_SECOND - 1) / LS_NS_PER_SECOND;
        }
    }
    return 0;
}
