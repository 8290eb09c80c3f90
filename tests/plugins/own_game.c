/* A plug-in that is written against lockstep.h alone, and what can be wrong with one. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stddef.h>

#ifndef OWN_GAME_SIZE
#define OWN_GAME_SIZE sizeof(lockstep_game)
#endif
#ifndef OWN_GAME_NAME
#define OWN_GAME_NAME "own-game"
#endif
#ifndef OWN_GAME
#define OWN_GAME &game
#endif
#ifndef OWN_GAME_FORGETS /* it says that it names its writes, and does, or not */
#define OWN_GAME_FORGETS 0
#endif

static void init(void *user, void *state, const lockstep_setup *setup)
{
    (void)user;
    *(uint64_t *)state = setup->seed;
}

static void step(void *user, void *state, const lockstep_inputs *inputs)
{
    (void)user;
    *(uint64_t *)state += inputs->slots[0].size > 0 ? inputs->slots[0].bytes[0] : 0;
    if (inputs->size >= sizeof *inputs && inputs->wrote && !OWN_GAME_FORGETS) {
        inputs->wrote(inputs->step, 0, sizeof(uint64_t));
    }
}

static const lockstep_field fields[] = {{"sum", "", LOCKSTEP_U64, 1, 1, 0, 0}};
static const uint8_t edges[] = {1};
__attribute__((unused)) static const lockstep_game game = {.size = OWN_GAME_SIZE,
                                                           .name = OWN_GAME_NAME,
                                                           .version = 1,
                                                           .tick_rate_hz = 60,
                                                           .players_max = 1,
                                                           .input_bytes = 1,
                                                           .state_bytes = sizeof(uint64_t),
                                                           .fields = fields,
                                                           .field_count = 1,
                                                           .init = init,
                                                           .step = step,
                                                           .edges = edges,
                                                           .names_writes = 1};

LOCKSTEP_EXPORT const lockstep_game *lockstep_plugin(void);

const lockstep_game *lockstep_plugin(void)
{
    return OWN_GAME;
}
