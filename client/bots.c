#include "lockstep/client/bots.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/plugin_place.h"

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
        uint32_t most = LS_MIN(input_bytes_max, RANDOM_BYTES_MAX);
        bot->random_size = ls_rng_below(&bot->rng, most + 1);
        for (uint32_t i = 0; i < bot->random_size; i++) {
            bot->random_bytes[i] = (uint8_t)ls_rng_next(&bot->rng);
        }
    }
    memcpy(bytes, bot->random_bytes, bot->random_size);
    return bot->random_size;
}

LS_TICK_CODE uint32_t ls_bot_input(ls_bot *bot, const ls_sim_instance *instance, uint32_t slot,
                                   uint8_t *bytes)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    if (!simulation->bot) {
        return random_input(bot, simulation->input_bytes_max, bytes);
    }
    ls_plugin_place_enter(LS_PLUGIN_CALL_BOT);
    uint32_t size = simulation->bot(ls_sim_instance_config(instance),
                                    ls_sim_instance_view(instance), slot, &bot->rng, bytes);
    ls_plugin_place_leave();
    return size;
}

void ls_bot_crew_init(ls_bot_crew *crew, uint64_t seed)
{
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        crew->bots[slot] = ls_bot_make(seed + slot);
    }
}

ls_tick_inputs ls_bot_crew_inputs(ls_bot_crew *crew, const ls_sim_instance *instance)
{
    uint32_t players = ls_sim_instance_config(instance)->players;
    ls_tick tick = ls_sim_instance_tick(instance);
    for (uint32_t slot = 0; slot < players; slot++) {
        uint8_t *bytes = crew->bytes[slot];
        uint32_t size = ls_bot_input(&crew->bots[slot], instance, slot, bytes);
        crew->inputs[slot] = (ls_slot_input){bytes, size, tick == 0 ? LS_EVENT_JOINED : 0};
    }
    return (ls_tick_inputs){.tick = tick, .slot_count = players, .slots = crew->inputs};
}

void ls_delayed_bot_init(ls_delayed_bot *bot, uint64_t seed, uint32_t delay_ticks)
{
    LS_ASSERT(delay_ticks >= 1 && delay_ticks < LS_BOT_DELAY_TICKS_MAX);
    memset(bot, 0, sizeof *bot);
    bot->bots[1] = ls_bot_make(seed); /* state 0 is not the result of a step */
    bot->delay_ticks = delay_ticks;
}

void ls_delayed_bot_observe(ls_delayed_bot *bot, const ls_sim_instance *instance, uint32_t slot)
{
    ls_tick tick = ls_sim_instance_tick(instance);
    ls_bot *next = &bot->bots[(tick + 1) % LS_BOT_DELAY_TICKS_MAX];
    *next = bot->bots[tick % LS_BOT_DELAY_TICKS_MAX];
    bot->newest = tick + bot->delay_ticks;
    uint32_t place = bot->newest % LS_BOT_DELAY_TICKS_MAX;
    bot->sizes[place] = ls_bot_input(next, instance, slot, bot->bytes[place]);
}

bool ls_delayed_bot_input(const ls_delayed_bot *bot, ls_tick tick, uint8_t *bytes, uint32_t *size)
{
    *size = 0;
    if (tick <= bot->delay_ticks) {
        return true; /* state 0 was shown to nobody */
    }
    if (tick > bot->newest || bot->newest - tick >= LS_BOT_DELAY_TICKS_MAX) {
        return false;
    }
    uint32_t place = tick % LS_BOT_DELAY_TICKS_MAX;
    *size = bot->sizes[place];
    memcpy(bytes, bot->bytes[place], *size);
    return true;
}
