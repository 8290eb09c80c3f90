#include "lockstep/protocol/sealed/connect_token.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"

#include <string.h>

_Static_assert(LS_TOKEN_KEY_BYTES == LS_CIPHER_KEY_BYTES, "key");
_Static_assert(LS_TOKEN_NONCE_BYTES == LS_CIPHER_LONG_NONCE_BYTES, "nonce");
_Static_assert(LS_TOKEN_ID_BYTES == LS_CIPHER_TAG_BYTES, "tag");

/* The standard's numbers. */
enum {
    VERSION_BYTES = 13,
    PLAIN_BYTES = LS_TOKEN_PRIVATE_BYTES - LS_TOKEN_ID_BYTES,
    HEADER_BYTES = VERSION_BYTES + 8 + 8, /* the associated data */
    ADDRESS_IPV4 = 1,
    ADDRESS_IPV6 = 2,
    AT_ENVELOPE_NONCE = 16,
    AT_ENVELOPE_PRIVATE = AT_ENVELOPE_NONCE + LS_TOKEN_NONCE_BYTES,
};

static const uint8_t version_info[VERSION_BYTES] = "NETCODE 1.02";

static const struct {
    const char *name, *text;
} refusals[] = {
#define REFUSAL_ROW(name, text) {#name, text},
    LS_TOKEN_REFUSAL_MAP(REFUSAL_ROW)
#undef REFUSAL_ROW
};

const char *ls_token_refusal_name(ls_token_refusal refusal)
{
    return (uint32_t)refusal < LS_TOKEN_REFUSAL_COUNT ? refusals[refusal].name : "UNKNOWN";
}

const char *ls_token_refusal_text(ls_token_refusal refusal)
{
    return (uint32_t)refusal < LS_TOKEN_REFUSAL_COUNT ? refusals[refusal].text : "UNKNOWN";
}

void ls_token_wipe(void *token, size_t size)
{
    ls_cipher_wipe(token, size);
}

/* ---- fields: one list for writing and for reading ---- */

typedef struct token_stream {
    uint8_t *to;         /* writing, else NULL */
    const uint8_t *from; /* reading */
    size_t size;
    size_t at;
    bool has_failed;
} token_stream;

/* The place of the next `size` bytes; a stream that has failed stays where it is. */
static bool advance(token_stream *stream, size_t size, size_t *at)
{
    if (stream->has_failed || size > stream->size - stream->at) {
        stream->has_failed = true;
        return false;
    }
    *at = stream->at;
    stream->at += size;
    return true;
}

static void field_bytes(token_stream *stream, uint8_t *bytes, size_t size)
{
    size_t at = 0;
    if (!advance(stream, size, &at)) {
        return;
    }
    if (stream->to) {
        memcpy(stream->to + at, bytes, size);
    } else {
        memcpy(bytes, stream->from + at, size);
    }
}

static void field_u16(token_stream *stream, uint16_t *value)
{
    uint8_t bytes[2];
    ls_store_u16(bytes, *value);
    field_bytes(stream, bytes, sizeof bytes);
    *value = ls_load_u16(bytes);
}

static void field_u32(token_stream *stream, uint32_t *value)
{
    uint8_t bytes[4];
    ls_store_u32(bytes, *value);
    field_bytes(stream, bytes, sizeof bytes);
    *value = ls_load_u32(bytes);
}

static void field_u64(token_stream *stream, uint64_t *value)
{
    uint8_t bytes[8];
    ls_store_u64(bytes, *value);
    field_bytes(stream, bytes, sizeof bytes);
    *value = ls_load_u64(bytes);
}

static void field_i32(token_stream *stream, int32_t *value)
{
    uint32_t number = (uint32_t)*value;
    field_u32(stream, &number);
    *value = number <= INT32_MAX ? (int32_t)number : -(int32_t)(UINT32_MAX - number) - 1;
}

static void field_address(token_stream *stream, ls_endpoint *address)
{
    uint8_t type = ls_endpoint_is_ipv4(address) ? ADDRESS_IPV4 : ADDRESS_IPV6;
    field_bytes(stream, &type, 1);
    if (type == ADDRESS_IPV4) {
        uint32_t number = ls_endpoint_ipv4(address); /* its four bytes in their order */
        field_bytes(stream, (uint8_t *)&number, sizeof number);
        *address = ls_endpoint_from_ipv4(number, address->port);
    } else if (type == ADDRESS_IPV6) {
        /* Eight numbers, each of them little-endian. */
        for (uint32_t i = 0; i < 16; i += 2) {
            uint16_t group = (uint16_t)(address->address[i] << 8 | address->address[i + 1]);
            field_u16(stream, &group);
            address->address[i] = (uint8_t)(group >> 8);
            address->address[i + 1] = (uint8_t)group;
        }
    } else {
        stream->has_failed = true;
    }
    field_u16(stream, &address->port);
    address->via = 0; /* tokens name servers that are reached directly */
}

static void field_list(token_stream *stream, ls_token_server_list *list)
{
    field_u32(stream, &list->count);
    if (list->count == 0 || list->count > LS_TOKEN_SERVERS_MAX) {
        stream->has_failed = true;
        return;
    }
    for (uint32_t i = 0; i < list->count && !stream->has_failed; i++) {
        field_address(stream, &list->servers[i]);
    }
}

static void field_keys(token_stream *stream, ls_token_keys *keys)
{
    field_bytes(stream, keys->client_to_server, LS_TOKEN_KEY_BYTES);
    field_bytes(stream, keys->server_to_client, LS_TOKEN_KEY_BYTES);
}

static void fields_of_claims(token_stream *stream, ls_token_claims *claims)
{
    field_u64(stream, &claims->client_id);
    field_i32(stream, &claims->timeout_s);
    field_list(stream, &claims->list);
    field_keys(stream, &claims->keys);
    field_bytes(stream, claims->user_data, LS_TOKEN_USER_DATA_BYTES);
}

static void fields_of_token(token_stream *stream, ls_token *token)
{
    uint8_t version[VERSION_BYTES];
    memcpy(version, version_info, VERSION_BYTES);
    field_bytes(stream, version, VERSION_BYTES);
    if (memcmp(version, version_info, VERSION_BYTES) != 0) {
        stream->has_failed = true;
        return;
    }
    field_u64(stream, &token->protocol_id);
    field_u64(stream, &token->create_s);
    field_u64(stream, &token->expire_s);
    field_bytes(stream, token->nonce, LS_TOKEN_NONCE_BYTES);
    field_bytes(stream, token->private_part, LS_TOKEN_PRIVATE_BYTES);
    field_i32(stream, &token->timeout_s);
    field_list(stream, &token->list);
    field_keys(stream, &token->keys);
}

/* ---- the seal ---- */

static void write_header(uint64_t protocol_id, uint64_t expire_s, uint8_t header[HEADER_BYTES])
{
    memcpy(header, version_info, VERSION_BYTES);
    ls_store_u64(header + VERSION_BYTES, protocol_id);
    ls_store_u64(header + VERSION_BYTES + 8, expire_s);
}

/* ---- the back end ---- */

ls_token_config ls_token_config_default(void)
{
    ls_token_config config;
    memset(&config, 0, sizeof config);
    config.protocol_id = LS_TOKEN_PROTOCOL_ID;
    config.claims.timeout_s = 15;
    return config;
}

ls_status ls_token_config_check(const ls_token_config *config, ls_text *why)
{
    const ls_token_server_list *list = &config->claims.list;
    if (list->count == 0 || list->count > LS_TOKEN_SERVERS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a token has 1 to %u servers, not %u",
                       LS_TOKEN_SERVERS_MAX, list->count);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->servers[i].port == 0) {
            return ls_fail(LS_BAD_ARGUMENT, why, "server %u of the token has no port", i + 1);
        }
    }
    if (config->expire_s <= config->create_s) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the token would expire before it is made");
    }
    return LS_OK;
}

ls_status ls_token_servers_parse(const char *text, const char *flag, ls_token_server_list *list,
                                 ls_text *why)
{
    char server[LS_ENDPOINT_BYTES_MAX];
    list->count = 0;
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ",");
        if (size >= sizeof server) {
            return ls_fail(LS_BAD_ARGUMENT, why, "--%s takes HOST[:PORT],..., not '%s'", flag,
                           text);
        }
        if (list->count == LS_TOKEN_SERVERS_MAX) {
            return ls_fail(LS_BAD_ARGUMENT, why, "--%s takes up to %u servers", flag,
                           LS_TOKEN_SERVERS_MAX);
        }
        memcpy(server, at, size);
        server[size] = '\0';
        ls_status status = ls_endpoint_parse(server, &list->servers[list->count], why);
        if (status != LS_OK) {
            return status;
        }
        list->count++;
        at += size;
        if (*at == '\0') {
            return LS_OK;
        }
    }
}

ls_status ls_token_make_from(const ls_token_config *config, const uint8_t key[LS_TOKEN_KEY_BYTES],
                             uint8_t token[LS_TOKEN_BYTES], ls_text *why)
{
    ls_status status = ls_token_config_check(config, why);
    if (status != LS_OK) {
        return status;
    }
    ls_token made = {.protocol_id = config->protocol_id,
                     .create_s = config->create_s,
                     .expire_s = config->expire_s,
                     .timeout_s = config->claims.timeout_s,
                     .list = config->claims.list,
                     .keys = config->claims.keys};
    memcpy(made.nonce, config->nonce, LS_TOKEN_NONCE_BYTES);

    ls_token_claims claims = config->claims;
    token_stream hidden = {.to = made.private_part, .size = PLAIN_BYTES};
    uint8_t header[HEADER_BYTES];
    fields_of_claims(&hidden, &claims);
    write_header(made.protocol_id, made.expire_s, header);
    ls_cipher_seal_long(key, made.nonce, header, HEADER_BYTES, made.private_part, PLAIN_BYTES);

    memset(token, 0, LS_TOKEN_BYTES);
    token_stream whole = {.to = token, .size = LS_TOKEN_BYTES};
    fields_of_token(&whole, &made);
    ls_cipher_wipe(&claims, sizeof claims);
    ls_cipher_wipe(&made, sizeof made);
    return LS_OK;
}

ls_status ls_token_make(ls_token_config *config, const uint8_t key[LS_TOKEN_KEY_BYTES],
                        uint8_t token[LS_TOKEN_BYTES], ls_text *why)
{
    if (ls_cipher_init() != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random bytes to give");
    }
    ls_cipher_random(config->nonce, sizeof config->nonce);
    ls_cipher_random(config->claims.keys.client_to_server, LS_TOKEN_KEY_BYTES);
    ls_cipher_random(config->claims.keys.server_to_client, LS_TOKEN_KEY_BYTES);
    return ls_token_make_from(config, key, token, why);
}

/* ---- the client ---- */

ls_token_refusal ls_token_read(const uint8_t *bytes, size_t size, uint64_t now_s, ls_token *out)
{
    if (size != LS_TOKEN_BYTES) {
        return LS_TOKEN_REFUSAL_MALFORMED;
    }
    ls_token read;
    memset(&read, 0, sizeof read);
    token_stream stream = {.from = bytes, .size = size};
    fields_of_token(&stream, &read);
    bool is_token = !stream.has_failed && read.create_s <= read.expire_s;
    if (is_token) {
        *out = read;
    }
    ls_token_refusal refusal = !is_token                ? LS_TOKEN_REFUSAL_MALFORMED
                               : read.expire_s <= now_s ? LS_TOKEN_REFUSAL_EXPIRED
                                                        : LS_TOKEN_REFUSAL_NONE;
    ls_cipher_wipe(&read, sizeof read);
    return refusal;
}

void ls_token_write_envelope(const ls_token *token, uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES])
{
    ls_store_u64(envelope, token->protocol_id);
    ls_store_u64(envelope + 8, token->expire_s);
    memcpy(envelope + AT_ENVELOPE_NONCE, token->nonce, LS_TOKEN_NONCE_BYTES);
    memcpy(envelope + AT_ENVELOPE_PRIVATE, token->private_part, LS_TOKEN_PRIVATE_BYTES);
}

/* ---- the server ---- */

const uint8_t *ls_token_envelope_id(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES])
{
    return envelope + AT_ENVELOPE_PRIVATE + PLAIN_BYTES;
}

uint64_t ls_token_envelope_expire_s(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES])
{
    return ls_load_u64(envelope + 8);
}

/* Decrypts into `plain`, of LS_TOKEN_PRIVATE_BYTES, with the first key that fits. */
static bool unseal(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES], const ls_token_check *check,
                   uint8_t *plain)
{
    uint8_t header[HEADER_BYTES];
    write_header(ls_load_u64(envelope), ls_token_envelope_expire_s(envelope), header);
    for (uint32_t i = 0; i < check->key_count; i++) {
        memcpy(plain, envelope + AT_ENVELOPE_PRIVATE, LS_TOKEN_PRIVATE_BYTES);
        if (ls_cipher_open_long(check->keys[i], envelope + AT_ENVELOPE_NONCE, header, HEADER_BYTES,
                                plain, PLAIN_BYTES)) {
            return true;
        }
    }
    return false;
}

static bool is_for(const ls_token_server_list *list, const ls_token_check *check)
{
    for (uint32_t i = 0; i < list->count; i++) {
        for (uint32_t own = 0; own < check->own_count; own++) {
            if (ls_endpoint_is_equal(&list->servers[i], &check->own[own])) {
                return true;
            }
        }
    }
    return check->own_count == 0;
}

ls_token_refusal ls_token_open(const uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES],
                               const ls_token_check *check, uint64_t now_s, ls_token_claims *out)
{
    if (ls_load_u64(envelope) != check->protocol_id) {
        return LS_TOKEN_REFUSAL_PROTOCOL;
    }
    if (ls_token_envelope_expire_s(envelope) <= now_s) {
        return LS_TOKEN_REFUSAL_EXPIRED;
    }
    uint8_t plain[LS_TOKEN_PRIVATE_BYTES];
    ls_token_claims claims;
    ls_token_refusal refusal = LS_TOKEN_REFUSAL_FORGED;
    memset(&claims, 0, sizeof claims);
    if (unseal(envelope, check, plain)) {
        token_stream stream = {.from = plain, .size = PLAIN_BYTES};
        fields_of_claims(&stream, &claims);
        refusal = stream.has_failed              ? LS_TOKEN_REFUSAL_MALFORMED
                  : !is_for(&claims.list, check) ? LS_TOKEN_REFUSAL_ELSEWHERE
                                                 : LS_TOKEN_REFUSAL_NONE;
    }
    if (refusal == LS_TOKEN_REFUSAL_NONE) {
        *out = claims;
    }
    ls_cipher_wipe(&claims, sizeof claims);
    ls_cipher_wipe(plain, sizeof plain);
    return refusal;
}
