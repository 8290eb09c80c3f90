/* Cause 6: what is drawn is counted in the state, which belongs to the steps alone. */
#include "lockstep/tests/known_bad/game.h"

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)previous;
    (void)alpha;
    const game_state *state = current;
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        ls_draw_push(list, (ls_draw_shape){.id = i, .x = state->units[i].position});
    }
#if GAME_FAULTY
    ((game_state *)(uintptr_t)state)->bonus++;
#endif
}

static void rest(const ls_step *step)
{
    (void)step;
}

GAME_PASSES("rest", rest);
GAME_PLUGIN("drawing", .fields = game_fields, .init = game_init, .draw = draw)
