/* Link meter: what one direction of a connection does to the packets of one stream: how many it
 * loses and how unevenly it delays them. Measured by the receiver from the packets' sequence
 * numbers and from the times they were due to be sent. Never reads a clock, nor compares two. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_LINK_METER_H
#define LOCKSTEP_PROTOCOL_WIRE_LINK_METER_H

#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"

/* In place of a stamp: one of the machines was late by more than this, and it is not known when the
 * packet went out or came. */
#define LS_LINK_STAMP_NONE INT64_MIN
#define LS_LINK_LATE_NS (UINT64_C(2) * LS_NS_PER_MS)

/* An outage says nothing of jitter, which a sample moves by this share (RFC 3550). */
#define LS_LINK_SILENCE_NS (UINT64_C(250) * LS_NS_PER_MS)
#define LS_LINK_JITTER_SHARE 16

typedef struct ls_link_meter {
    bool has_first;
    uint32_t newest;         /* sequence of the newest packet */
    uint64_t seen;           /* bit b: the packet b before the newest has come */
    uint64_t sent;           /* packets sent so far, as far as sequences tell */
    uint64_t lost;           /* of them, not arrived */
    uint32_t window_sent[2]; /* of this window and the one before */
    uint32_t window_lost[2];
    uint64_t heard_ns;   /* when anything last came */
    uint64_t arrived_ns; /* of the newest stamp */
    int64_t stamp_ns;
    uint64_t jitter_ns; /* RFC 3550, section 6.4.1 */
} ls_link_meter;

typedef enum ls_link_arrival {
    LS_LINK_NEWER,    /* newer than any before */
    LS_LINK_OLDER,    /* overtaken by another */
    LS_LINK_REPEATED, /* has come before */
} ls_link_arrival;

/* A packet with the low LS_SEQUENCE_BITS of its number came. `stamp_ns`: when its newest content
 * was due, by any clock that keeps the sender's pace. A `meter` of zeros is a new one. */
ls_link_arrival ls_link_meter_add(ls_link_meter *meter, uint32_t sequence, int64_t stamp_ns,
                                  uint64_t now_ns);

/* Loss of the last 256 to 512 packets, smoothed jitter. */
ls_link_figures ls_link_meter_figures(const ls_link_meter *meter);

/* ---- Send rate: how many packets a tick each side sends, by what OFFER says and by the loss that
 * the receiver reports, and in how many of them each tick goes ---- */

/* How much of what is sent in a direction is lost. */
typedef enum ls_send_loss {
    LS_SEND_LOSS_FEW,
    LS_SEND_LOSS_SOME, /* from 2 % on, until it is below 1.2 % */
    LS_SEND_LOSS_MANY, /* from 9 % on, until it is below 7 %: two in a row in one of 100 */
} ls_send_loss;

/* In packets of 256. */
#define LS_SEND_SOME_LOSS 5u
#define LS_SEND_FEW_LOSS 3u
#define LS_SEND_MANY_LOSS 23u
#define LS_SEND_NOT_MANY_LOSS 18u

/* The loss by the newest report, and by what was known before. */
static inline ls_send_loss ls_send_loss_of(ls_send_loss before, uint32_t loss)
{
    uint32_t some = before == LS_SEND_LOSS_FEW ? LS_SEND_SOME_LOSS : LS_SEND_FEW_LOSS;
    uint32_t many = before == LS_SEND_LOSS_MANY ? LS_SEND_NOT_MANY_LOSS : LS_SEND_MANY_LOSS;
    return loss >= many ? LS_SEND_LOSS_MANY : loss >= some ? LS_SEND_LOSS_SOME : LS_SEND_LOSS_FEW;
}

/* Whether the loss has a say in it. */
static inline bool ls_send_rate_adapts(uint32_t send_rate)
{
    return send_rate == LS_SEND_AUTO || send_rate == LS_SEND_SAVING;
}

/* Of how many ticks a packet waits for the last. Inputs that are delayed leave so many ticks later
 * without being late. `is_easy`: no packet was lost on the way by the newest report, and for
 * LS_SEND_EASY_NS nothing was late. */
#define LS_SEND_SAVING_NS UINT64_C(67000000)
#define LS_SEND_EASY_NS UINT64_C(1000000000)

static inline uint32_t ls_send_rate_ticks(uint32_t send_rate, bool is_easy,
                                          uint32_t input_delay_ticks, uint64_t dt_ns)
{
    if (send_rate != LS_SEND_SAVING || !is_easy) {
        return send_rate == LS_SEND_HALF ? 2 : 1;
    }
    uint32_t most = (uint32_t)(LS_SEND_SAVING_NS / dt_ns);
    return LS_MAX(LS_MIN(most, input_delay_ticks + 1), 1u);
}

/* Whether a second INPUTS follows. An input is lost to its tick when it comes too late, so that
 * both have to be there by then: the sooner the second one follows, the later they may leave. */
static inline bool ls_send_rate_doubles_inputs(uint32_t send_rate, ls_send_loss loss)
{
    return send_rate == LS_SEND_DOUBLE ||
           (ls_send_rate_adapts(send_rate) && loss >= LS_SEND_LOSS_SOME);
}

#define LS_SEND_INPUTS_AGAIN_SHARE 16u /* of a tick, behind the first */

/* Whether it does so for a changed input alone: a lost one that has not changed is replaced with
 * itself, by the rule `repeat`. */
static inline bool ls_send_rate_repeats_changes(uint32_t send_rate, uint32_t late_rule,
                                                ls_send_loss loss)
{
    return ls_send_rate_adapts(send_rate) && late_rule == LS_LATE_REPEAT &&
           loss >= LS_SEND_LOSS_SOME;
}

/* Whether a second TICKS follows half a tick behind the one with this tick. Without it a lost tick
 * comes a tick later: that is so of one in 20 where 5 % are lost, and two later of one in 400. Of
 * four players one in 100 would come so late to somebody, but for each sixth tick, which is sent
 * twice; of more players it is more all the same. */
#define LS_SEND_SOME_TICKS_PLAYERS 4u
#define LS_SEND_SOME_TICKS 6u

static inline bool ls_send_rate_doubles_tick(uint32_t send_rate, ls_send_loss loss,
                                             uint32_t players, ls_tick tick)
{
    bool is_one_of_some = loss == LS_SEND_LOSS_SOME && players <= LS_SEND_SOME_TICKS_PLAYERS &&
                          tick % LS_SEND_SOME_TICKS == 0;
    return send_rate == LS_SEND_DOUBLE ||
           (ls_send_rate_adapts(send_rate) && (loss == LS_SEND_LOSS_MANY || is_one_of_some));
}

/* In how many packets each tick goes before its acknowledgement is due: one in 100,000 ticks or
 * fewer needs another one, and waits a round trip for it. Where many are lost it goes in all. */
#define LS_SEND_PACKETS 3u
#define LS_SEND_PACKETS_LOSSY 4u

/* And to a spectator, which asks at once for what has not come. */
static inline uint32_t ls_send_packets_watched(ls_send_loss loss)
{
    return loss == LS_SEND_LOSS_FEW ? 1 : 2;
}

/* Behind what the newest packets carried, the newest first. */
typedef struct ls_sent_ends {
    ls_tick ends[LS_SEND_PACKETS_LOSSY];
} ls_sent_ends;

static inline void ls_sent_ends_add(ls_sent_ends *sent, ls_tick end)
{
    for (uint32_t i = LS_SEND_PACKETS_LOSSY - 1; i > 0; i--) {
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
