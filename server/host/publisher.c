#include "lockstep/server/host/publisher.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/relay/relay_keys.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/match.h"

#include <stdio.h>
#include <string.h>

#define SILENCE_NS (3 * LS_NS_PER_SECOND) /* of a relay, until the log says so */

#define LISTING_NS LS_NS_PER_SECOND /* between two looks at what is to be listed */

struct ls_publisher {
    ls_publisher_config config;
    ls_relay_server *relay;
    const ls_host *host; /* NULL: not attached */
    ls_relay_listing listing;
    uint64_t listing_ns; /* when it is made anew */
    ls_relay_server_listed logged_listed;
    uint16_t port; /* of the relay */
    bool is_local; /* so is it */
    ls_relay_server_state logged;
    ls_relay_code logged_code;
    uint64_t silent_ns; /* when a silence is logged; 0: not in one */
};

static ls_status read_key(const ls_publisher_config *config, ls_relay_server_config *relay,
                          ls_text *why)
{
    ls_token_key key;
    if (!config->key_path) {
        return LS_OK;
    }
    ls_status status = ls_token_key_read(config->key_path, &key, why);
    if (status == LS_OK) {
        relay->has_access_key = true;
        ls_relay_access_key(key.keys[0], relay->access_key);
    }
    ls_cipher_wipe(&key, sizeof key);
    return status;
}

static ls_status find_relay(const ls_publisher_config *config, ls_relay_server_config *relay,
                            ls_text *why)
{
    ls_status status = ls_relay_find(config->relay, &relay->relay, why);
    return status == LS_OK ? read_key(config, relay, why) : status;
}

ls_status ls_publisher_create(const ls_publisher_config *config, ls_publisher **out, ls_text *why)
{
    ls_relay_server_config relay = {.identity = config->admission->sealed.identity,
                                    .flows = config->shared ? &config->shared->flows : NULL,
                                    .is_follower = config->worker != 0};
    ls_publisher *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    ls_status status = made ? ls_cipher_init() : LS_NO_MEMORY;
    LS_THEN(status, relay.is_follower ? LS_OK : find_relay(config, &relay, why));
    if (!ls_udp_own_address(&relay.local)) {
        relay.local = (ls_endpoint){.port = 0};
    }
    LS_THEN(status, ls_relay_server_create(&relay, ls_allocator_heap(), &made->relay));
    ls_cipher_wipe(&relay.identity, sizeof relay.identity);
    ls_cipher_wipe(relay.access_key, sizeof relay.access_key);
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), made);
        return status;
    }
    made->config = *config;
    made->port = relay.relay.port;
    made->is_local = ls_endpoint_is_loopback(&relay.relay);
    *out = made;
    return LS_OK;
}

void ls_publisher_withdraw(ls_publisher *publisher)
{
    if (publisher && publisher->config.worker == 0) {
        ls_relay_server_withdraw(publisher->relay);
    }
}

void ls_publisher_destroy(ls_publisher *publisher)
{
    if (publisher) {
        ls_relay_server_destroy(publisher->relay);
        ls_release(ls_allocator_heap(), publisher);
    }
}

ls_datagram_socket *ls_publisher_socket_around(ls_publisher *publisher, ls_datagram_socket *inner)
{
    return publisher ? ls_relay_server_socket(publisher->relay, inner) : inner;
}

bool ls_publisher_is_local(const ls_publisher *publisher)
{
    return publisher->is_local;
}

void ls_publisher_set_outside(ls_publisher *publisher, const ls_endpoint *outside)
{
    ls_relay_server_set_outside(publisher->relay, outside);
}

/* ---- the log ---- */

/* The relay's host without its port, and without brackets, as an invite has it. */
static void bare_host(const char *relay, char *out, size_t size)
{
    bool has_brackets = relay[0] == '[';
    const char *from = has_brackets ? relay + 1 : relay;
    snprintf(out, size, "%.*s", (int)strcspn(from, has_brackets ? "]" : ":"), from);
}

/* Invites lead to the relay from now on. */
static void set_place(ls_admission *admission, const char *relay, const char *code, uint16_t port)
{
    char host[LS_INVITE_HOST_BYTES_MAX];
    char place[LS_INVITE_HOST_BYTES_MAX + LS_RELAY_CODE_BYTES];
    bare_host(relay, host, sizeof host);
    snprintf(place, sizeof place, "%s@%s", code, host);
    ls_admission_publish(admission, place, port);
}

/* A relay and the code that a server has there. */
typedef struct announcement {
    const char *relay, *code;
    uint16_t port;
    ls_relay_page page;
} announcement;

/* A page is opened by the relay's own. */
static void log_page(const announcement *of, const ls_log *log)
{
    char host[LS_INVITE_HOST_BYTES_MAX];
    char place[LS_ENDPOINT_JOINED_BYTES];
    if (of->page.port != 0) {
        bare_host(of->relay, host, sizeof host);
        ls_endpoint_join(host, of->page.port, place);
        ls_log_line(log, LS_LOG_INFO, "play in a browser by the relay: http%s://%s/play#%s",
                    of->page.is_sealed ? "s" : "", place, of->code);
    }
}

/* The invite's file first: scripts may wait for the line. */
static void announce(ls_admission *admission, const announcement *of, const ls_log *log)
{
    ls_text why = {{0}};
    set_place(admission, of->relay, of->code, of->port);
    if (ls_admission_write_invite(admission, of->port, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_WARNING, "%s", why.bytes);
    }
    ls_log_line(log, LS_LOG_INFO, "published at %s: join with lockstep-client %s@%s", of->relay,
                of->code, of->relay);
    log_page(of, log);
    ls_admission_log(admission, of->port, log);
}

bool ls_publisher_announce(const ls_publisher_shared *shared, const char *relay,
                           ls_admission *admission, uint64_t *announced, const ls_log *log)
{
    uint64_t packed = atomic_load(&shared->code);
    if (packed == *announced) {
        return false;
    }
    ls_relay_code code;
    char text[LS_RELAY_CODE_BYTES];
    uint8_t bytes[sizeof packed];
    ls_store_u64(bytes, packed);
    memcpy(&code, bytes, sizeof code);
    ls_relay_code_format(&code, text);
    *announced = packed;
    unsigned page = atomic_load(&shared->page);
    const announcement of = {.relay = relay,
                             .code = text,
                             .port = (uint16_t)atomic_load(&shared->port),
                             .page = {(uint16_t)(page / 2), page % 2}};
    announce(admission, &of, log);
    return true;
}

static void publish(ls_publisher *publisher)
{
    const ls_publisher_config *config = &publisher->config;
    const ls_relay_code *code = ls_relay_server_code(publisher->relay);
    const ls_relay_page page = ls_relay_server_page(publisher->relay);
    uint8_t bytes[sizeof(uint64_t)] = {0};
    char text[LS_RELAY_CODE_BYTES];
    ls_relay_code_format(code, text);
    if (config->shared) {
        set_place(config->admission, config->relay, text, publisher->port);
        memcpy(bytes, code, sizeof *code);
        atomic_store(&config->shared->port, publisher->port);
        atomic_store(&config->shared->page, 2u * page.port + page.is_sealed);
        atomic_store(&config->shared->code, ls_load_u64(bytes));
    } else {
        const announcement of = {config->relay, text, publisher->port, page};
        announce(config->admission, &of, config->log);
    }
    publisher->listing_ns = 0; /* the link of the page has the code */
}

static void log_refusal(const ls_publisher *publisher, ls_relay_server_state state)
{
    const char *what = state == LS_RELAY_SERVER_FULL
                           ? "has no room for another server, or for another one of this address"
                       : publisher->config.key_path ? "has another key than --publish-key"
                                                    : "takes only servers with its key: give it as "
                                                      "--publish-key";
    ls_log_line(publisher->config.log, LS_LOG_WARNING, "the relay %s %s", publisher->config.relay,
                what);
}

static void log_silence(ls_publisher *publisher, uint64_t now_ns)
{
    if (publisher->silent_ns == 0) {
        publisher->silent_ns = now_ns + SILENCE_NS;
    } else if (now_ns >= publisher->silent_ns) {
        publisher->silent_ns = UINT64_MAX;
        ls_log_line(publisher->config.log, LS_LOG_WARNING,
                    "the relay %s does not answer; trying until it does", publisher->config.relay);
    }
}

/* ---- the directory ---- */

static void add_match(ls_relay_listing *listing, ls_match *match)
{
    uint32_t seats = ls_match_players(match);
    if (listing->simulation[0] == '\0') {
        const ls_simulation *simulation = ls_match_config_of(match)->simulation;
        const ls_sim_digests digests = ls_sim_instance_digests(ls_match_resting_instance(match));
        ls_name_copy(listing->simulation, sizeof listing->simulation, simulation->name);
        listing->simulation_version = simulation->version;
        listing->digest = ls_hash_pair(digests.schema, digests.content);
    }
    for (uint32_t slot = 0; slot < seats; slot++) {
        listing->players += ls_match_slot_of(match, slot).peer != 0 ? 1 : 0;
    }
    listing->seats = (uint16_t)LS_MIN(listing->seats + seats, UINT16_MAX);
    uint32_t watching = listing->spectators + ls_match_spectating_of(match).now;
    listing->spectators = (uint16_t)LS_MIN(watching, UINT16_MAX);
}

/* Those of the other workers, who learn of these. */
static void share_counts(const ls_publisher *publisher, ls_relay_listing *listing)
{
    struct ls_publisher_counts *workers = publisher->config.shared->workers;
    struct ls_publisher_counts *own = &workers[publisher->config.worker];
    atomic_store(&own->players, listing->players);
    atomic_store(&own->seats, listing->seats);
    atomic_store(&own->spectators, listing->spectators);
    uint32_t players = 0, seats = 0, spectators = 0;
    for (uint32_t i = 0; i < LS_SEALED_WORKERS_MAX; i++) {
        players += atomic_load(&workers[i].players);
        seats += atomic_load(&workers[i].seats);
        spectators += atomic_load(&workers[i].spectators);
    }
    listing->players = (uint16_t)LS_MIN(players, UINT16_MAX);
    listing->seats = (uint16_t)LS_MIN(seats, UINT16_MAX);
    listing->spectators = (uint16_t)LS_MIN(spectators, UINT16_MAX);
}

/* By which browsers come. A page has no token, and a link that is too long is not listed. */
static void add_page(const ls_publisher *publisher, ls_relay_listing *listing)
{
    const ls_admission *admission = publisher->config.admission;
    const ls_invite to = {.port = publisher->port};
    char invite[LS_INVITE_TEXT_BYTES_MAX];
    char link[LS_RELAY_PAGE_BYTES_MAX + LS_INVITE_TEXT_BYTES_MAX];
    if (!publisher->config.page || admission->gate) {
        return;
    }
    ls_admission_invite(admission, &to, invite, sizeof invite);
    snprintf(link, sizeof link, "%s%s%s", publisher->config.page, invite[0] != '\0' ? "#" : "",
             invite);
    if (ls_relay_is_page(link)) {
        ls_name_copy(listing->page, sizeof listing->page, link);
    }
}

/* Of the matches that anybody may come to. While there is none, the last simulation is named. */
static void list(ls_publisher *publisher, uint64_t now_ns)
{
    const ls_match_table *table = ls_host_table(publisher->host);
    const ls_relay_listing last = publisher->listing;
    ls_relay_listing *listing = &publisher->listing;
    *listing = (ls_relay_listing){.protocol = LS_PROTOCOL_VERSION,
                                  .needs_token = publisher->config.admission->gate != NULL};
    ls_name_copy(listing->name, sizeof listing->name, publisher->config.public_name);
    ls_name_copy(listing->region, sizeof listing->region,
                 publisher->config.region ? publisher->config.region : "");
    ls_name_copy(listing->version, sizeof listing->version, LS_VERSION);
    add_page(publisher, listing);
    for (uint32_t i = 0; i < ls_match_table_count(table); i++) {
        ls_match *match = ls_match_table_match(table, i);
        if (match && !ls_match_table_is_for_invited(table, i)) {
            add_match(listing, match);
        }
    }
    if (listing->simulation[0] == '\0') {
        ls_name_copy(listing->simulation, sizeof listing->simulation, last.simulation);
        listing->simulation_version = last.simulation_version;
        listing->digest = last.digest;
    }
    if (publisher->config.shared) {
        share_counts(publisher, listing);
    }
    if (listing->simulation[0] != '\0') {
        ls_relay_server_set_listing(publisher->relay, listing);
    }
    publisher->listing_ns = now_ns + LISTING_NS;
}

static void log_listed(ls_publisher *publisher, uint64_t now_ns)
{
    const ls_log *log = publisher->config.log;
    ls_relay_server_listed listed = ls_relay_server_listed_of(publisher->relay, now_ns);
    if (listed == publisher->logged_listed) {
        return;
    }
    publisher->logged_listed = listed;
    if (listed == LS_RELAY_SERVER_LISTED) {
        ls_log_line(log, LS_LOG_INFO, "listed as '%s': lockstep-client --list %s shows it",
                    publisher->config.public_name, publisher->config.relay);
    } else {
        ls_log_line(log, LS_LOG_WARNING, "%s by the relay %s; trying until it is",
                    listed == LS_RELAY_SERVER_LIST_FULL ? "not listed, as there are too many games,"
                                                        : "no longer listed",
                    publisher->config.relay);
    }
}

static void on_timer(void *user, uint64_t now_ns)
{
    ls_publisher *publisher = user;
    bool has_place =
        publisher->config.worker != 0 || publisher->logged == LS_RELAY_SERVER_REGISTERED;
    if (publisher->config.public_name && has_place && now_ns >= publisher->listing_ns) {
        list(publisher, now_ns);
    }
    if (publisher->config.worker != 0) {
        return;
    }
    ls_relay_server_advance(publisher->relay, now_ns);
    log_listed(publisher, now_ns);
    ls_relay_server_state state = ls_relay_server_state_of(publisher->relay);
    const ls_relay_code *code = ls_relay_server_code(publisher->relay);
    if (state == LS_RELAY_SERVER_SEEKING) {
        log_silence(publisher, now_ns);
        return;
    }
    bool is_other = memcmp(code, &publisher->logged_code, sizeof *code) != 0;
    bool was_silent = publisher->silent_ns == UINT64_MAX;
    publisher->silent_ns = 0;
    if (state == LS_RELAY_SERVER_REGISTERED && is_other) {
        publisher->logged_code = *code;
        publish(publisher);
    } else if (state == LS_RELAY_SERVER_REGISTERED && was_silent) {
        ls_log_line(publisher->config.log, LS_LOG_INFO, "the relay %s answers again",
                    publisher->config.relay);
    } else if (state != LS_RELAY_SERVER_REGISTERED && state != publisher->logged) {
        log_refusal(publisher, state);
    }
    publisher->logged = state;
}

ls_status ls_publisher_attach(ls_publisher *publisher, const ls_host *host)
{
    ls_loop_handler handler = {on_timer, publisher};
    if (!publisher || (publisher->config.worker != 0 && !publisher->config.public_name)) {
        return LS_OK;
    }
    publisher->host = host;
    return ls_event_loop_add_timer(ls_host_loop(host), LS_RELAY_SERVER_PERIOD_MS, handler, NULL);
}
