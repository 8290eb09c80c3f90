/* Plug-ins that are wrong in one thing, which a definition says. */
#include "lockstep/tests/plugins/minimal.h"

#include <string.h>

/* A likely slip: the entry point has the game's name. */
#ifdef WRONG_SYMBOL
#define lockstep_simulation no_symbol_simulation
LS_SIMULATION_EXPORT const ls_simulation *no_symbol_simulation(void);
#endif

/* Built with -fshort-enums. */
#ifdef WRONG_ENUMS
typedef enum own {
    OWN_FIRST,
    OWN_LAST
} own;
_Static_assert(sizeof(own) == 1, "this file is built with -fshort-enums");
_Static_assert(sizeof(ls_status) == sizeof(int), "a host reads a whole status");
_Static_assert(sizeof(((ls_controls *)NULL)->gesture) == sizeof(uint32_t), "a gesture is whole");
#endif

#if defined(WRONG_INCOMPLETE) || defined(WRONG_OVERLAPPING)
static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m"),
#ifdef WRONG_OVERLAPPING /* the type of a fixed, which runs over the fuel; or it is forgotten */
        MINIMAL_SHIP_FIELD(angle, LS_FIELD_FIXED, "deg"),
#endif
        MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg"),
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}
#else
#define fields minimal_fields
#endif

/* Built with a struct of another size than the program's. */
#ifndef WRONG_BYTES
#define WRONG_BYTES sizeof(ls_simulation)
#define WRONG_LAST_BYTE 0
#endif

static union {
    ls_simulation simulation;
    uint8_t bytes[sizeof(ls_simulation) + 16];
} exported;

const ls_simulation *lockstep_simulation(void)
{
    exported.simulation = minimal_simulation(PLUGIN_NAME, fields);
    exported.simulation.size = WRONG_BYTES;
    if (WRONG_BYTES > 0 &&
        WRONG_BYTES < sizeof(ls_simulation)) { /* what lies behind an older one is anything */
        memset(exported.bytes + WRONG_BYTES, 0x77, sizeof exported.bytes - WRONG_BYTES);
    }
    exported.bytes[sizeof(ls_simulation) + 3] = WRONG_LAST_BYTE;
#ifdef WRONG_ABI
    exported.simulation.abi = LS_SIMULATION_ABI + 1;
#endif
#ifdef WRONG_NULL
    return NULL;
#else
    return &exported.simulation;
#endif
}
