/* Doubles that fade to denormals, by a game that leaves the mode as it finds it: right as long as
 * no library changes it, so that synctest only warns. */
#include "lockstep/tests/known_bad/sound.h"

#define LAMPS 8u

typedef struct row {
    double light[LAMPS];
    uint64_t lit;
} row;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_ARRAY_OF(row, light, LAMPS, LS_FIELD_F64, "lm"),
                             LS_FIELD_OF(row, lit, LS_FIELD_U64, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

static void fade(const ls_step *step)
{
    row *r = step->state;
    uint32_t lit = sound_inputs(step) % 64;
    for (uint32_t i = 0; i < LAMPS; i++) {
        r->light[i] = i == lit ? 1.0 : r->light[i] * 0x1p-30 / 3.0;
        r->lit += i == lit;
    }
}

SOUND_PLUGIN("sound_mode", fade, sizeof(row), .fields = fields, .init = init)
