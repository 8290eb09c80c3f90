#include "lockstep/server/program/announcer.h"

#include "lockstep/common/base/secret.h"
#include "lockstep/common/system/broadcast_socket.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/wire/message.h"

enum {
    READS_MAX = 64 /* in one turn of the loop: a flood must not hold up the matches */
};

struct ls_announcer {
    ls_announcer_config config;
    const ls_allocator *allocator;
    ls_loop_source *source;
    int descriptor;
    uint32_t address; /* where the server listens, in network byte order; 0: everywhere */
    uint64_t id;
    ls_discovery_budget budget;
};

static uint32_t state_of(ls_match_state state)
{
    switch (state) {
    case LS_MATCH_LOBBY:
    case LS_MATCH_RESUMING:
        return LS_DISCOVERY_WAITING;
    case LS_MATCH_RUNNING:
        return LS_DISCOVERY_RUNNING;
    case LS_MATCH_ENDING:
    case LS_MATCH_OVER:
        break;
    }
    return LS_DISCOVERY_ENDING;
}

/* The server's state is that of the match that is least far. */
static void add_match(ls_discovery_answer *answer, const ls_match *match)
{
    const ls_match_config *config = ls_match_config_of(match);
    answer->seats += config->sim.players;
    answer->spectators += ls_match_spectating_of(match).now;
    answer->spectators_max += config->spectators_max;
    answer->tick = LS_MAX(answer->tick, ls_match_tick(match));
    answer->state = LS_MIN(answer->state, state_of(ls_match_state_of(match)));
    for (uint32_t slot = 0; slot < config->sim.players; slot++) {
        answer->players += ls_match_slot_of(match, slot).peer != 0 ? 1 : 0;
    }
}

static ls_discovery_answer answer_of(const ls_announcer *announcer, uint64_t nonce)
{
    const ls_host *host = announcer->config.host;
    const ls_match_table *table = ls_host_table(host);
    const ls_simulation *simulation =
        ls_match_config_of(ls_match_table_match(table, 0))->simulation;
    ls_discovery_answer answer = {.nonce = nonce,
                                  .server = announcer->id,
                                  .port = ls_host_port(host),
                                  .protocol = LS_PROTOCOL_VERSION,
                                  .version = simulation->version,
                                  .state = LS_DISCOVERY_ENDING,
                                  .matches = announcer->config.matches};
    ls_name_copy(answer.simulation, sizeof answer.simulation, simulation->name);
    for (uint32_t i = 0; i < announcer->config.matches; i++) {
        add_match(&answer, ls_match_table_match(table, i));
    }
    answer.seats = LS_MIN(answer.seats, LS_DISCOVERY_COUNT_MAX);
    answer.players = LS_MIN(answer.players, LS_DISCOVERY_COUNT_MAX);
    answer.spectators = LS_MIN(answer.spectators, LS_DISCOVERY_COUNT_MAX);
    answer.spectators_max = LS_MIN(answer.spectators_max, LS_DISCOVERY_COUNT_MAX);
    return answer;
}

/* Only a broadcast is answered: no router passes one on, so that nobody outside of the local
 * network learns of this server. */
static bool is_asked(const ls_announcer *announcer, const ls_broadcast_datagram *datagram,
                     uint64_t *nonce)
{
    return datagram->is_broadcast && datagram->from.port != 0 &&
           (announcer->address == 0 || announcer->address == datagram->local) &&
           ls_discovery_read_query(datagram->bytes, datagram->size, nonce);
}

static void on_queries(void *user, uint64_t now_ns)
{
    ls_announcer *announcer = user;
    ls_broadcast_datagram datagram;
    uint8_t bytes[LS_DISCOVERY_BYTES];
    uint64_t nonce = 0;
    for (int i = 0; i < READS_MAX && ls_broadcast_socket_receive(announcer->descriptor, &datagram);
         i++) {
        if (is_asked(announcer, &datagram, &nonce) &&
            ls_discovery_budget_spend(&announcer->budget, now_ns)) {
            const ls_discovery_answer answer = answer_of(announcer, nonce);
            size_t size = ls_discovery_write_answer(bytes, &answer);
            ls_broadcast_socket_answer(announcer->descriptor, &datagram, bytes, size);
        }
    }
}

static ls_status open_announcer(ls_announcer *announcer, ls_text *why)
{
    ls_endpoint own = {0};
    ls_secret_key random;
    ls_status status = ls_endpoint_resolve(announcer->config.bind_host, 0, &own, why);
    announcer->address = ls_endpoint_ipv4(&own);
    if (status == LS_OK && ls_secret_key_random(&random) != LS_OK) {
        status = ls_fail(LS_IO, why, "the system has no random numbers to give");
    }
    if (status == LS_OK) {
        announcer->id = ls_secret_match_id(&random);
        status = ls_broadcast_socket_open(announcer->config.find_port, &announcer->descriptor, why);
    }
    if (status == LS_OK) {
        const ls_loop_handler handler = {on_queries, announcer};
        status = ls_event_loop_watch(ls_host_loop(announcer->config.host), announcer->descriptor,
                                     handler, &announcer->source);
    }
    return status;
}

ls_status ls_announcer_create(const ls_announcer_config *config, const ls_allocator *allocator,
                              ls_announcer **out, ls_text *why)
{
    ls_announcer *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *made = (ls_announcer){.config = *config, .allocator = allocator, .descriptor = -1};
    ls_status status = open_announcer(made, why);
    if (status != LS_OK) {
        ls_announcer_destroy(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_announcer_destroy(ls_announcer *announcer)
{
    if (!announcer) {
        return;
    }
    ls_loop_source_remove(announcer->source);
    if (announcer->descriptor >= 0) {
        ls_socket_close(announcer->descriptor);
    }
    ls_release(announcer->allocator, announcer);
}
