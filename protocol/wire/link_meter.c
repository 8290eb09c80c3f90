#include "lockstep/protocol/wire/link_meter.h"

enum {
    SEQUENCES = 1 << LS_SEQUENCE_BITS,
    WINDOW_PACKETS = 256,
};

LS_TICK_CODE static void count(ls_link_meter *meter, uint32_t sent, int32_t lost)
{
    meter->sent += sent;
    meter->lost += (uint64_t)(int64_t)lost;
    meter->window_sent[0] += sent;
    /* A late packet may have been counted as lost in the window before. */
    uint32_t *window =
        lost < 0 && meter->window_lost[0] == 0 ? &meter->window_lost[1] : &meter->window_lost[0];
    *window = lost < 0 && *window == 0 ? 0 : *window + (uint32_t)lost;
    if (meter->window_sent[0] >= WINDOW_PACKETS) {
        meter->window_sent[1] = meter->window_sent[0];
        meter->window_lost[1] = meter->window_lost[0];
        meter->window_sent[0] = 0;
        meter->window_lost[0] = 0;
    }
}

static void measure_jitter(ls_link_meter *meter, int64_t stamp_ns, uint64_t now_ns)
{
    if (stamp_ns <= meter->stamp_ns) {
        return; /* nothing newer in it than in one before: sent when it suited the sender */
    }
    bool has_stamp = meter->stamp_ns != LS_LINK_STAMP_NONE;
    int64_t since_ns = has_stamp ? stamp_ns - meter->stamp_ns : 0;
    int64_t travel_ns = (int64_t)(now_ns - meter->arrived_ns) - since_ns;
    int64_t distance_ns = travel_ns < 0 ? -travel_ns : travel_ns;
    int64_t jitter_ns = (int64_t)meter->jitter_ns;
    if (distance_ns >= (int64_t)LS_LINK_SILENCE_NS || !has_stamp) {
        distance_ns = jitter_ns; /* an outage, or a sender that stood still */
    }
    meter->jitter_ns = (uint64_t)(jitter_ns + (distance_ns - jitter_ns) / LS_LINK_JITTER_SHARE);
    meter->stamp_ns = stamp_ns;
    meter->arrived_ns = now_ns;
}

static ls_link_arrival count_newer(ls_link_meter *meter, uint32_t ahead, int64_t stamp_ns,
                                   uint64_t now_ns)
{
    meter->newest += ahead;
    meter->seen = ahead < 64 ? meter->seen << ahead | 1u : 1u;
    count(meter, ahead, (int32_t)ahead - 1);
    measure_jitter(meter, stamp_ns, now_ns);
    return LS_LINK_NEWER;
}

LS_TICK_CODE ls_link_arrival ls_link_meter_add(ls_link_meter *meter, uint32_t sequence,
                                               int64_t stamp_ns, uint64_t now_ns)
{
    if (!meter->has_first) {
        *meter = (ls_link_meter){.has_first = true,
                                 .newest = sequence,
                                 .seen = 1,
                                 .sent = 1,
                                 .window_sent = {1, 0},
                                 .heard_ns = now_ns,
                                 .arrived_ns = now_ns,
                                 .stamp_ns = stamp_ns};
        return LS_LINK_NEWER;
    }
    uint32_t ahead = (sequence - meter->newest) % SEQUENCES;
    /* After a silence what comes is newer, whatever its number looks like. Times of arrival are
     * measured: what comes later may seem to have come before. */
    bool is_silent = now_ns >= meter->heard_ns && now_ns - meter->heard_ns >= LS_LINK_SILENCE_NS;
    meter->heard_ns = LS_MAX(now_ns, meter->heard_ns);
    if (ahead != 0 && (ahead < SEQUENCES / 2 || is_silent)) {
        return count_newer(meter, ahead, stamp_ns, now_ns);
    }
    uint32_t behind = (meter->newest - sequence) % SEQUENCES;
    if (meter->seen >> behind & 1u) {
        return LS_LINK_REPEATED;
    }
    meter->seen |= UINT64_C(1) << behind;
    if (meter->lost > 0) {
        count(meter, 0, -1);
    }
    return LS_LINK_OLDER;
}

ls_link_figures ls_link_meter_figures(const ls_link_meter *meter)
{
    uint32_t sent = meter->window_sent[0] + meter->window_sent[1];
    uint32_t lost = meter->window_lost[0] + meter->window_lost[1];
    uint64_t jitter = meter->jitter_ns / LS_HOLD_UNIT_NS;
    uint32_t loss = sent == 0 ? 0 : (lost * 256 + sent / 2) / sent;
    return (ls_link_figures){.loss = LS_MIN(loss, LS_LOSS_MAX),
                             .jitter = jitter < LS_JITTER_MAX ? (uint32_t)jitter : LS_JITTER_MAX};
}
