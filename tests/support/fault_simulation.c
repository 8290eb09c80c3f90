#include "lockstep/tests/support/fault_simulation.h"

enum {
    JUNK_BYTES = 256
};

fault_knob fault;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(fault_state);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(uint32_t);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_OF(fault_state, sum, LS_FIELD_U64, "points"),
        LS_FIELD_OF(fault_state, ticks, LS_FIELD_U32, "ticks"),
        LS_FIELD_OF(fault_state, wrong, LS_FIELD_U32, ""),
        LS_FIELD_ARRAY_OF(fault_state, cells, FAULT_CELLS, LS_FIELD_U64, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((fault_state *)state)->sum = config->seed;
    return LS_OK;
}

static void gather(const ls_step *step)
{
    fault_state *state = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        state->sum = state->sum * 31 + input->size + input->events;
        for (uint32_t i = 0; i < input->size; i++) {
            state->sum = state->sum * 31 + input->bytes[i];
        }
    }
}

/* The value that was there before: volatile, so that the load is made in any case. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
__attribute__((noinline))
#endif
static uint32_t
junk_on_the_stack(void)
{
    volatile uint8_t junk[JUNK_BYTES];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < JUNK_BYTES; i++) {
        sum = sum * 3 + junk[i];
    }
    return sum;
}

#if defined(__GNUC__)
__attribute__((noinline))
#endif
static bool
is_junk_sorted(void)
{
    volatile uint8_t junk[JUNK_BYTES];
    return junk[JUNK_BYTES / 3] < junk[JUNK_BYTES / 2];
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static uint32_t wrong_of(const ls_step *step)
{
    uint32_t *kept = step->scratch;
    switch (fault.kind) {
    case FAULT_BUILD:
        return 1;
    case FAULT_STATIC:
        return fault.calls;
    case FAULT_SCRATCH:
        return (*kept)++;
    case FAULT_STACK:
        return junk_on_the_stack();
    case FAULT_COMPARE:
        return step->inputs->tick > fault.from ? 0 : is_junk_sorted() ? 1 : 2;
    default:
        return 0;
    }
}

static void spread(const ls_step *step)
{
    fault_state *state = step->state;
    fault.calls++;
    state->wrong = step->inputs->tick >= fault.from ? wrong_of(step) : 0;
    for (uint32_t i = 0; i < FAULT_CELLS; i++) {
        state->cells[i] += state->sum >> (i % 8) & 0xffu;
    }
}

static void finish(const ls_step *step)
{
    ((fault_state *)step->state)->ticks++;
}

static const ls_pass passes[] = {{"gather", gather}, {"spread", spread}, {"finish", finish}};

static const ls_simulation simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "fault",
    .summary = "goes wrong on demand",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = 4,
    .input_bytes_max = 8,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .state_bytes = state_bytes,
    .scratch_bytes = scratch_bytes,
    .fields = fields,
    .init = init,
};

const ls_simulation *fault_simulation(void)
{
    return &simulation;
}
