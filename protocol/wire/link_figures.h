/* Link figures: what one direction of a connection does to packets, in the units in which it is
 * sent, so that games see the numbers that the machines exchange. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_LINK_FIGURES_H
#define LOCKSTEP_PROTOCOL_WIRE_LINK_FIGURES_H

#include "lockstep/common/base/language.h"

#include <stdint.h>

LS_C_BEGIN

#define LS_LOSS_MAX 255u    /* loss counts packets of 256 */
#define LS_JITTER_MAX 4095u /* in quarters of a millisecond */

typedef struct ls_link_figures {
    uint32_t loss;   /* lost packets of 256, 0 .. LS_LOSS_MAX */
    uint32_t jitter; /* quarters of a millisecond, 0 .. LS_JITTER_MAX */
} ls_link_figures;

LS_C_END

#endif
