#include "lockstep/server/match/spectator_queue.h"

/* An origin that is not known has none. */
static uint32_t count_streams(const ls_spectator_table *table, const ls_handover *handover,
                              uint64_t origin)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < handover->stream_count && origin != 0; i++) {
        ls_peer_id peer = handover->streams[i].peer;
        const ls_spectator *other = peer != 0 ? ls_spectator_table_find(table, peer) : NULL;
        count += other && other->origin == origin ? 1 : 0;
    }
    return count;
}

ls_spectator *ls_spectator_queue_next(const ls_spectator_table *table, const ls_handover *handover,
                                      const ls_origin_budget *origins, uint64_t now_ns)
{
    ls_spectator *next = NULL;
    uint32_t fewest = 0;
    for (uint32_t row = 0; row < table->end; row++) {
        ls_spectator *each = &table->rows[row];
        if (each->peer == 0 || each->waiting_ns == 0 ||
            ls_origin_budget_is_spent(origins, each->origin, now_ns)) {
            continue;
        }
        uint32_t streams = count_streams(table, handover, each->origin);
        bool is_longer = next && streams == fewest && each->waiting_ns < next->waiting_ns;
        if (!next || streams < fewest || is_longer) {
            next = each;
            fewest = streams;
        }
    }
    return next;
}
