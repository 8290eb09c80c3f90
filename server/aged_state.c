#include "lockstep/server/aged_state.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/tick_chain.h"

ls_status ls_aged_state_init(ls_aged_state *aged, const ls_sim_instance *instance,
                             uint32_t age_ticks, uint32_t pause_min_ticks,
                             const ls_allocator *allocator)
{
    uint64_t root = ls_sim_instance_digests(instance).initial;
    *aged = (ls_aged_state){
        .bytes = ls_sim_instance_save_bytes(instance),
        .age_ticks = age_ticks,
        .pause_ticks = age_ticks > pause_min_ticks ? age_ticks : pause_min_ticks,
        .ready = {
            .root = root, .chain = ls_hash_chain_start(root), .tick_chain = LS_TICK_CHAIN_START}};
    for (uint32_t i = 0; aged->bytes > 0 && i < 2; i++) {
        aged->rooms[i] = ls_allocate(allocator, aged->bytes);
        if (!aged->rooms[i]) {
            return LS_NO_MEMORY;
        }
    }
    return LS_OK;
}

void ls_aged_state_deinit(ls_aged_state *aged, const ls_allocator *allocator)
{
    ls_release(allocator, aged->rooms[0]);
    ls_release(allocator, aged->rooms[1]);
    *aged = (ls_aged_state){0};
}

static bool is_copy_due(const ls_aged_state *aged, ls_tick tick)
{
    return !aged->is_coming && tick - aged->ready.tick >= aged->pause_ticks;
}

static bool is_of_age(const ls_aged_state *aged, ls_tick tick)
{
    return aged->is_coming && tick - aged->coming.tick >= aged->age_ticks;
}

bool ls_aged_state_is_due(const ls_aged_state *aged, ls_tick tick)
{
    return aged->bytes > 0 && (is_copy_due(aged, tick) || is_of_age(aged, tick));
}

static void copy_live(ls_aged_state *aged, ls_sim_instance *instance, const ls_aged_copy *live)
{
    uint8_t *bytes = aged->rooms[0];
    if (ls_sim_instance_save(instance, bytes) != LS_OK) {
        return; /* the next tick's state, perhaps */
    }
    aged->coming = *live;
    aged->coming.root = ls_sim_instance_hash(instance);
    aged->coming.bytes = bytes;
    aged->is_coming = true;
}

static void come_of_age(ls_aged_state *aged, ls_tick tick)
{
    if (!is_of_age(aged, tick)) {
        return;
    }
    aged->ready = aged->coming;
    aged->is_coming = false;
    aged->rooms[0] = aged->rooms[1];
    aged->rooms[1] = aged->ready.bytes;
}

void ls_aged_state_advance(ls_aged_state *aged, ls_sim_instance *instance, const ls_aged_copy *live)
{
    come_of_age(aged, live->tick);
    if (aged->bytes > 0 && is_copy_due(aged, live->tick)) {
        copy_live(aged, instance, live);
        come_of_age(aged, live->tick);
    }
}
