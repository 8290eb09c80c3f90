/* Tumble boxes: where two boxes touch: the long half of tumble_collide, apart from it for its
 * length. Knows nothing of masses and motion, as that.
 * Called by tumble_collide alone. */
#ifndef LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_BOXES_H
#define LOCKSTEP_COMMON_SIMULATIONS_TUMBLE_TUMBLE_BOXES_H

#include "lockstep/common/simulations/tumble/tumble_collide.h"

ls_tumble_manifold ls_tumble_collide_boxes(ls_tumble_solid a, ls_tumble_solid b, ls_fixed margin);

#endif
