#include "lockstep/tools/timestep/sim_player.h"

#include <string.h>

enum {
    SHAPES_MAX = 65536,
};

static ls_status fill(stepping_sim_player *player, const ls_simulation *simulation,
                      const ls_sim_config *config, ls_text *why)
{
    ls_status status =
        ls_sim_instance_create(simulation, config, player->allocator, &player->instance, why);
    if (status != LS_OK) {
        return status;
    }
    size_t state_bytes = ls_sim_instance_state_bytes(player->instance);
    bool can_copy = ls_sim_instance_schema(player->instance) != NULL;
    player->list.capacity = SHAPES_MAX;
    player->list.shapes = ls_allocate_array(player->allocator, SHAPES_MAX, sizeof(ls_draw_shape));
    player->previous = can_copy ? ls_allocate(player->allocator, state_bytes) : NULL;
    if (!player->list.shapes || (can_copy && !player->previous)) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    if (can_copy) {
        memcpy(player->previous, ls_sim_instance_view(player->instance), state_bytes);
    }
    ls_bot_crew_init(&player->bots, config->seed);
    return LS_OK;
}

ls_status stepping_sim_player_create(const ls_simulation *simulation, const ls_sim_config *config,
                                     const ls_allocator *allocator, stepping_sim_player **out,
                                     ls_text *why)
{
    stepping_sim_player *player = ls_allocate(allocator, sizeof *player);
    if (!player) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    player->allocator = allocator;
    ls_status status = fill(player, simulation, config, why);
    if (status != LS_OK) {
        stepping_sim_player_destroy(player);
        return status;
    }
    *out = player;
    return LS_OK;
}

void stepping_sim_player_destroy(stepping_sim_player *player)
{
    if (!player) {
        return;
    }
    ls_release(player->allocator, player->previous);
    ls_release(player->allocator, player->list.shapes);
    if (player->instance) {
        ls_sim_instance_destroy(player->instance);
    }
    ls_release(player->allocator, player);
}

static void take_inputs(stepping_sim_player *player, const ls_tick_inputs *inputs)
{
    ls_sim_instance *instance = player->instance;
    if (player->previous) {
        memcpy(player->previous, ls_sim_instance_view(instance),
               ls_sim_instance_state_bytes(instance));
    }
    ls_sim_instance_step(instance, inputs);
}

void stepping_sim_player_step(stepping_sim_player *player)
{
    ls_tick_inputs inputs = ls_bot_crew_inputs(&player->bots, player->instance);
    take_inputs(player, &inputs);
}

void stepping_sim_player_follow(stepping_sim_player *player, const stepping_sim_player *leader)
{
    ls_tick_inputs inputs = {.tick = ls_sim_instance_tick(player->instance),
                             .slot_count = ls_sim_instance_config(player->instance)->players,
                             .slots = leader->bots.inputs};
    take_inputs(player, &inputs);
}

const ls_draw_list *stepping_sim_player_draw(stepping_sim_player *player, ls_fixed alpha)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(player->instance);
    const void *current = ls_sim_instance_view(player->instance);
    player->list.count = 0;
    if (simulation->draw) {
        simulation->draw(ls_sim_instance_config(player->instance),
                         player->previous ? player->previous : current, current, alpha,
                         &player->list);
    }
    return &player->list;
}
