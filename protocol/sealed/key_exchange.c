#include "lockstep/protocol/sealed/key_exchange.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/fault.h"

#include <string.h>

#define MAGIC "LSD1"
#define MAGIC_BYTES 4u
#define ASKS_KEY 1u   /* a flag of REQUEST */
#define HAS_AES 1u    /* a flag of CHALLENGE */
#define USES_AES 128u /* beside the credential of CONFIRM */
#define REDIRECTS 16u /* as a reason of DENIED: worker 0 is to be asked, and so on */

/* Where things stand. REQUEST and CONFIRM begin alike: kind, magic, version. */
enum {
    VERSION_AT = 5,
    REQUEST_FLAGS_AT = 6,
    REQUEST_KEY_AT = 7,
    REQUEST_NUMBER_AT = 39,
    START_AT = 1, /* in every answer */
    CHALLENGE_VERSION_AT = 9,
    CHALLENGE_NUMBER_AT = 10,
    CHALLENGE_ROUTE_AT = 11,
    CHALLENGE_FLAGS_AT = 12,
    CHALLENGE_TIME_AT = 17,
    CHALLENGE_COOKIE_AT = 25,
    CHALLENGE_KEY_AT = 41,
    CONFIRM_CREDENTIAL_AT = 6,
    CONFIRM_KEY_AT = 7,
    CONFIRM_TIME_AT = 39,
    CONFIRM_COOKIE_AT = 47,
    CONFIRM_TOKEN_AT = 63,
    ACCEPT_KEY_AT = 9,
    ACCEPT_INDEX_AT = 41,
    ACCEPT_TAG_AT = 43,
    DENIED_REASON_AT = 9,
    DENIED_TAG_AT = 10,
};

/* Each nonce is used for one text under its key: a reason of DENIED is its own nonce. */
#define CONFIRM_NONCE 0u
#define MATCH_NONCE 256u
#define MATCH_BYTES 8u /* and a tag */
#define ACCEPT_NONCE UINT64_MAX

/* ---- tags: what is sealed is empty, everything before the tag is its header ---- */

static void nonce_of(uint64_t number, uint8_t nonce[LS_CIPHER_NONCE_BYTES])
{
    memset(nonce, 0, LS_CIPHER_NONCE_BYTES);
    ls_store_u64(nonce + 4, number);
}

static void write_tag(const uint8_t key[LS_CIPHER_KEY_BYTES], uint64_t number, uint8_t *datagram,
                      size_t header_bytes)
{
    uint8_t nonce[LS_CIPHER_NONCE_BYTES];
    nonce_of(number, nonce);
    ls_cipher_seal(LS_CIPHER_CHACHA20_POLY1305, key, nonce, datagram, header_bytes,
                   datagram + header_bytes, 0);
}

static bool is_tag_good(const uint8_t key[LS_CIPHER_KEY_BYTES], uint64_t number,
                        const uint8_t *datagram, size_t header_bytes)
{
    uint8_t nonce[LS_CIPHER_NONCE_BYTES];
    nonce_of(number, nonce);
    uint8_t tag[LS_CIPHER_TAG_BYTES];
    memcpy(tag, datagram + header_bytes, sizeof tag);
    return ls_cipher_open(LS_CIPHER_CHACHA20_POLY1305, key, nonce, datagram, header_bytes, tag, 0);
}

static bool is_opening(const uint8_t *datagram, size_t size, uint8_t kind, size_t bytes_min)
{
    return size >= bytes_min && size <= LS_SEALED_DATAGRAM_BYTES_MAX && datagram[0] == kind &&
           memcmp(datagram + 1, MAGIC, MAGIC_BYTES) == 0;
}

static void write_opening(uint8_t *datagram, size_t size, uint8_t kind, uint8_t version)
{
    memset(datagram, 0, size);
    datagram[0] = kind;
    memcpy(datagram + 1, MAGIC, MAGIC_BYTES);
    datagram[VERSION_AT] = version;
}

static size_t write_answer(uint8_t *datagram, uint8_t kind,
                           const uint8_t start[LS_KEY_EXCHANGE_START_BYTES], size_t size)
{
    memset(datagram, 0, size);
    datagram[0] = kind;
    memcpy(datagram + START_AT, start, LS_KEY_EXCHANGE_START_BYTES);
    return size;
}

/* ---- REQUEST ---- */

size_t ls_request_write(const ls_request *request, uint8_t datagram[LS_SEALED_REQUEST_BYTES])
{
    size_t size = request->is_short ? LS_SEALED_REQUEST_BYTES_MIN : LS_SEALED_REQUEST_BYTES;
    write_opening(datagram, size, LS_KEY_EXCHANGE_REQUEST, request->version);
    datagram[REQUEST_FLAGS_AT] = request->asks_key ? ASKS_KEY : 0;
    memcpy(datagram + REQUEST_KEY_AT, request->client_key, LS_CIPHER_KEY_BYTES);
    datagram[REQUEST_NUMBER_AT] = request->number;
    datagram[size - 1] = request->route;
    return size;
}

bool ls_request_read(const uint8_t *datagram, size_t size, ls_request *out)
{
    size_t least =
        LS_FAULT(SHORT_REQUEST_ANSWERED) ? REQUEST_FLAGS_AT : LS_SEALED_REQUEST_BYTES_MIN;
    if (!is_opening(datagram, size, LS_KEY_EXCHANGE_REQUEST, least)) {
        return false;
    }
    out->version = datagram[VERSION_AT];
    out->asks_key = (datagram[REQUEST_FLAGS_AT] & ASKS_KEY) != 0;
    memcpy(out->client_key, datagram + REQUEST_KEY_AT, LS_CIPHER_KEY_BYTES);
    out->number = datagram[REQUEST_NUMBER_AT];
    out->route = datagram[size - 1];
    out->is_short = size < LS_SEALED_REQUEST_BYTES;
    return true;
}

/* ---- CHALLENGE ---- */

size_t ls_challenge_write(const ls_challenge *challenge, uint8_t datagram[LS_CHALLENGE_BYTES_MAX])
{
    size_t size = challenge->has_server_key ? LS_CHALLENGE_BYTES_MAX : CHALLENGE_KEY_AT;
    write_answer(datagram, LS_KEY_EXCHANGE_CHALLENGE, challenge->start, size);
    datagram[CHALLENGE_VERSION_AT] = challenge->version;
    datagram[CHALLENGE_NUMBER_AT] = challenge->number;
    datagram[CHALLENGE_ROUTE_AT] = challenge->route;
    datagram[CHALLENGE_FLAGS_AT] = challenge->has_aes ? HAS_AES : 0;
    ls_store_u64(datagram + CHALLENGE_TIME_AT, challenge->time_ms);
    memcpy(datagram + CHALLENGE_COOKIE_AT, challenge->cookie, LS_KEY_EXCHANGE_COOKIE_BYTES);
    if (challenge->has_server_key) {
        memcpy(datagram + CHALLENGE_KEY_AT, challenge->server_key, LS_CIPHER_KEY_BYTES);
    }
    return size;
}

bool ls_challenge_read(const uint8_t *datagram, size_t size, ls_challenge *out)
{
    if ((size != CHALLENGE_KEY_AT && size != LS_CHALLENGE_BYTES_MAX) ||
        datagram[0] != LS_KEY_EXCHANGE_CHALLENGE) {
        return false;
    }
    memcpy(out->start, datagram + START_AT, LS_KEY_EXCHANGE_START_BYTES);
    out->version = datagram[CHALLENGE_VERSION_AT];
    out->number = datagram[CHALLENGE_NUMBER_AT];
    out->route = datagram[CHALLENGE_ROUTE_AT];
    if (out->route > LS_ROUTE_ASKED + LS_SEALED_WORKERS_MAX) {
        out->route = LS_ROUTE_ANYWHERE;
    }
    out->has_aes = (datagram[CHALLENGE_FLAGS_AT] & HAS_AES) != 0;
    out->time_ms = ls_load_u64(datagram + CHALLENGE_TIME_AT);
    memcpy(out->cookie, datagram + CHALLENGE_COOKIE_AT, LS_KEY_EXCHANGE_COOKIE_BYTES);
    out->has_server_key = size == LS_CHALLENGE_BYTES_MAX;
    memset(out->server_key, 0, LS_CIPHER_KEY_BYTES);
    if (out->has_server_key) {
        memcpy(out->server_key, datagram + CHALLENGE_KEY_AT, LS_CIPHER_KEY_BYTES);
    }
    return true;
}

/* ---- CONFIRM ---- */

/* The credential of a CONFIRM, which may be none. */
static uint8_t credential_of(const uint8_t *datagram)
{
    return (uint8_t)(datagram[CONFIRM_CREDENTIAL_AT] & ~USES_AES);
}

static size_t confirm_tag_at(uint8_t credential)
{
    return CONFIRM_TOKEN_AT +
           (credential == LS_CREDENTIAL_TOKEN ? (size_t)LS_KEY_EXCHANGE_TOKEN_BYTES : 0);
}

/* The sealed match stands behind the tag. */
static size_t confirm_match_at(const uint8_t *datagram)
{
    return confirm_tag_at(credential_of(datagram)) + LS_CIPHER_TAG_BYTES;
}

static void write_match(uint64_t match, const uint8_t first_key[LS_CIPHER_KEY_BYTES],
                        uint8_t *datagram)
{
    uint8_t nonce[LS_CIPHER_NONCE_BYTES];
    size_t at = confirm_match_at(datagram);
    nonce_of(MATCH_NONCE, nonce);
    ls_store_u64(datagram + at, match);
    ls_cipher_seal(LS_CIPHER_CHACHA20_POLY1305, first_key, nonce, NULL, 0, datagram + at,
                   MATCH_BYTES);
}

uint64_t ls_confirm_match_of(const uint8_t *datagram, size_t size,
                             const uint8_t first_key[LS_CIPHER_KEY_BYTES])
{
    uint8_t nonce[LS_CIPHER_NONCE_BYTES];
    uint8_t sealed[MATCH_BYTES + LS_CIPHER_TAG_BYTES];
    size_t at = confirm_match_at(datagram);
    if (size < at + sizeof sealed) {
        return 0;
    }
    nonce_of(MATCH_NONCE, nonce);
    memcpy(sealed, datagram + at, sizeof sealed);
    bool is_good =
        ls_cipher_open(LS_CIPHER_CHACHA20_POLY1305, first_key, nonce, NULL, 0, sealed, MATCH_BYTES);
    return is_good ? ls_load_u64(sealed) : 0;
}

size_t ls_confirm_write(const ls_confirm *confirm, const uint8_t first_key[LS_CIPHER_KEY_BYTES],
                        uint8_t datagram[LS_CONFIRM_BYTES_MAX])
{
    LS_ASSERT((confirm->credential == LS_CREDENTIAL_TOKEN) == (confirm->token != NULL));
    size_t size = confirm->token ? LS_CONFIRM_BYTES_MAX : LS_CONFIRM_BYTES_MIN;
    write_opening(datagram, size, LS_KEY_EXCHANGE_CONFIRM, LS_KEY_EXCHANGE_VERSION);
    datagram[CONFIRM_CREDENTIAL_AT] =
        (uint8_t)((uint32_t)confirm->credential |
                  (confirm->suite == LS_CIPHER_AES_256_GCM ? USES_AES : 0));
    memcpy(datagram + CONFIRM_KEY_AT, confirm->client_key, LS_CIPHER_KEY_BYTES);
    ls_store_u64(datagram + CONFIRM_TIME_AT, confirm->time_ms);
    memcpy(datagram + CONFIRM_COOKIE_AT, confirm->cookie, LS_KEY_EXCHANGE_COOKIE_BYTES);
    if (confirm->token) {
        memcpy(datagram + CONFIRM_TOKEN_AT, confirm->token, LS_KEY_EXCHANGE_TOKEN_BYTES);
    }
    write_tag(first_key, CONFIRM_NONCE, datagram, confirm_tag_at(credential_of(datagram)));
    if (confirm->match != 0) {
        write_match(confirm->match, first_key, datagram);
    }
    datagram[size - 1] = confirm->route;
    return size;
}

bool ls_confirm_read(const uint8_t *datagram, size_t size, ls_confirm *out)
{
    if (!is_opening(datagram, size, LS_KEY_EXCHANGE_CONFIRM, LS_CONFIRM_BYTES_MIN) ||
        datagram[VERSION_AT] != LS_KEY_EXCHANGE_VERSION) {
        return false;
    }
    uint8_t credential = credential_of(datagram);
    if (credential >= LS_CREDENTIAL_COUNT ||
        size < confirm_tag_at(credential) + LS_CIPHER_TAG_BYTES) {
        return false;
    }
    out->credential = (ls_credential)credential;
    out->suite = (datagram[CONFIRM_CREDENTIAL_AT] & USES_AES) != 0 ? LS_CIPHER_AES_256_GCM
                                                                   : LS_CIPHER_CHACHA20_POLY1305;
    memcpy(out->client_key, datagram + CONFIRM_KEY_AT, LS_CIPHER_KEY_BYTES);
    out->time_ms = ls_load_u64(datagram + CONFIRM_TIME_AT);
    out->match = 0;
    memcpy(out->cookie, datagram + CONFIRM_COOKIE_AT, LS_KEY_EXCHANGE_COOKIE_BYTES);
    out->token = credential == LS_CREDENTIAL_TOKEN ? datagram + CONFIRM_TOKEN_AT : NULL;
    bool has_route = size > confirm_tag_at(credential) + LS_CIPHER_TAG_BYTES;
    out->route = has_route ? datagram[size - 1] : LS_ROUTE_ANYWHERE;
    return true;
}

bool ls_confirm_is_sealed(const uint8_t *datagram, const uint8_t first_key[LS_CIPHER_KEY_BYTES])
{
    return is_tag_good(first_key, CONFIRM_NONCE, datagram, confirm_tag_at(credential_of(datagram)));
}

/* ---- ACCEPT ---- */

size_t ls_accept_write(const ls_accept *accept, const uint8_t server_packets[LS_CIPHER_KEY_BYTES],
                       uint8_t datagram[LS_ACCEPT_BYTES])
{
    write_answer(datagram, LS_KEY_EXCHANGE_ACCEPT, accept->start, LS_ACCEPT_BYTES);
    memcpy(datagram + ACCEPT_KEY_AT, accept->server_key, LS_CIPHER_KEY_BYTES);
    ls_store_u16(datagram + ACCEPT_INDEX_AT, accept->index);
    write_tag(server_packets, ACCEPT_NONCE, datagram, ACCEPT_TAG_AT);
    return LS_ACCEPT_BYTES;
}

bool ls_accept_read(const uint8_t *datagram, size_t size, ls_accept *out)
{
    if (size != LS_ACCEPT_BYTES || datagram[0] != LS_KEY_EXCHANGE_ACCEPT) {
        return false;
    }
    memcpy(out->start, datagram + START_AT, LS_KEY_EXCHANGE_START_BYTES);
    memcpy(out->server_key, datagram + ACCEPT_KEY_AT, LS_CIPHER_KEY_BYTES);
    out->index = ls_load_u16(datagram + ACCEPT_INDEX_AT);
    return true;
}

bool ls_accept_is_sealed(const uint8_t *datagram, const uint8_t server_packets[LS_CIPHER_KEY_BYTES])
{
    return is_tag_good(server_packets, ACCEPT_NONCE, datagram, ACCEPT_TAG_AT);
}

/* ---- DENIED ---- */

size_t ls_denied_write(const ls_denied *denied, const uint8_t first_key[LS_CIPHER_KEY_BYTES],
                       uint8_t datagram[LS_DENIED_BYTES])
{
    write_answer(datagram, LS_KEY_EXCHANGE_DENIED, denied->start, LS_DENIED_BYTES);
    bool is_redirected = denied->reason == LS_DENIAL_REDIRECTED;
    uint32_t told = denied->reason == LS_DENIAL_NO_SEAT ? LS_DENIAL_FULL : denied->reason;
    uint8_t reason = (uint8_t)(is_redirected ? REDIRECTS + denied->worker : told);
    datagram[DENIED_REASON_AT] = reason;
    write_tag(first_key, reason, datagram, DENIED_TAG_AT);
    return LS_DENIED_BYTES;
}

/* The reason and the worker of what stands in DENIED; false for what is none. */
static bool read_reason(uint8_t reason, ls_denied *out)
{
    bool is_redirected = reason >= REDIRECTS && reason < REDIRECTS + LS_SEALED_WORKERS_MAX;
    if (!is_redirected && (reason == LS_DENIAL_NONE || reason >= LS_DENIAL_REDIRECTED)) {
        return false;
    }
    out->reason = is_redirected ? LS_DENIAL_REDIRECTED : (ls_denial)reason;
    out->worker = (uint8_t)(is_redirected ? reason - REDIRECTS : 0);
    return true;
}

bool ls_denied_read(const uint8_t *datagram, size_t size, ls_denied *out)
{
    if (size != LS_DENIED_BYTES || datagram[0] != LS_KEY_EXCHANGE_DENIED ||
        !read_reason(datagram[DENIED_REASON_AT], out)) {
        return false;
    }
    memcpy(out->start, datagram + START_AT, LS_KEY_EXCHANGE_START_BYTES);
    return true;
}

bool ls_denied_is_sealed(const uint8_t *datagram, const uint8_t first_key[LS_CIPHER_KEY_BYTES])
{
    return is_tag_good(first_key, datagram[DENIED_REASON_AT], datagram, DENIED_TAG_AT);
}

/* ---- keys ---- */

typedef struct part {
    const void *bytes;
    size_t size;
} part;

/* H of protocol/SEALED.md; key may be NULL. */
static void derive(const uint8_t *key, part first, part second, part third,
                   uint8_t out[LS_CIPHER_KEY_BYTES])
{
    uint8_t bytes[4 * LS_CIPHER_KEY_BYTES];
    size_t size = 0;
    const part parts[] = {first, second, third};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].size > 0) {
            memcpy(bytes + size, parts[i].bytes, parts[i].size);
            size += parts[i].size;
        }
    }
    ls_cipher_hash(key, key ? LS_CIPHER_KEY_BYTES : 0, bytes, size, out, LS_CIPHER_KEY_BYTES);
    ls_cipher_wipe(bytes, sizeof bytes);
}

static part text_part(const char *text)
{
    return (part){text, strlen(text)};
}

static part key_part(const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    return (part){key, LS_CIPHER_KEY_BYTES};
}

static const part NO_PART = {0};

void ls_credential_key_of_secret(const uint8_t secret[LS_KEY_EXCHANGE_SECRET_BYTES],
                                 uint8_t out[LS_CIPHER_KEY_BYTES])
{
    derive(NULL, text_part("invite"), (part){secret, LS_KEY_EXCHANGE_SECRET_BYTES}, NO_PART, out);
}

void ls_credential_key_of_token(const uint8_t client_to_server[LS_CIPHER_KEY_BYTES],
                                const uint8_t server_to_client[LS_CIPHER_KEY_BYTES],
                                uint8_t out[LS_CIPHER_KEY_BYTES])
{
    derive(NULL, text_part("token"), key_part(client_to_server), key_part(server_to_client), out);
}

static void derive_first(const uint8_t *server_key, const uint8_t *client_key,
                         const uint8_t *shared, const uint8_t *credential_key,
                         uint8_t out[LS_CIPHER_KEY_BYTES])
{
    uint8_t chain[LS_CIPHER_KEY_BYTES];
    derive(NULL, text_part("lockstep sealed datagrams 1"), key_part(server_key),
           key_part(client_key), chain);
    derive(chain, key_part(shared), key_part(credential_key), NO_PART, out);
}

bool ls_first_key_of_client(const ls_key_pair *own, const uint8_t server_key[LS_CIPHER_KEY_BYTES],
                            const uint8_t credential_key[LS_CIPHER_KEY_BYTES],
                            uint8_t out[LS_CIPHER_KEY_BYTES])
{
    uint8_t shared[LS_CIPHER_KEY_BYTES];
    if (!ls_key_pair_agree(own, server_key, shared)) {
        return false;
    }
    derive_first(server_key, own->public_key, shared, credential_key, out);
    ls_cipher_wipe(shared, sizeof shared);
    return true;
}

bool ls_first_key_of_server(const ls_key_pair *identity,
                            const uint8_t client_key[LS_CIPHER_KEY_BYTES],
                            const uint8_t credential_key[LS_CIPHER_KEY_BYTES],
                            uint8_t out[LS_CIPHER_KEY_BYTES])
{
    uint8_t shared[LS_CIPHER_KEY_BYTES];
    if (!ls_key_pair_agree(identity, client_key, shared)) {
        return false;
    }
    derive_first(identity->public_key, client_key, shared, credential_key, out);
    ls_cipher_wipe(shared, sizeof shared);
    return true;
}

/* `server_key` is F: the server's own or the other's. */
static bool derive_packet_keys(const uint8_t *first_key, const ls_key_pair *own,
                               const uint8_t *other, const uint8_t *server_key, ls_packet_keys *out)
{
    uint8_t shared[LS_CIPHER_KEY_BYTES], chain[LS_CIPHER_KEY_BYTES];
    if (!ls_key_pair_agree(own, other, shared)) {
        return false;
    }
    derive(first_key, key_part(shared), key_part(server_key), NO_PART, chain);
    part suite = out->suite == LS_CIPHER_AES_256_GCM ? text_part(", AES-256-GCM") : NO_PART;
    derive(chain, text_part("client to server"), suite, NO_PART, out->of_client);
    derive(chain, text_part("server to client"), suite, NO_PART, out->of_server);
    ls_cipher_wipe(shared, sizeof shared);
    ls_cipher_wipe(chain, sizeof chain);
    return true;
}

bool ls_packet_keys_of_client(const uint8_t first_key[LS_CIPHER_KEY_BYTES], const ls_key_pair *own,
                              const uint8_t server_key[LS_CIPHER_KEY_BYTES], ls_packet_keys *out)
{
    return derive_packet_keys(first_key, own, server_key, server_key, out);
}

bool ls_packet_keys_of_server(const uint8_t first_key[LS_CIPHER_KEY_BYTES], const ls_key_pair *own,
                              const uint8_t client_key[LS_CIPHER_KEY_BYTES], ls_packet_keys *out)
{
    return derive_packet_keys(first_key, own, client_key, own->public_key, out);
}
