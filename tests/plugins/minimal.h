/* Minimal: the least that passes ls_simulation_check, for plug-ins that are wrong in one thing.
 * Its state is 32 bytes, of which a plug-in may name the fields otherwise. */
#ifndef LOCKSTEP_TESTS_PLUGINS_MINIMAL_H
#define LOCKSTEP_TESTS_PLUGINS_MINIMAL_H

#include "lockstep/common/simulation/simulation.h"

typedef struct minimal_ship {
    ls_fixed x;
    ls_angle angle;
    uint32_t fuel;
} minimal_ship;

typedef struct minimal_state {
    minimal_ship ships[2];
} minimal_state;

#define MINIMAL_SHIP_FIELD(member, type, unit)                                                     \
    LS_FIELD_EACH("ships", offsetof(minimal_state, ships), 2, minimal_ship, member, type, unit)

static inline size_t minimal_state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(minimal_state);
}

static inline ls_status minimal_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    (void)state;
    return LS_OK;
}

static inline uint32_t minimal_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m"),
        MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, "deg"),
        MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg"),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static inline void minimal_run(const ls_step *step)
{
    ((minimal_state *)step->state)->ships[0].fuel++;
}

static inline ls_simulation minimal_simulation(const char *name,
                                               uint32_t (*fields)(const ls_sim_config *config,
                                                                  ls_field *out, uint32_t capacity))
{
    static const ls_pass pass = {"run", minimal_run};
    return (ls_simulation){
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = name,
        .summary = "the least there is",
        .default_tick_rate_hz = 60,
        .default_players = 1,
        .players_max = 1,
        .passes = &pass,
        .pass_count = 1,
        .state_bytes = minimal_state_bytes,
        .init = minimal_init,
        .fields = fields,
    };
}

/* The plug-in's one symbol. */
LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

#endif
