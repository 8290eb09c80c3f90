/* Plug-ins that were built with a struct of another size than the program's. */
#include "lockstep/tests/plugins/minimal.h"

#include <string.h>

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m"),
        MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, ""),
        MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static union {
    ls_simulation simulation;
    uint8_t bytes[sizeof(ls_simulation) + 16];
} exported;

const ls_simulation *lockstep_simulation(void)
{
    exported.simulation = minimal_simulation("sized", fields);
    exported.simulation.size = SIZED_BYTES;
    if (SIZED_BYTES > 0 &&
        SIZED_BYTES < sizeof(ls_simulation)) { /* what lies behind an older one is anything */
        memset(exported.bytes + SIZED_BYTES, 0x77, sizeof exported.bytes - SIZED_BYTES);
    }
    exported.bytes[sizeof(ls_simulation) + 3] = SIZED_LAST_BYTE;
    return &exported.simulation;
}
