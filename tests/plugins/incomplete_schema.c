#include "lockstep/tests/plugins/minimal.h"

/* The angle of every ship is forgotten. */
static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m"),
        MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg"),
    };
    return ls_fields_copy(list, 2, out, capacity);
}

const ls_simulation *lockstep_simulation(void)
{
    static ls_simulation simulation;
    simulation = minimal_simulation("incomplete_schema", fields);
    return &simulation;
}
