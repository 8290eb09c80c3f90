#include "lockstep/protocol/blob/blob_sender.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <inttypes.h>

enum {
    START_SHARE = 4,    /* of the highest rate, at first */
    GROWTH_SHARE = 16,  /* of it, more after each round trip */
    LOSS_SHARE = 10,    /* of a round's packets lost: too much */
    ROUND_PACKETS = 64, /* that a round has at least, so that its loss says something */
    HEADER_BYTES_MAX = 256,
    SAMPLE_SHARE = 8, /* of a sample in the smoothed round trip (RFC 6298) */
    DEVIATION_SHARE = 4,
    DEVIATIONS = 4,
    SILENT_ROUND_TRIPS = 4,
};

static const uint64_t RTT_UNKNOWN_NS = 200 * LS_NS_PER_MS;
static const uint64_t RTT_MAX_NS = 2 * LS_NS_PER_SECOND;
static const uint64_t PATIENCE_NS = 40 * LS_NS_PER_MS; /* a frame of 30 Hz may hold one up */
static const uint64_t SILENCE_NS = 200 * LS_NS_PER_MS;

/* A part on its way. */
typedef struct flight {
    uint64_t sent_ns;
    bool is_acked;
} flight;

/* Of so many packets that were sent the receiver had so many. */
typedef struct arrivals {
    uint32_t sent;
    uint32_t received;
} arrivals;

struct ls_blob_sender {
    const ls_allocator *allocator;
    ls_blob_sender_config config;
    ls_blob *blob; /* NULL: nothing is streamed */
    uint32_t number;

    uint32_t first;                       /* part that is not acknowledged */
    uint32_t next;                        /* part that was never sent */
    flight flights[LS_BLOB_WINDOW_PARTS]; /* part p of first .. next - 1 in place p % that */
    uint32_t packets;
    uint64_t packet_ns[LS_BLOB_WINDOW_PARTS]; /* when the newest were sent, by their number */

    uint32_t rate;
    uint64_t paced_ns;  /* when, at this rate, all that was sent will have left */
    uint64_t grown_ns;  /* the rate last changed */
    uint64_t heard_ns;  /* something was acknowledged, or nothing was on its way */
    arrivals heard;     /* newest */
    arrivals round;     /* when this round began */
    uint32_t round_end; /* packet that ends it */
    bool is_losing;     /* in the round before this one too much was lost */
    bool has_rtt;
    uint64_t rtt_ns;
    uint64_t deviation_ns;
    uint32_t repeated;
    uint64_t bytes;
};

/* ---- create ---- */

ls_blob_sender_config ls_blob_sender_config_default(void)
{
    return (ls_blob_sender_config){
        .bytes_per_second = 1u << 20,
        .header_bytes = 40,
        .burst_packets = 4,
        .tick_ns = LS_NS_PER_SECOND / 60,
    };
}

ls_status ls_blob_sender_config_check(const ls_blob_sender_config *config, ls_text *why)
{
    const struct {
        const char *field;
        uint64_t value, min, max;
    } ranges[] = {
        {"bytes_per_second", config->bytes_per_second, LS_BLOB_RATE_MIN, LS_BLOB_RATE_MAX},
        {"header_bytes", config->header_bytes, 0, HEADER_BYTES_MAX},
        {"burst_packets", config->burst_packets, 1, LS_BLOB_BURST_PACKETS_MAX},
        {"tick_ns", config->tick_ns, 0, LS_NS_PER_SECOND},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "%s takes %" PRIu64 " to %" PRIu64 ", not %" PRIu64, ranges[i].field,
                           ranges[i].min, ranges[i].max, ranges[i].value);
        }
    }
    return LS_OK;
}

ls_status ls_blob_sender_create(const ls_blob_sender_config *config, const ls_allocator *allocator,
                                ls_blob_sender **out)
{
    LS_ASSERT(ls_blob_sender_config_check(config, NULL) == LS_OK);
    ls_blob_sender *sender = ls_allocate(allocator, sizeof *sender);
    if (!sender) {
        return LS_NO_MEMORY;
    }
    sender->allocator = allocator;
    sender->config = *config;
    *out = sender;
    return LS_OK;
}

void ls_blob_sender_destroy(ls_blob_sender *sender)
{
    if (!sender) {
        return;
    }
    ls_blob_sender_stop(sender);
    ls_release(sender->allocator, sender);
}

static uint32_t least_rate(uint32_t rate)
{
    return LS_MAX(rate, LS_BLOB_RATE_MIN);
}

void ls_blob_sender_start(ls_blob_sender *sender, ls_blob *blob, uint32_t number, uint64_t rtt_ns,
                          uint64_t now_ns)
{
    LS_ASSERT(number <= UINT8_MAX);
    ls_blob_sender_stop(sender);
    ls_blob_add_user(blob);
    sender->blob = blob;
    sender->number = number;
    sender->first = 0;
    sender->next = 0;
    sender->packets = 0;
    sender->rate = least_rate(sender->config.bytes_per_second / START_SHARE);
    sender->paced_ns = now_ns;
    sender->grown_ns = now_ns;
    sender->heard_ns = now_ns;
    sender->heard = (arrivals){0, 0};
    sender->round = sender->heard;
    sender->round_end = 0;
    sender->is_losing = false;
    sender->has_rtt = rtt_ns > 0;
    sender->rtt_ns = rtt_ns > 0 ? LS_MIN(rtt_ns, RTT_MAX_NS) : RTT_UNKNOWN_NS;
    sender->deviation_ns = sender->rtt_ns / (2 * DEVIATION_SHARE);
    sender->repeated = 0;
    sender->bytes = 0;
}

void ls_blob_sender_stop(ls_blob_sender *sender)
{
    if (sender->blob) {
        ls_blob_remove_user(sender->blob);
        sender->blob = NULL;
    }
}

bool ls_blob_sender_is_busy(const ls_blob_sender *sender)
{
    return sender->blob && !(ls_blob_is_compressed(sender->blob) &&
                             sender->first == ls_blob_part_count(sender->blob));
}

/* ---- pace ---- */

static uint64_t travel_ns(const ls_blob_sender *sender, uint64_t packet_bytes)
{
    return (packet_bytes + sender->config.header_bytes) * LS_NS_PER_SECOND / sender->rate;
}

/* When the pace allows another packet: that many may leave at once as a burst has. */
static uint64_t allowed_ns(const ls_blob_sender *sender)
{
    uint64_t burst_ns = (sender->config.burst_packets - 1) * travel_ns(sender, LS_PACKET_BYTES_MAX);
    return sender->paced_ns > burst_ns ? sender->paced_ns - burst_ns : 0;
}

static void slow_down(ls_blob_sender *sender, uint64_t now_ns)
{
    sender->rate = least_rate(sender->rate / 2);
    sender->grown_ns = now_ns;
}

static void speed_up(ls_blob_sender *sender, uint64_t now_ns)
{
    uint32_t limit = sender->config.bytes_per_second;
    uint32_t more = limit / GROWTH_SHARE;
    sender->rate = limit - sender->rate > more ? sender->rate + more : limit;
    sender->grown_ns = now_ns;
}

/* A receiver that says nothing may be gone, or lose everything. */
static void note_silence(ls_blob_sender *sender, uint64_t now_ns)
{
    uint64_t limit_ns = SILENT_ROUND_TRIPS * sender->rtt_ns + SILENCE_NS;
    if (sender->first < sender->next && now_ns - sender->heard_ns > limit_ns) {
        slow_down(sender, now_ns);
        sender->heard_ns = now_ns;
    }
}

/* ---- parts ---- */

/* After so long a part that is not acknowledged was lost. */
static uint64_t patience_ns(const ls_blob_sender *sender)
{
    uint64_t spare_ns = LS_MAX(DEVIATIONS * sender->deviation_ns, 2 * sender->config.tick_ns);
    return sender->rtt_ns + LS_MAX(spare_ns, PATIENCE_NS);
}

/* When the first of the parts on their way counts as lost, and which; UINT64_MAX: none is. */
static uint64_t next_loss_ns(const ls_blob_sender *sender, uint32_t *lost)
{
    uint64_t oldest_ns = UINT64_MAX;
    for (uint32_t index = sender->first; index < sender->next; index++) {
        const flight *sent = &sender->flights[index % LS_BLOB_WINDOW_PARTS];
        if (!sent->is_acked && sent->sent_ns < oldest_ns) {
            *lost = index;
            oldest_ns = sent->sent_ns;
        }
    }
    return oldest_ns == UINT64_MAX ? UINT64_MAX : oldest_ns + patience_ns(sender);
}

static bool has_new_part(const ls_blob_sender *sender)
{
    return sender->next < ls_blob_part_count(sender->blob) &&
           sender->next - sender->first < LS_BLOB_WINDOW_PARTS;
}

static size_t send(ls_blob_sender *sender, uint32_t index, uint64_t now_ns, uint8_t *bytes)
{
    ls_blob_part part = ls_blob_part_at(sender->blob, index);
    part.blob = sender->number;
    part.packet = sender->packets;
    size_t size = ls_blob_part_write(&part, bytes);
    sender->flights[index % LS_BLOB_WINDOW_PARTS] = (flight){.sent_ns = now_ns};
    sender->packet_ns[sender->packets % LS_BLOB_WINDOW_PARTS] = now_ns;
    sender->packets++;
    sender->paced_ns = LS_MAX(sender->paced_ns, now_ns) + travel_ns(sender, size);
    sender->bytes += size + sender->config.header_bytes;
    return size;
}

size_t ls_blob_sender_next(ls_blob_sender *sender, uint64_t now_ns,
                           uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    if (!ls_blob_sender_is_busy(sender)) {
        return 0;
    }
    note_silence(sender, now_ns);
    if (now_ns < allowed_ns(sender)) {
        return 0;
    }
    uint32_t index = 0;
    if (next_loss_ns(sender, &index) <= now_ns) {
        sender->repeated++;
        return send(sender, index, now_ns, bytes);
    }
    if (!has_new_part(sender)) {
        return 0;
    }
    if (sender->first == sender->next) {
        sender->heard_ns = now_ns;
    }
    return send(sender, sender->next++, now_ns, bytes);
}

uint64_t ls_blob_sender_next_ns(const ls_blob_sender *sender)
{
    if (!ls_blob_sender_is_busy(sender)) {
        return UINT64_MAX;
    }
    uint32_t lost = 0;
    uint64_t wanted_ns = has_new_part(sender) ? 0 : next_loss_ns(sender, &lost);
    uint64_t first_ns = allowed_ns(sender);
    return LS_MAX(wanted_ns, first_ns);
}

/* ---- acknowledgements ---- */

static bool has_part(const ls_blob_ack *ack, uint32_t place)
{
    return (ack->has[place / 8] >> (place % 8) & 1u) != 0;
}

/* Of parts and packets that were sent, and of no others. */
static bool is_possible(const ls_blob_sender *sender, const ls_blob_ack *ack)
{
    if (ack->first > sender->next || (ack->received > 0 && ack->newest >= sender->packets)) {
        return false;
    }
    for (uint32_t place = 0; place < ack->count; place++) {
        if (has_part(ack, place) && ack->first + 1 + place >= sender->next) {
            return false;
        }
    }
    return true;
}

static void ack_parts(ls_blob_sender *sender, const ls_blob_ack *ack)
{
    for (uint32_t index = sender->first; index < ack->first; index++) {
        sender->flights[index % LS_BLOB_WINDOW_PARTS].is_acked = true;
    }
    for (uint32_t place = 0; place < ack->count; place++) {
        uint32_t index = ack->first + 1 + place;
        if (index >= sender->first && has_part(ack, place)) {
            sender->flights[index % LS_BLOB_WINDOW_PARTS].is_acked = true;
        }
    }
    while (sender->first < sender->next &&
           sender->flights[sender->first % LS_BLOB_WINDOW_PARTS].is_acked) {
        sender->first++;
    }
}

static void measure_rtt(ls_blob_sender *sender, const ls_blob_ack *ack, uint64_t now_ns)
{
    uint64_t hold_ns = ack->hold * LS_HOLD_UNIT_NS;
    uint64_t sent_ns = sender->packet_ns[ack->newest % LS_BLOB_WINDOW_PARTS];
    bool is_known = sender->packets - ack->newest <= LS_BLOB_WINDOW_PARTS;
    if (!is_known || ack->hold == LS_HOLD_NONE || now_ns < sent_ns + hold_ns) {
        return;
    }
    uint64_t sample_ns = LS_MIN(now_ns - sent_ns - hold_ns, RTT_MAX_NS);
    if (!sender->has_rtt) {
        sender->has_rtt = true;
        sender->rtt_ns = sample_ns;
        sender->deviation_ns = sample_ns / 2;
        return;
    }
    uint64_t distance_ns =
        sample_ns > sender->rtt_ns ? sample_ns - sender->rtt_ns : sender->rtt_ns - sample_ns;
    sender->deviation_ns -= sender->deviation_ns / DEVIATION_SHARE;
    sender->deviation_ns += distance_ns / DEVIATION_SHARE;
    sender->rtt_ns -= sender->rtt_ns / SAMPLE_SHARE;
    sender->rtt_ns += sample_ns / SAMPLE_SHARE;
}

static void judge_round(ls_blob_sender *sender, uint64_t now_ns)
{
    uint32_t sent = sender->heard.sent - sender->round.sent;
    if (sender->heard.sent < sender->round_end || sent < ROUND_PACKETS) {
        return;
    }
    uint32_t came = sender->heard.received - sender->round.received;
    uint32_t lost = came < sent ? sent - came : 0;
    sender->is_losing = (uint64_t)lost * LOSS_SHARE > sent;
    if (sender->is_losing) {
        slow_down(sender, now_ns);
    }
    sender->round = sender->heard;
    sender->round_end = sender->packets;
}

ls_status ls_blob_sender_receive_ack(ls_blob_sender *sender, uint64_t now_ns, const uint8_t *bytes,
                                     size_t size)
{
    ls_blob_ack ack;
    ls_status status = ls_blob_ack_read(bytes, size, &ack);
    if (status != LS_OK) {
        return status;
    }
    if (!sender->blob || ack.blob != sender->number) {
        return LS_STALE;
    }
    if (!is_possible(sender, &ack)) {
        return LS_MALFORMED;
    }
    ack_parts(sender, &ack);
    if (ack.received == 0 || ack.newest < sender->heard.sent) {
        return LS_OK; /* no events of packets, or overtaken by such */
    }
    sender->heard = (arrivals){ack.newest + 1, ack.received};
    sender->heard_ns = now_ns;
    measure_rtt(sender, &ack, now_ns);
    judge_round(sender, now_ns);
    if (!sender->is_losing && now_ns >= sender->grown_ns + sender->rtt_ns) {
        speed_up(sender, now_ns);
    }
    return LS_OK;
}

ls_blob_sender_figures ls_blob_sender_figures_of(const ls_blob_sender *sender)
{
    return (ls_blob_sender_figures){
        .acknowledged = sender->first,
        .packets = sender->packets,
        .repeated = sender->repeated,
        .bytes = sender->bytes,
        .rtt_ns = sender->rtt_ns,
        .bytes_per_second = sender->rate,
    };
}
