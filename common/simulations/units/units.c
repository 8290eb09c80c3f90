#include "lockstep/common/simulations/units/units.h"

#include "lockstep/common/simulations/units/units_state.h"

/* No hole that the compiler might leave unset: the schema names every byte. */
_Static_assert(sizeof(ls_units_unit) == 72, "units are 72 bytes");
_Static_assert(sizeof(ls_units_player) == 40, "players are 40 bytes");
_Static_assert(sizeof(ls_units_state) == 32 + 40 * LS_UNITS_PLAYERS_MAX, "the head has no holes");

#define MUSTER_STREAM 1u

static const ls_param params[LS_UNITS_PARAM_COUNT] = {
    [LS_UNITS_PARAM_UNITS] = LS_PARAM_INTEGER_OF("units", "", "units of all armies together", 1500,
                                                 LS_UNITS_COUNT_MIN, LS_UNITS_COUNT_MAX),
    [LS_UNITS_PARAM_WAVE_SECONDS] = LS_PARAM_INTEGER_OF(
        "wave-seconds", "s", "time between reinforcements; 0 for none", 8, 0, 3600),
    [LS_UNITS_PARAM_WAVE_PERCENT] = LS_PARAM_INTEGER_OF(
        "wave-percent", "%", "the most of an army that one wave brings back", 25, 1, 100),
};

static const ls_pass passes[] = {
    {"events", ls_units_pass_events}, {"orders", ls_units_pass_orders},
    {"grid", ls_units_pass_grid},     {"sight", ls_units_pass_sight},
    {"steer", ls_units_pass_steer},   {"move", ls_units_pass_move},
    {"combat", ls_units_pass_combat}, {"deaths", ls_units_pass_deaths},
    {"bases", ls_units_pass_bases},   {"leader", ls_units_pass_leader},
};

static size_t state_bytes(const ls_sim_config *config)
{
    return sizeof(ls_units_state) + ls_units_rules_of(config).unit_count * sizeof(ls_units_unit);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    ls_units_rules rules = ls_units_rules_of(config);
    return ls_units_scratch_of(&rules, NULL).bytes;
}

#define HEAD(member, type, unit) LS_FIELD_OF(ls_units_state, member, LS_FIELD_##type, unit)
#define PLAYER(member, type, unit)                                                                 \
    LS_FIELD_EACH("players", offsetof(ls_units_state, players), LS_UNITS_PLAYERS_MAX,              \
                  ls_units_player, member, LS_FIELD_##type, unit)
#define UNIT(member, type, unit)                                                                   \
    LS_FIELD_EACH("units", offsetof(ls_units_state, units), unit_count, ls_units_unit, member,     \
                  LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t unit_count = ls_units_rules_of(config).unit_count;
    const ls_field all[] = {
        HEAD(tick, U32, "ticks"),
        HEAD(leader, U32, ""),
        HEAD(muster_rng.state, U64, ""),
        HEAD(muster_rng.increment, U64, ""),
        HEAD(waves, U32, ""),
        LS_FIELD_ARRAY_OF(ls_units_state, padding, 4, LS_FIELD_PADDING, ""),
        PLAYER(base.x, FIXED, "m"),
        PLAYER(base.y, FIXED, "m"),
        PLAYER(alive, U32, "units"),
        PLAYER(kills, U32, "units"),
        PLAYER(losses, U32, "units"),
        PLAYER(score, U32, ""),
        PLAYER(is_away, U32, ""),
        ls_field_long(PLAYER(padding, PADDING, ""), 4),
        UNIT(position.x, FIXED, "m"),
        UNIT(position.y, FIXED, "m"),
        UNIT(velocity.x, FIXED, "m/s"),
        UNIT(velocity.y, FIXED, "m/s"),
        UNIT(goal.x, FIXED, "m"),
        UNIT(goal.y, FIXED, "m"),
        UNIT(facing, ANGLE, ""),
        UNIT(born, U32, "ticks"),
        UNIT(target, U32, ""),
        UNIT(health, U16, ""),
        UNIT(cooldown, U16, "ticks"),
        UNIT(stuck, U16, "ticks"),
        UNIT(owner, U8, ""),
        UNIT(kind, U8, ""),
        UNIT(verb, U8, ""),
        ls_field_long(UNIT(padding, PADDING, ""), 3),
    };
    return ls_fields_copy(all, sizeof all / sizeof all[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    ls_units_rules rules = ls_units_rules_of(config);
    ls_units_state *state = block;
    state->muster_rng = ls_rng_make(config->seed, MUSTER_STREAM);
    for (uint32_t player = 0; player < rules.players; player++) {
        state->players[player].base = ls_units_base(&rules, player);
        ls_units_muster(&rules, state, player, rules.unit_count);
    }
    return LS_OK;
}

const ls_simulation *ls_units_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "units",
        .summary = "a strategy battle of up to 8 armies and 20,000 units",
        .default_tick_rate_hz = 30,
        .default_players = 4,
        .players_max = LS_UNITS_PLAYERS_MAX,
        .input_bytes_max = LS_UNITS_INPUT_BYTES_MAX,
        .params = params,
        .param_count = LS_UNITS_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = scratch_bytes,
        .fields = fields,
        .init = init,
        .draw = ls_units_draw,
        .bot = ls_units_bot,
        .control = ls_units_control,
        .draw_control = ls_units_draw_control,
        .input_bits = ls_units_input_bits,
    };
    return &simulation;
}
