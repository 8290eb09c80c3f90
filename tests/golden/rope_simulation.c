#include "lockstep/tests/golden/rope_simulation.h"

#include <math.h>

enum {
    PARTICLES = 64,
    PLAYERS_MAX = 8,
    STIFFNESS = 400, /* N/m */
    STREAM_SHAPE = 1,
};

typedef struct particle {
    double x; /* m */
    double y;
    double speed_x; /* m/s */
    double speed_y;
    double force_x; /* N */
    double force_y;
} particle;

typedef struct rope {
    particle particles[PARTICLES];
} rope;

static const double link_length = 0.1; /* m */
static const double mass = 0.05;       /* kg */
static const double gravity = 9.81;    /* m/s2 */
static const double drag = 0.02;       /* N s/m */

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(rope);
}

#define PARTICLE(member, unit)                                                                     \
    LS_FIELD_EACH("particles", 0, PARTICLES, particle, member, LS_FIELD_F64, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field all[] = {
        PARTICLE(x, "m"),         PARTICLE(y, "m"),       PARTICLE(speed_x, "m/s"),
        PARTICLE(speed_y, "m/s"), PARTICLE(force_x, "N"), PARTICLE(force_y, "N"),
    };
    uint32_t count = sizeof all / sizeof all[0];
    for (uint32_t i = 0; i < count && i < capacity; i++) {
        out[i] = all[i];
    }
    return count;
}

static ls_status init(const ls_sim_config *config, void *state)
{
    rope *r = state;
    ls_rng rng = ls_rng_make(config->seed, STREAM_SHAPE);
    for (int i = 0; i < PARTICLES; i++) {
        r->particles[i].x = (double)i * link_length;
        r->particles[i].y = (double)ls_rng_below(&rng, 1000) / 30000.0;
    }
    return LS_OK;
}

/* Every slot pulls at particles of its own. */
static void pull(const ls_step *step)
{
    rope *r = step->state;
    for (int i = 0; i < PARTICLES; i++) {
        const ls_slot_input *input = &step->inputs->slots[(uint32_t)i % step->config->players];
        particle *p = &r->particles[i];
        int strength = input->size > 0 ? input->bytes[0] - 128 : 0;
        p->force_x = (double)strength / 300.0 - drag * p->speed_x;
        p->force_y = -gravity * mass - drag * p->speed_y;
    }
}

static void stretch(const ls_step *step)
{
    rope *r = step->state;
    for (int i = 0; i + 1 < PARTICLES; i++) {
        particle *a = &r->particles[i];
        particle *b = &r->particles[i + 1];
        double dx = b->x - a->x;
        double dy = b->y - a->y;
        double length = sqrt(dx * dx + dy * dy) + 1e-9;
        double tension = (double)STIFFNESS * (length - link_length) / length;
        a->force_x = a->force_x + tension * dx;
        a->force_y = a->force_y + tension * dy;
        b->force_x = b->force_x - tension * dx;
        b->force_y = b->force_y - tension * dy;
    }
}

/* The first particle is tied to where it is. */
static void move(const ls_step *step)
{
    rope *r = step->state;
    double dt = 0.1 / (double)step->config->tick_rate_hz;
    for (int i = 1; i < PARTICLES; i++) {
        particle *p = &r->particles[i];
        p->speed_x = p->speed_x + p->force_x / mass * dt;
        p->speed_y = p->speed_y + p->force_y / mass * dt;
        p->x = p->x + p->speed_x * dt;
        p->y = p->y + p->speed_y * dt;
    }
}

static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = (uint8_t)ls_rng_below(rng, 256);
    return 1;
}

const ls_simulation *rope_simulation(void)
{
    static const ls_pass passes[] = {{"pull", pull}, {"stretch", stretch}, {"move", move}};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .version = 1,
        .name = "rope",
        .summary = "particles joined by springs, in double",
        .default_tick_rate_hz = 60,
        .default_players = 4,
        .players_max = PLAYERS_MAX,
        .input_bytes_max = 1,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
        .bot = bot,
    };
    return &simulation;
}
