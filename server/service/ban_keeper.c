#include "lockstep/server/service/ban_keeper.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/server/service/calendar.h"

#include <stdio.h>
#include <string.h>

static void make_message(const char *address, uint64_t seconds, ls_worker_message *out)
{
    memset(out, 0, sizeof *out);
    out->kind = LS_WORKER_COMMAND;
    out->command.kind = LS_SERVICE_BAN;
    out->command.seconds = (uint32_t)LS_MIN(seconds, (uint64_t)UINT32_MAX);
    ls_text_set(&out->command.text, "%s", address);
}

void ls_ban_keeper_add(ls_room_register *rooms, ls_worker_pool *pool, const char *address,
                       uint32_t seconds)
{
    uint64_t until_ns = (ls_calendar_ms() + (uint64_t)seconds * 1000) * LS_NS_PER_MS;
    ls_worker_message message;
    ls_ban_list_add(ls_room_register_bans(rooms), address, until_ns);
    make_message(address, seconds, &message);
    ls_worker_pool_send_all(pool, &message);
}

void ls_ban_keeper_tell(ls_room_register *rooms, ls_worker_pool *pool, uint32_t worker)
{
    const ls_ban_list *bans = ls_room_register_bans(rooms);
    uint64_t now_ns = ls_calendar_ms() * LS_NS_PER_MS;
    for (uint32_t i = 0; i < LS_BANS_MAX; i++) {
        char address[LS_BAN_HOST_BYTES + 2];
        snprintf(address, sizeof address, "%.63s:0", bans->rows[i].host);
        uint64_t left_s = ls_ban_list_left_s(bans, address, now_ns);
        if (left_s > 0) {
            ls_worker_message message;
            make_message(address, left_s, &message);
            (void)ls_worker_pool_send(pool, worker, &message);
        }
    }
}
