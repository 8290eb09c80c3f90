#include "lockstep/server/match/spectator_queue.h"

#include "lockstep/protocol/transport/endpoint.h"

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

/* ---- places ---- */

static uint32_t count_of(const ls_spectator_table *table, uint64_t origin)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < table->end; row++) {
        count += table->rows[row].peer != 0 && table->rows[row].origin == origin ? 1 : 0;
    }
    return count;
}

/* The only origin that can have more than half of the places: each other one is set off against it.
 */
static uint64_t commonest_origin(const ls_spectator_table *table)
{
    uint64_t origin = 0;
    uint32_t ahead = 0;
    for (uint32_t row = 0; row < table->end; row++) {
        uint64_t each = table->rows[row].origin;
        origin = ahead == 0 ? each : origin;
        ahead = each == origin ? ahead + 1 : ahead - 1;
    }
    return origin;
}

static bool came_later(const ls_spectator *one, const ls_spectator *other)
{
    return one->state != other->state ? one->state < other->state
                                      : one->link.progress_ns > other->link.progress_ns;
}

ls_spectator *ls_spectator_queue_yielding(const ls_spectator_table *table, uint64_t for_origin)
{
    uint64_t origin = commonest_origin(table);
    bool may_keep = origin == 0 || origin == for_origin || ls_endpoint_origin_is_loopback(origin);
    if (table->count < table->rows_max || may_keep ||
        count_of(table, origin) <= (table->rows_max + 1) / 2) {
        return NULL;
    }
    ls_spectator *last = NULL;
    for (uint32_t row = 0; row < table->end; row++) {
        ls_spectator *each = &table->rows[row];
        bool is_later = each->origin == origin && (!last || came_later(each, last));
        last = is_later ? each : last;
    }
    return last;
}
