/* Units: placeholder header line. */
#ifndef LOCKSTEP_COMMON_SIMS_UNITS_H
#define LOCKSTEP_COMMON_SIMS_UNITS_H

#include "lockstep/common/simulation.h"

const ls_simulation *ls_units_simulation(void);

#endif
