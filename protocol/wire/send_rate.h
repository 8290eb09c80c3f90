/* Send rate: how many packets a tick each side sends, by what OFFER says and by the loss that the
 * receiver reports, and in how many of them each tick goes. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_SEND_RATE_H
#define LOCKSTEP_PROTOCOL_WIRE_SEND_RATE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/message.h"

/* In packets of 256: a direction is lossy from the first (2 %) on, until it is below 1.2 %. */
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

/* Whether the server then closes the next tick ahead if it can, so that a packet carries it in
 * place of the second one, when the lossiest of those directions has lost so many of 256 packets by
 * report. From 8 % on packets are so often lost in a row that two a tick are better. */
#define LS_SEND_AHEAD_LOSS_END 20u

static inline bool ls_send_rate_gets_ahead(uint32_t send_rate, uint32_t loss)
{
    return send_rate == LS_SEND_AUTO && loss >= LS_SEND_ONCE_LOSS && loss < LS_SEND_AHEAD_LOSS_END;
}

/* Whether it does so on the way up with a changed input alone: a lost one that has not changed is
 * replaced with itself, by the rule `repeat`. */
static inline bool ls_send_rate_repeats_changes(uint32_t send_rate, uint32_t late_rule,
                                                bool is_lossy)
{
    return send_rate == LS_SEND_AUTO && late_rule == LS_LATE_REPEAT && is_lossy;
}

/* In how many packets each tick goes before its acknowledgement is due. With losses below those
 * above, one in 100,000 ticks or fewer needs another one, and waits a round trip for it. */
#define LS_SEND_PACKETS 3u

/* And to a spectator, which asks at once for what has not come. */
static inline uint32_t ls_send_packets_watched(bool is_lossy)
{
    return is_lossy ? 2 : 1;
}

/* Behind what the newest packets carried, the newest first. */
typedef struct ls_sent_ends {
    ls_tick ends[LS_SEND_PACKETS];
} ls_sent_ends;

static inline void ls_sent_ends_add(ls_sent_ends *sent, ls_tick end)
{
    for (uint32_t i = LS_SEND_PACKETS - 1; i > 0; i--) {
        sent->ends[i] = sent->ends[i - 1];
    }
    sent->ends[0] = end;
}

/* Beyond a round trip: a receiver answers within a tick, a sender repeats with its next packet. */
#define LS_SEND_SPARE_TICKS 2u

/* Whether what went out `age_ns` ago should be acknowledged by now; always before the round trip is
 * known (0). */
static inline bool ls_send_is_overdue(uint64_t age_ns, uint64_t rtt_ns, uint64_t dt_ns)
{
    return rtt_ns == 0 || age_ns > rtt_ns + LS_SEND_SPARE_TICKS * dt_ns;
}

/* The first tick of the next packet, which ends before `end`, when all from `first` on are
 * unacknowledged, each is to go in so many packets and the acknowledgement of none is overdue. An
 * empty packet carries all. */
static inline ls_tick ls_sent_ends_first(const ls_sent_ends *sent, uint32_t packets, ls_tick first,
                                         ls_tick end)
{
    ls_tick often = sent->ends[packets - 1];
    return sent->ends[0] != end && often > first && often <= end ? often : first;
}

#endif
