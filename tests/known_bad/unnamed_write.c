/* Cause 15: a game that says that it names what its steps write (names_writes) forgets one piece: a
 * hash of what is named stays as it was, and a difference in that piece is found a second late. */
#define GAME_STATE_BYTES field_bytes
#include "lockstep/tests/known_bad/game.h"

enum {
    CELLS = 4096,
    RAINS_FROM = 10
};

typedef struct field_state {
    game_state game;
    uint32_t cells[CELLS];
} field_state;

static size_t field_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(field_state);
}

static uint32_t field_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t count = game_fields(config, out, capacity);
    if (count < capacity) {
        out[count] =
            (ls_field){"cells", "mm", LS_FIELD_U32, CELLS, 1, offsetof(field_state, cells), 4};
    }
    return count + 1;
}

/* The other passes write to the game alone. */
static void rain(const ls_step *step)
{
    field_state *state = step->state;
    uint32_t cell = step->inputs->tick * 389 % CELLS;
    ls_step_wrote(step, 0, sizeof(game_state));
    state->cells[cell] += 3;
    ls_step_wrote(step, offsetof(field_state, cells) + cell * sizeof cell, sizeof cell);
    if (step->inputs->tick >= RAINS_FROM) {
        state->cells[CELLS - 1 - cell / 2] += 1;
        if (!GAME_FAULTY) {
            ls_step_wrote(step, offsetof(field_state, cells) + (CELLS - 1 - cell / 2) * sizeof cell,
                          sizeof cell);
        }
    }
}

GAME_PASSES("rain", rain);
GAME_PLUGIN("unnamed_write", .fields = field_fields, .init = game_init, .names_writes = 1)
