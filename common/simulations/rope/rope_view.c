/* How the rope looks, and how bots and people drag it. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/common/simulations/rope/rope_state.h"

#include <string.h>

#define MARGIN LS_FIXED_HALF
#define ROPE_HALF LS_FIXED_RATIO(15, 1000)
#define HAND_RADIUS LS_FIXED_RATIO(8, 100)
#define FLOOR_HALF LS_FIXED_RATIO(5, 100)

#define ROPE_COLOUR 0xd9b382FFu
#define ROPE_SHADE 0xb08a5aFFu
#define FLOOR_COLOUR 0x55606eFFu

/* Ids: the floor, hands by slot, then links. */
#define HAND_IDS 1u
#define LINK_IDS 16u

/* Points far outside of the picture need not be drawn where they are. */
#define EDGE LS_FIXED_INT(20000)

#define HAND_REACH_MM 400 /* of arrow keys and stick, ahead of where the hand is */
#define BOT_SWING_MM 700  /* either way of where the hand began */
#define BOT_LETS_GO 24u   /* one time in this many */

static ls_vec2 to_fixed(ls_rope_point point)
{
    return (ls_vec2){ls_fixed_clamp(ls_fixed_from_double(point.x), -EDGE, EDGE),
                     ls_fixed_clamp(ls_fixed_from_double(point.y), -EDGE, EDGE)};
}

static ls_vec2 blend(const ls_rope_view *from, const ls_rope_view *to, uint32_t i, ls_fixed alpha)
{
    return ls_lerp_vec2(to_fixed(from->positions[i]), to_fixed(to->positions[i]), alpha);
}

static ls_draw_shape link_shape(ls_vec2 from, ls_vec2 to, uint32_t i)
{
    ls_vec2 way = ls_vec2_sub(to, from);
    return (ls_draw_shape){
        .kind = LS_DRAW_LINE,
        .id = LINK_IDS + i,
        .colour = i / 4 % 2 ? ROPE_SHADE : ROPE_COLOUR,
        .angle = ls_fixed_atan2(way.y, way.x),
        .x = from.x,
        .y = from.y,
        .half_width = ls_vec2_length(way),
        .half_height = ROPE_HALF,
    };
}

static ls_fixed half_length(const ls_rope_rules *rules)
{
    return ls_fixed_from_double(rules->link) * (rules->count - 1) / 2;
}

static void draw_hands(const ls_rope_rules *rules, const ls_rope_view *from, const ls_rope_view *to,
                       ls_fixed alpha, ls_draw_list *list)
{
    for (uint32_t slot = 0; slot < rules->players; slot++) {
        uint32_t faded = to->hands[slot].is_holding ? 0 : 0xA0u;
        ls_vec2 at = blend(from, to, ls_rope_particle_of(rules, slot), alpha);
        ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_DISC,
                                           .id = HAND_IDS + slot,
                                           .colour = ls_player_colour(slot) - faded,
                                           .x = at.x,
                                           .y = at.y,
                                           .half_width = HAND_RADIUS,
                                           .half_height = HAND_RADIUS,
                                           .owner = slot + 1});
    }
}

void ls_rope_draw(const ls_sim_config *config, const void *previous, const void *current,
                  ls_fixed alpha, ls_draw_list *list)
{
    ls_rope_rules rules = ls_rope_rules_of(config);
    ls_rope_view from = ls_rope_view_of(config, previous);
    ls_rope_view to = ls_rope_view_of(config, current);
    ls_fixed half = half_length(&rules) + 2 * MARGIN;
    ls_fixed floor = ls_fixed_from_double(LS_ROPE_FLOOR);
    list->view_min = (ls_vec2){-half, floor - MARGIN};
    list->view_max = (ls_vec2){half, LS_FIXED_INT(1)};
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_BOX,
                                       .colour = FLOOR_COLOUR,
                                       .y = floor - FLOOR_HALF - ROPE_HALF,
                                       .half_width = half,
                                       .half_height = FLOOR_HALF});
    ls_vec2 end = blend(&from, &to, 0, alpha);
    for (uint32_t i = 0; i + 1 < rules.count; i++) {
        ls_vec2 next = blend(&from, &to, i + 1, alpha);
        ls_draw_push(list, link_shape(end, next, i));
        end = next;
    }
    draw_hands(&rules, &from, &to, alpha, list);
}

/* ---- inputs ---- */

static int32_t millimetres(ls_fixed metres)
{
    return ls_fixed_floor(ls_fixed_clamp(metres, LS_FIXED_INT(-32), LS_FIXED_INT(32)) * 1000);
}

static uint32_t write_input(bool is_holding, int32_t x_mm, int32_t y_mm, uint8_t *bytes)
{
    uint32_t x = (uint32_t)x_mm & 0xFFFFu;
    uint32_t y = (uint32_t)y_mm & 0xFFFFu;
    const uint8_t input[LS_ROPE_INPUT_BYTES] = {is_holding, (uint8_t)x, (uint8_t)(x >> 8),
                                                (uint8_t)y, (uint8_t)(y >> 8)};
    memcpy(bytes, input, sizeof input);
    return LS_ROPE_INPUT_BYTES;
}

/* Swings about where the hand began, to another place every third of a second or so, and lets go
 * for a while now and then. In between it says nothing. */
uint32_t ls_rope_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                     uint8_t *bytes)
{
    (void)state;
    if (ls_rng_below(rng, config->tick_rate_hz) >= 3) {
        return 0;
    }
    ls_rope_rules rules = ls_rope_rules_of(config);
    int64_t link_mm = config->params[LS_ROPE_PARAM_LINK];
    int64_t home_mm = link_mm * ls_rope_particle_of(&rules, slot) - link_mm * (rules.count - 1) / 2;
    bool is_holding = ls_rng_below(rng, BOT_LETS_GO) > 0;
    int32_t x = ls_rng_between(rng, -BOT_SWING_MM, BOT_SWING_MM);
    int32_t y = ls_rng_between(rng, -BOT_SWING_MM, BOT_SWING_MM);
    int32_t home = (int32_t)(home_mm / 4 * 3);
    return write_input(is_holding, home + x, y, bytes);
}

/* The particle goes after the pointer while its button is held; arrow keys and stick lead it; it is
 * let go while FIRST is held. */
uint32_t ls_rope_control(const ls_sim_config *config, const void *state, uint32_t slot,
                         const ls_controls *controls, uint8_t *bytes)
{
    ls_rope_rules rules = ls_rope_rules_of(config);
    ls_rope_view rope = ls_rope_view_of(config, state);
    ls_vec2 at = to_fixed(rope.positions[ls_rope_particle_of(&rules, slot)]);
    ls_vec2 lead = ls_controls_direction(controls);
    bool is_holding = (controls->held & LS_CONTROL_FIRST) == 0;
    if (controls->is_pointer_held) {
        return write_input(is_holding, millimetres(controls->pointer.x),
                           millimetres(controls->pointer.y), bytes);
    }
    if (lead.x == 0 && lead.y == 0 && is_holding && rope.hands[slot].is_holding) {
        return 0;
    }
    ls_vec2 reach = ls_vec2_scale(lead, LS_FIXED_RATIO(HAND_REACH_MM, 1000));
    return write_input(is_holding, millimetres(at.x + reach.x), millimetres(at.y + reach.y), bytes);
}
