#include "lockstep/tools/netcond/link.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <inttypes.h>

#define PPM UINT64_C(1000000)
#define DRAWS (UINT64_C(1) << 32) /* equally likely values of one draw */
#define KB UINT64_C(1000)

/* The largest datagram on the wire: one that the queue could never hold would never pass. */
#define WIRE_BYTES_MAX (NETCOND_LINK_DATAGRAM_BYTES_MAX + NETCOND_LINK_HEADER_BYTES)

netcond_link_config netcond_link_config_default(void)
{
    return (netcond_link_config){.burst_milli = 1000,
                                 .burst_loss_ppm = PPM,
                                 .reorder_ns = 25 * LS_NS_PER_MS,
                                 .bucket_bytes = 3 * KB,
                                 .queue_bytes = 64 * KB};
}

/* How many of the DRAWS values mean that a bad period begins, so that the share and the length come
 * out: share = begin / (begin + end) with end = 1 / length. */
static uint64_t period_begin_draws(const netcond_link_config *config)
{
    return DRAWS * config->burst_ppm / (PPM - config->burst_ppm) * 1000 / config->burst_milli;
}

static uint64_t period_end_draws(const netcond_link_config *config)
{
    return DRAWS * 1000 / config->burst_milli;
}

static ls_status check_range(const char *field, uint64_t value, ls_text *why, uint64_t min,
                             uint64_t max)
{
    if (value < min || value > max) {
        ls_text_set(why, "%s is %" PRIu64 ", not %" PRIu64 " to %" PRIu64, field, value, min, max);
        return LS_BAD_ARGUMENT;
    }
    return LS_OK;
}

static ls_status check_ranges(const netcond_link_config *config, ls_text *why)
{
    const struct {
        const char *field;
        uint64_t value, min, max;
    } fields[] = {
        {"delay_ns", config->delay_ns, 0, NETCOND_LINK_DELAY_MS_MAX * LS_NS_PER_MS},
        {"jitter_ns", config->jitter_ns, 0, NETCOND_LINK_JITTER_MS_MAX * LS_NS_PER_MS},
        {"loss_ppm", config->loss_ppm, 0, PPM},
        {"burst_ppm", config->burst_ppm, 0, NETCOND_LINK_BURST_PERCENT_MAX * (PPM / 100)},
        {"burst_milli", config->burst_milli, 1000, NETCOND_LINK_BURST_PACKETS_MAX * 1000},
        {"burst_loss_ppm", config->burst_loss_ppm, 0, PPM},
        {"duplicate_ppm", config->duplicate_ppm, 0, PPM},
        {"reorder_ppm", config->reorder_ppm, 0, PPM},
        {"reorder_ns", config->reorder_ns, 1, NETCOND_LINK_DELAY_MS_MAX * LS_NS_PER_MS},
        {"rate_bps", config->rate_bps, 0, NETCOND_LINK_RATE_KBIT_MAX * KB},
        {"bucket_bytes", config->bucket_bytes, 0, NETCOND_LINK_QUEUE_KB_MAX * KB},
        {"queue_bytes", config->queue_bytes, WIRE_BYTES_MAX, NETCOND_LINK_QUEUE_KB_MAX * KB},
        {"partition_start_ns", config->partition_start_ns, 0,
         NETCOND_LINK_PARTITION_MS_MAX * LS_NS_PER_MS},
        {"partition_length_ns", config->partition_length_ns, 0,
         NETCOND_LINK_PARTITION_MS_MAX * LS_NS_PER_MS},
        {"partition_every_ns", config->partition_every_ns, 0,
         NETCOND_LINK_PARTITION_MS_MAX * LS_NS_PER_MS},
    };
    for (uint32_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ls_status status =
            check_range(fields[i].field, fields[i].value, why, fields[i].min, fields[i].max);
        if (status != LS_OK) {
            return status;
        }
    }
    return LS_OK;
}

ls_status netcond_link_config_check(const netcond_link_config *config, ls_text *why)
{
    ls_status status = check_ranges(config, why);
    if (status != LS_OK) {
        return status;
    }
    if (period_begin_draws(config) > DRAWS) {
        ls_text_set(why,
                    "burst: periods of %" PRIu32 ".%03" PRIu32
                    " packets are too short to meet %" PRIu32 ".%04" PRIu32 " %% of the packets",
                    config->burst_milli / 1000, config->burst_milli % 1000,
                    config->burst_ppm / 10000, config->burst_ppm % 10000);
        return LS_BAD_ARGUMENT;
    }
    if (config->partition_every_ns != 0 &&
        config->partition_every_ns <= config->partition_length_ns) {
        ls_text_set(why, "partition: it comes again before it has ended, so nothing ever passes");
        return LS_BAD_ARGUMENT;
    }
    return LS_OK;
}

void netcond_link_init(netcond_link *link, const netcond_link_config *config,
                       const netcond_link_start *start)
{
    LS_ASSERT(netcond_link_config_check(config, NULL) == LS_OK);
    *link = (netcond_link){.config = *config, .origin_ns = start->origin_ns};
    for (uint32_t i = 0; i < NETCOND_LINK_CHANCE_COUNT; i++) {
        link->rngs[i] = ls_rng_make(start->seed, start->stream * NETCOND_LINK_CHANCE_COUNT + i);
    }
}

/* One draw of each kind for each packet, needed or not: that keeps the n-th draw with the n-th
 * packet whatever became of the others. */
static void draw_all(netcond_link *link, uint32_t draws[NETCOND_LINK_CHANCE_COUNT])
{
    for (uint32_t i = 0; i < NETCOND_LINK_CHANCE_COUNT; i++) {
        draws[i] = ls_rng_next(&link->rngs[i]);
    }
}

static bool is_among(uint32_t draw, uint32_t ppm)
{
    return draw < DRAWS * ppm / PPM;
}

static void move_period(netcond_link *link, uint32_t draw)
{
    uint64_t turning =
        link->is_bad ? period_end_draws(&link->config) : period_begin_draws(&link->config);
    if (draw < turning) {
        link->is_bad = !link->is_bad;
    }
}

static bool is_partitioned(const netcond_link *link, uint64_t now_ns)
{
    const netcond_link_config *config = &link->config;
    uint64_t start_ns = link->origin_ns + config->partition_start_ns;
    if (now_ns < start_ns) {
        return false;
    }
    uint64_t since_ns = now_ns - start_ns;
    if (config->partition_every_ns != 0) {
        since_ns %= config->partition_every_ns;
    }
    return since_ns < config->partition_length_ns;
}

static uint64_t transfer_ns(const netcond_link_config *config, uint64_t bytes)
{
    return bytes * 8 * LS_NS_PER_SECOND / config->rate_bps;
}

/* The token bucket as the time at which everything sent so far is paid for: a packet leaves when
 * the debt is within what the bucket lends, and finds the queue full when its wait is more than the
 * queue's bytes take. true when the packet leaves at `leave_ns`. */
static bool pass_rate(netcond_link *link, uint64_t bytes, uint64_t now_ns, uint64_t *leave_ns)
{
    const netcond_link_config *config = &link->config;
    *leave_ns = now_ns;
    if (config->rate_bps == 0) {
        return true;
    }
    bool is_idle = link->spent_ns <= now_ns;
    uint64_t cost = bytes * 8 * LS_NS_PER_SECOND + (is_idle ? 0 : link->spent_rest);
    uint64_t spent_ns = (is_idle ? now_ns : link->spent_ns) + cost / config->rate_bps;
    uint64_t lent_ns = transfer_ns(config, config->bucket_bytes);
    if (spent_ns > now_ns + lent_ns) {
        *leave_ns = spent_ns - lent_ns;
    }
    if (*leave_ns - now_ns > transfer_ns(config, config->queue_bytes)) {
        return false;
    }
    link->spent_ns = spent_ns;
    link->spent_rest = cost % config->rate_bps;
    return true;
}

static uint64_t jitter_of(const netcond_link_config *config, uint32_t draw)
{
    return config->jitter_ns * draw / DRAWS; /* at most 4 s times 2^32: fits 64 bits */
}

static netcond_loss loss_of(const netcond_link *link, const uint32_t *draws, uint64_t now_ns)
{
    const netcond_link_config *config = &link->config;
    if (is_partitioned(link, now_ns)) {
        return NETCOND_LOSS_PARTITION;
    }
    if (is_among(draws[NETCOND_LINK_CHANCE_LOSS], config->loss_ppm)) {
        return NETCOND_LOSS_RANDOM;
    }
    bool is_lost = is_among(draws[NETCOND_LINK_CHANCE_BURST_LOSS], config->burst_loss_ppm);
    return link->is_bad && is_lost ? NETCOND_LOSS_BURST : NETCOND_LOSS_NONE;
}

static void schedule(netcond_link *link, const uint32_t *draws, uint64_t leave_ns,
                     netcond_link_fate *fate)
{
    const netcond_link_config *config = &link->config;
    uint64_t arrive_ns = leave_ns + config->delay_ns;
    fate->due_ns = arrive_ns + jitter_of(config, draws[NETCOND_LINK_CHANCE_JITTER]);
    fate->copy_due_ns = arrive_ns + jitter_of(config, draws[NETCOND_LINK_CHANCE_COPY_JITTER]);
    fate->has_copy = is_among(draws[NETCOND_LINK_CHANCE_DUPLICATE], config->duplicate_ppm);
    if (!config->overtakes && fate->due_ns < link->latest_due_ns) {
        fate->due_ns = link->latest_due_ns;
    }
    if (is_among(draws[NETCOND_LINK_CHANCE_REORDER], config->reorder_ppm)) {
        fate->due_ns += config->reorder_ns;
    } else if (fate->due_ns > link->latest_due_ns) {
        link->latest_due_ns = fate->due_ns;
    }
    if (fate->copy_due_ns < fate->due_ns) {
        fate->copy_due_ns = fate->due_ns; /* by definition the copy is the one that comes later */
    }
}

netcond_link_fate netcond_link_decide(netcond_link *link, uint64_t payload_bytes, uint64_t now_ns)
{
    LS_ASSERT(payload_bytes <= NETCOND_LINK_DATAGRAM_BYTES_MAX);
    uint32_t draws[NETCOND_LINK_CHANCE_COUNT];
    uint64_t leave_ns = now_ns;
    draw_all(link, draws);
    move_period(link, draws[NETCOND_LINK_CHANCE_PERIOD]);
    netcond_link_fate fate = {.loss = loss_of(link, draws, now_ns)};
    if (fate.loss != NETCOND_LOSS_NONE) {
        return fate;
    }
    if (!pass_rate(link, payload_bytes + NETCOND_LINK_HEADER_BYTES, now_ns, &leave_ns)) {
        fate.loss = NETCOND_LOSS_QUEUE;
        return fate;
    }
    schedule(link, draws, leave_ns, &fate);
    return fate;
}
