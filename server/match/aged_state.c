#include "lockstep/server/match/aged_state.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/blob/blob.h"

ls_status ls_aged_state_init(ls_aged_state *aged, const ls_aged_state_config *config,
                             const ls_allocator *allocator)
{
    uint64_t state_hash = ls_sim_instance_digests(config->instance).initial;
    size_t bytes = ls_sim_instance_save_bytes(config->instance);
    bytes = LS_MAX(bytes, ls_sim_instance_image_bytes(config->instance)); /* a save may grow */
    bool is_saved = bytes > 0 && bytes <= LS_BLOB_BYTES_MAX;
    *aged = (ls_aged_state){.config = *config,
                            .bytes = is_saved ? bytes : 0,
                            .has_copies = is_saved || config->history,
                            .pause_ticks = LS_MAX(config->age_ticks, config->pause_min_ticks),
                            .ready = {.state_hash = state_hash,
                                      .chain = ls_hash_chain_start(state_hash),
                                      .tick_chain = LS_TICK_CHAIN_START}};
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
    return aged->has_copies && !aged->is_coming && tick - aged->ready.tick >= aged->pause_ticks;
}

static bool is_of_age(const ls_aged_state *aged, ls_tick tick)
{
    return aged->is_coming && tick - aged->coming.tick >= aged->config.age_ticks;
}

bool ls_aged_state_is_due(const ls_aged_state *aged, ls_tick tick)
{
    return is_copy_due(aged, tick) || is_of_age(aged, tick);
}

static void copy_live(ls_aged_state *aged, const ls_state_copy *live)
{
    const ls_aged_state_config *config = &aged->config;
    size_t size = aged->bytes > 0 ? ls_sim_instance_save_bytes(config->instance) : 0;
    if (size > aged->bytes ||
        (size > 0 && ls_sim_instance_save(config->instance, aged->rooms[0]) != LS_OK)) {
        return; /* the next tick's state, perhaps */
    }
    if (aged->bytes == 0 && (size = ls_tick_history_flush(config->history)) == 0) {
        aged->has_copies = false; /* it has ended */
        return;
    }
    aged->coming = *live;
    aged->coming.state_hash = ls_sim_instance_hash(config->instance);
    aged->coming.size = (uint32_t)size;
    aged->coming.bytes = aged->rooms[0];
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

void ls_aged_state_advance(ls_aged_state *aged, const ls_state_copy *live)
{
    come_of_age(aged, live->tick);
    if (is_copy_due(aged, live->tick)) {
        copy_live(aged, live);
        come_of_age(aged, live->tick);
    }
}
