#include "lockstep/tools/adapters/chipmunk/chipmunk_view.h"
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/player_view.h"

#define GROUND_COLOUR 0x55606eFFu
#define WOOD_COLOUR 0xb98f5cFFu
#define WHEEL_COLOUR 0x3a3f47FFu
#define FLAG_IDS 1000u
#define GROUND_IDS 2000u

static const uint32_t crate_colours[] = {0xc8a06aFFu, 0xb98f5cFFu, 0xd6b27fFFu};

typedef struct pose {
    ls_vec2 at;
    ls_angle angle;
} pose;

static pose pose_of(const chipmunk_body *body)
{
    return (pose){{ls_fixed_from_double(body->x), ls_fixed_from_double(body->y)},
                  ls_angle_from_radians(ls_fixed_from_double(body->angle))};
}

typedef struct blend {
    const chipmunk_world *past;
    const chipmunk_world *now;
    ls_fixed alpha;
    ls_draw_list *list;
} blend;

static void draw_body(const blend *blended, uint32_t id, ls_draw_shape shape, double half_width,
                      double half_height)
{
    pose from = pose_of(&blended->past->bodies[id]);
    pose to = pose_of(&blended->now->bodies[id]);
    ls_vec2 at = ls_lerp_vec2(from.at, to.at, blended->alpha);
    shape.id = id;
    shape.x = at.x;
    shape.y = at.y;
    shape.angle = ls_lerp_angle(from.angle, to.angle, blended->alpha);
    shape.half_width = ls_fixed_from_double(half_width);
    shape.half_height = ls_fixed_from_double(half_height);
    ls_draw_push(blended->list, shape);
}

/* A car that has just joined or was taken back to its start is drawn where it is. */
static bool is_moved(const blend *blended, uint32_t slot)
{
    const chipmunk_body *from = &blended->past->bodies[slot * CHIPMUNK_CAR_BODIES];
    const chipmunk_body *to = &blended->now->bodies[slot * CHIPMUNK_CAR_BODIES];
    double x = to->x - from->x, y = to->y - from->y;
    return !blended->past->drivers[slot].is_here || x * x + y * y > 4;
}

static void draw_car(const blend *both, uint32_t slot)
{
    blend blended = *both;
    uint32_t first = slot * CHIPMUNK_CAR_BODIES;
    if (is_moved(both, slot)) {
        blended.past = blended.now;
    }
    ls_draw_shape wheel = {.kind = LS_DRAW_DISC, .colour = WHEEL_COLOUR};
    ls_draw_shape chassis = {
        .kind = LS_DRAW_BOX, .colour = ls_player_colour(slot), .owner = slot + 1};
    for (uint32_t i = 0; i < 2; i++) {
        draw_body(&blended, first + CHIPMUNK_WHEELS + i, wheel, CHIPMUNK_WHEEL_RADIUS,
                  CHIPMUNK_WHEEL_RADIUS);
    }
    draw_body(&blended, first + CHIPMUNK_CHASSIS, chassis, CHIPMUNK_CHASSIS_HALF_WIDTH,
              CHIPMUNK_CHASSIS_HALF_HEIGHT);
}

/* ---- what does not move ---- */

static void draw_block(ls_draw_list *list, uint32_t id, double left, double right, double bottom,
                       double top)
{
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_BOX,
                           .id = id,
                           .colour = GROUND_COLOUR,
                           .x = ls_fixed_from_double((left + right) / 2),
                           .y = ls_fixed_from_double((bottom + top) / 2),
                           .half_width = ls_fixed_from_double((right - left) / 2),
                           .half_height = ls_fixed_from_double((top - bottom) / 2),
                       });
}

static ls_vec2 point(double x, double y)
{
    return (ls_vec2){ls_fixed_from_double(x), ls_fixed_from_double(y)};
}

static void draw_wedge(ls_draw_list *list, uint32_t id, ls_vec2 a, ls_vec2 b, ls_vec2 c)
{
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_TRIANGLE,
                                       .id = id,
                                       .colour = GROUND_COLOUR,
                                       .x = a.x,
                                       .y = a.y,
                                       .corners = {a, b, c}});
}

static void draw_ground(ls_draw_list *list)
{
    double bottom = CHIPMUNK_RAVINE - 1, foot = CHIPMUNK_BANK - 0.6;
    draw_block(list, GROUND_IDS, -CHIPMUNK_ROOM_HALF - 1, -CHIPMUNK_BANK, bottom, 0);
    draw_block(list, GROUND_IDS + 1, CHIPMUNK_BANK, CHIPMUNK_ROOM_HALF + 1, bottom, 0);
    draw_block(list, GROUND_IDS + 2, -CHIPMUNK_BANK, CHIPMUNK_BANK, bottom, CHIPMUNK_RAVINE);
    draw_wedge(list, GROUND_IDS + 3, point(-20, 0), point(-17.5, 0.7), point(-15.5, 0));
    draw_wedge(list, GROUND_IDS + 4, point(-CHIPMUNK_BANK, 0),
               point(-CHIPMUNK_BANK, CHIPMUNK_RAVINE), point(-foot, CHIPMUNK_RAVINE));
    draw_wedge(list, GROUND_IDS + 5, point(CHIPMUNK_BANK, 0), point(CHIPMUNK_BANK, CHIPMUNK_RAVINE),
               point(foot, CHIPMUNK_RAVINE));
    draw_wedge(list, GROUND_IDS + 6, point(CHIPMUNK_SEESAW_X, CHIPMUNK_SEESAW_Y),
               point(CHIPMUNK_SEESAW_X - 0.3, 0), point(CHIPMUNK_SEESAW_X + 0.3, 0));
}

/* Each player's flag stands at the end that the player has to reach next. */
static void draw_flag(ls_draw_list *list, const chipmunk_driver *driver, uint32_t slot)
{
    double x = (driver->goal ? 1 : -1) * (CHIPMUNK_GOAL + 0.5 * slot);
    double y = 2.2 + 0.45 * slot;
    draw_wedge(list, FLAG_IDS + slot, point(x, y), point(x, y + 0.4), point(x + 0.7, y + 0.2));
    list->shapes[list->count - 1].colour = ls_player_colour(slot);
}

void chipmunk_draw(const ls_sim_config *config, const void *previous, const void *current,
                   ls_fixed alpha, ls_draw_list *list)
{
    blend blended = {previous, current, alpha, list};
    list->view_min = point(-CHIPMUNK_ROOM_HALF - 1, CHIPMUNK_RAVINE - 1);
    list->view_max = point(CHIPMUNK_ROOM_HALF + 1, 14);
    draw_ground(list);
    ls_draw_shape wood = {.kind = LS_DRAW_BOX, .colour = WOOD_COLOUR};
    for (uint32_t i = 0; i < CHIPMUNK_PLANK_COUNT; i++) {
        draw_body(&blended, CHIPMUNK_PLANKS + i, wood, CHIPMUNK_PLANK_HALF_WIDTH,
                  CHIPMUNK_PLANK_HALF_HEIGHT);
    }
    draw_body(&blended, CHIPMUNK_SEESAW, wood, CHIPMUNK_SEESAW_HALF_WIDTH,
              CHIPMUNK_PLANK_HALF_HEIGHT);
    for (uint32_t i = 0; i < chipmunk_crates(config); i++) {
        ls_draw_shape crate = {.kind = LS_DRAW_BOX, .colour = crate_colours[i % 3]};
        draw_body(&blended, CHIPMUNK_CRATES + i, crate, CHIPMUNK_CRATE_HALF, CHIPMUNK_CRATE_HALF);
    }
    for (uint32_t slot = 0; slot < config->players; slot++) {
        const chipmunk_driver *driver = &blended.now->drivers[slot];
        if (driver->is_here) {
            draw_flag(list, driver, slot);
            draw_car(&blended, slot);
        }
    }
}

/* ---- who plays ---- */

/* Drives to its flag, hesitates now and then, and asks for help where it does not get on. */
uint32_t chipmunk_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                      uint8_t *bytes)
{
    (void)config;
    const chipmunk_world *world = state;
    const chipmunk_body *car = &world->bodies[slot * CHIPMUNK_CAR_BODIES];
    bool hesitates = ls_rng_below(rng, 6) == 0;
    bool turns_back = ls_rng_below(rng, 40) == 0;
    bool despairs = ls_rng_below(rng, 240) == 0;
    bool is_stuck = car->vx * car->vx < 0.04;
    uint32_t way = world->drivers[slot].goal != 0 ? CHIPMUNK_RIGHT : CHIPMUNK_LEFT;
    way = turns_back ? way ^ (CHIPMUNK_LEFT | CHIPMUNK_RIGHT) : way;
    bytes[0] = (uint8_t)((hesitates ? 0 : way) | (is_stuck && despairs ? CHIPMUNK_RESCUE : 0));
    return 1;
}

uint32_t chipmunk_control(const ls_sim_config *config, const void *state, uint32_t slot,
                          const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    ls_vec2 way = ls_controls_direction(controls);
    uint32_t down = controls->held | controls->pressed;
    bytes[0] = (uint8_t)((way.x < -LS_FIXED_HALF ? CHIPMUNK_LEFT : 0) |
                         (way.x > LS_FIXED_HALF ? CHIPMUNK_RIGHT : 0) |
                         (down & LS_CONTROL_FIRST ? CHIPMUNK_RESCUE : 0));
    return 1;
}
