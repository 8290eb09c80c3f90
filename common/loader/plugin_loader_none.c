#include "lockstep/common/loader/plugin_loader.h"

#include <stddef.h>

/* In a page, whose simulations are all built in. */
const char *ls_simulation_file(const ls_simulation *simulation)
{
    (void)simulation;
    return NULL;
}

const char *ls_simulation_file_advice(const char *file)
{
    (void)file;
    return NULL;
}
