#include "lockstep/protocol/sealed/address_limits.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

/* ---- a rate ---- */

bool ls_rate_use_is_spent(const ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns)
{
    return use->spent_until_ns > now_ns &&
           use->spent_until_ns - now_ns > (limit->at_once - 1) * limit->period_ns;
}

bool ls_rate_use_spend(ls_rate_use *use, const ls_rate_limit *limit, uint64_t now_ns)
{
    if (ls_rate_use_is_spent(use, limit, now_ns)) {
        return false;
    }
    use->spent_until_ns = LS_MAX(use->spent_until_ns, now_ns) + limit->period_ns;
    return true;
}

/* ---- the limits ---- */

#define NONE UINT32_MAX

#define QUESTIONS_A_SECOND 32u /* of an address; as many more at once as it may connections */
#define NETWORK_QUESTIONS_A_SECOND 128u
#define ALL_QUESTIONS_A_SECOND 384u
#define ALL_QUESTIONS_AT_ONCE 3072u
#define ALL_QUESTIONS_PACE 2000u       /* a second, while they last: a tenth of a core */
#define ALL_QUESTIONS_PACE_AT_ONCE 64u /* 3 ms of the server's time */
#define RARE_QUESTIONS_A_SECOND 128u   /* beside them, of addresses that ask rarely */
#define RARE_QUESTIONS_AT_ONCE 1024u
#define RARE_QUESTIONS_PACE 500u
#define RARE_QUESTIONS_PACE_AT_ONCE 16u
#define RARE_PERIOD_NS (4 * LS_NS_PER_SECOND) /* so often, and at once: */
#define RARE_AT_ONCE 4u

#define NETWORK_REQUESTS_A_SECOND 2048u
#define NETWORK_REQUESTS_AT_ONCE 1024u /* and as many more as an address may have connections */
#define ALL_REQUESTS_A_SECOND 16384u
#define ALL_REQUESTS_AT_ONCE 8192u

#define PREFIX_BYTES_MAX 8u
#define IPV6_NETWORK_BYTES 6u /* a /48 */
#define IPV4_NETWORK_BYTES 3u /* a /24 */
#define NETWORK_BITS 10u      /* several networks may have to share */

typedef struct place {
    uint64_t prefix; /* of the address */
    ls_rate_use questions;
    ls_rate_use rare;
    ls_rate_use wrong_guesses;
    uint32_t connections;
    uint32_t chained;        /* the next place whose prefix is found in the same chain */
    uint32_t before, behind; /* of the list of places without connections */
    bool is_used;
} place;

typedef struct network {
    ls_rate_use questions;
    ls_rate_use requests;
} network;

struct ls_address_limits {
    const ls_allocator *allocator;
    place *places;
    uint32_t *chains;
    uint32_t place_count;
    uint32_t chain_bits;
    uint64_t seed;
    uint32_t per_address_max;
    uint32_t idle_first, idle_last; /* first: the one that was asked for longest ago */
    ls_rate_limit questions_limit, network_limit, requests_limit;
    ls_rate_use all_questions, rare_questions, all_requests;
    ls_rate_use all_pace, rare_pace;
    network networks[1u << NETWORK_BITS];
};

static const ls_rate_limit ALL_LIMIT = {LS_NS_PER_SECOND / ALL_QUESTIONS_A_SECOND,
                                        ALL_QUESTIONS_AT_ONCE};
static const ls_rate_limit ALL_RARE_LIMIT = {LS_NS_PER_SECOND / RARE_QUESTIONS_A_SECOND,
                                             RARE_QUESTIONS_AT_ONCE};
static const ls_rate_limit ALL_PACE = {LS_NS_PER_SECOND / ALL_QUESTIONS_PACE,
                                       ALL_QUESTIONS_PACE_AT_ONCE};
static const ls_rate_limit RARE_PACE = {LS_NS_PER_SECOND / RARE_QUESTIONS_PACE,
                                        RARE_QUESTIONS_PACE_AT_ONCE};
static const ls_rate_limit GUESS_LIMIT = {LS_NS_PER_SECOND, 16};
static const ls_rate_limit RARE_LIMIT = {RARE_PERIOD_NS, RARE_AT_ONCE};
static const ls_rate_limit ALL_REQUESTS_LIMIT = {LS_NS_PER_SECOND / ALL_REQUESTS_A_SECOND,
                                                 ALL_REQUESTS_AT_ONCE};

/* An IPv4 address in its low 32 bits, with a bit above that no /56 has. */
static uint64_t first_bytes(const ls_endpoint *address, size_t ipv4_bytes, size_t ipv6_bytes)
{
    uint8_t bytes[PREFIX_BYTES_MAX] = {0};
    if (ls_endpoint_is_ipv4(address)) {
        memcpy(bytes, address->address + LS_ENDPOINT_ADDRESS_BYTES - 4, ipv4_bytes);
        bytes[PREFIX_BYTES_MAX - 1] = 1;
    } else {
        memcpy(bytes, address->address, ipv6_bytes);
    }
    return ls_load_u64(bytes);
}

static uint64_t prefix_of(const ls_endpoint *address)
{
    return ls_endpoint_origin(address);
}

static network *network_of(ls_address_limits *limits, const ls_endpoint *address)
{
    uint64_t prefix = first_bytes(address, IPV4_NETWORK_BYTES, IPV6_NETWORK_BYTES);
    return &limits->networks[prefix * limits->seed >> (64 - NETWORK_BITS)];
}

/* ---- the list of places without connections ---- */

static void append_idle(ls_address_limits *limits, uint32_t index)
{
    place *added = &limits->places[index];
    added->before = limits->idle_last;
    added->behind = NONE;
    if (limits->idle_last == NONE) {
        limits->idle_first = index;
    } else {
        limits->places[limits->idle_last].behind = index;
    }
    limits->idle_last = index;
}

static void unlink_idle(ls_address_limits *limits, uint32_t index)
{
    const place *removed = &limits->places[index];
    if (removed->before == NONE) {
        limits->idle_first = removed->behind;
    } else {
        limits->places[removed->before].behind = removed->behind;
    }
    if (removed->behind == NONE) {
        limits->idle_last = removed->before;
    } else {
        limits->places[removed->behind].before = removed->before;
    }
}

/* ---- chains ---- */

static uint32_t *chain_of(const ls_address_limits *limits, uint64_t prefix)
{
    uint64_t mixed = prefix * limits->seed;
    return &limits->chains[mixed >> (64 - limits->chain_bits)];
}

static uint32_t find(const ls_address_limits *limits, uint64_t prefix)
{
    uint32_t index = *chain_of(limits, prefix);
    while (index != NONE && limits->places[index].prefix != prefix) {
        index = limits->places[index].chained;
    }
    return index;
}

static void unchain(ls_address_limits *limits, uint32_t index)
{
    uint32_t *link = chain_of(limits, limits->places[index].prefix);
    while (*link != index) {
        link = &limits->places[*link].chained;
    }
    *link = limits->places[index].chained;
}

/* The place of an address; that of another one is given to it when it has none. */
static place *place_of(ls_address_limits *limits, uint64_t prefix)
{
    uint32_t index = find(limits, prefix);
    if (index != NONE) {
        return &limits->places[index];
    }
    index = limits->idle_first;
    LS_ASSERT(index != NONE); /* there are more places than connections */
    place *taken = &limits->places[index];
    if (taken->is_used) {
        unchain(limits, index);
    }
    taken->is_used = true;
    taken->prefix = prefix;
    taken->questions = (ls_rate_use){0};
    taken->rare = (ls_rate_use){0};
    taken->wrong_guesses = (ls_rate_use){0};
    uint32_t *head = chain_of(limits, prefix);
    taken->chained = *head;
    *head = index;
    return taken;
}

/* ---- making and ending ---- */

static ls_status allocate(ls_address_limits *limits)
{
    uint32_t chain_count = 1u << limits->chain_bits;
    limits->places =
        ls_allocate_array(limits->allocator, limits->place_count, sizeof *limits->places);
    limits->chains = ls_allocate_array(limits->allocator, chain_count, sizeof *limits->chains);
    if (!limits->places || !limits->chains) {
        return LS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < chain_count; i++) {
        limits->chains[i] = NONE;
    }
    for (uint32_t i = 0; i < limits->place_count; i++) {
        append_idle(limits, i);
    }
    return LS_OK;
}

ls_status ls_address_limits_create(const ls_address_limits_config *config,
                                   const ls_allocator *allocator, ls_address_limits **out)
{
    ls_address_limits *limits = ls_allocate(allocator, sizeof *limits);
    if (!limits) {
        return LS_NO_MEMORY;
    }
    *limits = (ls_address_limits){
        .allocator = allocator,
        .place_count = config->connections_max + LS_ADDRESS_LIMITS_IDLE_MAX,
        .chain_bits = 13, /* two chains for each place that is always there */
        .seed = config->seed | 1u,
        .per_address_max = config->per_address_max,
        .idle_first = NONE,
        .idle_last = NONE,
        .questions_limit = {LS_NS_PER_SECOND / QUESTIONS_A_SECOND,
                            QUESTIONS_A_SECOND + config->per_address_max},
        .network_limit = {LS_NS_PER_SECOND / NETWORK_QUESTIONS_A_SECOND,
                          NETWORK_QUESTIONS_A_SECOND + config->per_address_max},
        .requests_limit = {LS_NS_PER_SECOND / NETWORK_REQUESTS_A_SECOND,
                           NETWORK_REQUESTS_AT_ONCE + config->per_address_max},
    };
    ls_status status = allocate(limits);
    if (status) {
        ls_address_limits_destroy(limits);
        return status;
    }
    *out = limits;
    return LS_OK;
}

void ls_address_limits_destroy(ls_address_limits *limits)
{
    if (!limits) {
        return;
    }
    const ls_allocator *allocator = limits->allocator;
    ls_release(allocator, limits->places);
    ls_release(allocator, limits->chains);
    ls_release(allocator, limits);
}

/* ---- limits ---- */

bool ls_address_limits_count_request(ls_address_limits *limits, const ls_endpoint *address,
                                     uint64_t now_ns)
{
    /* A network that asks too often takes nothing from the others. */
    return !ls_rate_use_is_spent(&limits->all_requests, &ALL_REQUESTS_LIMIT, now_ns) &&
           ls_rate_use_spend(&network_of(limits, address)->requests, &limits->requests_limit,
                             now_ns) &&
           ls_rate_use_spend(&limits->all_requests, &ALL_REQUESTS_LIMIT, now_ns);
}

/* From what all may ask, or, when hosts that ask much have used that up, from what is kept for
 * those that ask rarely. */
static bool spend_of_all(ls_address_limits *limits, place *asking, uint64_t now_ns)
{
    if (!ls_rate_use_is_spent(&limits->all_pace, &ALL_PACE, now_ns) &&
        ls_rate_use_spend(&limits->all_questions, &ALL_LIMIT, now_ns)) {
        return ls_rate_use_spend(&limits->all_pace, &ALL_PACE, now_ns);
    }
    return !ls_rate_use_is_spent(&limits->rare_questions, &ALL_RARE_LIMIT, now_ns) &&
           !ls_rate_use_is_spent(&limits->rare_pace, &RARE_PACE, now_ns) &&
           ls_rate_use_spend(&asking->rare, &RARE_LIMIT, now_ns) &&
           ls_rate_use_spend(&limits->rare_questions, &ALL_RARE_LIMIT, now_ns) &&
           ls_rate_use_spend(&limits->rare_pace, &RARE_PACE, now_ns);
}

bool ls_address_limits_count_question(ls_address_limits *limits, const ls_endpoint *address,
                                      uint64_t now_ns)
{
    place *asking = place_of(limits, prefix_of(address));
    if (asking->connections == 0) { /* the newest of those that may be forgotten */
        uint32_t index = (uint32_t)(asking - limits->places);
        unlink_idle(limits, index);
        append_idle(limits, index);
    }
    network *of = network_of(limits, address);
    /* An address, or a network, that asks too often takes nothing from the others; and what all
     * have used up takes nothing from its own. */
    if (ls_rate_use_is_spent(&asking->questions, &limits->questions_limit, now_ns) ||
        ls_rate_use_is_spent(&of->questions, &limits->network_limit, now_ns) ||
        !spend_of_all(limits, asking, now_ns)) {
        return false;
    }
    return ls_rate_use_spend(&asking->questions, &limits->questions_limit, now_ns) &&
           ls_rate_use_spend(&of->questions, &limits->network_limit, now_ns);
}

bool ls_address_limits_may_guess(ls_address_limits *limits, const ls_endpoint *address,
                                 uint64_t now_ns)
{
    const place *guessing = place_of(limits, prefix_of(address));
    return !ls_rate_use_is_spent(&guessing->wrong_guesses, &GUESS_LIMIT, now_ns);
}

void ls_address_limits_count_wrong_guess(ls_address_limits *limits, const ls_endpoint *address,
                                         uint64_t now_ns)
{
    place *guessing = place_of(limits, prefix_of(address));
    (void)ls_rate_use_spend(&guessing->wrong_guesses, &GUESS_LIMIT, now_ns);
}

bool ls_address_limits_add_connection(ls_address_limits *limits, const ls_endpoint *address)
{
    place *asking = place_of(limits, prefix_of(address));
    if (asking->connections >= limits->per_address_max) {
        return false;
    }
    if (asking->connections == 0) {
        unlink_idle(limits, (uint32_t)(asking - limits->places));
    }
    asking->connections++;
    return true;
}

void ls_address_limits_remove_connection(ls_address_limits *limits, const ls_endpoint *address)
{
    uint32_t index = find(limits, prefix_of(address));
    LS_ASSERT(index != NONE && limits->places[index].connections > 0);
    limits->places[index].connections--;
    if (limits->places[index].connections == 0) {
        append_idle(limits, index);
    }
}
