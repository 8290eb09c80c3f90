#include "lockstep/tests/support/counter_simulation.h"

#include <string.h>

#define HIT_TURN (LS_ANGLE_QUARTER / 16)

static const ls_param params[COUNTER_PARAM_COUNT] = {
    [COUNTER_PARAM_CELLS] =
        LS_PARAM_INTEGER_OF("cells", "", "how many cells there are", 8, 1, COUNTER_CELLS_MAX),
    [COUNTER_PARAM_SPEED] =
        LS_PARAM_INTEGER_OF("speed", "m/s", "speed of every cell at the start", 3, -100, 100),
};

static uint32_t cell_count(const ls_sim_config *config)
{
    return (uint32_t)config->params[COUNTER_PARAM_CELLS];
}

static ls_status check(const ls_sim_config *config, ls_text *why)
{
    if (cell_count(config) < config->players) {
        ls_text_set(why, "%u cells are too few for %u players", cell_count(config),
                    config->players);
        return LS_BAD_ARGUMENT;
    }
    return LS_OK;
}

static size_t state_bytes(const ls_sim_config *config)
{
    return sizeof(counter_state) + cell_count(config) * sizeof(counter_cell);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    return cell_count(config) * sizeof(uint32_t);
}

#define CELL_FIELD(member, type, unit)                                                             \
    LS_FIELD_EACH("cells", sizeof(counter_state), cells, counter_cell, member, LS_FIELD_##type,    \
                  unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t cells = cell_count(config);
    const ls_field list[] = {
        LS_FIELD_OF(counter_state, total, LS_FIELD_U64, ""),
        LS_FIELD_OF(counter_state, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(counter_state, rng.increment, LS_FIELD_U64, ""),
        LS_FIELD_OF(counter_state, steps, LS_FIELD_U32, "ticks"),
        LS_FIELD_OF(counter_state, present, LS_FIELD_U32, ""),
        LS_FIELD_OF(counter_state, joins, LS_FIELD_U32, ""),
        LS_FIELD_OF(counter_state, leaves, LS_FIELD_U32, ""),
        LS_FIELD_ARRAY_OF(counter_state, last, COUNTER_PLAYERS_MAX, LS_FIELD_I32, "bytes"),
        CELL_FIELD(position, FIXED, "m"),
        CELL_FIELD(speed, FIXED, "m/s"),
        CELL_FIELD(heading, ANGLE, "deg"),
        CELL_FIELD(hits, U16, ""),
        CELL_FIELD(owner, U8, ""),
        CELL_FIELD(padding, PADDING, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    counter_state *state = block;
    state->rng = ls_rng_make(config->seed, 1);
    for (uint32_t i = 0; i < cell_count(config); i++) {
        state->cells[i].position = LS_FIXED_INT(i);
        state->cells[i].speed = LS_FIXED_INT(config->params[COUNTER_PARAM_SPEED]);
    }
    return LS_OK;
}

static void apply_slot(const ls_step *step, uint32_t slot, uint32_t *hits)
{
    counter_state *state = step->state;
    const ls_slot_input *input = &step->inputs->slots[slot];
    if (input->events & LS_EVENT_JOINED) {
        state->joins++;
        state->present |= UINT32_C(1) << slot;
    }
    if (input->events & LS_EVENT_LEFT) {
        state->leaves++;
        state->present &= ~(UINT32_C(1) << slot);
    }
    for (uint32_t i = 0; i < input->size; i++) {
        uint32_t cell = input->bytes[i] % cell_count(step->config);
        state->total += input->bytes[i];
        state->cells[cell].owner = (uint8_t)(slot + 1);
        hits[cell]++;
    }
    state->last[slot] = (int32_t)input->size;
}

static void apply(const ls_step *step)
{
    counter_state *state = step->state;
    uint32_t *hits = step->scratch;
    uint32_t cells = cell_count(step->config);
    memset(hits, 0, cells * sizeof hits[0]);
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        apply_slot(step, slot, hits);
    }
    for (uint32_t i = 0; i < cells; i++) {
        state->cells[i].hits = (uint16_t)(state->cells[i].hits + hits[i]);
    }
}

static void move(const ls_step *step)
{
    counter_state *state = step->state;
    const uint32_t *hits = step->scratch;
    uint32_t cells = cell_count(step->config);
    for (uint32_t i = 0; i < cells; i++) {
        counter_cell *cell = &state->cells[i];
        cell->position = ls_fixed_add(cell->position, cell->speed / step->config->tick_rate_hz);
        cell->heading += HIT_TURN * hits[i];
    }
    uint32_t pushed = ls_rng_below(&state->rng, cells);
    ls_fixed push = ls_rng_unit(&state->rng);
    state->cells[pushed].speed = ls_fixed_add(state->cells[pushed].speed, push);
    state->steps++;
}

static const ls_pass passes[] = {{"apply", apply}, {"move", move}};

static const ls_simulation simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "counter",
    .summary = "counts what it is given",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = COUNTER_PLAYERS_MAX,
    .input_bytes_max = COUNTER_INPUT_BYTES_MAX,
    .params = params,
    .param_count = COUNTER_PARAM_COUNT,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .check = check,
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .fields = fields,
    .init = init,
};

const ls_simulation *counter_simulation(void)
{
    return &simulation;
}
