#include "lockstep/protocol/transport/link_model.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <inttypes.h>

#define PPM UINT64_C(1000000)
#define DRAWS (UINT64_C(1) << 32) /* equally likely values of one draw */
#define KB UINT64_C(1000)

/* Each packet draws one of each. */
enum {
    CHANCE_LOSS,
    CHANCE_PERIOD, /* a bad period begins or ends */
    CHANCE_BURST_LOSS,
    CHANCE_DUPLICATE,
    CHANCE_REORDER,
    CHANCE_JITTER,
    CHANCE_COPY_JITTER,
    CHANCE_CORRUPT,
    CHANCE_BIT,
    CHANCE_COUNT,
};

ls_link_config ls_link_config_default(void)
{
    return (ls_link_config){.keeps_order = true,
                            .burst_milli = 1000,
                            .burst_loss_ppm = PPM,
                            .reorder_ns = 25 * LS_NS_PER_MS,
                            .bucket_bytes = 3 * KB,
                            .queue_bytes = 64 * KB};
}

/* How many of the DRAWS values mean that a bad period begins, so that the share and the length come
 * out: share = begin / (begin + end) with end = 1 / length. */
static uint64_t period_begin_draws(const ls_link_config *config)
{
    return DRAWS * config->burst_ppm / (PPM - config->burst_ppm) * 1000 / config->burst_milli;
}

static uint64_t period_end_draws(const ls_link_config *config)
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

/* A field that only counts beside another one has no least value without that. */
static ls_status check_ranges(const ls_link_config *config, ls_text *why)
{
    /* A packet that the queue could never hold would never pass. */
    uint64_t queue_min = config->rate_bps > 0 ? LS_LINK_WIRE_BYTES_MAX : 0;
    uint64_t burst_min = config->burst_ppm > 0 ? 1000 : 0;
    const struct {
        const char *field;
        uint64_t value, min, max;
    } fields[] = {
        {"delay_ns", config->delay_ns, 0, LS_LINK_DELAY_MS_MAX * LS_NS_PER_MS},
        {"jitter_ns", config->jitter_ns, 0, LS_LINK_JITTER_MS_MAX * LS_NS_PER_MS},
        {"loss_ppm", config->loss_ppm, 0, PPM},
        {"burst_ppm", config->burst_ppm, 0, LS_LINK_BURST_PERCENT_MAX * (PPM / 100)},
        {"burst_milli", config->burst_milli, burst_min, LS_LINK_BURST_PACKETS_MAX * 1000},
        {"burst_loss_ppm", config->burst_loss_ppm, 0, PPM},
        {"duplicate_ppm", config->duplicate_ppm, 0, PPM},
        {"corrupt_ppm", config->corrupt_ppm, 0, PPM},
        {"reorder_ppm", config->reorder_ppm, 0, PPM},
        {"reorder_ns", config->reorder_ns, 0, LS_LINK_DELAY_MS_MAX * LS_NS_PER_MS},
        {"rate_bps", config->rate_bps, 0, LS_LINK_RATE_KBIT_MAX * KB},
        {"bucket_bytes", config->bucket_bytes, 0, LS_LINK_QUEUE_KB_MAX * KB},
        {"queue_bytes", config->queue_bytes, queue_min, LS_LINK_QUEUE_KB_MAX * KB},
        {"partition_start_ns", config->partition_start_ns, 0,
         LS_LINK_PARTITION_MS_MAX * LS_NS_PER_MS},
        {"partition_length_ns", config->partition_length_ns, 0,
         LS_LINK_PARTITION_MS_MAX * LS_NS_PER_MS},
        {"partition_every_ns", config->partition_every_ns, 0,
         LS_LINK_PARTITION_MS_MAX * LS_NS_PER_MS},
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

ls_status ls_link_config_check(const ls_link_config *config, ls_text *why)
{
    ls_status status = check_ranges(config, why);
    if (status != LS_OK) {
        return status;
    }
    if (config->burst_ppm > 0 && period_begin_draws(config) > DRAWS) {
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

void ls_link_model_init(ls_link_model *link, const ls_link_config *config,
                        const ls_link_start *start)
{
    *link = (ls_link_model){.origin_ns = start->origin_ns,
                            .rng = ls_rng_make(start->seed, start->stream)};
    ls_link_model_set_config(link, config);
}

void ls_link_model_set_config(ls_link_model *link, const ls_link_config *config)
{
    LS_ASSERT(ls_link_config_check(config, NULL) == LS_OK);
    link->config = *config;
}

void ls_link_model_end_burst(ls_link_model *link)
{
    link->is_bad = false;
}

/* One draw of each kind for each packet, needed or not: that keeps the n-th draw with the n-th
 * packet whatever became of the others. */
static void draw_all(ls_link_model *link, uint32_t draws[CHANCE_COUNT])
{
    for (uint32_t i = 0; i < CHANCE_COUNT; i++) {
        draws[i] = ls_rng_next(&link->rng);
    }
}

static bool is_among(uint32_t draw, uint32_t ppm)
{
    return draw < DRAWS * ppm / PPM;
}

static void move_period(ls_link_model *link, uint32_t draw)
{
    if (link->config.burst_ppm == 0) {
        link->is_bad = false;
        return;
    }
    uint64_t turning =
        link->is_bad ? period_end_draws(&link->config) : period_begin_draws(&link->config);
    if (draw < turning) {
        link->is_bad = !link->is_bad;
    }
}

uint64_t ls_link_model_opens_ns(const ls_link_model *link, uint64_t now_ns)
{
    const ls_link_config *config = &link->config;
    uint64_t start_ns = link->origin_ns + config->partition_start_ns;
    if (config->is_cut) {
        return UINT64_MAX;
    }
    if (now_ns < start_ns || config->partition_length_ns == 0) {
        return now_ns;
    }
    uint64_t since_ns = now_ns - start_ns;
    if (config->partition_every_ns != 0) {
        since_ns %= config->partition_every_ns;
    }
    return now_ns + config->partition_length_ns - LS_MIN(since_ns, config->partition_length_ns);
}

static uint64_t transfer_ns(const ls_link_config *config, uint64_t bytes)
{
    return bytes * 8 * LS_NS_PER_SECOND / config->rate_bps;
}

/* The token bucket as the time at which everything sent so far is paid for: a packet leaves when
 * the debt is within what the bucket lends, and finds the queue full when its wait is more than the
 * queue's bytes take. true when the packet leaves at `leave_ns`. */
static bool pass_rate(ls_link_model *link, uint64_t bytes, uint64_t now_ns, uint64_t *leave_ns)
{
    const ls_link_config *config = &link->config;
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

static uint64_t jitter_of(const ls_link_config *config, uint32_t draw)
{
    return config->jitter_ns * draw / DRAWS; /* at most 4 s times 2^32: fits 64 bits */
}

static ls_link_loss loss_of(const ls_link_model *link, const uint32_t *draws, uint64_t now_ns)
{
    const ls_link_config *config = &link->config;
    if (ls_link_model_opens_ns(link, now_ns) != now_ns) {
        return LS_LINK_LOSS_PARTITION;
    }
    if (is_among(draws[CHANCE_LOSS], config->loss_ppm)) {
        return LS_LINK_LOSS_RANDOM;
    }
    bool is_lost = is_among(draws[CHANCE_BURST_LOSS], config->burst_loss_ppm);
    return link->is_bad && is_lost ? LS_LINK_LOSS_BURST : LS_LINK_LOSS_NONE;
}

static void schedule(ls_link_model *link, const uint32_t *draws, uint64_t leave_ns,
                     ls_link_fate *fate)
{
    const ls_link_config *config = &link->config;
    uint64_t arrive_ns = leave_ns + config->delay_ns;
    fate->due_ns = arrive_ns + jitter_of(config, draws[CHANCE_JITTER]);
    fate->copy_due_ns = arrive_ns + jitter_of(config, draws[CHANCE_COPY_JITTER]);
    fate->has_copy = is_among(draws[CHANCE_DUPLICATE], config->duplicate_ppm);
    if (config->keeps_order) {
        fate->due_ns = LS_MAX(fate->due_ns, link->latest_due_ns);
    }
    if (is_among(draws[CHANCE_REORDER], config->reorder_ppm)) {
        fate->due_ns += config->reorder_ns;
    } else {
        link->latest_due_ns = LS_MAX(fate->due_ns, link->latest_due_ns);
    }
    /* By definition the copy is the one that comes later. */
    fate->copy_due_ns = LS_MAX(fate->copy_due_ns, fate->due_ns);
    fate->is_altered = is_among(draws[CHANCE_CORRUPT], config->corrupt_ppm);
    fate->altered_share = draws[CHANCE_BIT];
}

ls_link_fate ls_link_model_decide(ls_link_model *link, uint64_t wire_bytes, uint64_t now_ns)
{
    LS_ASSERT(wire_bytes <= LS_LINK_WIRE_BYTES_MAX);
    uint32_t draws[CHANCE_COUNT];
    uint64_t leave_ns = now_ns;
    draw_all(link, draws);
    move_period(link, draws[CHANCE_PERIOD]);
    ls_link_fate fate = {.loss = loss_of(link, draws, now_ns)};
    if (fate.loss != LS_LINK_LOSS_NONE) {
        return fate;
    }
    if (!pass_rate(link, wire_bytes, now_ns, &leave_ns)) {
        fate.loss = LS_LINK_LOSS_QUEUE;
        return fate;
    }
    schedule(link, draws, leave_ns, &fate);
    return fate;
}

void ls_link_fate_alter(const ls_link_fate *fate, uint8_t *bytes, uint64_t size)
{
    uint64_t bit = size * 8 * fate->altered_share / DRAWS;
    bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ (1u << (bit % 8)));
}
