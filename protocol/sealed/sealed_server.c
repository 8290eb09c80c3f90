#include "lockstep/protocol/sealed/sealed_server.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/protocol/sealed/address_limits.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_connections.h"
#include "lockstep/protocol/sealed/sealed_packet.h"
#include "lockstep/protocol/sealed/token_gate.h"

#include <stddef.h>
#include <string.h>

/* ---- what proves an address: what a server sends to it so that it keeps nothing until the address
 * has sent it back ---- */

#define ADDRESS_COOKIE_LIFE_MS UINT64_C(5000)

typedef struct address_cookie {
    const uint8_t *client_key;
    uint64_t time_ms; /* when it was made, as the client says */
    const uint8_t *bytes;
} address_cookie;

#define ENDPOINT_BYTES (LS_ENDPOINT_ADDRESS_BYTES + 4u)

static void write_endpoint(const ls_endpoint *endpoint, uint8_t bytes[ENDPOINT_BYTES])
{
    memcpy(bytes, endpoint->address, LS_ENDPOINT_ADDRESS_BYTES);
    ls_store_u16(bytes + LS_ENDPOINT_ADDRESS_BYTES, endpoint->port);
    ls_store_u16(bytes + LS_ENDPOINT_ADDRESS_BYTES + 2, endpoint->via);
}

/* `client_key` is E. */
static void address_cookie_make(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *address,
                                const uint8_t client_key[LS_CIPHER_KEY_BYTES], uint64_t time_ms,
                                uint8_t out[LS_KEY_EXCHANGE_COOKIE_BYTES])
{
    uint8_t bytes[ENDPOINT_BYTES + LS_CIPHER_KEY_BYTES + 8];
    write_endpoint(address, bytes);
    memcpy(bytes + ENDPOINT_BYTES, client_key, LS_CIPHER_KEY_BYTES);
    ls_store_u64(bytes + ENDPOINT_BYTES + LS_CIPHER_KEY_BYTES, time_ms);
    ls_cipher_hash(key, LS_CIPHER_KEY_BYTES, bytes, sizeof bytes, out,
                   LS_KEY_EXCHANGE_COOKIE_BYTES);
}

/* Whether the cookie was made for this address and client with the key, and is neither from the
 * future nor too old. */
static bool address_cookie_is_good(const uint8_t key[LS_CIPHER_KEY_BYTES],
                                   const ls_endpoint *address, const address_cookie *cookie,
                                   uint64_t now_ms)
{
    if (cookie->time_ms > now_ms || now_ms - cookie->time_ms > ADDRESS_COOKIE_LIFE_MS) {
        return false;
    }
    uint8_t made[LS_KEY_EXCHANGE_COOKIE_BYTES];
    address_cookie_make(key, address, cookie->client_key, cookie->time_ms, made);
    return ls_cipher_is_equal(made, cookie->bytes, sizeof made);
}

/* The number in a PATH_CHALLENGE to an address. `salt` is the connection's. */
static uint64_t address_path_number(const uint8_t key[LS_CIPHER_KEY_BYTES],
                                    const ls_endpoint *address, uint64_t salt)
{
    uint8_t bytes[ENDPOINT_BYTES + 8];
    write_endpoint(address, bytes);
    ls_store_u64(bytes + ENDPOINT_BYTES, salt);
    uint8_t out[16];
    ls_cipher_hash(key, LS_CIPHER_KEY_BYTES, bytes, sizeof bytes, out, sizeof out);
    return ls_load_u64(out);
}

/* ---- the server ---- */

_Static_assert(LS_INVITE_SECRET_BYTES == LS_KEY_EXCHANGE_SECRET_BYTES, "one secret");

#define HALF_OPEN_NS (5 * LS_NS_PER_SECOND)
/* A connection that nobody has used is given up for a new one after so long when all are taken. */
#define HALF_OPEN_MIN_NS (1 * LS_NS_PER_SECOND)
#define PATH_CHALLENGE_BYTES                                                                       \
    (LS_SEALED_SERVER_HEADER_BYTES + LS_PATH_NUMBER_BYTES + LS_SEALED_TAG_BYTES)
#define PATH_MOVED_BYTES (LS_PATH_NUMBER_BYTES + 4u)
#define ANSWER_BYTES_MAX LS_CHALLENGE_BYTES_MAX

/* Attempts to open a forged packet that came from elsewhere than the connection's address. Each
 * costs a third of a microsecond; while none are left the client cannot move, so it is many. */
static const ls_rate_limit ATTEMPTS_LIMIT = {LS_NS_PER_SECOND / 4096, 4096};

typedef struct connection {
    uint64_t counter; /* of the next packet to the client */
    ls_counter_window window;
    ls_rate_use attempts;
    ls_connection_paths paths;
    uint64_t path_salt;   /* new with each move */
    ls_endpoint accepted; /* the address that is counted in the limits, */
    bool is_counted;      /* ... unless it has a token, whose owner is limited by that */
    uint64_t accepted_ns;
    bool is_accept_repeated;
    uint8_t accept[LS_ACCEPT_BYTES];
} connection;

/* Secrets of this side: kept out of core dumps. */
typedef struct server_secrets {
    ls_sealed_server_config config;
    uint8_t secret_key[LS_CIPHER_KEY_BYTES]; /* p of the invite's secret */
    uint8_t cookie_key[LS_CIPHER_KEY_BYTES];
    uint8_t path_key[LS_CIPHER_KEY_BYTES];
} server_secrets;

struct ls_sealed_server {
    const ls_allocator *allocator;
    server_secrets *secrets;
    ls_packet_keys *keys; /* of each connection */
    connection *connections;
    ls_sealed_connections *places;
    ls_address_limits *limits;
    ls_sealed_passes *passes; /* NULL: no tokens are taken */
    uint32_t worker, workers; /* of the port */
    uint32_t own_indices;     /* of LS_SEALED_INDICES, those of this worker */
    bool has_aes;             /* packets can be sealed with AES-256-GCM */
    uint8_t answer[ANSWER_BYTES_MAX];
};

/* A datagram that has come, on its way through the functions below. */
typedef struct arrival {
    const ls_endpoint *from;
    uint8_t *datagram;
    size_t size;
    uint64_t now_ns;
    ls_sealed_received *out;
} arrival;

static uint64_t random_number(void)
{
    uint8_t bytes[8];
    ls_cipher_random(bytes, sizeof bytes);
    return ls_load_u64(bytes);
}

/* ---- making and ending ---- */

static ls_status allocate(ls_sealed_server *server, const ls_sealed_server_config *config)
{
    uint32_t count = config->connections_max;
    server->secrets = ls_cipher_allocate(sizeof *server->secrets);
    server->keys = ls_cipher_allocate(count * sizeof *server->keys);
    server->connections = ls_allocate_array(server->allocator, count, sizeof *server->connections);
    if (!server->secrets || !server->keys || !server->connections) {
        return LS_NO_MEMORY;
    }
    const ls_address_limits_config limits = {count, config->per_address_max, random_number()};
    ls_status status = ls_address_limits_create(&limits, server->allocator, &server->limits);
    if (status == LS_OK && config->token_gate) {
        status =
            ls_sealed_passes_create(config->token_gate, count, server->allocator, &server->passes);
    }
    return status ? status
                  : ls_sealed_connections_create(count, random_number(), server->allocator,
                                                 &server->places);
}

static void make_secrets(server_secrets *secrets, const ls_sealed_server_config *config)
{
    secrets->config = *config;
    ls_credential_key_of_secret(config->secret, secrets->secret_key);
    ls_cipher_random(secrets->cookie_key, sizeof secrets->cookie_key);
    ls_cipher_random(secrets->path_key, sizeof secrets->path_key);
}

void ls_sealed_server_invite(const ls_sealed_server *server, ls_invite *invite)
{
    const ls_sealed_server_config *config = &server->secrets->config;
    memcpy(invite->key, config->identity.public_key, sizeof invite->key);
    invite->has_secret = config->needs_secret;
    memcpy(invite->secret, config->secret, sizeof invite->secret);
}

ls_status ls_sealed_server_create(const ls_sealed_server_config *config,
                                  const ls_allocator *allocator, ls_sealed_server **out)
{
    uint32_t workers = config->workers > 0 ? config->workers : 1;
    if (workers > LS_SEALED_WORKERS_MAX || config->worker >= workers ||
        config->connections_max == 0 ||
        config->connections_max > LS_SEALED_CONNECTIONS_MAX(workers) ||
        config->per_address_max == 0) {
        return LS_BAD_ARGUMENT;
    }
    ls_sealed_server *server = ls_allocate(allocator, sizeof *server);
    if (!server) {
        return LS_NO_MEMORY;
    }
    server->allocator = allocator;
    server->worker = config->worker;
    server->workers = workers;
    server->own_indices = LS_SEALED_INDICES / workers;
    server->has_aes = !config->avoids_aes && ls_cipher_has_aes();
    ls_status status = allocate(server, config);
    if (status) {
        ls_sealed_server_destroy(server);
        return status;
    }
    make_secrets(server->secrets, config);
    *out = server;
    return LS_OK;
}

void ls_sealed_server_destroy(ls_sealed_server *server)
{
    if (!server) {
        return;
    }
    ls_sealed_connections_destroy(server->places);
    ls_sealed_passes_destroy(server->passes);
    ls_address_limits_destroy(server->limits);
    ls_release(server->allocator, server->connections);
    ls_cipher_release(server->keys);
    ls_cipher_release(server->secrets);
    ls_release(server->allocator, server);
}

/* ---- connections ---- */

static bool count_connection(ls_sealed_server *server, const ls_endpoint *address)
{
    const ls_sealed_server_config *config = &server->secrets->config;
    if (!ls_address_limits_add_connection(server->limits, address)) {
        return false;
    }
    if (config->count_connection &&
        !config->count_connection(config->worker_user, address, false)) {
        ls_address_limits_remove_connection(server->limits, address);
        return false;
    }
    return true;
}

static void uncount_connection(ls_sealed_server *server, const ls_endpoint *address)
{
    const ls_sealed_server_config *config = &server->secrets->config;
    ls_address_limits_remove_connection(server->limits, address);
    if (config->count_connection) {
        (void)config->count_connection(config->worker_user, address, true);
    }
}

static void forget(ls_sealed_server *server, uint32_t index)
{
    ls_cipher_wipe(&server->keys[index], sizeof server->keys[index]);
    if (server->passes) {
        ls_sealed_passes_forget(server->passes, index);
    }
    if (server->connections[index].is_counted) {
        uncount_connection(server, &server->connections[index].accepted);
    }
    ls_sealed_connections_release(server->places, index);
}

/* Forgets the half-open connection that came first, if it has waited for so long. */
static bool forget_half_open(ls_sealed_server *server, uint64_t waited_ns, uint64_t now_ns)
{
    uint32_t oldest = ls_sealed_connections_oldest(server->places);
    if (oldest == LS_SEALED_NO_CONNECTION ||
        now_ns < server->connections[oldest].accepted_ns + waited_ns) {
        return false;
    }
    forget(server, oldest);
    return true;
}

static void forget_expired(ls_sealed_server *server, uint64_t now_ns)
{
    while (forget_half_open(server, HALF_OPEN_NS, now_ns)) {
    }
}

void ls_sealed_server_close(ls_sealed_server *server, uint32_t index)
{
    LS_ASSERT(ls_sealed_connections_is_open(server->places, index));
    forget(server, index);
}

uint32_t ls_sealed_server_half_open(const ls_sealed_server *server)
{
    return ls_sealed_connections_half_open(server->places);
}

const ls_endpoint *ls_sealed_server_endpoint(const ls_sealed_server *server, uint32_t index)
{
    LS_ASSERT(ls_sealed_connections_is_open(server->places, index));
    return &server->connections[index].paths.active;
}

const ls_sealed_pass *ls_sealed_server_pass(const ls_sealed_server *server, uint32_t index)
{
    LS_ASSERT(ls_sealed_connections_is_open(server->places, index));
    return server->passes ? ls_sealed_passes_of(server->passes, index) : NULL;
}

void ls_sealed_server_settle_pass(ls_sealed_server *server, uint32_t index, bool is_used)
{
    LS_ASSERT(ls_sealed_connections_is_open(server->places, index));
    if (server->passes) {
        ls_sealed_passes_settle(server->passes, index, is_used);
    }
}

/* ---- key exchange: REQUEST ---- */

/* A token's own keys prove the server to its owner. */
static bool gives_key(const ls_sealed_server *server, const ls_endpoint *to)
{
    const ls_sealed_server_config *config = &server->secrets->config;
    return config->gives_key || server->passes ||
           (config->gives_key_to_loopback && ls_endpoint_is_loopback(to));
}

static uint8_t route_for(const ls_sealed_server *server, const ls_request *request)
{
    uint32_t own = server->workers > 1 ? server->worker + 1 : LS_ROUTE_ANYWHERE;
    bool is_asked = own != LS_ROUTE_ANYWHERE && request->route == own;
    return (uint8_t)(own + (is_asked ? LS_ROUTE_ASKED : 0));
}

static void receive_request(ls_sealed_server *server, const arrival *at)
{
    ls_request request;
    if (!ls_request_read(at->datagram, at->size, &request)) {
        at->out->rejection = LS_SEALED_REJECT_MALFORMED;
        return;
    }
    if (!ls_address_limits_count_request(server->limits, at->from, at->now_ns)) {
        at->out->rejection = LS_SEALED_REJECT_LIMITED;
        return;
    }
    const server_secrets *secrets = server->secrets;
    ls_challenge challenge = {
        .version = LS_KEY_EXCHANGE_VERSION,
        .number = request.number,
        .route = route_for(server, &request),
        .time_ms = at->now_ns / LS_NS_PER_MS,
        .has_aes = server->has_aes,
        .has_server_key = request.asks_key && gives_key(server, at->from),
    };
    memcpy(challenge.start, request.client_key, sizeof challenge.start);
    memcpy(challenge.server_key, secrets->config.identity.public_key, LS_CIPHER_KEY_BYTES);
    address_cookie_make(secrets->cookie_key, at->from, request.client_key, challenge.time_ms,
                        challenge.cookie);
    at->out->answer = server->answer;
    at->out->answer_bytes = ls_challenge_write(&challenge, server->answer);
}

/* ---- key exchange: CONFIRM ---- */

/* A CONFIRM that is looked into: what it shows, and what comes of that. */
typedef struct entrant {
    const ls_confirm *confirm;
    uint8_t first_key[LS_CIPHER_KEY_BYTES];
    ls_sealed_pass pass; /* of a token */
} entrant;

/* The key p of its credential; false when this server takes none of that kind, or not this one. */
static bool find_credential_key(ls_sealed_server *server, const arrival *at, entrant *who,
                                uint8_t credential_key[LS_CIPHER_KEY_BYTES])
{
    const server_secrets *secrets = server->secrets;
    memset(credential_key, 0, LS_CIPHER_KEY_BYTES);
    if (who->confirm->credential == LS_CREDENTIAL_TOKEN) {
        if (!server->passes) {
            return false;
        }
        at->out->token_refusal =
            ls_sealed_passes_open(server->passes, who->confirm->token, &who->pass, credential_key);
        return at->out->token_refusal == LS_TOKEN_REFUSAL_NONE;
    }
    if (who->confirm->credential == LS_CREDENTIAL_SECRET) {
        memcpy(credential_key, secrets->secret_key, LS_CIPHER_KEY_BYTES);
        return secrets->config.needs_secret || !server->passes;
    }
    return true;
}

static bool derive_first_key(ls_sealed_server *server, const arrival *at, entrant *who)
{
    uint8_t credential_key[LS_CIPHER_KEY_BYTES];
    bool is_derived =
        find_credential_key(server, at, who, credential_key) &&
        ls_first_key_of_server(&server->secrets->config.identity, who->confirm->client_key,
                               credential_key, who->first_key);
    ls_cipher_wipe(credential_key, sizeof credential_key);
    return is_derived;
}

static void answer_denied(ls_sealed_server *server, const arrival *at, const entrant *who,
                          ls_denied denied)
{
    memcpy(denied.start, who->confirm->client_key, sizeof denied.start);
    at->out->answer = server->answer;
    at->out->answer_bytes = ls_denied_write(&denied, who->first_key, server->answer);
    at->out->denial = denied.reason;
}

static void deny(ls_sealed_server *server, const arrival *at, const entrant *who, ls_denial reason)
{
    answer_denied(server, at, who, (ls_denied){.reason = reason});
    at->out->rejection =
        reason == LS_DENIAL_CREDENTIAL ? LS_SEALED_REJECT_CREDENTIAL : LS_SEALED_REJECT_LIMITED;
}

/* Whether the client has its place elsewhere, and was told so: or that there is none, when it would
 * not know what that means. */
static bool is_redirected(ls_sealed_server *server, const arrival *at, const entrant *who)
{
    const ls_sealed_server_config *config = &server->secrets->config;
    if (!config->choose_worker) {
        return false;
    }
    const ls_sealed_asker asker = {
        .pass = who->confirm->token ? &who->pass : NULL,
        .match = ls_confirm_match_of(at->datagram, at->size, who->first_key),
        .attempt = ls_load_u64(who->confirm->client_key),
        .has_asked = who->confirm->route > LS_ROUTE_ASKED && !who->confirm->token};
    uint32_t worker = config->choose_worker(config->worker_user, &asker);
    LS_ASSERT(worker < server->workers || worker == LS_SEALED_NO_WORKER);
    if (worker == server->worker) {
        return false;
    }
    if (who->confirm->route == LS_ROUTE_ANYWHERE || worker == LS_SEALED_NO_WORKER) {
        deny(server, at, who, LS_DENIAL_NO_SEAT);
    } else {
        answer_denied(server, at, who,
                      (ls_denied){.reason = LS_DENIAL_REDIRECTED, .worker = (uint8_t)worker});
    }
    return true;
}

/* The index of a connection on the wire, among those of all workers. */
static uint16_t wire_index(const ls_sealed_server *server, uint32_t index)
{
    uint32_t round = index / server->own_indices;
    return (uint16_t)(round * LS_SEALED_INDICES + index % server->own_indices * server->workers +
                      server->worker);
}

static void write_accept(ls_sealed_server *server, uint32_t index, const ls_confirm *confirm,
                         const ls_key_pair *own)
{
    ls_accept accept = {.index = wire_index(server, index)};
    memcpy(accept.start, confirm->client_key, sizeof accept.start);
    memcpy(accept.server_key, own->public_key, LS_CIPHER_KEY_BYTES);
    ls_accept_write(&accept, server->keys[index].of_server, server->connections[index].accept);
}

static void answer_accept(const ls_sealed_server *server, const arrival *at, uint32_t index)
{
    at->out->answer = server->connections[index].accept;
    at->out->answer_bytes = LS_ACCEPT_BYTES;
}

static void make_connection(ls_sealed_server *server, const arrival *at, uint32_t index,
                            const ls_confirm *confirm, const uint8_t *first_key)
{
    server->connections[index] = (connection){
        .paths = {.active = *at->from},
        .accepted = *at->from,
        .accepted_ns = at->now_ns,
        .path_salt = random_number(),
    };
    ls_key_pair own;
    ls_key_pair_random(&own);
    server->keys[index].suite = confirm->suite;
    bool is_derived =
        ls_packet_keys_of_server(first_key, &own, confirm->client_key, &server->keys[index]);
    LS_ASSERT(is_derived); /* E is a key: the first one was derived from it */
    write_accept(server, index, confirm, &own);
    ls_cipher_wipe(&own, sizeof own);
}

/* A free place; a connection that nobody has used gives its own up if there is no other. */
static uint32_t claim_place(ls_sealed_server *server, const uint8_t *client_key, uint64_t now_ns)
{
    uint32_t index = ls_sealed_connections_claim(server->places, client_key);
    if (index == LS_SEALED_NO_CONNECTION && forget_half_open(server, HALF_OPEN_MIN_NS, now_ns)) {
        index = ls_sealed_connections_claim(server->places, client_key);
    }
    return index;
}

static bool accept_client(ls_sealed_server *server, const arrival *at, const entrant *who)
{
    const ls_confirm *confirm = who->confirm;
    bool is_counted = !confirm->token;
    if (is_counted && !count_connection(server, at->from)) {
        deny(server, at, who, LS_DENIAL_TOO_MANY);
        return false;
    }
    uint32_t index = claim_place(server, confirm->client_key, at->now_ns);
    if (index == LS_SEALED_NO_CONNECTION) {
        if (is_counted) {
            uncount_connection(server, at->from);
        }
        deny(server, at, who, LS_DENIAL_FULL);
        return false;
    }
    make_connection(server, at, index, confirm, who->first_key);
    server->connections[index].is_counted = is_counted;
    if (confirm->token) {
        ls_sealed_passes_put(server->passes, index, &who->pass);
    }
    answer_accept(server, at, index);
    return true;
}

/* The client has proven that the token is its own. One that has begun anew, because its ACCEPT was
 * lost or it was started again, takes the place of its own connection that never opened. */
static void accept_token(ls_sealed_server *server, const arrival *at, entrant *who)
{
    uint32_t begun = ls_sealed_passes_half_open(server->passes, &who->pass);
    if (begun != LS_SEALED_NO_PASS) {
        forget(server, begun);
    }
    at->out->token_refusal = ls_sealed_passes_use(server->passes, who->confirm->token, &who->pass);
    if (at->out->token_refusal != LS_TOKEN_REFUSAL_NONE) {
        at->out->rejection = LS_SEALED_REJECT_CREDENTIAL;
    } else if (!accept_client(server, at, who)) {
        ls_sealed_passes_give_back(server->passes, &who->pass);
    }
}

static void let_in(ls_sealed_server *server, const arrival *at, entrant *who)
{
    if (who->confirm->token) {
        accept_token(server, at, who);
    } else {
        accept_client(server, at, who);
    }
}

static bool lacks_credential(const ls_sealed_server *server, const ls_confirm *confirm)
{
    return confirm->credential == LS_CREDENTIAL_NONE &&
           (server->secrets->config.needs_secret || server->passes);
}

/* The address is proven and the client's key is new: what costs something begins here. */
static void admit(ls_sealed_server *server, const arrival *at, const ls_confirm *confirm)
{
    entrant who = {.confirm = confirm};
    if (!derive_first_key(server, at, &who) || !ls_confirm_is_sealed(at->datagram, who.first_key)) {
        at->out->rejection = confirm->credential == LS_CREDENTIAL_NONE
                                 ? LS_SEALED_REJECT_FORGED
                                 : LS_SEALED_REJECT_CREDENTIAL;
    } else if (lacks_credential(server, confirm)) {
        deny(server, at, &who, LS_DENIAL_CREDENTIAL);
    } else if (!is_redirected(server, at, &who)) {
        let_in(server, at, &who);
    }
    ls_cipher_wipe(&who, sizeof who);
}

static void repeat_accept(ls_sealed_server *server, const arrival *at, uint32_t index)
{
    if (ls_sealed_connections_is_open(server->places, index)) {
        at->out->rejection = LS_SEALED_REJECT_REPEATED;
        return;
    }
    server->connections[index].is_accept_repeated = true;
    answer_accept(server, at, index);
}

static void receive_confirm(ls_sealed_server *server, const arrival *at)
{
    ls_confirm confirm;
    if (!ls_confirm_read(at->datagram, at->size, &confirm) ||
        (confirm.suite == LS_CIPHER_AES_256_GCM && !server->has_aes)) {
        at->out->rejection = LS_SEALED_REJECT_MALFORMED;
        return;
    }
    const address_cookie cookie = {confirm.client_key, confirm.time_ms, confirm.cookie};
    if (!address_cookie_is_good(server->secrets->cookie_key, at->from, &cookie,
                                at->now_ns / LS_NS_PER_MS)) {
        at->out->rejection = LS_SEALED_REJECT_COOKIE;
        return;
    }
    uint32_t index = ls_sealed_connections_find(server->places, confirm.client_key);
    if (index != LS_SEALED_NO_CONNECTION) {
        repeat_accept(server, at, index);
    } else if (!ls_address_limits_count_question(server->limits, at->from, at->now_ns)) {
        at->out->rejection = LS_SEALED_REJECT_LIMITED;
    } else {
        admit(server, at, &confirm);
    }
}

/* ---- sealed packets ---- */

size_t ls_sealed_server_seal(ls_sealed_server *server, uint32_t index, ls_sealed_content content,
                             uint8_t *datagram, size_t size)
{
    connection *to = &server->connections[index];
    const ls_sealed_header header = {.content = content, .counter = (uint16_t)to->counter};
    ls_sealed_write_server_header(datagram, &header);
    const ls_packet_keys *keys = &server->keys[index];
    return ls_sealed_packet_seal(keys->suite, keys->of_server, to->counter++, datagram,
                                 LS_SEALED_SERVER_HEADER_BYTES, size);
}

/* ---- paths ---- */

size_t ls_sealed_server_path_room(const ls_sealed_server *server, uint32_t index)
{
    return ls_connection_paths_room(&server->connections[index].paths);
}

const ls_endpoint *ls_sealed_server_claim_path(ls_sealed_server *server, uint32_t index,
                                               size_t size)
{
    ls_connection_paths *paths = &server->connections[index].paths;
    ls_connection_paths_spend(paths, size);
    return &paths->candidate;
}

const ls_endpoint *ls_sealed_server_second_path(const ls_sealed_server *server, uint32_t index)
{
    return ls_connection_paths_second(&server->connections[index].paths);
}

static uint64_t path_number(const ls_sealed_server *server, uint32_t index,
                            const ls_endpoint *address)
{
    return address_path_number(server->secrets->path_key, address,
                               server->connections[index].path_salt);
}

uint32_t ls_sealed_server_challenge_paths(ls_sealed_server *server, uint32_t index, uint64_t now_ns,
                                          ls_path_challenge out[LS_PATH_CHALLENGES_MAX])
{
    ls_endpoint to[LS_PATH_CHALLENGES_MAX];
    uint32_t count = ls_connection_paths_challenge(&server->connections[index].paths,
                                                   PATH_CHALLENGE_BYTES, now_ns, to);
    for (uint32_t i = 0; i < count; i++) {
        out[i].to = to[i];
        ls_store_u64(out[i].bytes + LS_SEALED_SERVER_HEADER_BYTES,
                     path_number(server, index, &to[i]));
        out[i].size = ls_sealed_server_seal(server, index, LS_SEALED_PATH_CHALLENGE, out[i].bytes,
                                            LS_PATH_NUMBER_BYTES);
    }
    return count;
}

/* The address whose challenge has this number, or NULL. Only the client knows it, and only when it
 * hears what is sent there: where its answer comes from may be the doing of somebody else. */
static const ls_endpoint *find_challenged(const ls_sealed_server *server, uint32_t index,
                                          uint64_t number, const ls_endpoint *from)
{
    const ls_connection_paths *paths = &server->connections[index].paths;
    const ls_endpoint *known[] = {&paths->active, from, &paths->candidate, &paths->former};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (path_number(server, index, known[i]) == number) {
            return known[i];
        }
    }
    return NULL;
}

/* A PATH_RESPONSE, or a PATH_MOVED. */
static void receive_path_response(ls_sealed_server *server, const arrival *at, uint32_t index)
{
    bool has_moves = at->out->content == LS_SEALED_PATH_MOVED;
    const uint8_t *bytes = at->out->bytes;
    const ls_endpoint *found = NULL;
    if (at->out->size == (has_moves ? PATH_MOVED_BYTES : LS_PATH_NUMBER_BYTES)) {
        found = find_challenged(server, index, ls_load_u64(bytes), at->from);
    }
    if (!found) {
        at->out->rejection = LS_SEALED_REJECT_OUT_OF_PLACE;
        return;
    }
    const ls_endpoint address = *found;
    uint32_t moves = has_moves ? ls_load_u32(bytes + LS_PATH_NUMBER_BYTES) : 0;
    connection *of = &server->connections[index];
    if (ls_connection_paths_prove(&of->paths, &address, moves, at->now_ns)) {
        of->path_salt = random_number(); /* what was proven before proves nothing now */
        at->out->has_moved = true;
    }
}

/* ---- sealed packets that come ---- */

static void open_connection(ls_sealed_server *server, const arrival *at, uint32_t index)
{
    const connection *opened = &server->connections[index];
    ls_sealed_connections_open(server->places, index);
    if (server->passes) {
        ls_sealed_passes_keep(server->passes, index);
    }
    at->out->is_opened = true;
    if (!opened->is_accept_repeated) {
        at->out->rtt_ns = at->now_ns > opened->accepted_ns ? at->now_ns - opened->accepted_ns : 1;
    }
}

static void receive_content(ls_sealed_server *server, const arrival *at, uint32_t index,
                            bool is_newest)
{
    if (!ls_sealed_connections_is_open(server->places, index)) {
        open_connection(server, at, index);
    }
    at->out->has_content = true;
    if (is_newest) {
        ls_connection_paths *paths = &server->connections[index].paths;
        ls_connection_paths_receive(paths, at->from, at->size, at->now_ns);
        at->out->is_challenge_due = ls_connection_paths_are_several(paths);
        /* Answers must not take all the bytes there are for ever. */
        at->out->is_challenge_first = paths->has_answered;
    }
}

/* The packet has opened. */
static void receive_opened(ls_sealed_server *server, const arrival *at,
                           const ls_sealed_header *header, bool is_newest)
{
    ls_sealed_received *out = at->out;
    uint32_t index = header->index;
    out->index = index;
    out->bytes = at->datagram + header->bytes;
    out->size = at->size - header->bytes - LS_SEALED_TAG_BYTES;
    if (out->content < LS_SEALED_PATH_CHALLENGE) {
        receive_content(server, at, index, is_newest);
    } else if (out->content != LS_SEALED_PATH_CHALLENGE &&
               ls_sealed_connections_is_open(server->places, index)) {
        receive_path_response(server, at, index);
    } else {
        out->rejection = LS_SEALED_REJECT_OUT_OF_PLACE;
    }
}

/* An attempt to open what is forged costs a connection something only when it comes from elsewhere:
 * packets from its own address are opened whatever others send. */
static ls_sealed_rejection open_packet(ls_sealed_server *server, const arrival *at,
                                       const ls_sealed_header *header, bool *is_newest)
{
    connection *of = &server->connections[header->index];
    const ls_sealed_opening opening = {
        .suite = server->keys[header->index].suite,
        .key = server->keys[header->index].of_client,
        .window = &of->window,
        .header_bytes = header->bytes,
        .counter = header->counter,
    };
    bool is_elsewhere = !ls_endpoint_is_equal(&of->paths.active, at->from);
    if (is_elsewhere && ls_rate_use_is_spent(&of->attempts, &ATTEMPTS_LIMIT, at->now_ns)) {
        return LS_SEALED_REJECT_LIMITED;
    }
    ls_sealed_rejection rejection =
        ls_sealed_packet_open(&opening, at->datagram, at->size, is_newest);
    if (is_elsewhere && rejection == LS_SEALED_REJECT_FORGED) {
        ls_rate_use_spend(&of->attempts, &ATTEMPTS_LIMIT, at->now_ns);
    }
    return rejection;
}

/* Takes a header's index on the wire for that of a connection which is there; false when it is
 * none, or another worker's. */
static bool find_connection(const ls_sealed_server *server, ls_sealed_header *header)
{
    uint16_t sent_index = header->index;
    header->index = (uint16_t)(sent_index / LS_SEALED_INDICES * server->own_indices +
                               sent_index % LS_SEALED_INDICES / server->workers);
    return wire_index(server, header->index) == sent_index &&
           ls_sealed_connections_is_used(server->places, header->index);
}

static void receive_sealed(ls_sealed_server *server, const arrival *at)
{
    ls_sealed_header header;
    if (!ls_sealed_read_client_header(at->datagram, at->size, &header)) {
        at->out->rejection = LS_SEALED_REJECT_MALFORMED;
        return;
    }
    if (!find_connection(server, &header)) {
        at->out->rejection = LS_SEALED_REJECT_UNKNOWN_PEER;
        return;
    }
    bool is_newest = false;
    at->out->content = header.content;
    at->out->rejection = open_packet(server, at, &header, &is_newest);
    if (at->out->rejection == LS_SEALED_ACCEPTED) {
        receive_opened(server, at, &header, is_newest);
    }
}

void ls_sealed_server_receive(ls_sealed_server *server, const ls_endpoint *from, uint8_t *datagram,
                              size_t size, uint64_t now_ns, ls_sealed_received *out)
{
    memset(out, 0, sizeof *out);
    out->rejection = LS_SEALED_ACCEPTED;
    forget_expired(server, now_ns);
    const arrival at = {from, datagram, size, now_ns, out};
    if (size > 0 && (datagram[0] & LS_SEALED_PACKET_BIT) != 0) {
        receive_sealed(server, &at);
    } else if (size > 0 && datagram[0] == LS_KEY_EXCHANGE_REQUEST) {
        receive_request(server, &at);
    } else if (size > 0 && datagram[0] == LS_KEY_EXCHANGE_CONFIRM) {
        receive_confirm(server, &at);
    } else {
        out->rejection = LS_SEALED_REJECT_MALFORMED;
    }
}

/* ---- what is to come ---- */

bool ls_sealed_server_find(const ls_sealed_server *server, const uint8_t *datagram, size_t size,
                           uint32_t *index)
{
    ls_sealed_header header;
    bool is_found =
        ls_sealed_read_client_header(datagram, size, &header) && find_connection(server, &header);
    *index = is_found ? header.index : 0;
    return is_found;
}

void ls_sealed_server_prefetch(const ls_sealed_server *server, uint32_t index)
{
    const connection *of = &server->connections[index];
    ls_prefetch(&server->keys[index], sizeof server->keys[index]);
    ls_prefetch(of, offsetof(connection, paths) + offsetof(ls_connection_paths, candidate));
}
