/* How springs look, and how bots and people push them. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/common/simulations/spring/spring_state.h"

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

void ls_spring_draw(const ls_sim_config *config, const void *previous, const void *current,
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
uint32_t ls_spring_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                       uint8_t *bytes)
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
uint32_t ls_spring_control(const ls_sim_config *config, const void *state, uint32_t slot,
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
