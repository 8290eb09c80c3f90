/* newgame: one player is it, and touches another to pass it on. The player who stays free longest
 * has won.
 *
 * The server and every client run this code and must compute the same bits: a step depends on the
 * old state and the inputs alone. No clock, no rand(), no static variable; numbers are fixed point
 * (or doubles with <lockstep/strict_libm.h>). lockstep-synctest finds what breaks the rule. */
#include <lockstep/fixed_trig.h>
#include <lockstep/interpolate.h>
#include <lockstep/simulation.h>

enum {
    PLAYERS_MAX = 8,
    DIRECTIONS = LS_CONTROL_UP | LS_CONTROL_DOWN | LS_CONTROL_LEFT | LS_CONTROL_RIGHT,
    PARAM_SPEED = 0,
};

#define FIELD_WIDTH LS_FIXED_INT(8) /* half of it, in metres */
#define FIELD_HEIGHT LS_FIXED_INT(5)
#define RADIUS LS_FIXED_RATIO(1, 2)

/* ---- the state: one flat block without pointers ---- */

typedef struct athlete {
    ls_vec2 at;
    uint64_t free_ticks; /* was not it for so long */
} athlete;

typedef struct playground {
    athlete athletes[PLAYERS_MAX];
    uint32_t it;         /* slot */
    uint32_t safe_ticks; /* until a touch counts again */
} playground;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(playground);
}

/* Every byte of the state, so that a difference between two machines has a name and two values. */
static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        LS_FIELD_EACH("athletes", 0, PLAYERS_MAX, athlete, at.x, LS_FIELD_FIXED, "m"),
        LS_FIELD_EACH("athletes", 0, PLAYERS_MAX, athlete, at.y, LS_FIELD_FIXED, "m"),
        LS_FIELD_EACH("athletes", 0, PLAYERS_MAX, athlete, free_ticks, LS_FIELD_U64, "ticks"),
        LS_FIELD_OF(playground, it, LS_FIELD_U32, "slot"),
        LS_FIELD_OF(playground, safe_ticks, LS_FIELD_U32, "ticks"),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

/* The block comes zeroed. A circle around the middle, and a random one is it. */
static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    playground *p = state;
    ls_rng rng = ls_rng_make(config->seed, 1);
    (void)why;
    for (uint32_t i = 0; i < config->players; i++) {
        ls_vec2 direction = ls_vec2_from_angle(i * (UINT32_MAX / PLAYERS_MAX));
        p->athletes[i].at = ls_vec2_scale(direction, LS_FIXED_INT(4));
    }
    p->it = ls_rng_below(&rng, config->players);
    return LS_OK;
}

/* ---- the step: passes, in order ---- */

/* Where the direction keys lead, 1 m long, or nowhere. */
static ls_vec2 way_of(uint32_t keys)
{
    ls_vec2 way = {0, 0};
    way.x += keys & LS_CONTROL_RIGHT ? LS_FIXED_ONE : 0;
    way.x -= keys & LS_CONTROL_LEFT ? LS_FIXED_ONE : 0;
    way.y += keys & LS_CONTROL_UP ? LS_FIXED_ONE : 0;
    way.y -= keys & LS_CONTROL_DOWN ? LS_FIXED_ONE : 0;
    return way.x != 0 && way.y != 0 ? ls_vec2_scale(way, LS_FIXED_RATIO(707, 1000)) : way;
}

static void move(const ls_step *step)
{
    playground *p = step->state;
    ls_fixed speed = LS_FIXED_INT(step->config->params[PARAM_SPEED]);
    for (uint32_t i = 0; i < step->config->players; i++) {
        const ls_slot_input *input = &step->inputs->slots[i];
        if (input->size != 1) { /* inputs are any bytes, from any machine */
            continue;
        }
        athlete *a = &p->athletes[i];
        ls_fixed metres = (i == p->it ? speed + speed / 4 : speed) / step->config->tick_rate_hz;
        ls_vec2 to = ls_vec2_add(a->at, ls_vec2_scale(way_of(input->bytes[0]), metres));
        a->at.x = ls_fixed_clamp(to.x, -FIELD_WIDTH, FIELD_WIDTH);
        a->at.y = ls_fixed_clamp(to.y, -FIELD_HEIGHT, FIELD_HEIGHT);
    }
}

static void touch(const ls_step *step)
{
    playground *p = step->state;
    uint32_t it = p->it;
    p->safe_ticks -= p->safe_ticks > 0;
    for (uint32_t i = 0; i < step->config->players; i++) {
        if (i == it) {
            continue;
        }
        p->athletes[i].free_ticks++;
        ls_vec2 apart = ls_vec2_sub(p->athletes[i].at, p->athletes[it].at);
        if (p->safe_ticks == 0 && ls_vec2_length(apart) < 2 * RADIUS) {
            p->it = i;
            p->safe_ticks = step->config->tick_rate_hz; /* a second to get away */
        }
    }
}

/* ---- what is seen, and hands: never part of the state ---- */

static const uint32_t colours[PLAYERS_MAX] = {0x4f9dffff, 0xffb347ff, 0x7bd88fff, 0xd98bffff,
                                              0xf2e863ff, 0x5fe3e0ff, 0xff8fb1ff, 0xc9c9c9ff};

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    const playground *before = previous, *now = current;
    list->view_min = (ls_vec2){-FIELD_WIDTH - LS_FIXED_ONE, -FIELD_HEIGHT - LS_FIXED_ONE};
    list->view_max = (ls_vec2){FIELD_WIDTH + LS_FIXED_ONE, FIELD_HEIGHT + LS_FIXED_ONE};
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_BOX,
                                       .id = 0,
                                       .colour = 0x1d2b24ff,
                                       .half_width = FIELD_WIDTH + RADIUS,
                                       .half_height = FIELD_HEIGHT + RADIUS});
    for (uint32_t i = 0; i < config->players; i++) {
        ls_draw_shape disc = {.kind = LS_DRAW_DISC,
                              .id = 1 + 2 * i,
                              .colour = 0xff3b30ff, /* a ring around the one who is it */
                              .x = ls_lerp(before->athletes[i].at.x, now->athletes[i].at.x, alpha),
                              .y = ls_lerp(before->athletes[i].at.y, now->athletes[i].at.y, alpha),
                              .half_width = RADIUS + RADIUS / 3,
                              .owner = i + 1};
        if (i == now->it) {
            ls_draw_push(list, disc);
        }
        disc.id++;
        disc.colour = colours[i];
        disc.half_width = RADIUS;
        ls_draw_push(list, disc);
    }
}

/* Text beside the picture: a score behind each name, a word to the one who is it, and the keys. */
static void status(const ls_sim_config *config, const void *state, uint32_t slot,
                   ls_status_list *list)
{
    const playground *p = state;
    for (uint32_t i = 0; i < config->players; i++) {
        ls_status_line score = {.kind = LS_STATUS_SEAT, .owner = i + 1, .colour = colours[i]};
        ls_text_set(&score.text, "%u s free",
                    (uint32_t)(p->athletes[i].free_ticks / config->tick_rate_hz));
        ls_status_push(list, score);
    }
    if (slot >= config->players) { /* a spectator */
        return;
    }
    if (slot == p->it) {
        ls_status_push(list, (ls_status_line){.kind = LS_STATUS_PERSON,
                                              .text = {"you are it: touch another"}});
    }
    ls_status_push(list, (ls_status_line){.kind = LS_STATUS_KEYS, .text = {"arrows or WASD run"}});
}

/* A cue when somebody else is it: the file 1.wav in the folder of --sounds, or a tone. */
static void sounds(const ls_sim_config *config, const void *previous, const void *current,
                   ls_sound_list *list)
{
    const playground *before = previous, *now = current;
    (void)config;
    if (now->it != before->it) {
        ls_sound_push(list, (ls_sound){.kind = LS_SOUND_CUE,
                                       .id = 1,
                                       .owner = now->it + 1,
                                       .volume = LS_FIXED_ONE,
                                       .has_place = true,
                                       .x = now->athletes[now->it].at.x,
                                       .y = now->athletes[now->it].at.y});
    }
}

/* A person's input: the direction keys. They are buttons, as input_bits says below: a tap that
 * comes too late still counts. Where a press is a move it is an edge: see ls_input_bits. */
static uint32_t control(const ls_sim_config *config, const void *state, uint32_t slot,
                        const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = (uint8_t)(controls->held & DIRECTIONS);
    return 1;
}

/* A bot's: it runs to the nearest other, and the others run away from it. */
static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    const playground *p = state;
    ls_vec2 goal = p->athletes[p->it].at, at = p->athletes[slot].at;
    ls_fixed nearest = LS_FIXED_INT(1000);
    for (uint32_t i = 0; slot == p->it && i < config->players; i++) {
        ls_fixed length = ls_vec2_length(ls_vec2_sub(p->athletes[i].at, at));
        if (i != slot && length < nearest) {
            nearest = length;
            goal = p->athletes[i].at;
        }
    }
    ls_vec2 to = slot == p->it ? ls_vec2_sub(goal, at) : ls_vec2_sub(at, goal);
    uint32_t keys = to.x > 0 ? LS_CONTROL_RIGHT : LS_CONTROL_LEFT;
    keys |= to.y > 0 ? LS_CONTROL_UP : LS_CONTROL_DOWN;
    bytes[0] = (uint8_t)(ls_rng_below(rng, 8) == 0 ? ls_rng_next(rng) & DIRECTIONS : keys);
    return 1;
}

/* ---- the simulation ---- */

static const ls_param params[] = {
    LS_PARAM_INTEGER_OF("speed", "m/s", "how fast everybody runs", 4, 1, 20),
};

static const ls_pass passes[] = {{"move", move}, {"touch", touch}};

static const ls_simulation game = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1, /* raise it with every change of the gameplay */
    .name = "newgame",
    .summary = "one is it, and touches another to pass it on",
    .default_tick_rate_hz = 30,
    .default_players = 2,
    .players_max = PLAYERS_MAX,
    .input_bytes_max = 1,
    .params = params,
    .param_count = sizeof params / sizeof params[0],
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .state_bytes = state_bytes,
    .fields = fields,
    .init = init,
    .draw = draw,
    .sounds = sounds,
    .bot = bot,
    .control = control,
    .input_bits = ls_buttons_in_first_byte,
    .status = status,
};

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    return &game;
}
