#include "lockstep/protocol/sealed/sealed_client.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/sealed/sealed_packet.h"

#include <string.h>

#define REQUESTS_KEPT 8u

/* Repeats come after 100, 200 and 400 ms, then every 500 ms. */
#define REPEAT_FIRST_NS (100 * LS_NS_PER_MS)
#define REPEAT_LAST_NS (500 * LS_NS_PER_MS)

/* From this REQUEST on a short one is sent between two others. */
#define REQUESTS_BEFORE_SHORT 4u

/* After so long without an answer to CONFIRM the cookie is of no use, or the server that made it is
 * gone: begin again. A cookie is good for 5 s. */
#define CONFIRMING_NS (3 * LS_NS_PER_SECOND)

/* So long the server is told of a move: time for some round trips, and no longer, since somebody
 * who copies packets can use it if the server has not heard of the move before. */
#define MOVE_TOLD_NS (5 * LS_NS_PER_SECOND)

/* Workers that a client asks because another one said so, until it was let in or refused. */
#define REDIRECTS_MAX 4u

void ls_sealed_client_config_set_invite(ls_sealed_client_config *config, const ls_invite *invite)
{
    config->route = invite->room[0] != '\0' ? (uint8_t)(invite->worker + 1) : 0;
    config->has_server_key = true;
    memcpy(config->server_key, invite->key, sizeof config->server_key);
    config->has_secret = invite->has_secret;
    memcpy(config->secret, invite->secret, sizeof config->secret);
}

/* Secrets of this side: kept out of core dumps. */
typedef struct client_secrets {
    ls_sealed_client_config config;
    ls_key_pair own;                        /* (e, E) */
    uint8_t first_key[LS_CIPHER_KEY_BYTES]; /* k1 */
    ls_packet_keys keys;
} client_secrets;

struct ls_sealed_client {
    const ls_allocator *allocator;
    client_secrets *secrets;
    ls_sealed_client_state state;
    ls_sealed_refusal refusal;
    ls_challenge challenge;               /* CONFIRMING: what is confirmed */
    ls_cipher_suite suite;                /* likewise: what its packets are sealed with */
    uint64_t asked_ns;                    /* when the state was entered */
    uint64_t sent_ns;                     /* the last packet of the exchange */
    uint64_t due_ns;                      /* the next one */
    uint32_t sent;                        /* how often the state's packet was sent */
    uint64_t requested_ns[REQUESTS_KEPT]; /* REQUEST n was sent at [n % REQUESTS_KEPT] */
    uint64_t rtt_ns;
    uint64_t match;     /* that it comes back to; 0: none */
    uint8_t home_route; /* to the worker that let it in last */
    uint8_t route;      /* of REQUEST */
    uint32_t redirects; /* since start */
    uint32_t index;
    uint64_t counter; /* of the next packet */
    ls_counter_window window;
    uint32_t moves; /* of which the client knows, since its keys are there */
    uint64_t moved_ns;
};

/* ---- making and ending ---- */

ls_status ls_sealed_client_create(const ls_sealed_client_config *config,
                                  const ls_allocator *allocator, ls_sealed_client **out)
{
    ls_sealed_client *client = ls_allocate(allocator, sizeof *client);
    if (!client) {
        return LS_NO_MEMORY;
    }
    client->allocator = allocator;
    client->due_ns = UINT64_MAX;
    client->secrets = ls_cipher_allocate(sizeof *client->secrets);
    if (!client->secrets) {
        ls_release(allocator, client);
        return LS_NO_MEMORY;
    }
    client->secrets->config = *config;
    client->home_route = config->route;
    *out = client;
    return LS_OK;
}

void ls_sealed_client_destroy(ls_sealed_client *client)
{
    if (!client) {
        return;
    }
    ls_cipher_release(client->secrets);
    ls_release(client->allocator, client);
}

/* ---- key exchange ---- */

static void enter(ls_sealed_client *client, ls_sealed_client_state state, uint64_t now_ns)
{
    client->state = state;
    client->asked_ns = now_ns;
    client->due_ns = now_ns;
    client->sent = 0;
}

static void forget_exchange(ls_sealed_client *client)
{
    ls_cipher_wipe(&client->secrets->own, sizeof client->secrets->own);
    ls_cipher_wipe(client->secrets->first_key, sizeof client->secrets->first_key);
    client->due_ns = UINT64_MAX;
}

static void begin(ls_sealed_client *client, uint64_t now_ns)
{
    client->refusal = LS_SEALED_REFUSAL_NONE;
    ls_key_pair_random(&client->secrets->own);
    enter(client, LS_SEALED_CLIENT_REQUESTING, now_ns);
}

void ls_sealed_client_start(ls_sealed_client *client, uint64_t now_ns)
{
    ls_cipher_wipe(&client->secrets->keys, sizeof client->secrets->keys);
    client->rtt_ns = 0;
    client->route = client->match != 0 ? client->home_route : client->secrets->config.route;
    client->redirects = 0;
    begin(client, now_ns);
}

static void refuse(ls_sealed_client *client, ls_sealed_refusal refusal)
{
    client->state = LS_SEALED_CLIENT_REFUSED;
    client->refusal = refusal;
    forget_exchange(client);
}

void ls_sealed_client_set_match(ls_sealed_client *client, uint64_t match)
{
    client->match = match;
}

static bool is_short_request(uint8_t number)
{
    return number > REQUESTS_BEFORE_SHORT && number % 2 == 1;
}

static uint64_t repeat_wait_ns(const ls_sealed_client *client)
{
    bool has_short =
        client->state == LS_SEALED_CLIENT_REQUESTING && client->sent >= REQUESTS_BEFORE_SHORT;
    uint64_t last_ns = has_short ? REPEAT_LAST_NS / 2 : REPEAT_LAST_NS;
    return client->sent < 3 ? REPEAT_FIRST_NS << client->sent : last_ns;
}

static size_t write_request(const ls_sealed_client *client, uint8_t *datagram)
{
    ls_request request = {.version = LS_KEY_EXCHANGE_VERSION,
                          .number = (uint8_t)(client->sent - 1),
                          .route = client->route,
                          .is_short = is_short_request((uint8_t)(client->sent - 1)),
                          .asks_key = !client->secrets->config.has_server_key};
    memcpy(request.client_key, client->secrets->own.public_key, LS_CIPHER_KEY_BYTES);
    return ls_request_write(&request, datagram);
}

static size_t write_confirm(const ls_sealed_client *client, uint8_t *datagram)
{
    const ls_sealed_client_config *config = &client->secrets->config;
    ls_confirm confirm = {.credential = config->has_token    ? LS_CREDENTIAL_TOKEN
                                        : config->has_secret ? LS_CREDENTIAL_SECRET
                                                             : LS_CREDENTIAL_NONE,
                          .suite = client->suite,
                          .time_ms = client->challenge.time_ms,
                          .route = client->challenge.route,
                          .match = client->match,
                          .token = config->has_token ? config->token : NULL};
    memcpy(confirm.client_key, client->secrets->own.public_key, LS_CIPHER_KEY_BYTES);
    memcpy(confirm.cookie, client->challenge.cookie, LS_KEY_EXCHANGE_COOKIE_BYTES);
    return ls_confirm_write(&confirm, client->secrets->first_key, datagram);
}

size_t ls_sealed_client_pop_due(ls_sealed_client *client, uint64_t now_ns, uint8_t *datagram)
{
    if (now_ns < client->due_ns) {
        return 0;
    }
    if (client->state == LS_SEALED_CLIENT_CONFIRMING &&
        now_ns - client->asked_ns >= CONFIRMING_NS) {
        begin(client, now_ns); /* with new keys: k1 seals one CONFIRM only */
    }
    uint64_t wait_ns = repeat_wait_ns(client);
    client->requested_ns[client->sent % REQUESTS_KEPT] = now_ns;
    client->sent++;
    client->sent_ns = now_ns;
    client->due_ns = now_ns + wait_ns;
    return client->state == LS_SEALED_CLIENT_REQUESTING ? write_request(client, datagram)
                                                        : write_confirm(client, datagram);
}

uint64_t ls_sealed_client_due_ns(const ls_sealed_client *client)
{
    return client->due_ns;
}

/* The answer to the packet that was sent then has come. */
static void measure(ls_sealed_client *client, uint64_t sent_ns, uint64_t now_ns)
{
    uint64_t rtt_ns = now_ns > sent_ns ? now_ns - sent_ns : 1;
    client->rtt_ns = client->rtt_ns == 0 ? rtt_ns : LS_MIN(client->rtt_ns, rtt_ns);
}

/* CHALLENGE says which REQUEST it answers; nothing is known of one that is long ago. */
static void measure_challenge(ls_sealed_client *client, uint8_t number, uint64_t now_ns)
{
    uint8_t ago = (uint8_t)(client->sent - 1 - number);
    if (ago < REQUESTS_KEPT && ago < client->sent) {
        measure(client, client->requested_ns[number % REQUESTS_KEPT], now_ns);
    }
}

static bool is_own_start(const ls_sealed_client *client,
                         const uint8_t start[LS_KEY_EXCHANGE_START_BYTES])
{
    return memcmp(client->secrets->own.public_key, start, LS_KEY_EXCHANGE_START_BYTES) == 0;
}

static bool derive_first_key(ls_sealed_client *client)
{
    client_secrets *secrets = client->secrets;
    uint8_t credential_key[LS_CIPHER_KEY_BYTES] = {0};
    if (secrets->config.has_token) {
        const ls_token_keys *keys = &secrets->config.token_keys;
        ls_credential_key_of_token(keys->client_to_server, keys->server_to_client, credential_key);
    } else if (secrets->config.has_secret) {
        ls_credential_key_of_secret(secrets->config.secret, credential_key);
    }
    bool is_derived = ls_first_key_of_client(&secrets->own, client->challenge.server_key,
                                             credential_key, secrets->first_key);
    ls_cipher_wipe(credential_key, sizeof credential_key);
    return is_derived;
}

static ls_sealed_rejection receive_challenge(ls_sealed_client *client, const uint8_t *datagram,
                                             size_t size, uint64_t now_ns)
{
    ls_challenge challenge;
    if (!ls_challenge_read(datagram, size, &challenge)) {
        return LS_SEALED_REJECT_MALFORMED;
    }
    if (client->state != LS_SEALED_CLIENT_REQUESTING || client->sent == 0 ||
        !is_own_start(client, challenge.start)) {
        return LS_SEALED_REJECT_OUT_OF_PLACE;
    }
    if (is_short_request(challenge.number)) {
        client->refusal = LS_SEALED_REFUSAL_PATH; /* unless one of the others is answered yet */
        return LS_SEALED_ACCEPTED;
    }
    client->refusal = LS_SEALED_REFUSAL_NONE;
    const ls_sealed_client_config *config = &client->secrets->config;
    if (challenge.version != LS_KEY_EXCHANGE_VERSION) {
        refuse(client, LS_SEALED_REFUSAL_VERSION);
        return LS_SEALED_ACCEPTED;
    }
    if (!config->has_server_key && !challenge.has_server_key) {
        refuse(client, LS_SEALED_REFUSAL_KEY_WITHHELD);
        return LS_SEALED_ACCEPTED;
    }
    if (config->has_server_key) {
        memcpy(challenge.server_key, config->server_key, LS_CIPHER_KEY_BYTES);
    }
    client->challenge = challenge;
    client->suite = challenge.has_aes && !config->avoids_aes && ls_cipher_has_aes()
                        ? LS_CIPHER_AES_256_GCM
                        : LS_CIPHER_CHACHA20_POLY1305;
    if (!derive_first_key(client)) {
        return LS_SEALED_REJECT_FORGED;
    }
    measure_challenge(client, challenge.number, now_ns);
    enter(client, LS_SEALED_CLIENT_CONFIRMING, now_ns);
    return LS_SEALED_ACCEPTED;
}

static bool is_confirming(const ls_sealed_client *client,
                          const uint8_t start[LS_KEY_EXCHANGE_START_BYTES])
{
    return client->state == LS_SEALED_CLIENT_CONFIRMING && client->sent > 0 &&
           is_own_start(client, start);
}

static uint8_t worker_route(uint8_t route)
{
    return route > LS_ROUTE_ASKED ? (uint8_t)(route - LS_ROUTE_ASKED) : route;
}

static ls_sealed_rejection receive_accept(ls_sealed_client *client, const uint8_t *datagram,
                                          size_t size, uint64_t now_ns)
{
    ls_accept accept;
    if (!ls_accept_read(datagram, size, &accept)) {
        return LS_SEALED_REJECT_MALFORMED;
    }
    if (!is_confirming(client, accept.start)) {
        return LS_SEALED_REJECT_OUT_OF_PLACE;
    }
    ls_packet_keys keys = {.suite = client->suite};
    const client_secrets *secrets = client->secrets;
    bool is_genuine =
        ls_packet_keys_of_client(secrets->first_key, &secrets->own, accept.server_key, &keys) &&
        ls_accept_is_sealed(datagram, keys.of_server);
    if (is_genuine) {
        client->secrets->keys = keys;
        client->index = accept.index;
        client->home_route = worker_route(client->challenge.route);
        client->counter = 0;
        client->window = (ls_counter_window){0};
        client->moves = 0;
        if (client->sent == 1) {
            measure(client, client->sent_ns, now_ns);
        }
        client->state = LS_SEALED_CLIENT_OPEN;
        forget_exchange(client);
    }
    ls_cipher_wipe(&keys, sizeof keys);
    return is_genuine ? LS_SEALED_ACCEPTED : LS_SEALED_REJECT_FORGED;
}

/* Another worker is to be asked; a server that sends its client round and round has no place. */
static void follow(ls_sealed_client *client, uint8_t worker, uint64_t now_ns)
{
    if (client->redirects == REDIRECTS_MAX) {
        refuse(client, LS_SEALED_REFUSAL_FULL);
        return;
    }
    client->redirects++;
    client->route = (uint8_t)(worker + 1);
    begin(client, now_ns);
}

static ls_sealed_rejection receive_denied(ls_sealed_client *client, const uint8_t *datagram,
                                          size_t size, uint64_t now_ns)
{
    static const ls_sealed_refusal refusals[LS_DENIAL_END] = {
        [LS_DENIAL_FULL] = LS_SEALED_REFUSAL_FULL,
        [LS_DENIAL_CREDENTIAL] = LS_SEALED_REFUSAL_CREDENTIAL,
        [LS_DENIAL_TOO_MANY] = LS_SEALED_REFUSAL_TOO_MANY,
    };
    ls_denied denied;
    if (!ls_denied_read(datagram, size, &denied)) {
        return LS_SEALED_REJECT_MALFORMED;
    }
    if (!is_confirming(client, denied.start)) {
        return LS_SEALED_REJECT_OUT_OF_PLACE;
    }
    if (!ls_denied_is_sealed(datagram, client->secrets->first_key)) {
        return LS_SEALED_REJECT_FORGED;
    }
    if (denied.reason == LS_DENIAL_REDIRECTED) {
        follow(client, denied.worker, now_ns);
    } else {
        refuse(client, refusals[denied.reason]);
    }
    return LS_SEALED_ACCEPTED;
}

/* ---- sealed packets ---- */

size_t ls_sealed_client_header_size(const ls_sealed_client *client)
{
    return ls_sealed_client_header_bytes(client->index);
}

LS_TICK_CODE size_t ls_sealed_client_seal(ls_sealed_client *client, ls_sealed_content content,
                                          uint8_t *datagram, size_t size)
{
    LS_ASSERT(client->state == LS_SEALED_CLIENT_OPEN);
    const ls_sealed_header header = {
        .content = content,
        .index = (uint16_t)client->index,
        .counter = (uint16_t)client->counter,
    };
    ls_sealed_write_client_header(datagram, &header);
    const ls_packet_keys *keys = &client->secrets->keys;
    return ls_sealed_packet_seal(keys->suite, keys->of_client, client->counter++, datagram,
                                 ls_sealed_client_header_size(client), size);
}

void ls_sealed_client_note_move(ls_sealed_client *client, uint64_t now_ns)
{
    client->moves++;
    client->moved_ns = now_ns;
}

static void add_answer(ls_sealed_client *client, ls_sealed_content content, size_t size,
                       ls_sealed_client_received *out)
{
    ls_path_answer *answer = &out->answers[out->answer_count++];
    uint8_t *bytes = answer->bytes + ls_sealed_client_header_size(client);
    memcpy(bytes, out->bytes, LS_PATH_NUMBER_BYTES);
    if (size > LS_PATH_NUMBER_BYTES) {
        ls_store_u32(bytes + LS_PATH_NUMBER_BYTES, client->moves);
    }
    answer->size = ls_sealed_client_seal(client, content, answer->bytes, size);
}

static void answer_path(ls_sealed_client *client, uint64_t now_ns, ls_sealed_client_received *out)
{
    if (out->size != LS_PATH_NUMBER_BYTES) {
        out->rejection = LS_SEALED_REJECT_MALFORMED;
        return;
    }
    if (client->moves > 0 && now_ns < client->moved_ns + MOVE_TOLD_NS) {
        add_answer(client, LS_SEALED_PATH_MOVED, LS_PATH_NUMBER_BYTES + 4, out);
    }
    add_answer(client, LS_SEALED_PATH_RESPONSE, LS_PATH_NUMBER_BYTES, out);
}

static void receive_sealed(ls_sealed_client *client, uint8_t *datagram, size_t size,
                           uint64_t now_ns, ls_sealed_client_received *out)
{
    ls_sealed_header header;
    if (!ls_sealed_read_server_header(datagram, size, &header)) {
        out->rejection = LS_SEALED_REJECT_MALFORMED;
        return;
    }
    if (client->state != LS_SEALED_CLIENT_OPEN) {
        out->rejection = LS_SEALED_REJECT_OUT_OF_PLACE;
        return;
    }
    const ls_sealed_opening opening = {
        .suite = client->secrets->keys.suite,
        .key = client->secrets->keys.of_server,
        .window = &client->window,
        .header_bytes = LS_SEALED_SERVER_HEADER_BYTES,
        .counter = header.counter,
    };
    bool is_newest;
    out->rejection = ls_sealed_packet_open(&opening, datagram, size, &is_newest);
    if (out->rejection != LS_SEALED_ACCEPTED) {
        return;
    }
    out->content = header.content;
    out->bytes = datagram + LS_SEALED_SERVER_HEADER_BYTES;
    out->size = size - LS_SEALED_SERVER_HEADER_BYTES - LS_SEALED_TAG_BYTES;
    if (header.content == LS_SEALED_PATH_CHALLENGE) {
        answer_path(client, now_ns, out);
    } else if (header.content > LS_SEALED_PATH_CHALLENGE) {
        out->rejection = LS_SEALED_REJECT_OUT_OF_PLACE;
    } else {
        out->has_content = true;
    }
}

void ls_sealed_client_receive(ls_sealed_client *client, uint8_t *datagram, size_t size,
                              uint64_t now_ns, ls_sealed_client_received *out)
{
    memset(out, 0, sizeof *out);
    out->rejection = LS_SEALED_REJECT_MALFORMED;
    if (size == 0) {
        return;
    }
    if ((datagram[0] & LS_SEALED_PACKET_BIT) != 0) {
        receive_sealed(client, datagram, size, now_ns, out);
    } else if (datagram[0] == LS_KEY_EXCHANGE_CHALLENGE) {
        out->rejection = receive_challenge(client, datagram, size, now_ns);
    } else if (datagram[0] == LS_KEY_EXCHANGE_ACCEPT) {
        out->rejection = receive_accept(client, datagram, size, now_ns);
        out->is_opened = out->rejection == LS_SEALED_ACCEPTED;
    } else if (datagram[0] == LS_KEY_EXCHANGE_DENIED) {
        out->rejection = receive_denied(client, datagram, size, now_ns);
    }
}

/* ---- what is known ---- */

ls_sealed_client_state ls_sealed_client_state_of(const ls_sealed_client *client)
{
    return client->state;
}

ls_sealed_refusal ls_sealed_client_refusal(const ls_sealed_client *client)
{
    return client->refusal;
}

uint64_t ls_sealed_client_rtt_ns(const ls_sealed_client *client)
{
    return client->rtt_ns;
}
