/* Floats and doubles with + - * / and the square root alone, which IEEE 754 fixes to the bit, and
 * with the mode set at the start of the step. */
#include "lockstep/tests/known_bad/sound.h"

#include <fenv.h>
#include <math.h>

#define BALLS 32u

typedef struct ball {
    double x;
    double speed;
    float heat;
    float mass;
} ball;

typedef struct table {
    ball balls[BALLS];
} table;

#define BALL(member, type, unit)                                                                   \
    LS_FIELD_EACH("balls", offsetof(table, balls), BALLS, ball, member, LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {BALL(x, F64, "m"), BALL(speed, F64, "m/s"), BALL(heat, F32, "K"),
                             BALL(mass, F32, "kg")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    table *t = state;
    (void)config;
    for (uint32_t i = 0; i < BALLS; i++) {
        t->balls[i] = (ball){.x = i, .speed = 0.25 * i, .heat = 1.0f, .mass = 2.0f};
    }
    return LS_OK;
}

static void roll(const ls_step *step)
{
    table *t = step->state;
    fenv_t kept;
    fegetenv(&kept);
    fesetenv(FE_DFL_ENV);
    double push = (double)(sound_inputs(step) % 1000) / 7.0;
    for (uint32_t i = 0; i < BALLS; i++) {
        ball *b = &t->balls[i];
        b->speed = b->speed * 0.9 + sqrt(push + i) / 3.0;
        b->x += b->speed / step->config->tick_rate_hz;
        b->heat = b->heat * 0.5f + (float)b->speed / b->mass;
    }
    fesetenv(&kept);
}

SOUND_PLUGIN("sound_float", roll, sizeof(table), .fields = fields, .init = init)
