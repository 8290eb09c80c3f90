#include "lockstep/common/simulations/arena/arena.h"

#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/simulations/arena/arena_world.h"
#include "lockstep/common/simulations/player_view.h"

/* ---- bot and controls ---- */

/* The pads of an arena match: of bots, who aim ahead of their target and fire when lined up, and of
 * people. */

#define SIGHT LS_FIXED_INT(60)              /* m: ships further off are left alone */
#define FIRE_RANGE LS_FIXED_INT(35)         /* m */
#define NEAR LS_FIXED_INT(5)                /* m: closer than this it brakes */
#define AIMED LS_FIXED_RATIO(12, 100)       /* rad */
#define WELL_TURNED LS_FIXED_RATIO(60, 100) /* rad */
#define STICK_PER_RADIAN LS_FIXED_INT(160)
#define STICK_PER_SPIN LS_FIXED_INT(16)
#define WOBBLE 12   /* of the stick, either way */
#define HESITATE 8u /* one tick in this many it does not thrust, and another not fire */

#define STICK_DRIVES LS_FIXED_RATIO(3, 10) /* how far up or down it must be pushed to drive */

/* Squares of lengths within the arena stay far below the limit of ls_fixed. */
static ls_fixed distance_square(ls_vec2 a, ls_vec2 b)
{
    ls_vec2 offset = ls_vec2_sub(b, a);
    return ls_vec2_dot(offset, offset);
}

/* The nearest body in first .. end-1 but `self`, nearer than the root of `limit`; NULL for none. */
static const ls_arena_body *nearest(const ls_arena_view *view, uint32_t first, uint32_t end,
                                    const ls_arena_body *self, ls_fixed limit)
{
    const ls_arena_body *best = NULL;
    for (uint32_t i = first; i < end; i++) {
        const ls_arena_body *body = &view->bodies[i];
        if (body == self || body->shape == LS_ARENA_NONE) {
            continue;
        }
        ls_fixed square = distance_square(self->position, body->position);
        if (square < limit) {
            limit = square;
            best = body;
        }
    }
    return best;
}

static const ls_arena_body *choose_target(const ls_arena_view *view, const ls_arena_body *self)
{
    uint32_t players = view->layout.player_count;
    ls_fixed sight = ls_fixed_mul(SIGHT, SIGHT);
    const ls_arena_body *ship = nearest(view, 0, players, self, sight);
    if (ship != NULL) {
        return ship;
    }
    return nearest(view, players, view->layout.body_count, self, LS_FIXED_MAX);
}

/* Where the target will be when a shot gets there. */
static ls_vec2 aim_at(const ls_arena_body *self, const ls_arena_body *target, ls_fixed distance)
{
    ls_fixed flight = ls_fixed_div(distance, LS_ARENA_SHOT_SPEED);
    ls_vec2 ahead = ls_vec2_add(target->position, ls_vec2_scale(target->velocity, flight));
    return ls_vec2_sub(ahead, self->position);
}

static int32_t choose_stick(ls_fixed error, ls_fixed spin, ls_rng *rng)
{
    ls_fixed stick =
        ls_fixed_sub(ls_fixed_mul(error, STICK_PER_RADIAN), ls_fixed_mul(spin, STICK_PER_SPIN));
    int32_t wobble = ls_rng_between(rng, -WOBBLE, WOBBLE);
    ls_fixed shaken = ls_fixed_add(stick, LS_FIXED_INT(wobble));
    return ls_fixed_floor(ls_fixed_clamp(shaken, LS_FIXED_INT(-127), LS_FIXED_INT(127)));
}

static uint8_t choose_buttons(ls_fixed error, ls_fixed distance, ls_rng *rng)
{
    uint8_t buttons = 0;
    bool thrusts = ls_rng_below(rng, HESITATE) != 0;
    bool fires = ls_rng_below(rng, HESITATE) != 0;
    if (distance < NEAR || ls_fixed_abs(error) > 2 * WELL_TURNED) {
        buttons |= LS_ARENA_BRAKE;
    } else if (thrusts && ls_fixed_abs(error) < WELL_TURNED) {
        buttons |= LS_ARENA_THRUST;
    }
    if (fires && ls_fixed_abs(error) < AIMED && distance < FIRE_RANGE) {
        buttons |= LS_ARENA_FIRE;
    }
    return buttons;
}

static uint32_t arena_bot(const ls_sim_config *config, const void *state, uint32_t slot,
                          ls_rng *rng, uint8_t *bytes)
{
    ls_arena_view view = ls_arena_view_of(config, state);
    const ls_arena_body *self = &view.bodies[slot];
    bytes[0] = 0;
    bytes[1] = 0;
    const ls_arena_body *target = self->shape == LS_ARENA_NONE ? NULL : choose_target(&view, self);
    if (target == NULL) {
        return LS_ARENA_PAD_BYTES;
    }
    ls_fixed distance = ls_vec2_length(ls_vec2_sub(target->position, self->position));
    ls_vec2 aim = aim_at(self, target, distance);
    ls_fixed error = ls_radians_from_angle(ls_fixed_atan2(aim.y, aim.x) - self->angle);
    bytes[0] = choose_buttons(error, distance, rng);
    bytes[1] = (uint8_t)choose_stick(error, self->spin, rng);
    return LS_ARENA_PAD_BYTES;
}

/* Up and down drive, left and right turn, the first button fires, the second brakes. */
static uint32_t arena_control(const ls_sim_config *config, const void *state, uint32_t slot,
                              const ls_controls *controls, uint8_t *bytes)
{
    static const struct {
        uint32_t control;
        uint8_t button;
    } buttons[] = {
        {LS_CONTROL_UP, LS_ARENA_THRUST},  {LS_CONTROL_DOWN, LS_ARENA_REVERSE},
        {LS_CONTROL_LEFT, LS_ARENA_LEFT},  {LS_CONTROL_RIGHT, LS_ARENA_RIGHT},
        {LS_CONTROL_FIRST, LS_ARENA_FIRE}, {LS_CONTROL_SECOND, LS_ARENA_BRAKE},
    };
    (void)config;
    (void)state;
    (void)slot;
    uint32_t down = controls->held | controls->pressed;
    uint8_t pad = 0;
    for (uint32_t i = 0; i < sizeof buttons / sizeof buttons[0]; i++) {
        pad |= down & buttons[i].control ? buttons[i].button : 0;
    }
    pad |= controls->stick.y > STICK_DRIVES ? LS_ARENA_THRUST : 0;
    pad |= controls->stick.y < -STICK_DRIVES ? LS_ARENA_REVERSE : 0;
    ls_fixed right = ls_fixed_clamp(controls->stick.x, -LS_FIXED_ONE, LS_FIXED_ONE);
    bytes[0] = pad;
    bytes[1] = (uint8_t)(-right * 127 / LS_FIXED_ONE); /* the arena's stick counts to the left */
    return LS_ARENA_PAD_BYTES;
}

/* ---- drawing ---- */

/* The picture between two states of an arena match: walls, bodies, ships with their noses, shots.
 */

#define WALL_HALF_THICKNESS LS_FIXED_HALF
#define VIEW_MARGIN LS_FIXED_INT(2)
#define NOSE_LENGTH LS_FIXED_RATIO(12, 10)
#define NOSE_HALF_THICKNESS LS_FIXED_RATIO(8, 100)

#define WALL_COLOUR 0x55606eFFu
#define DISC_COLOUR 0x8fa3b8FFu
#define BOX_COLOUR 0xb39b7dFFu

/* Ids: walls, then bodies, noses and shots, each by its number. */
#define WALL_COUNT 4u

static void draw_walls(ls_fixed half_size, ls_draw_list *list)
{
    ls_fixed place = half_size + WALL_HALF_THICKNESS;
    ls_fixed length = half_size + 2 * WALL_HALF_THICKNESS;
    for (uint32_t wall = 0; wall < WALL_COUNT; wall++) {
        bool is_upright = wall < 2;
        ls_fixed at = wall % 2 ? place : -place;
        ls_draw_push(list, (ls_draw_shape){
                               .kind = LS_DRAW_BOX,
                               .id = wall,
                               .colour = WALL_COLOUR,
                               .x = is_upright ? at : 0,
                               .y = is_upright ? 0 : at,
                               .half_width = is_upright ? WALL_HALF_THICKNESS : length,
                               .half_height = is_upright ? length : WALL_HALF_THICKNESS,
                           });
    }
}

/* Blended unless the body came into play in between: a new ship does not fly in from where the
 * last one of its slot was lost. */
static ls_draw_shape body_shape(const ls_arena_body *from, const ls_arena_body *to, ls_fixed alpha)
{
    bool is_same = from->shape == to->shape && from->serial == to->serial;
    from = is_same ? from : to;
    return (ls_draw_shape){
        .kind = to->shape == LS_ARENA_BOX ? LS_DRAW_BOX : LS_DRAW_DISC,
        .colour = to->shape == LS_ARENA_BOX ? BOX_COLOUR : DISC_COLOUR,
        .angle = ls_lerp_angle(from->angle, to->angle, alpha),
        .x = ls_lerp(from->position.x, to->position.x, alpha),
        .y = ls_lerp(from->position.y, to->position.y, alpha),
        .half_width = to->half.x,
        .half_height = to->half.y,
    };
}

static void draw_bodies(const ls_arena_view *previous, const ls_arena_view *current, ls_fixed alpha,
                        ls_draw_list *list)
{
    for (uint32_t i = 0; i < current->layout.body_count; i++) {
        const ls_arena_body *body = &current->bodies[i];
        if (body->shape == LS_ARENA_NONE) {
            continue;
        }
        ls_draw_shape shape = body_shape(&previous->bodies[i], body, alpha);
        shape.id = WALL_COUNT + i;
        if (i < current->layout.player_count) {
            shape.colour = ls_player_colour(i);
            shape.owner = i + 1;
        }
        ls_draw_push(list, shape);
        if (i < current->layout.player_count) {
            shape.kind = LS_DRAW_LINE;
            shape.id = WALL_COUNT + current->layout.body_count + i;
            shape.half_width = NOSE_LENGTH;
            shape.half_height = NOSE_HALF_THICKNESS;
            ls_draw_push(list, shape);
        }
    }
}

static void draw_shots(const ls_arena_view *previous, const ls_arena_view *current, ls_fixed alpha,
                       ls_draw_list *list)
{
    const ls_arena_layout *layout = &current->layout;
    for (uint32_t i = 0; i < layout->shot_count; i++) {
        const ls_arena_shot *to = &current->shots[i];
        const ls_arena_shot *from = &previous->shots[i];
        from = from->serial == to->serial ? from : to;
        if (to->ticks_left == 0) {
            continue;
        }
        ls_draw_push(list, (ls_draw_shape){
                               .kind = LS_DRAW_DISC,
                               .id = WALL_COUNT + layout->body_count + layout->player_count + i,
                               .colour = ls_player_colour(i / layout->shots_each),
                               .x = ls_lerp(from->position.x, to->position.x, alpha),
                               .y = ls_lerp(from->position.y, to->position.y, alpha),
                               .half_width = LS_ARENA_SHOT_RADIUS,
                               .half_height = LS_ARENA_SHOT_RADIUS,
                               .owner = i / layout->shots_each + 1,
                           });
    }
}

static void arena_draw(const ls_sim_config *config, const void *previous, const void *current,
                       ls_fixed alpha, ls_draw_list *list)
{
    ls_arena_view from = ls_arena_view_of(config, previous);
    ls_arena_view to = ls_arena_view_of(config, current);
    ls_fixed half_size = ls_arena_half_size(config);
    ls_fixed edge = half_size + VIEW_MARGIN;
    list->view_min = (ls_vec2){-edge, -edge};
    list->view_max = (ls_vec2){edge, edge};
    draw_walls(half_size, list);
    draw_bodies(&from, &to, alpha, list);
    draw_shots(&from, &to, alpha, list);
}

/* ---- status ---- */

/* The scores, and how long a ship that was lost stays away. */
static void arena_status(const ls_sim_config *config, const void *state, uint32_t slot,
                         ls_status_list *list)
{
    ls_arena_view view = ls_arena_view_of(config, state);
    for (uint32_t i = 0; i < view.layout.player_count; i++) {
        ls_status_line score = {
            .kind = LS_STATUS_SEAT, .owner = i + 1, .colour = ls_player_colour(i)};
        ls_text_set(&score.text, "%u", view.ships[i].score);
        ls_status_push(list, score);
    }
    if (slot >= view.layout.player_count) {
        return;
    }
    uint32_t away_ticks = view.ships[slot].respawn_ticks;
    if (view.bodies[slot].shape == LS_ARENA_NONE && away_ticks > 1) {
        ls_status_line back = {.kind = LS_STATUS_PERSON};
        ls_text_set(&back.text, "you are back in %u s", 1 + away_ticks / config->tick_rate_hz);
        ls_status_push(list, back);
    }
    ls_status_push(list, (ls_status_line){.kind = LS_STATUS_KEYS,
                                          .text = {"arrows or WASD drive and turn   space fires   "
                                                   "left control brakes"}});
}

/* ---- sounds ---- */

/* The sounds of a step of an arena match: shots, hits, ships that are lost and ships that come into
 * play, told by comparing the states before and after it. */

#define SHOT_VOLUME LS_FIXED_RATIO(1, 2)
#define HIT_VOLUME LS_FIXED_RATIO(6, 10)
#define LOST_VOLUME LS_FIXED_ONE
#define SPAWN_VOLUME LS_FIXED_RATIO(6, 10)

static void push_cue(ls_sound_list *list, uint32_t id, uint32_t slot, ls_fixed volume,
                     ls_vec2 place)
{
    ls_sound_push(list, (ls_sound){.kind = LS_SOUND_CUE,
                                   .id = id,
                                   .owner = slot + 1,
                                   .volume = volume,
                                   .has_place = true,
                                   .x = place.x,
                                   .y = place.y});
}

/* Where the slot's ship was at the start of the step. */
static ls_vec2 ship_place(const ls_arena_view *before, uint32_t slot)
{
    return before->bodies[slot].position;
}

/* A shot that is gone before its time met something: a body, if its owner counts a hit more, and
 * else a wall. At point-blank range it hits in the step in which it is fired. */
static void push_hits(const ls_arena_view *before, const ls_arena_view *now, uint32_t slot,
                      ls_sound_list *list)
{
    uint32_t first = slot * now->layout.shots_each;
    uint32_t hits_before = before->ships[slot].hits;
    uint32_t hits = now->ships[slot].hits;
    uint32_t hits_left = hits > hits_before ? hits - hits_before : 0;
    for (uint32_t i = first; i < first + now->layout.shots_each && hits_left > 0; i++) {
        const ls_arena_shot *old = &before->shots[i];
        if (now->shots[i].serial != old->serial && old->ticks_left > 1) {
            push_cue(list, LS_ARENA_CUE_HIT, slot, HIT_VOLUME, old->position);
            hits_left--;
        }
    }
    for (; hits_left > 0; hits_left--) {
        push_cue(list, LS_ARENA_CUE_HIT, slot, HIT_VOLUME, ship_place(before, slot));
    }
}

/* A ship that has fired has to wait until it can fire again. */
static void push_shot(const ls_arena_view *before, const ls_arena_view *now, uint32_t slot,
                      ls_sound_list *list)
{
    if (now->ships[slot].cooldown_ticks > before->ships[slot].cooldown_ticks) {
        push_cue(list, LS_ARENA_CUE_SHOT, slot, SHOT_VOLUME, ship_place(before, slot));
    }
}

static void push_ship(const ls_arena_view *before, const ls_arena_view *now, uint32_t slot,
                      ls_sound_list *list)
{
    const ls_arena_body *body = &now->bodies[slot];
    if (now->ships[slot].deaths > before->ships[slot].deaths) {
        push_cue(list, LS_ARENA_CUE_LOST, slot, LOST_VOLUME, ship_place(before, slot));
    }
    if (body->shape != LS_ARENA_NONE && body->serial != before->bodies[slot].serial) {
        push_cue(list, LS_ARENA_CUE_SPAWN, slot, SPAWN_VOLUME, body->position);
    }
}

static void arena_sounds(const ls_sim_config *config, const void *previous, const void *current,
                         ls_sound_list *list)
{
    ls_arena_view before = ls_arena_view_of(config, previous);
    ls_arena_view now = ls_arena_view_of(config, current);
    for (uint32_t slot = 0; slot < now.layout.player_count; slot++) {
        push_shot(&before, &now, slot, list);
        push_hits(&before, &now, slot, list);
        push_ship(&before, &now, slot, list);
    }
}

/* ---- the simulation ---- */

/* In the order of LS_ARENA_PARAM_*. */
static const ls_param params[LS_ARENA_PARAM_COUNT] = {
    LS_PARAM_INTEGER_OF("bodies", "", "discs and boxes that lie about", 200, 0, 20000),
    LS_PARAM_INTEGER_OF("boxes", "/1000", "share of boxes among them", 500, 0, 1000),
    LS_PARAM_INTEGER_OF("area", "m2", "room for each body; the arena grows with it", 9, 8, 60),
    LS_PARAM_INTEGER_OF("speed", "m/s", "highest speed of a body at the start", 6, 0, 20),
    LS_PARAM_INTEGER_OF("friction", "/1000", "between bodies, and between bodies and walls", 300, 0,
                        2000),
    LS_PARAM_INTEGER_OF("restitution", "/1000", "speed kept in a collision", 600, 0, 1000),
    LS_PARAM_INTEGER_OF("drag", "/1000 per s", "speed lost to the ground", 150, 0, 5000),
    LS_PARAM_INTEGER_OF("iterations", "", "of the contact solver", 4, 1, 16),
    LS_PARAM_INTEGER_OF("shots", "", "of one ship in flight at once", 8, 1, 64),
};

static const ls_pass passes[] = {
    {"events", ls_arena_pass_events},         {"ships", ls_arena_pass_ships},
    {"broadphase", ls_arena_pass_broadphase}, {"narrowphase", ls_arena_pass_narrowphase},
    {"solve", ls_arena_pass_solve},           {"integrate", ls_arena_pass_integrate},
    {"shots", ls_arena_pass_shots},           {"spawn", ls_arena_pass_spawn},
};

static size_t state_bytes(const ls_sim_config *config)
{
    return ls_arena_layout_of(config).bytes;
}

const ls_simulation *ls_arena_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 2,
        .name = "arena",
        .summary = "ships push and shoot among rigid discs and boxes, seen from above",
        .default_tick_rate_hz = 60,
        .default_players = 4,
        .players_max = 16,
        .input_bytes_max = LS_ARENA_PAD_BYTES,
        .params = params,
        .param_count = LS_ARENA_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = ls_arena_scratch_bytes,
        .fields = ls_arena_fields,
        .init = ls_arena_init,
        .draw = arena_draw,
        .bot = arena_bot,
        .control = arena_control,
        .sounds = arena_sounds,
        .input_bits = ls_buttons_in_first_byte,
        .status = arena_status,
    };
    return &simulation;
}
