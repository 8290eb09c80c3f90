/* Built with -fshort-enums. */
#include "lockstep/tests/plugins/minimal.h"

typedef enum own {
    OWN_FIRST,
    OWN_LAST
} own;
_Static_assert(sizeof(own) == 1, "this file is built with -fshort-enums");
_Static_assert(sizeof(ls_status) == sizeof(int), "a host reads a whole status");
_Static_assert(sizeof(((ls_controls *)NULL)->gesture) == sizeof(uint32_t), "a gesture is whole");

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m"),
        MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, "deg"),
        MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg"),
    };
    return ls_fields_copy(list, 3, out, capacity);
}

const ls_simulation *lockstep_simulation(void)
{
    static ls_simulation simulation;
    simulation = minimal_simulation("short_enums", fields);
    return &simulation;
}
