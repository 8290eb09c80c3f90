/* Loads a simulation, plays it with seeded random inputs and prints the hash of its last state. */
#include <lockstep/plugin_loader.h>
#include <lockstep/rng.h>
#include <lockstep/sim_instance.h>

#include <inttypes.h>
#include <stdio.h>

#define TICKS 1000u

/* Steps the instance and returns after how many ticks its state had changed. */
static uint32_t play(ls_sim_instance *instance)
{
    uint8_t bytes[LS_PLAYERS_MAX];
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_rng rng = ls_rng_make(1, 0);
    uint32_t players = ls_sim_instance_config(instance)->players;
    uint32_t changes = 0;
    for (ls_tick tick = 0; tick < TICKS; tick++) {
        for (uint32_t slot = 0; slot < players; slot++) {
            bytes[slot] = (uint8_t)ls_rng_below(&rng, 256);
            slots[slot] = (ls_slot_input){&bytes[slot], 1, tick == 0 ? LS_EVENT_JOINED : 0};
        }
        uint64_t before = ls_sim_instance_hash(instance);
        ls_sim_instance_step(instance, &(ls_tick_inputs){tick, players, slots});
        changes += ls_sim_instance_hash(instance) != before;
    }
    return changes;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: host NAME|FILE.so\n");
        return 2;
    }
    ls_text why = {""};
    ls_loaded_simulation loaded;
    if (ls_simulation_load(argv[1], &loaded, &why) != LS_OK) {
        fprintf(stderr, "host: %s\n", why.bytes);
        return 1;
    }
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    ls_sim_instance *instance = NULL;
    if (ls_sim_instance_create(loaded.simulation, &config, ls_allocator_heap(), &instance, &why) !=
        LS_OK) {
        fprintf(stderr, "host: %s\n", why.bytes);
        ls_simulation_unload(&loaded);
        return 1;
    }
    uint32_t changes = play(instance);
    printf("%s: %u ticks, hash %016" PRIx64 "\n", loaded.simulation->name, TICKS,
           ls_sim_instance_hash(instance));
    ls_sim_instance_destroy(instance);
    ls_simulation_unload(&loaded);
    return changes == TICKS ? 0 : 1;
}
