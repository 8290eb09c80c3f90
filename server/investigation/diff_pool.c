#include "lockstep/server/investigation/diff_pool.h"

#include "lockstep/common/base/assert.h"

enum {
    MEMORY_BYTES = 16 << 20,
    PLACES_MIN = 2,
    /* Of a state: the first use would wait for the system's pages. That of a larger one does, since
     * most matches never use them. */
    TOUCHED_BYTES = 1 << 20,
    PLACES_PER_PLAYER = 2, /* the state that differs, and the one behind the pass */
};

/* ---- life ---- */

static uint32_t count_places(const ls_sim_instance *instance)
{
    const ls_schema *schema = ls_sim_instance_image_schema(instance);
    uint32_t players = ls_sim_instance_config(instance)->players;
    size_t each = ls_schema_state_bytes(schema) + ls_hash_tree_diff_memory(schema);
    size_t fitting = MEMORY_BYTES / each;
    fitting = fitting > PLACES_MIN ? fitting : PLACES_MIN;
    size_t wanted = PLACES_PER_PLAYER * (size_t)players;
    return (uint32_t)(fitting < wanted ? fitting : wanted);
}

static ls_status make_place(ls_diff_pool *pool)
{
    ls_state_inspector *inspector = &pool->held[pool->made].inspector;
    ls_hash_tree_diff **diff = &pool->places[pool->made].diff;
    ls_status status =
        ls_state_inspector_init(inspector, pool->instance, pool->window, pool->allocator);
    if (status == LS_OK) {
        status = ls_hash_tree_diff_create(ls_sim_instance_image_schema(pool->instance),
                                          pool->allocator, diff);
    }
    if (status == LS_OK) {
        pool->made++;
    } else {
        ls_state_inspector_deinit(inspector);
        pool->held[pool->made] = (ls_held_state){0};
    }
    return status;
}

ls_status ls_diff_pool_init(ls_diff_pool *pool, const ls_sim_instance *instance,
                            const ls_replay_window *window, const ls_allocator *allocator)
{
    ls_status status = ls_sim_instance_image_schema(instance) ? LS_OK : LS_UNSUPPORTED;
    pool->allocator = allocator;
    pool->instance = instance;
    pool->window = window;
    if (status != LS_OK) {
        return status;
    }
    pool->count = count_places(instance);
    pool->places = ls_allocate_array(allocator, pool->count, sizeof *pool->places);
    pool->held = ls_allocate_array(allocator, pool->count, sizeof *pool->held);
    status = pool->places && pool->held ? LS_OK : LS_NO_MEMORY;
    LS_THEN(status, make_place(pool));
    size_t bytes = ls_sim_instance_image_bytes(instance);
    if (status == LS_OK && bytes >= TOUCHED_BYTES && bytes <= LS_REPLAY_MEDIUM_STATE_BYTES) {
        ls_state_inspector_touch(&pool->held[0].inspector);
    }
    return status;
}

void ls_diff_pool_deinit(ls_diff_pool *pool)
{
    for (uint32_t i = 0; i < pool->made; i++) {
        ls_hash_tree_diff_destroy(pool->places[i].diff);
        ls_state_inspector_deinit(&pool->held[i].inspector);
    }
    if (pool->allocator) {
        ls_release(pool->allocator, pool->held);
        ls_release(pool->allocator, pool->places);
    }
}

/* ---- places ---- */

static ls_diff_place *free_place(ls_diff_pool *pool)
{
    for (uint32_t i = 0; i < pool->made; i++) {
        if (!pool->places[i].held) {
            return &pool->places[i];
        }
    }
    bool is_made = pool->made < pool->count && make_place(pool) == LS_OK;
    return is_made ? &pool->places[pool->made - 1] : NULL;
}

/* The state that is held already, or else one that no diff uses; there is one while a place is
 * free. */
static ls_held_state *find_held(ls_diff_pool *pool, const ls_diff_subject *subject)
{
    ls_held_state *unused = NULL;
    for (uint32_t i = 0; i < pool->made; i++) {
        ls_held_state *held = &pool->held[i];
        if (held->users > 0 &&
            ls_state_inspector_has(&held->inspector, subject->tick, subject->pass)) {
            return held;
        }
        unused = held->users == 0 && !unused ? held : unused;
    }
    return unused;
}

static bool fill(ls_held_state *held, const ls_diff_subject *subject,
                 const ls_rerun_outcome *outcome)
{
    ls_state_inspector *inspector = &held->inspector;
    bool is_run = outcome && outcome->figures.tick == subject->tick;
    if (held->users > 0) {
        return true;
    }
    inspector->is_holding = false;
    if (subject->pass != LS_NO_PASS) {
        return is_run && ls_state_inspector_hold_pass(inspector, outcome, subject->pass);
    }
    return ls_state_inspector_hold(inspector, subject->tick) ||
           (is_run && ls_state_inspector_hold_rerun(inspector, outcome));
}

ls_status ls_diff_pool_claim(ls_diff_pool *pool, const ls_diff_subject *subject,
                             const ls_rerun_outcome *outcome, ls_diff_place **out)
{
    ls_diff_place *place = free_place(pool);
    if (!place) {
        return LS_FULL;
    }
    ls_held_state *held = find_held(pool, subject);
    if (!fill(held, subject, outcome)) {
        return LS_NOT_FOUND;
    }
    held->users++;
    place->held = held;
    ls_hash_tree_diff_start(place->diff, held->inspector.tree, held->inspector.state);
    *out = place;
    return LS_OK;
}

void ls_diff_pool_release(ls_diff_place *place)
{
    LS_ASSERT(place->held && place->held->users > 0);
    place->held->users--;
    place->held = NULL;
}

void ls_diff_pool_advance(ls_diff_pool *pool)
{
    for (uint32_t i = 0; i < pool->made; i++) {
        if (pool->held[i].users > 0) {
            ls_state_inspector_advance(&pool->held[i].inspector);
        }
    }
}
