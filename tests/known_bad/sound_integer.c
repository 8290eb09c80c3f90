/* A board of integers, with random numbers from the state. */
#include "lockstep/tests/known_bad/sound.h"

#define CELLS 256u

typedef struct board {
    ls_rng rng;
    uint32_t moves;
    uint32_t spare;
    uint16_t cells[CELLS];
} board;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(board, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(board, rng.increment, LS_FIELD_U64, ""),
        LS_FIELD_OF(board, moves, LS_FIELD_U32, ""),
        LS_FIELD_OF(board, spare, LS_FIELD_U32, ""),
        LS_FIELD_ARRAY_OF(board, cells, CELLS, LS_FIELD_U16, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((board *)state)->rng = ls_rng_make(config->seed, 1);
    return LS_OK;
}

static void move(const ls_step *step)
{
    board *b = step->state;
    uint32_t place = ls_rng_below(&b->rng, CELLS);
    b->moves += sound_inputs(step) % 3;
    b->cells[place] = (uint16_t)(b->cells[place] * 3u + b->moves);
}

SOUND_PLUGIN("sound_integer", move, sizeof(board), .fields = fields, .init = init)
