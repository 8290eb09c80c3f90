#include "lockstep/protocol/portmap/port_mapper.h"

#include "lockstep/common/base/language.h"
#include "lockstep/common/system/endpoint_text.h"

#include <string.h>

#define MS_PER_S UINT64_C(1000)
/* A router that gives seconds is not asked in each of them, and one that gives years may be started
 * anew, and then knows nothing. */
#define RENEW_MIN_MS (30 * MS_PER_S)
#define RENEW_MAX_MS (LS_ROUTER_LIFETIME_S / 2 * MS_PER_S)
#define RETRY_MIN_MS (10 * MS_PER_S)
#define RETRY_MAX_MS (15 * 60 * MS_PER_S)

typedef struct port_mapper {
    const ls_port_mapper_config *config;
    const ls_router_way *held; /* the way of `last`; NULL: there is no mapping */
    ls_port_report last;
    bool has_reported;
    uint64_t retry_ms;
} port_mapper;

/* Whether an answer can be true, and of use. */
static ls_status check(const port_mapper *mapper, const ls_router_way *way,
                       const ls_port_mapping *given, ls_text *why)
{
    char place[LS_ENDPOINT_NUMERIC_BYTES];
    if (given->inside != mapper->config->port) {
        return ls_fail(LS_REFUSED, why, "the router answers for another port, %u", given->inside);
    }
    if (given->outside.port == 0 || given->lifetime_s == 0) {
        return ls_fail(LS_REFUSED, why, "the router gives no port");
    }
    if (!ls_endpoint_is_public(&given->outside)) {
        ls_endpoint_format(&given->outside, place);
        (void)way->unmap(given, NULL);
        return ls_fail(LS_REFUSED, why,
                       "the router's own address %.*s is of a private network: another router "
                       "stands before it",
                       (int)strcspn(place, ":"), place);
    }
    return LS_OK;
}

static ls_status ask(const port_mapper *mapper, const ls_router_way *way, ls_port_mapping *given,
                     ls_text *why)
{
    const ls_port_mapper_config *config = mapper->config;
    uint16_t wanted = mapper->held == way ? mapper->last.mapping.outside.port : config->port;
    ls_status status = way->map(config->port, wanted, given, why);
    LS_THEN(status, check(mapper, way, given, why));
    return status;
}

static void report(port_mapper *mapper, const ls_port_report *now)
{
    bool is_same = mapper->has_reported && now->is_mapped == mapper->last.is_mapped &&
                   (!now->is_mapped ||
                    ls_endpoint_is_equal(&now->mapping.outside, &mapper->last.mapping.outside));
    mapper->last = *now;
    mapper->has_reported = true;
    if (!is_same) {
        mapper->config->report(mapper->config->user, now);
    }
}

/* The way that gave the mapping first, so that no other one makes a second. */
static const ls_router_way *way_of(const port_mapper *mapper, uint32_t number)
{
    const ls_router_way *ways = mapper->config->ways;
    uint32_t first = mapper->held ? (uint32_t)(mapper->held - ways) : 0;
    return &ways[number == 0 ? first : number <= first ? number - 1 : number];
}

/* Returns when to do so again. */
static uint64_t ask_all(port_mapper *mapper)
{
    ls_port_report now = {.is_mapped = false};
    const ls_router_way *found = NULL;
    for (uint32_t i = 0; !found && i < mapper->config->way_count; i++) {
        const ls_router_way *way = way_of(mapper, i);
        ls_text why = {{0}};
        if (ask(mapper, way, &now.mapping, &why) == LS_OK) {
            found = way;
            now.is_mapped = true;
            ls_name_copy(now.way, sizeof now.way, way->name);
        } else {
            ls_text_add(&now.why, "%s%s: %s", i == 0 ? "" : "; ", way->name, why.bytes);
        }
    }
    report(mapper, &now);
    mapper->held = found;
    if (found) {
        mapper->retry_ms = RETRY_MIN_MS;
        return LS_MAX(RENEW_MIN_MS, LS_MIN(now.mapping.lifetime_s * MS_PER_S / 2, RENEW_MAX_MS));
    }
    uint64_t retry_ms = mapper->retry_ms;
    mapper->retry_ms = LS_MIN(2 * retry_ms, RETRY_MAX_MS);
    return retry_ms;
}

bool ls_port_mapper_run(const ls_port_mapper_config *config)
{
    port_mapper mapper = {.config = config, .retry_ms = RETRY_MIN_MS};
    uint64_t wait_ms = 0;
    do {
        wait_ms = ask_all(&mapper);
    } while (!config->wait(config->user, wait_ms));
    return !mapper.held || mapper.held->unmap(&mapper.last.mapping, NULL) == LS_OK;
}
