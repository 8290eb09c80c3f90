/* Fixed point: ships that fly by angles. */
#include "lockstep/tests/known_bad/sound.h"

#include "lockstep/common/maths/fixed_trig.h"

#define SHIPS 24u

typedef struct ship {
    ls_fixed x;
    ls_fixed y;
    ls_angle angle;
    uint32_t rank;
} ship;

typedef struct fleet {
    ship ships[SHIPS];
} fleet;

#define SHIP(member, type, unit)                                                                   \
    LS_FIELD_EACH("ships", offsetof(fleet, ships), SHIPS, ship, member, LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {SHIP(x, FIXED, "m"), SHIP(y, FIXED, "m"), SHIP(angle, ANGLE, "deg"),
                             SHIP(rank, U32, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    fleet *f = state;
    ls_rng rng = ls_rng_make(config->seed, 1);
    for (uint32_t i = 0; i < SHIPS; i++) {
        f->ships[i].angle = ls_rng_next(&rng);
    }
    return LS_OK;
}

/* Ties are ended by the index. */
static void rank(fleet *f)
{
    for (uint32_t i = 0; i < SHIPS; i++) {
        f->ships[i].rank = 0;
        for (uint32_t k = 0; k < SHIPS; k++) {
            bool is_before =
                f->ships[k].x < f->ships[i].x || (f->ships[k].x == f->ships[i].x && k < i);
            f->ships[i].rank += is_before;
        }
    }
}

static void fly(const ls_step *step)
{
    fleet *f = step->state;
    uint32_t turn = sound_inputs(step);
    for (uint32_t i = 0; i < SHIPS; i++) {
        ship *s = &f->ships[i];
        s->angle += turn * (i + 1);
        s->x = ls_fixed_add(s->x, ls_fixed_mul(ls_fixed_cos(s->angle), LS_FIXED_ONE / 8));
        s->y = ls_fixed_add(s->y, ls_fixed_mul(ls_fixed_sin(s->angle), LS_FIXED_ONE / 8));
    }
    rank(f);
}

SOUND_PLUGIN("sound_fixed", fly, sizeof(fleet), .fields = fields, .init = init)
