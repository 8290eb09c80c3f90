#include "lockstep/common/simulations/spring/spring.h"

#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/common/simulations/spring/spring_state.h"

/* Far beyond anything that still is a spring: an unstable integrator ends here and not in numbers
 * that machines disagree about. */
#define FAR 1e9

#define PUSH_UNIT 0.1 /* N */

static const ls_param params[LS_SPRING_PARAM_COUNT] = {
    LS_PARAM_INTEGER_OF("springs", "", "each with a mass of its own", 4, 1, 64),
    LS_PARAM_INTEGER_OF("integrator", "", "0 explicit Euler, 1 semi-implicit Euler, 2 RK4", 1, 0,
                        2),
    LS_PARAM_INTEGER_OF("mass", "g", "at the end of each spring", 1000, 1, 1000000),
    LS_PARAM_INTEGER_OF("stiffness", "N/m", "of each spring", 40, 1, 1000000),
    LS_PARAM_INTEGER_OF("damping", "mN s/m", "0: it swings for ever", 0, 0, 1000000),
    LS_PARAM_INTEGER_OF("amplitude", "mm", "how far the first spring is pulled out", 1000, 0,
                        10000),
};

static size_t state_bytes(const ls_sim_config *config)
{
    return ls_spring_rules_of(config).count * sizeof(ls_spring);
}

#define SPRING(member, unit)                                                                       \
    LS_FIELD_EACH("springs", 0, count, ls_spring, member, LS_FIELD_F64, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t count = ls_spring_rules_of(config).count;
    const ls_field all[] = {
        SPRING(motion.position, "m"),
        SPRING(motion.velocity, "m/s"),
        SPRING(push, "N"),
    };
    return ls_fields_copy(all, sizeof all / sizeof all[0], out, capacity);
}

static ls_status pull_out(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ls_spring_rules rules = ls_spring_rules_of(config);
    ls_spring *springs = state;
    for (uint32_t i = 0; i < rules.count; i++) {
        double share = (double)(rules.count - i) / (double)rules.count;
        springs[i].motion.position = rules.amplitude * share;
    }
    return LS_OK;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    return ls_strict_double_init(pull_out, config, state, why);
}

/* ---- motion ---- */

typedef struct pushed_spring {
    const ls_spring_rules *rules;
    double push;
} pushed_spring;

static void accelerate(const void *user, const double *positions, const double *velocities,
                       double *accelerations)
{
    const pushed_spring *spring = user;
    const ls_spring_rules *rules = spring->rules;
    double force = spring->push - rules->stiffness * positions[0] - rules->damping * velocities[0];
    accelerations[0] = force / rules->mass;
}

static double limited(double value)
{
    return value > FAR ? FAR : value < -FAR ? -FAR : value;
}

static ls_spring_motion advance(const ls_spring_rules *rules, ls_spring_motion motion, double push,
                                double dt_seconds)
{
    double scratch[LS_INTEGRATE_SCRATCH_EACH];
    pushed_spring spring = {rules, push};
    ls_motion_system system = {.count = 1, .accelerate = accelerate, .user = &spring};
    ls_integrate(&system, rules->integrator, dt_seconds, &motion.position, &motion.velocity,
                 scratch);
    return (ls_spring_motion){limited(motion.position), limited(motion.velocity)};
}

ls_spring_motion ls_spring_advance(const ls_spring_rules *rules, ls_spring_motion motion,
                                   double dt_seconds)
{
    return advance(rules, motion, 0.0, dt_seconds);
}

static void push(const ls_step *step)
{
    ls_spring_rules rules = ls_spring_rules_of(step->config);
    ls_spring *springs = step->state;
    for (uint32_t i = 0; i < rules.count; i++) {
        const ls_slot_input *input = &step->inputs->slots[i % step->config->players];
        int32_t push = input->size > 0 ? input->bytes[0] : 0;
        springs[i].push = (double)(push < 128 ? push : push - 256) * PUSH_UNIT;
    }
}

static void integrate(const ls_step *step)
{
    ls_spring_rules rules = ls_spring_rules_of(step->config);
    ls_spring *springs = step->state;
    double dt = 1.0 / (double)step->config->tick_rate_hz;
    for (uint32_t i = 0; i < rules.count; i++) {
        springs[i].motion = advance(&rules, springs[i].motion, springs[i].push, dt);
    }
}

static void pass_push(const ls_step *step)
{
    ls_strict_double_pass(push, step);
}

static void pass_integrate(const ls_step *step)
{
    ls_strict_double_pass(integrate, step);
}

/* ---- measures ---- */

double ls_spring_energy(const ls_spring_rules *rules, ls_spring_motion motion)
{
    return 0.5 * rules->mass * motion.velocity * motion.velocity +
           0.5 * rules->stiffness * motion.position * motion.position;
}

typedef struct matrix {
    double a, b, c, d; /* a b over c d */
} matrix;

static matrix product(matrix m, matrix n)
{
    return (matrix){m.a * n.a + m.b * n.c, m.a * n.b + m.b * n.d, m.c * n.a + m.d * n.c,
                    m.c * n.b + m.d * n.d};
}

/* exp(m) for a small m. */
static matrix series(matrix m)
{
    matrix sum = {1.0, 0.0, 0.0, 1.0};
    matrix term = sum;
    for (int i = 1; i <= 14; i++) {
        double share = 1.0 / (double)i;
        term = product(term, (matrix){m.a * share, m.b * share, m.c * share, m.d * share});
        sum = (matrix){sum.a + term.a, sum.b + term.b, sum.c + term.c, sum.d + term.d};
    }
    return sum;
}

ls_spring_motion ls_spring_exact(const ls_spring_rules *rules, ls_spring_motion start,
                                 double seconds)
{
    double stiffness = rules->stiffness / rules->mass;
    double damping = rules->damping / rules->mass;
    double size = (1.0 + stiffness + damping) * seconds;
    double part = seconds;
    int halvings = 0;
    for (; size > 0.25; halvings++) {
        size *= 0.5;
        part *= 0.5;
    }
    matrix motion = series((matrix){0.0, part, -stiffness * part, -damping * part});
    for (int i = 0; i < halvings; i++) {
        motion = product(motion, motion);
    }
    return (ls_spring_motion){
        .position = motion.a * start.position + motion.b * start.velocity,
        .velocity = motion.c * start.position + motion.d * start.velocity,
    };
}

/* ---- the simulation ---- */

static const ls_pass passes[] = {{"push", pass_push}, {"integrate", pass_integrate}};

const ls_simulation *ls_spring_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "spring",
        .summary = "masses on springs by three integrators, in strict double",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = 8,
        .input_bytes_max = LS_SPRING_INPUT_BYTES,
        .params = params,
        .param_count = LS_SPRING_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
        .draw = ls_spring_draw,
        .bot = ls_spring_bot,
        .control = ls_spring_control,
    };
    return &simulation;
}
