/* Machine fingerprint: the build fingerprint of this program on this machine. Called by programs.
 */
#ifndef LOCKSTEP_COMMON_SYSTEM_MACHINE_FINGERPRINT_H
#define LOCKSTEP_COMMON_SYSTEM_MACHINE_FINGERPRINT_H

#include "lockstep/common/base/build_fingerprint.h"

LS_C_BEGIN

/* Everything that this build and this machine know of themselves; what is of a plug-in comes from
 * ls_simulation_print. Computes and asks anew at each call: modes and libraries change. */
void ls_build_fingerprint_here(ls_build_fingerprint *out);

LS_C_END

#endif
