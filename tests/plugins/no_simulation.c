#include "lockstep/tests/plugins/minimal.h"

const ls_simulation *lockstep_simulation(void)
{
    return NULL;
}
