#include "lockstep/client/bots.h"

#include <string.h>

enum {
    CHANGE_ONE_IN_TICKS = 8, /* a held pad changes this often */
    RANDOM_BYTES_MAX = 16,   /* longer random inputs find nothing more and cost bandwidth */
};

ls_bot ls_bot_make(uint64_t seed)
{
    return (ls_bot){.rng = ls_rng_make(seed, 0x626f74)};
}

static uint32_t random_input(ls_bot *bot, uint32_t input_bytes_max, uint8_t *bytes)
{
    if (ls_rng_below(&bot->rng, CHANGE_ONE_IN_TICKS) == 0) {
        uint32_t most = input_bytes_max < RANDOM_BYTES_MAX ? input_bytes_max : RANDOM_BYTES_MAX;
        bot->random_size = ls_rng_below(&bot->rng, most + 1);
        for (uint32_t i = 0; i < bot->random_size; i++) {
            bot->random_bytes[i] = (uint8_t)ls_rng_next(&bot->rng);
        }
    }
    memcpy(bytes, bot->random_bytes, bot->random_size);
    return bot->random_size;
}

uint32_t ls_bot_input(ls_bot *bot, const ls_sim_instance *instance, uint32_t slot, uint8_t *bytes)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    if (!simulation->bot) {
        return random_input(bot, simulation->input_bytes_max, bytes);
    }
    return simulation->bot(ls_sim_instance_config(instance), ls_sim_instance_view(instance), slot,
                           &bot->rng, bytes);
}
