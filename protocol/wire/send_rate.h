/* Send rate: how many packets a tick each side sends, by what OFFER says and by the loss that the
 * receiver reports. Holds no state of its own. Called by match, seat and session. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_SEND_RATE_H
#define LOCKSTEP_PROTOCOL_WIRE_SEND_RATE_H

#include "lockstep/protocol/wire/link_figures.h"
#include "lockstep/protocol/wire/message.h"

/* In packets of 256: a direction is lossy from the first (2 %) on, until it is below the other
 * (1.2 %). */
#define LS_SEND_TWICE_LOSS 5u
#define LS_SEND_ONCE_LOSS 3u

/* Whether a direction is lossy now that this loss was reported. */
static inline bool ls_send_rate_is_lossy(bool was_lossy, const ls_link_figures *figures)
{
    return figures->loss >= (was_lossy ? LS_SEND_ONCE_LOSS : LS_SEND_TWICE_LOSS);
}

/* Whether a second packet follows half a tick later. */
static inline bool ls_send_rate_is_double(uint32_t send_rate, bool is_lossy)
{
    return send_rate == LS_SEND_DOUBLE || (send_rate == LS_SEND_AUTO && is_lossy);
}

#endif
