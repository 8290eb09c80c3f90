#include "lockstep/server/match/spectator_table.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/endpoint.h"

ls_status ls_spectator_table_init(ls_spectator_table *table, uint32_t rows_max, uint32_t *pool,
                                  const ls_allocator *allocator)
{
    LS_ASSERT(rows_max > 0);
    *table = (ls_spectator_table){.rows_max = rows_max, .pool = pool};
    table->rows = ls_allocate_array(allocator, rows_max, sizeof *table->rows);
    ls_status status = ls_peer_map_init(&table->places, rows_max, allocator);
    return table->rows ? status : LS_NO_MEMORY;
}

static void return_to_pool(ls_spectator_table *table, uint32_t rows)
{
    if (table->pool) {
        *table->pool += rows;
    }
}

void ls_spectator_table_deinit(ls_spectator_table *table, const ls_allocator *allocator)
{
    return_to_pool(table, table->count);
    ls_peer_map_deinit(&table->places, allocator);
    ls_release(allocator, table->rows);
    *table = (ls_spectator_table){0};
}

ls_spectator *ls_spectator_table_add(ls_spectator_table *table, ls_peer_id peer)
{
    if (table->count == table->rows_max || (table->pool && *table->pool == 0)) {
        return NULL;
    }
    if (table->pool) {
        --*table->pool;
    }
    uint32_t index = 0;
    while (table->rows[index].peer != 0) {
        index++;
    }
    bool is_added = ls_peer_map_add(&table->places, peer, index);
    LS_ASSERT(is_added);
    table->rows[index] = (ls_spectator){.peer = peer};
    table->count++;
    table->end = LS_MAX(table->end, index + 1);
    return &table->rows[index];
}

void ls_spectator_table_remove(ls_spectator_table *table, ls_spectator *spectator)
{
    ls_peer_map_remove(&table->places, spectator->peer);
    spectator->peer = 0;
    table->count--;
    return_to_pool(table, 1);
    while (table->end > 0 && table->rows[table->end - 1].peer == 0) {
        table->end--;
    }
}

ls_spectator *ls_spectator_table_find(const ls_spectator_table *table, ls_peer_id peer)
{
    uint32_t index = ls_peer_map_find(&table->places, peer);
    return index == LS_PEER_MAP_NONE ? NULL : &table->rows[index];
}

ls_peer_id ls_spectator_table_holder(const ls_spectator_table *table, uint64_t holder)
{
    for (uint32_t row = 0; row < table->end; row++) {
        const ls_spectator *spectator = &table->rows[row];
        if (spectator->peer != 0 && spectator->has_holder && spectator->holder == holder) {
            return spectator->peer;
        }
    }
    return 0;
}

void ls_spectator_table_send(const ls_spectator_table *table, ls_outbox *outbox)
{
    for (uint32_t row = 0; row < table->end; row++) {
        if (table->rows[row].peer != 0) {
            ls_outbox_send(outbox, table->rows[row].peer);
        }
    }
}

ls_spectator *ls_spectator_table_next(ls_spectator_table *table)
{
    if (table->end == 0) {
        return NULL;
    }
    table->turn = table->turn < table->end ? table->turn : 0;
    ls_spectator *spectator = &table->rows[table->turn++];
    return spectator->peer != 0 ? spectator : NULL;
}

/* ---- who is next to be sent a state ---- */

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

ls_spectator *ls_spectator_table_waiting(const ls_spectator_table *table,
                                         const ls_handover *handover,
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

/* ---- who makes room ---- */

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

ls_spectator *ls_spectator_table_yielding(const ls_spectator_table *table, uint64_t for_origin)
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

/* ---- what each origin owes ---- */

/* Many spectators that leave at once may share an address: none waits for longer than this. */
#define WAIT_MAX_NS (UINT64_C(16) * LS_STATE_SHARE_NS)

bool ls_origin_budget_is_spent(const ls_origin_budget *budget, uint64_t origin, uint64_t now_ns)
{
    bool is_spent = false;
    for (uint32_t i = 0; origin != 0 && i < LS_ORIGIN_BUDGET_ROWS; i++) {
        if (budget->rows[i].origin == origin) {
            is_spent = ls_state_share_is_spent(budget->rows[i].paid_ns, now_ns);
        }
    }
    return is_spent && !LS_FAULT(SPECTATING_UNLIMITED);
}

/* The row of the origin, or the one of least use. */
static uint32_t row_of(const ls_origin_budget *budget, uint64_t origin)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < LS_ORIGIN_BUDGET_ROWS; i++) {
        if (budget->rows[i].origin == origin) {
            return i;
        }
        least = budget->rows[i].paid_ns < budget->rows[least].paid_ns ? i : least;
    }
    return least;
}

void ls_origin_budget_spend(ls_origin_budget *budget, uint64_t origin, uint64_t now_ns)
{
    if (origin == 0) {
        return;
    }
    uint32_t row = row_of(budget, origin);
    uint64_t paid_ns = budget->rows[row].origin == origin ? budget->rows[row].paid_ns : 0;
    paid_ns = ls_state_share_pay(paid_ns, now_ns);
    budget->rows[row].origin = origin;
    budget->rows[row].paid_ns = LS_MIN(paid_ns, now_ns + WAIT_MAX_NS);
}
