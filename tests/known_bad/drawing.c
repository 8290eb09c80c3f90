/* Cause 6: what is drawn, with GAME_SOUNDS what is heard and with GAME_STATUS what is said, is
 * counted in the state, which belongs to the steps alone. */
#include "lockstep/tests/known_bad/game.h"

static void count(const game_state *state)
{
#if GAME_FAULTY
    ((game_state *)(uintptr_t)state)->bonus++;
#else
    (void)state;
#endif
}

#if defined(GAME_SOUNDS)
static void sounds(const ls_sim_config *config, const void *previous, const void *current,
                   ls_sound_list *list)
{
    (void)config;
    (void)previous;
    const game_state *state = current;
    ls_sound_push(list, (ls_sound){.id = state->units[0].target});
    count(state);
}
#define SHOWN .sounds = sounds
#elif defined(GAME_STATUS)
static void status(const ls_sim_config *config, const void *state, uint32_t slot,
                   ls_status_list *list)
{
    (void)config;
    (void)slot;
    const game_state *game = state;
    ls_status_line line = {.kind = LS_STATUS_SEAT, .owner = 1};
    ls_text_set(&line.text, "%u", (unsigned)game->units[0].target);
    ls_status_push(list, line);
    count(game);
}
#define SHOWN .status = status
#else
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
    count(state);
}
#define SHOWN .draw = draw
#endif

static void rest(const ls_step *step)
{
    (void)step;
}

GAME_PASSES("rest", rest);
GAME_PLUGIN("drawing", .fields = game_fields, .init = game_init, SHOWN)
