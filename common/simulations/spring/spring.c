#include "lockstep/common/simulations/spring/spring.h"

#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/common/simulations/player_view.h"

/* ---- the state ---- */

/* The state is an array of these. */
typedef struct ls_spring {
    ls_spring_motion motion;
    double push; /* N, of the newest tick's input */
} ls_spring;

ls_spring_rules ls_spring_rules_of(const ls_sim_config *config)
{
    const int64_t *values = config->params;
    return (ls_spring_rules){
        .mass = (double)values[LS_SPRING_PARAM_MASS] / 1000.0,
        .stiffness = (double)values[LS_SPRING_PARAM_STIFFNESS],
        .damping = (double)values[LS_SPRING_PARAM_DAMPING] / 1000.0,
        .amplitude = (double)values[LS_SPRING_PARAM_AMPLITUDE] / 1000.0,
        .count = (uint32_t)values[LS_SPRING_PARAM_SPRINGS],
        .integrator = (ls_integrator)values[LS_SPRING_PARAM_INTEGRATOR],
    };
}

ls_spring_motion ls_spring_motion_of(const ls_sim_config *config, const void *state, uint32_t index)
{
    (void)config;
    const ls_spring *springs = state;
    return springs[index].motion;
}

/* ---- view ---- */

/* How springs look, and how bots and people push them. */

#define PITCH LS_FIXED_RATIO(6, 10) /* m between springs */
#define MASS_HALF LS_FIXED_RATIO(15, 100)
#define COIL_HALF LS_FIXED_RATIO(10, 100)
#define WIRE_HALF LS_FIXED_RATIO(1, 100)
#define MARGIN LS_FIXED_HALF
#define WINDINGS 12u

#define BEAM_COLOUR 0x55606eFFu
#define WIRE_COLOUR 0x8fa3b8FFu
#define REST_COLOUR 0x55606e80u
#define FREE_COLOUR 0xb39b7dFFu

/* Ids: the beam, then each spring's shapes. */
#define SHAPES_EACH (WINDINGS + 2u)

#define PUSH_MAX 60 /* of a hand, in units of the input */

static ls_draw_shape line_between(ls_vec2 from, ls_vec2 to)
{
    ls_vec2 way = ls_vec2_sub(to, from);
    return (ls_draw_shape){
        .kind = LS_DRAW_LINE,
        .colour = WIRE_COLOUR,
        .angle = ls_fixed_atan2(way.y, way.x),
        .x = from.x,
        .y = from.y,
        .half_width = ls_vec2_length(way),
        .half_height = WIRE_HALF,
    };
}

/* The wire goes from side to side, WINDINGS lines from the beam down to the mass. */
static void draw_coil(ls_vec2 top, ls_vec2 bottom, uint32_t id, ls_draw_list *list)
{
    ls_vec2 from = top;
    for (uint32_t i = 1; i <= WINDINGS; i++) {
        ls_fixed side = i == WINDINGS ? 0 : i % 2 ? COIL_HALF : -COIL_HALF;
        ls_vec2 to = {top.x + side, ls_lerp(top.y, bottom.y, LS_FIXED_RATIO(i, WINDINGS))};
        ls_draw_shape line = line_between(from, to);
        line.id = id + i;
        ls_draw_push(list, line);
        from = to;
    }
}

/* A mass that has left the picture need not be drawn where it is. */
static ls_fixed height_of(const ls_spring *spring, ls_fixed beam)
{
    ls_fixed height = ls_fixed_from_double(spring->motion.position);
    return ls_fixed_clamp(height, -16 * beam, 16 * beam);
}

static void spring_draw(const ls_sim_config *config, const void *previous, const void *current,
                        ls_fixed alpha, ls_draw_list *list)
{
    ls_spring_rules rules = ls_spring_rules_of(config);
    const ls_spring *from = previous;
    const ls_spring *to = current;
    ls_fixed beam = ls_fixed_from_double(rules.amplitude) + 2 * MARGIN;
    ls_fixed width = rules.count * PITCH;
    list->view_min = (ls_vec2){-MARGIN, -beam};
    list->view_max = (ls_vec2){width + MARGIN, beam + MARGIN};
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_BOX,
                                       .colour = BEAM_COLOUR,
                                       .x = width / 2,
                                       .y = beam,
                                       .half_width = width / 2,
                                       .half_height = COIL_HALF / 2});
    for (uint32_t i = 0; i < rules.count; i++) {
        ls_fixed height = ls_lerp(height_of(&from[i], beam), height_of(&to[i], beam), alpha);
        ls_fixed x = i * PITCH + PITCH / 2;
        uint32_t id = 1 + i * SHAPES_EACH;
        draw_coil((ls_vec2){x, beam}, (ls_vec2){x, height}, id, list);
        ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_BOX,
                                           .id = id + WINDINGS + 1,
                                           .colour = ls_player_colour(i % config->players),
                                           .x = x,
                                           .y = height,
                                           .half_width = MASS_HALF,
                                           .half_height = MASS_HALF,
                                           .owner = i % config->players + 1});
    }
}

/* Pushes along with the swing, against it when it has grown beyond the first, or by mistake. */
static uint32_t spring_bot(const ls_sim_config *config, const void *state, uint32_t slot,
                           ls_rng *rng, uint8_t *bytes)
{
    ls_spring_rules rules = ls_spring_rules_of(config);
    ls_spring_motion motion = ls_spring_motion_of(config, state, slot % rules.count);
    bool is_wrong = ls_rng_below(rng, 8) == 0;
    bool is_wide = motion.position * motion.position > rules.amplitude * rules.amplitude;
    bool is_up = (motion.velocity < 0.0) == (is_wide != is_wrong);
    bytes[0] = (uint8_t)(is_up ? PUSH_MAX : -PUSH_MAX);
    return LS_SPRING_INPUT_BYTES;
}

/* Up and down push as far as they go, a stick and the pointer by how far they are. */
static uint32_t spring_control(const ls_sim_config *config, const void *state, uint32_t slot,
                               const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    ls_fixed way = ls_controls_direction(controls).y;
    if (controls->is_pointer_held) {
        way = ls_fixed_clamp(controls->pointer.y, -LS_FIXED_ONE, LS_FIXED_ONE);
    }
    bytes[0] = (uint8_t)ls_fixed_floor(way * PUSH_MAX);
    return LS_SPRING_INPUT_BYTES;
}

/* ---- status ---- */

static void spring_status(const ls_sim_config *config, const void *state, uint32_t slot,
                          ls_status_list *list)
{
    (void)state;
    ls_status_push_players(list, config->players, slot,
                           "up and down push the weight, or hold the left button");
}

/* ---- the simulation ---- */

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
        .draw = spring_draw,
        .bot = spring_bot,
        .control = spring_control,
        .status = spring_status,
    };
    return &simulation;
}
