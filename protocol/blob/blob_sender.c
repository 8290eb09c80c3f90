#include "lockstep/protocol/blob/blob_sender.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include <inttypes.h>

/* How fast: the sender keeps a window of bytes on their way, as TCP does, and judges the window
 * once a round trip by how much longer than at its shortest that round trip was. The difference is
 * the queue that the stream makes, behind which the ticks of a match would wait; the window is made
 * so large that the queue stays at what QUEUE_NS and one packet take (after LEDBAT, RFC 6817, and
 * FAST TCP). At first the window leaves at once, as a train of packets, and how far apart they come
 * says what the link carries: so the window is as large as the link after three or four round
 * trips, and no train makes a longer queue than the link takes to carry it. Loss that has nothing
 * to do with the window changes nothing, so a link that loses a fifth of all packets is used as it
 * can be. Loss that does is that of a short queue, which is full before it shows in the round trip.
 */
enum {
    START_PACKETS = 10, /* on their way at first (RFC 6928) */
    LEAST_PACKETS = 2,
    START_SAMPLES = 3,       /* of the round trip, before a queue is believed */
    TRAIN_GROWTH = 16,       /* of one train to the next at most: a link may let some packets by */
    GROWTH_SHARE = 8,        /* of the window, more after a round trip at most */
    CLEAR_ROUNDS_MAX = 3,    /* without a queue, before it grows twice as fast */
    HELD_ROUNDS = 2,         /* until the queue shows that the last train's window makes */
    GROWTH_SHARE_LOSSY = 64, /* likewise, where more was lost by a larger one */
    LOSS_PACKETS = 64,       /* of which the loss is judged at least */
    LOSS_JUDGEMENTS = 16,    /* of which the least is the link's own */
    PERMILLE = 1000,
    LOSS_PERMILLE = 100,     /* beyond twice the usual loss: too much */
    LOSS_OWN_PERMILLE = 300, /* of a link may be its own from the start */
    HEADER_BYTES_MAX = 256,
    WINDOW_PARTS_MIN = 64, /* so that the packets of a small blob fit that are sent again */
    SAMPLE_SHARE = 8,      /* of a sample in the smoothed round trip (RFC 6298) */
    DEVIATION_SHARE = 4,
    DEVIATIONS = 4,
    ORDER_SHARE = 8, /* of a round trip: a packet that so much later ones overtook was lost */
    ORDER_SHARES_MAX = 8,
    BACKOFFS_MAX = 5,
};

static const uint64_t QUEUE_NS = 25 * LS_NS_PER_MS;
static const uint64_t BURST_NS = LS_NS_PER_MS / 2;
static const uint64_t SPREAD_NS = LS_NS_PER_MS / 2;        /* twice what `hold` can show */
static const uint64_t SHORTEST_NS = 10 * LS_NS_PER_SECOND; /* of so long: the link may change */
static const uint64_t RTT_UNKNOWN_NS = 200 * LS_NS_PER_MS;
static const uint64_t RTT_MAX_NS = 10 * LS_NS_PER_SECOND;
static const uint64_t ORDER_NS = 10 * LS_NS_PER_MS;
static const uint64_t PATIENCE_NS = 40 * LS_NS_PER_MS;       /* a frame of 30 Hz may hold one up */
static const uint64_t SILENCE_MAX_NS = 2 * LS_NS_PER_SECOND; /* between two tries */

typedef enum part_state {
    PART_SENT,
    PART_LOST, /* and is sent again */
    PART_ACKED,
} part_state;

/* A part that was sent, and a packet, in rings of as many. */
typedef struct flight {
    uint64_t sent_ns;
    uint64_t packet_ns; /* when packet n was sent, in place n % window_parts */
    part_state state;
} flight;

/* Of so many packets that were sent the receiver had so many. */
typedef struct arrivals {
    uint32_t sent;
    uint32_t received;
} arrivals;

/* Packets that left at once. */
typedef struct train {
    uint32_t first;
    uint32_t end;
    uint32_t received; /* before it */
    arrivals begun;    /* when the first of it, and the newest, came; nothing sent: none has */
    arrivals last;
    uint64_t begun_ns;
    uint64_t last_ns;
} train;

struct ls_blob_sender {
    const ls_allocator *allocator;
    ls_blob_sender_config config;
    ls_blob *blob; /* NULL: nothing is streamed */
    uint32_t number;
    bool expects_held; /* parts that were not sent here may be acknowledged */

    uint32_t first;     /* part that is not acknowledged */
    uint32_t next;      /* part that was never sent */
    uint32_t flying;    /* of them SENT */
    uint32_t lost;      /* of them LOST */
    uint32_t lost_from; /* none before this part is */
    uint32_t acked;     /* of all parts */
    uint32_t packets;

    uint64_t window;  /* bytes on their way at most, headers counted */
    bool is_starting; /* the window grows with each train until the link, or loss, shows */
    train train;
    uint64_t shown;    /* window, by the train before; 0: none */
    bool is_limited;   /* by the window, in this round */
    uint64_t paced_ns; /* when, at this rate, all that was sent will have left */

    uint64_t rtt_ns; /* smoothed; has_rtt */
    uint64_t deviation_ns;
    bool has_rtt;
    uint64_t shortest_ns[2]; /* round trip of this stretch of SHORTEST_NS, and of the one before */
    uint64_t stretch_ns;     /* when this one began */
    uint32_t drained_at;     /* until this packet has come the window is too small for a queue */
    uint64_t round_ns;       /* the shortest of this round */
    uint32_t round_samples;
    uint32_t round_end; /* packet that ends it */

    arrivals heard;         /* newest */
    arrivals judged;        /* when loss was last judged */
    uint32_t loss_end;      /* packet up to which it is judged next */
    uint32_t loss;          /* in permille, for which half the window is tried; 0: it is not */
    uint64_t tried_window;  /* all of it */
    uint32_t least_loss[2]; /* of these LOSS_JUDGEMENTS, and of those before */
    uint32_t judgements;
    uint32_t growth_share; /* of the window, more after a round trip at most */
    uint32_t clear_rounds; /* without a queue, one after the other */
    uint32_t held_rounds;  /* before the window may grow */
    uint32_t order_shares; /* of ORDER_SHARE that later packets may be ahead by */
    uint32_t doubled;      /* packets that came for parts which had come */
    uint64_t heard_ns;     /* something new was acknowledged, sent after a pause, or given up */
    uint32_t backoffs;     /* since the newest acknowledgement */

    uint32_t repeated;
    uint64_t bytes;

    uint32_t window_parts;
    flight flights[]; /* window_parts: part p of first .. next - 1 in place p % that */
};

/* ---- create ---- */

ls_blob_sender_config ls_blob_sender_config_default(void)
{
    return (ls_blob_sender_config){
        .bytes_per_second = 1u << 20,
        .header_bytes = 40,
        .burst_packets = 4,
        .tick_ns = LS_NS_PER_SECOND / 60,
        .blob_bytes_max = LS_BLOB_BYTES_MAX,
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
        {"blob_bytes_max", config->blob_bytes_max, 1, LS_BLOB_BYTES_MAX},
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
    uint32_t stream_bytes = ls_blob_stream_bytes_max(config->blob_bytes_max);
    uint32_t parts = LS_MAX(stream_bytes / LS_BLOB_PART_BYTES + 1, WINDOW_PARTS_MIN);
    parts = LS_MIN(parts, LS_BLOB_WINDOW_PARTS);
    ls_blob_sender *sender =
        ls_allocate(allocator, sizeof *sender + parts * sizeof sender->flights[0]);
    if (!sender) {
        return LS_NO_MEMORY;
    }
    sender->allocator = allocator;
    sender->config = *config;
    sender->window_parts = parts;
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

static uint64_t packet_bytes(const ls_blob_sender *sender)
{
    return LS_PACKET_BYTES_MAX + sender->config.header_bytes;
}

void ls_blob_sender_start(ls_blob_sender *sender, ls_blob *blob, uint32_t number, uint64_t rtt_ns,
                          uint64_t now_ns)
{
    LS_ASSERT(number <= UINT8_MAX && ls_blob_bytes(blob) <= sender->config.blob_bytes_max);
    ls_blob_sender_stop(sender);
    ls_blob_add_user(blob);
    *sender = (ls_blob_sender){
        .allocator = sender->allocator,
        .config = sender->config,
        .blob = blob,
        .number = number,
        .window = START_PACKETS * packet_bytes(sender),
        .is_starting = true,
        .train.end = START_PACKETS,
        .paced_ns = now_ns,
        .rtt_ns = rtt_ns > 0 ? LS_MIN(rtt_ns, RTT_MAX_NS) : RTT_UNKNOWN_NS,
        .has_rtt = rtt_ns > 0,
        .shortest_ns = {UINT64_MAX, UINT64_MAX},
        .stretch_ns = now_ns,
        .round_ns = UINT64_MAX,
        .order_shares = 1,
        .growth_share = GROWTH_SHARE,
        .heard_ns = now_ns,
        .window_parts = sender->window_parts,
    };
    sender->deviation_ns = sender->rtt_ns / (2 * DEVIATION_SHARE);
}

void ls_blob_sender_expect_held(ls_blob_sender *sender)
{
    sender->expects_held = true;
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

static uint64_t shortest_rtt_ns(const ls_blob_sender *sender)
{
    return LS_MIN(sender->shortest_ns[0], sender->shortest_ns[1]);
}

/* Bytes a second that leave: a little more than the window would make of itself, so that the window
 * is the limit; all that are allowed while trains do. */
static uint64_t pace(const ls_blob_sender *sender)
{
    uint64_t window = sender->window / 4 * 5;
    uint64_t rate = window * LS_NS_PER_SECOND / LS_MAX(sender->rtt_ns, LS_NS_PER_MS);
    return sender->is_starting ? sender->config.bytes_per_second
                               : LS_MIN(rate, sender->config.bytes_per_second);
}

static uint64_t travel_ns(const ls_blob_sender *sender, uint64_t bytes)
{
    return bytes * LS_NS_PER_SECOND / pace(sender);
}

static uint64_t earlier_ns(uint64_t ns, uint64_t by_ns)
{
    return ns - LS_MIN(by_ns, ns);
}

/* When the pace allows another packet: that many may leave at once as a burst has. */
static uint64_t allowed_ns(const ls_blob_sender *sender)
{
    uint64_t packet_ns = travel_ns(sender, packet_bytes(sender));
    uint64_t least_ns = (sender->config.burst_packets - 1) * packet_ns;
    uint64_t most_ns = (LS_BLOB_BURST_PACKETS_MAX - 1) * packet_ns;
    return earlier_ns(sender->paced_ns, LS_MAX(least_ns, LS_MIN(most_ns, BURST_NS)));
}

/* When a burst is worth a call: where packets leave faster than one in a quarter of a millisecond
 * several do. */
static uint64_t burst_ns(const ls_blob_sender *sender)
{
    uint64_t half_ns = earlier_ns(sender->paced_ns, BURST_NS / 2);
    uint64_t packet_ns = travel_ns(sender, packet_bytes(sender));
    return packet_ns < BURST_NS / 4 ? LS_MAX(half_ns, allowed_ns(sender)) : allowed_ns(sender);
}

static bool is_window_full(const ls_blob_sender *sender)
{
    uint64_t window = sender->window;
    if (sender->drained_at > sender->heard.sent) {
        window = window * 3 / 4 * shortest_rtt_ns(sender) / LS_MAX(sender->rtt_ns, 1u);
    }
    return sender->flying > 0 && (sender->flying + 1) * packet_bytes(sender) > window;
}

static void set_window(ls_blob_sender *sender, uint64_t window)
{
    uint64_t least = LEAST_PACKETS * packet_bytes(sender);
    uint64_t most = sender->window_parts * packet_bytes(sender);
    sender->window = LS_MAX(LS_MIN(window, most), least);
}

static void begin_train(ls_blob_sender *sender, uint64_t window)
{
    set_window(sender, window);
    uint32_t packets = (uint32_t)(sender->window / packet_bytes(sender));
    uint32_t more = packets > sender->flying ? packets - sender->flying : 1;
    sender->train = (train){.first = sender->packets,
                            .end = sender->packets + more,
                            .received = sender->heard.received};
}

/* ---- parts ---- */

static flight *flight_of(ls_blob_sender *sender, uint32_t index)
{
    return &sender->flights[index % sender->window_parts];
}

static uint64_t sent_ns_of(const ls_blob_sender *sender, uint32_t packet)
{
    return sender->flights[packet % sender->window_parts].packet_ns;
}

static void set_part(ls_blob_sender *sender, uint32_t index, part_state state)
{
    part_state before = flight_of(sender, index)->state;
    sender->flying -= before == PART_SENT;
    sender->lost -= before == PART_LOST;
    sender->flying += state == PART_SENT;
    sender->lost += state == PART_LOST;
    sender->acked += state == PART_ACKED && before != PART_ACKED;
    flight_of(sender, index)->state = state;
    if (state == PART_LOST) {
        sender->lost_from = LS_MIN(sender->lost_from, index);
    }
}

/* When so long nothing new was acknowledged the packets on their way were lost, and perhaps the
 * receiver is: it is tried again more and more rarely. */
static uint64_t silent_ns(const ls_blob_sender *sender)
{
    uint64_t spare_ns = LS_MAX(DEVIATIONS * sender->deviation_ns, 2 * sender->config.tick_ns);
    uint64_t wait_ns = sender->rtt_ns + LS_MAX(spare_ns, PATIENCE_NS);
    wait_ns <<= sender->backoffs;
    return sender->heard_ns + LS_MIN(wait_ns, LS_MAX(SILENCE_MAX_NS, 2 * sender->rtt_ns));
}

static void note_silence(ls_blob_sender *sender, uint64_t now_ns)
{
    if (sender->flying == 0 || now_ns < silent_ns(sender)) {
        return;
    }
    for (uint32_t index = sender->first; index < sender->next; index++) {
        if (flight_of(sender, index)->state == PART_SENT) {
            set_part(sender, index, PART_LOST);
        }
    }
    sender->heard_ns = now_ns;
    if (sender->backoffs > 0) {
        sender->is_starting = true;
        begin_train(sender, 0);
    }
    sender->backoffs = LS_MIN(sender->backoffs + 1, BACKOFFS_MAX);
}

static bool has_part_to_send(const ls_blob_sender *sender)
{
    return sender->lost > 0 || (sender->next < ls_blob_part_count(sender->blob) &&
                                sender->next - sender->first < sender->window_parts);
}

static uint32_t next_part(ls_blob_sender *sender)
{
    if (sender->lost == 0) {
        flight_of(sender, sender->next)->state = PART_LOST; /* set_part counts it on its way */
        sender->lost++;
        return sender->next++;
    }
    uint32_t index = LS_MAX(sender->first, sender->lost_from);
    while (flight_of(sender, index)->state != PART_LOST) {
        index++;
    }
    sender->lost_from = index + 1;
    sender->repeated++;
    return index;
}

static size_t send(ls_blob_sender *sender, uint32_t index, uint64_t now_ns, uint8_t *bytes)
{
    ls_blob_part part = ls_blob_part_at(sender->blob, index);
    part.blob = sender->number;
    part.packet = sender->packets;
    size_t size = ls_blob_part_write(&part, bytes);
    if (sender->flying == 0) {
        sender->heard_ns = now_ns;
    }
    set_part(sender, index, PART_SENT);
    flight_of(sender, index)->sent_ns = now_ns;
    sender->flights[sender->packets % sender->window_parts].packet_ns = now_ns;
    sender->packets++;
    sender->paced_ns =
        LS_MAX(sender->paced_ns, now_ns) + travel_ns(sender, size + sender->config.header_bytes);
    sender->bytes += size + sender->config.header_bytes;
    sender->is_limited = sender->is_limited || is_window_full(sender);
    return size;
}

size_t ls_blob_sender_next(ls_blob_sender *sender, uint64_t now_ns,
                           uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    if (!ls_blob_sender_is_busy(sender)) {
        return 0;
    }
    note_silence(sender, now_ns);
    if (now_ns < allowed_ns(sender) || !has_part_to_send(sender) || is_window_full(sender)) {
        return 0;
    }
    return send(sender, next_part(sender), now_ns, bytes);
}

bool ls_blob_sender_is_starved(const ls_blob_sender *sender)
{
    return sender->blob && !ls_blob_is_compressed(sender->blob) &&
           ls_blob_part_count(sender->blob) - sender->next < sender->window / packet_bytes(sender);
}

uint64_t ls_blob_sender_next_ns(const ls_blob_sender *sender)
{
    if (!ls_blob_sender_is_busy(sender)) {
        return UINT64_MAX;
    }
    uint64_t silent = sender->flying > 0 ? silent_ns(sender) : UINT64_MAX;
    bool can_send = has_part_to_send(sender) && !is_window_full(sender);
    return can_send ? LS_MIN(burst_ns(sender), silent) : silent;
}

/* ---- acknowledgements ---- */

static bool has_part(const ls_blob_ack *ack, uint32_t place)
{
    return (ack->has[place / 8] >> (place % 8) & 1u) != 0;
}

/* Of parts and packets that were sent, and of no others. */
static bool is_possible(const ls_blob_sender *sender, const ls_blob_ack *ack)
{
    uint32_t end = sender->expects_held ? ls_blob_part_count(sender->blob) : sender->next;
    if (ack->first > end || (ack->received > 0 && ack->newest >= sender->packets)) {
        return false;
    }
    for (uint32_t place = 0; place < ack->count; place++) {
        if (has_part(ack, place) && ack->first + 1 + place >= end) {
            return false;
        }
    }
    return true;
}

/* Parts that were never sent count as lost from here on, unless the receiver has them. */
static void note_held(ls_blob_sender *sender, const ls_blob_ack *ack)
{
    uint32_t end = ack->first;
    for (uint32_t place = 0; place < ack->count; place++) {
        end = has_part(ack, place) ? ack->first + 1 + place + 1 : end;
    }
    for (; sender->first < LS_MIN(ack->first, sender->next); sender->first++) {
        set_part(sender, sender->first, PART_ACKED); /* makes room in the ring */
    }
    if (ack->first > sender->next) {
        sender->first = ack->first;
        sender->next = ack->first;
    }
    for (; sender->next < end; sender->next++) {
        flight_of(sender, sender->next)->state = PART_LOST;
        sender->lost++;
    }
    sender->lost_from = sender->first;
}

static void ack_parts(ls_blob_sender *sender, const ls_blob_ack *ack)
{
    for (uint32_t index = sender->first; index < ack->first; index++) {
        set_part(sender, index, PART_ACKED);
    }
    for (uint32_t place = 0; place < ack->count; place++) {
        uint32_t index = ack->first + 1 + place;
        if (index >= sender->first && has_part(ack, place)) {
            set_part(sender, index, PART_ACKED);
        }
    }
    while (sender->first < sender->next && flight_of(sender, sender->first)->state == PART_ACKED) {
        sender->first++;
    }
}

/* A part was lost when packets that left some time later have come (after RACK, RFC 8985). How much
 * later: more, when parts that were sent again come twice. */
static void find_losses(ls_blob_sender *sender)
{
    uint32_t newest = sender->heard.sent - 1;
    uint64_t share_ns = sender->rtt_ns / ORDER_SHARE;
    uint64_t spare_ns = LS_MAX(share_ns, ORDER_NS) * sender->order_shares;
    uint64_t newest_ns = sent_ns_of(sender, newest);
    if (sender->packets - newest > sender->window_parts) {
        return;
    }
    uint32_t end = LS_MIN(sender->next, sender->first + LS_BLOB_ACK_PARTS); /* told of */
    for (uint32_t index = sender->first; index < end; index++) {
        const flight *sent = flight_of(sender, index);
        if (sent->state == PART_SENT && sent->sent_ns + spare_ns < newest_ns) {
            set_part(sender, index, PART_LOST);
        }
    }
}

static void measure_rtt(ls_blob_sender *sender, const ls_blob_ack *ack, uint64_t now_ns)
{
    uint64_t hold_ns = ack->hold * LS_HOLD_UNIT_NS;
    uint64_t sent_ns = sent_ns_of(sender, ack->newest);
    bool is_known = sender->packets - ack->newest <= sender->window_parts;
    if (!is_known || ack->hold == LS_HOLD_NONE || now_ns < sent_ns + hold_ns) {
        return;
    }
    uint64_t sample_ns = LS_MIN(now_ns - sent_ns - hold_ns, RTT_MAX_NS);
    sender->shortest_ns[0] = LS_MIN(sender->shortest_ns[0], sample_ns);
    sender->round_ns = LS_MIN(sender->round_ns, sample_ns);
    sender->round_samples++;
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

/* ---- trains ---- */

/* Notes when packets of the train came, as far as the receiver's word tells. */
static void note_train_arrivals(ls_blob_sender *sender, const ls_blob_ack *ack, uint64_t now_ns)
{
    train *its = &sender->train;
    bool is_of_it = ack->newest >= its->first && ack->newest < its->end;
    if (is_of_it && ack->hold != LS_HOLD_NONE) {
        its->last = sender->heard;
        its->last_ns = now_ns - ack->hold * LS_HOLD_UNIT_NS;
        if (its->begun.sent == 0) {
            its->begun = its->last;
            its->begun_ns = its->last_ns;
        }
    }
}

static uint64_t left_ns(const ls_blob_sender *sender)
{
    return sent_ns_of(sender, sender->train.last.sent - 1) -
           sent_ns_of(sender, sender->train.begun.sent - 1);
}

/* Little can be said of a train of which little was seen, or that did not leave at once. */
static bool is_seen(const ls_blob_sender *sender)
{
    const train *its = &sender->train;
    return its->last.received - its->begun.received >= (its->end - its->first + 1) / 2 &&
           left_ns(sender) < shortest_rtt_ns(sender) / 4;
}

/* The window of a link that carries this train as it came; 0: it came as it left. */
static uint64_t window_shown(const ls_blob_sender *sender)
{
    const train *its = &sender->train;
    uint64_t bytes = (its->last.received - its->begun.received) * packet_bytes(sender);
    uint64_t spread_ns = its->last_ns - LS_MIN(its->begun_ns, its->last_ns);
    return spread_ns > left_ns(sender) / 4 * 5 + SPREAD_NS
               ? bytes * (shortest_rtt_ns(sender) + QUEUE_NS / 2) / spread_ns
               : 0;
}

/* Two trains that show the same are right, or one for whose double a link is too slow; noise in
 * when packets come is smaller against a larger train. Until then the next one is as large as
 * leaves a queue of QUEUE_NS. */
static void judge_train(ls_blob_sender *sender)
{
    uint64_t window = sender->window;
    uint64_t before = sender->shown;
    bool has_been_seen = is_seen(sender);
    uint64_t shown = has_been_seen ? window_shown(sender) : 0;
    uint64_t difference = LS_MAX(shown, before) - LS_MIN(shown, before);
    bool is_equal = shown <= TRAIN_GROWTH * window && difference <= shown / 4;
    sender->shown = shown;
    sender->is_starting = shown == 0 || (shown >= 2 * window && !is_equal);
    sender->held_rounds = HELD_ROUNDS;
    if (sender->is_starting) {
        uint64_t base_ns = shortest_rtt_ns(sender) + QUEUE_NS / 2;
        uint64_t most = shown > 0 ? shown * QUEUE_NS / base_ns : UINT64_MAX;
        uint64_t came = (sender->heard.received - sender->train.received) * packet_bytes(sender);
        uint64_t least = window + LS_MIN(came, window);
        shown = LS_MAX(LS_MIN(has_been_seen ? TRAIN_GROWTH * window : 0, most), least);
    }
    begin_train(sender, shown);
}

/* One that is not limited by the window tells nothing about a larger one. */
static void note_train(ls_blob_sender *sender, const ls_blob_ack *ack, uint64_t now_ns)
{
    note_train_arrivals(sender, ack, now_ns);
    if (ack->newest + 1 >= sender->train.end && sender->has_rtt) {
        if (sender->is_limited) {
            judge_train(sender);
        } else {
            begin_train(sender, sender->window);
        }
    }
}

/* The shortest round trip of long ago may be that of another way. It shows anew once the queue of
 * this stream has gone. */
static void begin_stretch(ls_blob_sender *sender, uint64_t now_ns)
{
    if (now_ns - sender->stretch_ns >= SHORTEST_NS) {
        sender->stretch_ns = now_ns;
        sender->shortest_ns[1] = sender->shortest_ns[0];
        sender->shortest_ns[0] = UINT64_MAX;
        sender->drained_at = sender->packets + 1;
    }
}

static uint32_t usual_loss(const ls_blob_sender *sender)
{
    return LS_MIN(sender->least_loss[0], sender->least_loss[1]);
}

/* The least of the last judgements is the link's own. */
static void note_usual_loss(ls_blob_sender *sender, uint32_t loss)
{
    if (++sender->judgements == LOSS_JUDGEMENTS) {
        sender->judgements = 0;
        sender->least_loss[1] = sender->least_loss[0];
        sender->least_loss[0] = PERMILLE;
    }
    sender->least_loss[0] = LS_MIN(sender->least_loss[0], loss);
}

/* Half the window has been tried, and has lost so much. When that is about as much the loss is the
 * link's own, and the window was right. */
static void end_trial(ls_blob_sender *sender, uint32_t loss)
{
    uint64_t window = sender->tried_window;
    if (loss > sender->loss / 4 * 3) {
        sender->judgements = 0;
        sender->least_loss[0] = sender->least_loss[1] = LS_MIN(loss, sender->loss);
    } else {
        sender->growth_share = GROWTH_SHARE_LOSSY;
        window = window / PERMILLE * (PERMILLE - LS_MIN(sender->loss, PERMILLE / 2));
    }
    sender->loss = 0;
    set_window(sender, window);
}

/* The queue that this round has met, and the one that the stream may make. */
static uint64_t queue_ns(const ls_blob_sender *sender)
{
    return sender->round_ns - LS_MIN(shortest_rtt_ns(sender), sender->round_ns);
}

static uint64_t wanted_queue_ns(const ls_blob_sender *sender)
{
    return QUEUE_NS + sender->round_ns * packet_bytes(sender) / sender->window;
}

/* Too large a window makes a queue first, but for a short one, of which more is lost. */
static bool is_own_loss(const ls_blob_sender *sender, uint32_t loss)
{
    return sender->is_starting && loss <= LOSS_OWN_PERMILLE &&
           queue_ns(sender) < wanted_queue_ns(sender);
}

static void begin_trial(ls_blob_sender *sender, uint32_t loss)
{
    sender->loss = loss;
    sender->is_starting = false;
    sender->clear_rounds = 0;
    sender->tried_window = sender->window;
    set_window(sender, sender->window / 2);
}

/* Judges the packets of a round trip, and of so many that their loss says something. */
static void judge_loss(ls_blob_sender *sender)
{
    uint32_t sent = sender->heard.sent - sender->judged.sent;
    bool is_trial = sender->loss > 0;
    if (is_trial && sender->heard.sent < sender->loss_end) {
        sender->judged = sender->heard; /* a larger window has let them go */
        return;
    }
    if (sent < LOSS_PACKETS || sender->heard.sent < sender->loss_end) {
        return;
    }
    uint32_t came = sender->heard.received - sender->judged.received;
    uint32_t loss = came < sent ? (uint32_t)((uint64_t)(sent - came) * PERMILLE / sent) : 0;
    sender->judged = sender->heard;
    sender->loss_end = sender->packets;
    note_usual_loss(sender, loss);
    if (is_trial) {
        end_trial(sender, loss);
    } else if (is_own_loss(sender, loss)) {
        sender->least_loss[0] = sender->least_loss[1] = LS_MAX(loss, usual_loss(sender));
    } else if (loss > 2 * usual_loss(sender) + LOSS_PERMILLE) {
        begin_trial(sender, loss);
    } else {
        uint32_t share = sender->growth_share - sender->growth_share / 8;
        sender->growth_share = LS_MAX(share, GROWTH_SHARE);
    }
}

/* Half of what the queue may become longer, since it shows a round trip later; but where there has
 * been none for some rounds: there the window is far from what the link carries. */
static uint64_t growth(ls_blob_sender *sender, uint64_t is_ns, uint64_t wanted_ns)
{
    uint64_t most = sender->window / sender->growth_share;
    bool is_clear = is_ns < wanted_ns / 8 && sender->growth_share == GROWTH_SHARE;
    sender->clear_rounds = is_clear ? LS_MIN(sender->clear_rounds + 1, CLEAR_ROUNDS_MAX) : 0;
    return sender->clear_rounds == CLEAR_ROUNDS_MAX
               ? 2 * most
               : LS_MIN(sender->window / 2 * (wanted_ns - is_ns) / LS_MAX(sender->round_ns, 1u),
                        most);
}

/* After each round trip the window becomes what leaves a queue of QUEUE_NS and a packet. */
static void judge_queue(ls_blob_sender *sender)
{
    uint64_t rtt_ns = LS_MAX(sender->round_ns, 1u);
    uint64_t is_ns = queue_ns(sender);
    uint64_t wanted_ns = wanted_queue_ns(sender);
    uint64_t window = sender->window;
    if (is_ns > wanted_ns) {
        sender->is_starting = false;
        window -= LS_MIN(window * (is_ns - wanted_ns) / rtt_ns, window / 2) / 2;
        sender->clear_rounds = 0;
    } else if (!sender->is_starting && sender->is_limited && sender->loss == 0) {
        window += sender->held_rounds > 0 ? 0 : growth(sender, is_ns, wanted_ns);
        sender->held_rounds -= sender->held_rounds > 0;
    }
    set_window(sender, window);
}

static bool is_draining(const ls_blob_sender *sender)
{
    return sender->drained_at > sender->round_end;
}

/* The window is large enough as soon as a queue stays: what has met this queue was sent when half
 * of it was on its way. */
static void stop_growing(ls_blob_sender *sender)
{
    if (sender->is_starting && sender->round_samples >= START_SAMPLES &&
        queue_ns(sender) > wanted_queue_ns(sender) / 2) {
        sender->is_starting = false;
        set_window(sender, sender->window / 2);
    }
}

static void end_round(ls_blob_sender *sender)
{
    stop_growing(sender);
    if (sender->heard.sent <= sender->round_end) {
        return;
    }
    if (sender->round_samples > 0 && !is_draining(sender)) {
        judge_queue(sender);
    }
    sender->round_end = sender->packets;
    sender->round_ns = UINT64_MAX;
    sender->round_samples = 0;
    sender->is_limited = false;
}

/* Packets came for parts that had come: they were not lost, or the network repeats them. */
static void note_doubled(ls_blob_sender *sender, const ls_blob_ack *ack)
{
    uint32_t doubled = ack->received > sender->acked ? ack->received - sender->acked : 0;
    if (doubled > sender->doubled) {
        sender->doubled = doubled;
        sender->order_shares = LS_MIN(sender->order_shares + 1, ORDER_SHARES_MAX);
    }
}

static void note_arrivals(ls_blob_sender *sender, const ls_blob_ack *ack, uint64_t now_ns)
{
    sender->heard = (arrivals){ack->newest + 1, ack->received};
    sender->heard_ns = now_ns;
    sender->backoffs = 0;
    measure_rtt(sender, ack, now_ns);
    if (sender->is_starting) {
        note_train(sender, ack, now_ns);
    }
    note_doubled(sender, ack);
    find_losses(sender);
    judge_loss(sender);
    end_round(sender);
    begin_stretch(sender, now_ns);
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
    note_held(sender, &ack);
    ack_parts(sender, &ack);
    if (ack.received > 0 && ack.newest >= sender->heard.sent) {
        note_arrivals(sender, &ack, now_ns); /* not overtaken by another one */
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
        .bytes_per_second = (uint32_t)pace(sender),
    };
}
