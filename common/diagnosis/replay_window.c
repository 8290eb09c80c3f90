#include "lockstep/common/diagnosis/replay_window.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

enum {
    BUDGET_BYTES = 64 << 20,
    SNAPSHOTS_MIN = 2,
    SNAPSHOTS_MAX = 16,
    RECENT_MAX = 128,
};

/* A saved state; `is_held` tells whether there is one. */
typedef struct saved_state {
    bool is_held;
    ls_tick tick;
    uint8_t *bytes;
} saved_state;

struct ls_replay_window {
    const ls_allocator *allocator;
    ls_replay_window_config config;
    size_t state_bytes;
    uint32_t snapshot_count;
    uint8_t *memory;        /* of all states */
    saved_state *snapshots; /* [snapshot_count], then the one of the start */
    saved_state *recent;    /* [recent_states], by tick; NULL when that is 0 */
    uint64_t *state_hashes; /* [window_ticks], by tick */
    ls_input_buffer *own;   /* NULL when they are borrowed */
    const ls_input_buffer *inputs;
    ls_tick start;
    ls_tick newest;
};

/* ---- create ---- */

ls_replay_window_config ls_replay_window_config_default(size_t state_bytes)
{
    size_t states = BUDGET_BYTES / (state_bytes > 0 ? state_bytes : 1);
    uint32_t snapshots = SNAPSHOTS_MIN;
    while (snapshots < SNAPSHOTS_MAX && snapshots * 4 <= states) {
        snapshots *= 2;
    }
    size_t left = states > snapshots + 1 ? states - snapshots - 1 : 0;
    return (ls_replay_window_config){
        .window_ticks = LS_WINDOW_TICKS,
        .interval_ticks = LS_WINDOW_TICKS / snapshots,
        .recent_states = left < RECENT_MAX ? (uint32_t)left : RECENT_MAX,
    };
}

static bool is_power_of_two(uint32_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

static bool is_config_valid(const ls_replay_window_config *config)
{
    return is_power_of_two(config->window_ticks) && is_power_of_two(config->interval_ticks) &&
           config->interval_ticks <= config->window_ticks / 2 &&
           config->recent_states <= config->window_ticks;
}

static void place_states(ls_replay_window *window)
{
    uint8_t *next = window->memory;
    for (uint32_t i = 0; i <= window->snapshot_count; i++, next += window->state_bytes) {
        window->snapshots[i].bytes = next;
    }
    for (uint32_t i = 0; i < window->config.recent_states; i++, next += window->state_bytes) {
        window->recent[i].bytes = next;
    }
}

static ls_status allocate_rings(ls_replay_window *window)
{
    const ls_allocator *allocator = window->allocator;
    uint32_t snapshots = window->snapshot_count + 1;
    uint32_t recent = window->config.recent_states;
    window->memory = ls_allocate_array(allocator, (size_t)snapshots + recent, window->state_bytes);
    window->snapshots = ls_allocate_array(allocator, snapshots, sizeof(saved_state));
    window->recent = recent > 0 ? ls_allocate_array(allocator, recent, sizeof(saved_state)) : NULL;
    window->state_hashes =
        ls_allocate_array(allocator, window->config.window_ticks, sizeof(uint64_t));
    if (!window->memory || !window->snapshots || (recent > 0 && !window->recent) ||
        !window->state_hashes) {
        return LS_NO_MEMORY;
    }
    place_states(window);
    return LS_OK;
}

ls_status ls_replay_window_create(const ls_replay_window_config *config,
                                  const ls_sim_instance *instance, const ls_allocator *allocator,
                                  ls_replay_window **out)
{
    if (!is_config_valid(config)) {
        return LS_BAD_ARGUMENT;
    }
    if (!ls_sim_instance_schema(instance)) {
        return LS_UNSUPPORTED;
    }
    ls_replay_window *window = ls_allocate(allocator, sizeof *window);
    if (!window) {
        return LS_NO_MEMORY;
    }
    window->allocator = allocator;
    window->config = *config;
    window->state_bytes = ls_sim_instance_state_bytes(instance);
    window->snapshot_count = config->window_ticks / config->interval_ticks;
    ls_input_buffer_config inputs = {
        .slots = ls_sim_instance_config(instance)->players,
        .input_bytes_max = ls_sim_instance_simulation(instance)->input_bytes_max,
        .window_ticks = config->window_ticks,
    };
    ls_status status = allocate_rings(window);
    if (status == LS_OK && !config->inputs) {
        status = ls_input_buffer_create(&inputs, allocator, &window->own);
    }
    window->inputs = config->inputs ? config->inputs : window->own;
    if (status != LS_OK) {
        ls_replay_window_destroy(window);
        return status;
    }
    *out = window;
    return LS_OK;
}

void ls_replay_window_destroy(ls_replay_window *window)
{
    if (!window) {
        return;
    }
    ls_input_buffer_destroy(window->own);
    ls_release(window->allocator, window->state_hashes);
    ls_release(window->allocator, window->recent);
    ls_release(window->allocator, window->snapshots);
    ls_release(window->allocator, window->memory);
    ls_release(window->allocator, window);
}

/* ---- recording ---- */

static bool is_snapshot_due(const ls_replay_window *window, ls_tick tick)
{
    return tick % window->config.interval_ticks == 0;
}

static void claim(saved_state *saved, ls_tick tick)
{
    saved->is_held = true;
    saved->tick = tick;
}

/* Where the state of that tick belongs: the first place, then NULL or a second. */
static void places_of(ls_replay_window *window, ls_tick tick, saved_state *places[2])
{
    uint32_t count = 0;
    places[0] = NULL;
    places[1] = NULL;
    if (is_snapshot_due(window, tick)) {
        uint32_t number = tick / window->config.interval_ticks;
        places[count++] = &window->snapshots[number % window->snapshot_count];
    }
    if (window->config.recent_states > 0) {
        places[count++] = &window->recent[tick % window->config.recent_states];
    }
}

static void save(saved_state *place, const ls_sim_instance *instance)
{
    ls_status status = ls_sim_instance_save(instance, place->bytes);
    LS_ASSERT(status == LS_OK); /* with a schema saving is a copy */
    claim(place, ls_sim_instance_tick(instance));
}

static void save_where_due(ls_replay_window *window, const ls_sim_instance *instance)
{
    saved_state *places[2];
    places_of(window, ls_sim_instance_tick(instance), places);
    for (uint32_t i = 0; i < 2 && places[i]; i++) {
        save(places[i], instance);
    }
}

static void copy_where_due(ls_replay_window *window, ls_tick tick, const uint8_t *saved)
{
    saved_state *places[2];
    places_of(window, tick, places);
    for (uint32_t i = 0; i < 2 && places[i]; i++) {
        places[i]->is_held = false; /* what it held is due to go, with or without a successor */
        if (saved) {
            memcpy(places[i]->bytes, saved, window->state_bytes);
            claim(places[i], tick);
        }
    }
}

static void note_hash(ls_replay_window *window, ls_tick tick, uint64_t state_hash)
{
    window->newest = tick;
    window->state_hashes[tick & (window->config.window_ticks - 1)] = state_hash;
}

void ls_replay_window_start(ls_replay_window *window, const ls_sim_instance *instance,
                            uint64_t state_hash)
{
    ls_tick tick = ls_sim_instance_tick(instance);
    LS_ASSERT(tick >= window->newest || !window->own);
    for (uint32_t i = 0; i <= window->snapshot_count; i++) {
        window->snapshots[i].is_held = false;
    }
    for (uint32_t i = 0; i < window->config.recent_states; i++) {
        window->recent[i].is_held = false;
    }
    if (window->own) {
        ls_input_buffer_forget_before(window->own, tick);
    }
    window->start = tick;
    note_hash(window, tick, state_hash);
    save(&window->snapshots[window->snapshot_count], instance);
    save_where_due(window, instance);
}

static void put_inputs(ls_replay_window *window, const ls_tick_inputs *inputs)
{
    uint32_t held = window->config.window_ticks;
    if (inputs->tick >= held) {
        ls_input_buffer_forget_before(window->own, inputs->tick - held + 1);
    }
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        ls_status status = ls_input_buffer_put(window->own, inputs->tick, slot, input->bytes,
                                               input->size, input->events);
        LS_ASSERT(status == LS_OK);
    }
}

static void record_tick(ls_replay_window *window, const ls_tick_inputs *inputs, uint64_t state_hash)
{
    LS_ASSERT(inputs->tick == window->newest);
    if (window->own) {
        put_inputs(window, inputs);
    }
    note_hash(window, inputs->tick + 1, state_hash);
}

void ls_replay_window_record(ls_replay_window *window, const ls_tick_inputs *inputs,
                             const ls_sim_instance *instance, uint64_t state_hash)
{
    LS_ASSERT(ls_sim_instance_tick(instance) == inputs->tick + 1);
    record_tick(window, inputs, state_hash);
    save_where_due(window, instance);
}

void ls_replay_window_record_saved(ls_replay_window *window, const ls_tick_inputs *inputs,
                                   const uint8_t *saved, uint64_t state_hash)
{
    record_tick(window, inputs, state_hash);
    copy_where_due(window, inputs->tick + 1, saved);
}

/* ---- questions ---- */

ls_tick ls_replay_window_newest(const ls_replay_window *window)
{
    return window->newest;
}

ls_tick ls_replay_window_oldest(const ls_replay_window *window)
{
    uint32_t held = window->config.window_ticks;
    ls_tick first = window->newest >= held ? window->newest - held + 1 : 0;
    return LS_MAX(first, window->start);
}

static bool is_held(const ls_replay_window *window, ls_tick tick)
{
    return tick >= ls_replay_window_oldest(window) && tick <= window->newest;
}

ls_status ls_replay_window_hash(const ls_replay_window *window, ls_tick tick, uint64_t *out)
{
    if (!is_held(window, tick)) {
        return LS_NOT_FOUND;
    }
    *out = window->state_hashes[tick & (window->config.window_ticks - 1)];
    return LS_OK;
}

static const uint8_t *state_in(const saved_state *states, uint32_t count, ls_tick tick)
{
    for (uint32_t i = 0; i < count; i++) {
        if (states[i].is_held && states[i].tick == tick) {
            return states[i].bytes;
        }
    }
    return NULL;
}

const uint8_t *ls_replay_window_state(const ls_replay_window *window, ls_tick tick)
{
    const uint8_t *bytes = state_in(window->recent, window->config.recent_states, tick);
    return bytes ? bytes : state_in(window->snapshots, window->snapshot_count + 1, tick);
}

/* The newest snapshot not after `tick` whose inputs are still held. */
static const saved_state *snapshot_before(const ls_replay_window *window, ls_tick tick)
{
    const saved_state *best = NULL;
    for (uint32_t i = 0; i <= window->snapshot_count; i++) {
        const saved_state *saved = &window->snapshots[i];
        bool fits = saved->is_held && saved->tick <= tick && is_held(window, saved->tick) &&
                    saved->tick >= ls_input_buffer_first(window->inputs);
        if (fits && (!best || saved->tick > best->tick)) {
            best = saved;
        }
    }
    return best;
}

ls_status ls_replay_window_stretch(const ls_replay_window *window, ls_tick agreed, ls_tick last,
                                   ls_replay_stretch *out)
{
    const saved_state *snapshot = snapshot_before(window, agreed);
    if (agreed >= last || last > window->newest || !snapshot) {
        return LS_NOT_FOUND;
    }
    *out = (ls_replay_stretch){
        .first = snapshot->tick,
        .agreed = agreed,
        .last = last,
        .snapshot = snapshot->bytes,
        .state_hashes = window->state_hashes,
        .hashes_mask = window->config.window_ticks - 1,
        .inputs = window->inputs,
    };
    return LS_OK;
}

/* ---- simulating a stretch ---- */

uint64_t ls_replay_stretch_hash(const ls_replay_stretch *stretch, ls_tick tick)
{
    LS_ASSERT(tick >= stretch->first && tick <= stretch->last);
    return stretch->state_hashes[tick & stretch->hashes_mask];
}

ls_status ls_replay_stretch_load(const ls_replay_stretch *stretch, ls_sim_instance *instance)
{
    return ls_sim_instance_load(instance, stretch->snapshot, stretch->first);
}

ls_status ls_replay_stretch_inputs(const ls_replay_stretch *stretch,
                                   const ls_sim_instance *instance,
                                   ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    ls_tick tick = ls_sim_instance_tick(instance);
    ls_status status = ls_input_buffer_tick(stretch->inputs, tick, slots);
    if (status == LS_OK) {
        *out = (ls_tick_inputs){tick, ls_sim_instance_config(instance)->players, slots};
    }
    return status;
}

ls_status ls_replay_stretch_run(const ls_replay_stretch *stretch, ls_sim_instance *instance,
                                ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    LS_ASSERT(tick <= stretch->last);
    while (ls_sim_instance_tick(instance) < tick) {
        ls_status status = ls_replay_stretch_inputs(stretch, instance, slots, &inputs);
        if (status != LS_OK) {
            return status;
        }
        ls_sim_instance_step(instance, &inputs);
    }
    return LS_OK;
}
