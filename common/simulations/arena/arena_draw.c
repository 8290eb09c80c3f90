/* The picture between two states of an arena match: walls, bodies, ships with their noses, shots.
 */
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/simulations/player_view.h"

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

void ls_arena_draw(const ls_sim_config *config, const void *previous, const void *current,
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
