#include "lockstep/common/simulations/units/units_rules.h"

#include "lockstep/common/maths/fixed_trig.h"

const ls_units_kind_rules ls_units_kinds[LS_UNITS_KIND_COUNT] = {
    [LS_UNITS_SOLDIER] = {.radius = LS_UNITS_RADIUS_MAX,
                          .speed = LS_FIXED_RATIO(7, 2),
                          .range = LS_FIXED_RATIO(13, 10),
                          .cooldown_ms = 800,
                          .health = 100,
                          .damage = 12,
                          .worth = 3},
    [LS_UNITS_ARCHER] = {.radius = LS_FIXED_RATIO(9, 20),
                         .speed = LS_FIXED_RATIO(16, 5),
                         .range = LS_FIXED_INT(8),
                         .cooldown_ms = 1200,
                         .health = 60,
                         .damage = 9,
                         .worth = 4},
    [LS_UNITS_SCOUT] = {.radius = LS_FIXED_RATIO(2, 5),
                        .speed = LS_FIXED_INT(6),
                        .range = LS_FIXED_RATIO(6, 5),
                        .cooldown_ms = 500,
                        .health = 50,
                        .damage = 5,
                        .worth = 2},
};

ls_units_rules ls_units_rules_of(const ls_sim_config *config)
{
    uint32_t hz = config->tick_rate_hz;
    ls_units_rules rules = {
        .unit_count = (uint32_t)config->params[LS_UNITS_PARAM_UNITS],
        .players = config->players,
        .tick_rate_hz = hz,
        .think_ticks = hz < 4 ? 1 : hz / 4,
        .wave_ticks = (uint32_t)config->params[LS_UNITS_PARAM_WAVE_SECONDS] * hz,
        .wave_percent = (uint32_t)config->params[LS_UNITS_PARAM_WAVE_PERCENT],
        .dt = LS_FIXED_ONE / hz,
        .velocity_gain = ls_fixed_min(LS_FIXED_INT(8) / hz, LS_FIXED_ONE),
        .arrival_rate = ls_fixed_min(LS_FIXED_INT(hz) / 2, LS_FIXED_INT(4)),
    };
    /* Ten square metres a unit: armies have room to move and are soon in contact. */
    ls_fixed side = ls_fixed_sqrt(LS_FIXED_INT(rules.unit_count * 10));
    rules.side = ls_fixed_max(side, LS_FIXED_INT(40));
    return rules;
}

ls_units_kind ls_units_kind_at(uint32_t place)
{
    static const uint8_t pattern[10] = {
        LS_UNITS_SOLDIER, LS_UNITS_ARCHER,  LS_UNITS_SOLDIER, LS_UNITS_SCOUT,   LS_UNITS_SOLDIER,
        LS_UNITS_ARCHER,  LS_UNITS_SOLDIER, LS_UNITS_ARCHER,  LS_UNITS_SOLDIER, LS_UNITS_SCOUT,
    };
    return (ls_units_kind)pattern[place % 10];
}

uint32_t ls_units_army_first(const ls_units_rules *rules, uint32_t player)
{
    return rules->unit_count * player / rules->players;
}

ls_vec2 ls_units_base(const ls_units_rules *rules, uint32_t player)
{
    uint64_t turn = (UINT64_C(1) << 32) * player / rules->players;
    ls_vec2 direction = ls_vec2_from_angle((ls_angle)turn + LS_ANGLE_QUARTER / 2);
    ls_fixed distance = ls_fixed_mul(rules->side, LS_FIXED_RATIO(8, 25));
    ls_vec2 middle = {rules->side / 2, rules->side / 2};
    return ls_vec2_add(middle, ls_vec2_scale(direction, distance));
}

ls_vec2 ls_units_inside(const ls_units_rules *rules, ls_vec2 point)
{
    ls_fixed low = LS_UNITS_RADIUS_MAX;
    ls_fixed high = ls_fixed_sub(rules->side, LS_UNITS_RADIUS_MAX);
    return (ls_vec2){ls_fixed_clamp(point.x, low, high), ls_fixed_clamp(point.y, low, high)};
}

static uint32_t square_root_up(uint32_t n)
{
    uint32_t root = (uint32_t)ls_fixed_floor(ls_fixed_sqrt(LS_FIXED_INT(n)));
    return root * root < n ? root + 1 : root;
}

ls_units_formation ls_units_formation_make(ls_vec2 centre, uint32_t count)
{
    uint32_t columns = square_root_up(count);
    uint32_t rows = (count + columns - 1) / columns;
    ls_vec2 half = {(int64_t)(columns - 1) * LS_UNITS_SPACING / 2,
                    (int64_t)(rows - 1) * LS_UNITS_SPACING / 2};
    return (ls_units_formation){.corner = ls_vec2_sub(centre, half), .columns = columns};
}

ls_vec2 ls_units_formation_place(const ls_units_formation *formation, uint32_t place)
{
    int64_t column = place % formation->columns;
    int64_t row = place / formation->columns;
    ls_vec2 offset = {column * LS_UNITS_SPACING, row * LS_UNITS_SPACING};
    return ls_vec2_add(formation->corner, offset);
}
