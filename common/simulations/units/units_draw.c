/* The picture of a units match: bases, units, and a bar over every wounded one. */
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/units/units_state.h"

/* Shape ids: units by slot, the rest behind them. */
#define BAR_IDS 0x10000u
#define BASE_IDS 0x20000u

static const uint32_t player_colours[LS_UNITS_PLAYERS_MAX] = {
    0x4C8BF5FF, 0xE5533DFF, 0x4CAF50FF, 0xF2B134FF, 0x9C6ADEFF, 0x2BB5B8FF, 0xE66FA8FF, 0x9AA5B1FF,
};

static void draw_base(const ls_units_state *state, uint32_t player, ls_draw_list *list)
{
    const ls_units_player *row = &state->players[player];
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_BOX,
                           .id = BASE_IDS + player,
                           .colour = (player_colours[player] & 0xFFFFFF00u) | 0x50u,
                           .x = row->base.x,
                           .y = row->base.y,
                           .half_width = LS_FIXED_INT(3),
                           .half_height = LS_FIXED_INT(3),
                           .owner = player + 1,
                       });
}

/* As wide as the unit when it is whole; green, then amber, then red. */
static void draw_health(const ls_units_unit *unit, uint32_t id, ls_vec2 position,
                        ls_draw_list *list)
{
    const ls_units_kind_rules *kind = ls_units_kind_rules_of(unit->kind);
    if (unit->health >= kind->health) {
        return;
    }
    uint32_t percent = unit->health * 100u / kind->health;
    uint32_t colour = percent > 60 ? 0x7CFC60FF : percent > 30 ? 0xFFC83CFF : 0xFF4040FF;
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_BOX,
                           .id = BAR_IDS + id,
                           .colour = colour,
                           .x = position.x,
                           .y = ls_fixed_add(position.y, kind->radius + LS_FIXED_RATIO(1, 5)),
                           .half_width = kind->radius * unit->health / kind->health,
                           .half_height = LS_FIXED_RATIO(2, 25),
                       });
}

/* A slot that was taken over by another unit since the previous state is not blended. */
static void draw_unit(const ls_units_unit *from, const ls_units_unit *to, uint32_t id,
                      ls_fixed alpha, ls_draw_list *list)
{
    ls_fixed share = from->born == to->born ? alpha : LS_FIXED_ONE;
    ls_vec2 position = ls_lerp_vec2(from->position, to->position, share);
    ls_fixed radius = ls_units_kind_rules_of(to->kind)->radius;
    ls_draw_push(list, (ls_draw_shape){
                           .kind = LS_DRAW_DISC,
                           .id = id,
                           .colour = player_colours[ls_units_owner(to)],
                           .angle = ls_lerp_angle(from->facing, to->facing, share),
                           .x = position.x,
                           .y = position.y,
                           .half_width = radius,
                           .half_height = radius,
                           .owner = ls_units_owner(to) + 1,
                       });
    draw_health(to, id, position, list);
}

void ls_units_draw(const ls_sim_config *config, const void *previous, const void *current,
                   ls_fixed alpha, ls_draw_list *list)
{
    ls_units_rules rules = ls_units_rules_of(config);
    const ls_units_state *from = previous;
    const ls_units_state *to = current;
    list->view_min = (ls_vec2){0, 0};
    list->view_max = (ls_vec2){rules.side, rules.side};
    for (uint32_t player = 0; player < rules.players; player++) {
        draw_base(to, player, list);
    }
    for (uint32_t id = 0; id < rules.unit_count; id++) {
        if (ls_units_is_alive(&to->units[id])) {
            draw_unit(&from->units[id], &to->units[id], id, alpha, list);
        }
    }
}
