#include "lockstep/common/game/param_files.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/tools/liblockstep/handle.h"

/* One simulation by itself. */
typedef struct sim_part {
    ls_loaded_simulation loaded; /* unless it is the caller's own */
    ls_param_files files;
    ls_sim_instance *instance;
    uint32_t slots;
    uint32_t input_bytes;
} sim_part;

static ls_status create_instance(lockstep_self *handle, sim_part *sim,
                                 const ls_simulation *simulation, ls_text *why)
{
    const lockstep_settings *settings = &handle->settings;
    ls_match_config match = ls_match_config_default(simulation);
    ls_setting_table_copy(&ls_match_settings, settings->match_given, &settings->match, &match);
    ls_status status = ls_param_files_decide(&sim->files, settings->params.assignments,
                                             settings->params.count, simulation, &match.sim, why);
    LS_THEN(status, ls_sim_instance_create(simulation, &match.sim, ls_allocator_heap(),
                                           &sim->instance, why));
    sim->slots = match.sim.players;
    sim->input_bytes = simulation->input_bytes_max;
    return status;
}

ls_status lockstep_sim_open(lockstep_self *handle, ls_text *why)
{
    sim_part *sim = ls_allocate(ls_allocator_heap(), sizeof *sim);
    handle->part = sim;
    if (!sim) {
        return LS_NO_MEMORY;
    }
    if (!handle->has_game && !handle->settings.sim) {
        return ls_fail(LS_BAD_ARGUMENT, why, "which simulation: set \"sim\", or give a game");
    }
    ls_status status =
        handle->has_game ? LS_OK : ls_simulation_load(handle->settings.sim, &sim->loaded, why);
    return status == LS_OK
               ? create_instance(handle, sim,
                                 handle->has_game ? &handle->own : sim->loaded.simulation, why)
               : status;
}

void lockstep_sim_close(lockstep_self *handle)
{
    sim_part *sim = handle->part;
    if (!sim) {
        return;
    }
    ls_sim_instance_destroy(sim->instance);
    ls_param_files_release(&sim->files);
    ls_simulation_unload(&sim->loaded);
    ls_release(ls_allocator_heap(), sim);
    handle->part = NULL;
}

ls_sim_instance *lockstep_sim_instance(lockstep_self *handle)
{
    return ((sim_part *)handle->part)->instance;
}

uint32_t lockstep_sim_slots(lockstep_self *handle)
{
    return ((sim_part *)handle->part)->slots;
}

size_t lockstep_sim_input_bytes(lockstep_self *handle)
{
    const sim_part *sim = handle->part;
    return (size_t)sim->slots * sim->input_bytes;
}

void lockstep_sim_info(lockstep_self *handle, lockstep_info *info)
{
    const sim_part *sim = handle->part;
    info->players = sim->slots;
    info->tick = ls_sim_instance_tick(sim->instance);
    info->tick_rate_hz = ls_sim_instance_config(sim->instance)->tick_rate_hz;
    info->input_bytes = sim->input_bytes;
    info->sim = ls_sim_instance_simulation(sim->instance)->name;
}

void lockstep_sim_step(lockstep_self *handle, const uint8_t *inputs, const uint32_t *sizes)
{
    const sim_part *sim = handle->part;
    ls_tick tick = ls_sim_instance_tick(sim->instance);
    ls_slot_input slots[LS_PLAYERS_MAX];
    for (uint32_t i = 0; i < sim->slots; i++) {
        slots[i] = (ls_slot_input){.bytes = inputs + (size_t)i * sim->input_bytes,
                                   .size = sizes ? sizes[i] : sim->input_bytes,
                                   .events = tick == 0 ? LS_EVENT_JOINED : 0};
    }
    const ls_tick_inputs all = {.tick = tick, .slot_count = sim->slots, .slots = slots};
    ls_sim_instance_step(sim->instance, &all);
}
