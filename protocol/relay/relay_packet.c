#include "lockstep/protocol/relay/relay_packet.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/system/endpoint_text.h"

#include <stdio.h>
#include <string.h>

enum {
    ACCESS_AT = 77, /* in REGISTER */
    MAGIC_BYTES = 4,
};

/* ---- fields ---- */

static const uint8_t magic[MAGIC_BYTES] = {'L', 'S', 'R', '1'};

static void constant(ls_byte_stream *stream, const uint8_t *bytes, size_t size)
{
    uint8_t there[LS_RELAY_PACKET_BYTES_MAX];
    memcpy(there, bytes, size);
    ls_byte_stream_bytes(stream, there, size);
    if (!stream->has_failed && memcmp(there, bytes, size) != 0) {
        stream->has_failed = true;
    }
}

static void zeros(ls_byte_stream *stream, size_t size)
{
    static const uint8_t none[LS_RELAY_PACKET_BYTES_MAX];
    constant(stream, none, size);
}

static void zeros_to_end(ls_byte_stream *stream, size_t end)
{
    if (!stream->has_failed) {
        zeros(stream, end - stream->at);
    }
}

static void up_to(ls_byte_stream *stream, uint8_t *value, uint8_t max)
{
    ls_byte_stream_u8(stream, value);
    stream->has_failed = stream->has_failed || *value > max;
}

static void port(ls_byte_stream *stream, uint16_t *of)
{
    uint8_t bytes[2];
    ls_store_u16(bytes, *of);
    ls_byte_stream_bytes(stream, bytes, sizeof bytes);
    *of = stream->has_failed ? 0 : ls_load_u16(bytes);
}

static void endpoint(ls_byte_stream *stream, ls_endpoint *of)
{
    ls_byte_stream_bytes(stream, of->address, sizeof of->address);
    port(stream, &of->port);
}

/* Where a server may be reached besides where the relay sees it. */
static void other_places(ls_byte_stream *stream, ls_relay_packet *packet)
{
    port(stream, &packet->outside_port);
    endpoint(stream, &packet->local);
}

static void name(ls_byte_stream *stream, char of[LS_RELAY_NAME_CHARACTERS])
{
    ls_byte_stream_bytes(stream, (uint8_t *)of, LS_RELAY_NAME_CHARACTERS);
    for (size_t i = 0; !stream->has_failed && i < LS_RELAY_NAME_CHARACTERS; i++) {
        stream->has_failed = of[i] != '\0' && !ls_relay_code_has(of[i]);
    }
}

static void answered_cookie(ls_byte_stream *stream, ls_relay_packet *packet)
{
    constant(stream, magic, sizeof magic);
    ls_byte_stream_bytes(stream, packet->nonce, sizeof packet->nonce);
    ls_byte_stream_u64(stream, &packet->time_ms);
    ls_byte_stream_bytes(stream, packet->cookie, sizeof packet->cookie);
}

static void registered_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    up_to(stream, &packet->value, LS_RELAY_KEY_NEEDED);
    zeros(stream, 2);
    ls_byte_stream_u64(stream, &packet->number);
    name(stream, packet->name);
    endpoint(stream, &packet->host);
    port(stream, &packet->page.port);
    up_to(stream, &packet->page.is_sealed, 1);
    zeros(stream, 3);
    ls_byte_stream_bytes(stream, packet->tag, sizeof packet->tag);
}

static void joined_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    up_to(stream, &packet->value, LS_RELAY_CODE_FULL);
    zeros(stream, 2);
    ls_byte_stream_bytes(stream, packet->nonce, sizeof packet->nonce);
    ls_byte_stream_u64(stream, &packet->number);
    endpoint(stream, &packet->host);
    endpoint(stream, &packet->player);
    other_places(stream, packet);
}

static void listed_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    up_to(stream, &packet->value, LS_RELAY_LIST_FULL);
    ls_byte_stream_u64(stream, &packet->number);
    ls_byte_stream_u64(stream, &packet->counter);
    ls_byte_stream_u64(stream, &packet->challenge);
    ls_byte_stream_bytes(stream, packet->tag, sizeof packet->tag);
}

static void cookie_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    up_to(stream, &packet->value, 1);
    zeros(stream, 2);
    ls_byte_stream_bytes(stream, packet->nonce, sizeof packet->nonce);
    ls_byte_stream_u64(stream, &packet->time_ms);
    ls_byte_stream_bytes(stream, packet->cookie, sizeof packet->cookie);
    ls_byte_stream_bytes(stream, packet->key, sizeof packet->key);
}

/* Of what a relay and one side of it say to each other before datagrams are carried. */
static void meeting_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    switch (packet->kind) {
    case LS_RELAY_ASK:
        constant(stream, magic, sizeof magic);
        ls_byte_stream_bytes(stream, packet->nonce, sizeof packet->nonce);
        zeros_to_end(stream, LS_RELAY_PACKET_BYTES_MAX);
        break;
    case LS_RELAY_COOKIE:
        cookie_fields(stream, packet);
        break;
    case LS_RELAY_REGISTER:
        answered_cookie(stream, packet);
        ls_byte_stream_bytes(stream, packet->key, sizeof packet->key);
        ls_byte_stream_bytes(stream, packet->access, sizeof packet->access);
        ls_byte_stream_bytes(stream, packet->tag, sizeof packet->tag);
        zeros_to_end(stream, LS_RELAY_PACKET_BYTES_MAX);
        break;
    case LS_RELAY_JOIN:
        answered_cookie(stream, packet);
        name(stream, packet->name);
        zeros_to_end(stream, LS_RELAY_PACKET_BYTES_MAX);
        break;
    case LS_RELAY_LOOK:
        answered_cookie(stream, packet);
        ls_byte_stream_u32(stream, &packet->place);
        zeros_to_end(stream, LS_RELAY_PACKET_BYTES_MAX);
        break;
    case LS_RELAY_REGISTERED:
        registered_fields(stream, packet);
        break;
    default:
        joined_fields(stream, packet);
        break;
    }
}

static void proof_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    const size_t end = 96;
    ls_byte_stream_bytes(stream, packet->point, sizeof packet->point);
    if (packet->kind == LS_RELAY_PROVEN) {
        ls_byte_stream_bytes(stream, packet->key, sizeof packet->key);
        ls_byte_stream_bytes(stream, packet->tag, sizeof packet->tag);
    }
    zeros_to_end(stream, end);
}

/* Of packets that begin with a flow, or with the id of a registration. */
static void numbered_fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    ls_byte_stream_u64(stream, &packet->number);
    switch (packet->kind) {
    case LS_RELAY_KEEP:
    case LS_RELAY_KEPT:
        ls_byte_stream_u64(stream, &packet->counter);
        ls_byte_stream_bytes(stream, packet->tag, sizeof packet->tag);
        break;
    case LS_RELAY_OPEN:
        endpoint(stream, &packet->player);
        ls_byte_stream_bytes(stream, packet->tag, sizeof packet->tag);
        break;
    case LS_RELAY_OPENED:
        other_places(stream, packet);
        break;
    case LS_RELAY_PUNCH:
    case LS_RELAY_WAY:
        up_to(stream, &packet->value, 1);
        break;
    default: /* GONE */
        break;
    }
}

static void fields(ls_byte_stream *stream, ls_relay_packet *packet)
{
    uint8_t kind = (uint8_t)packet->kind;
    ls_byte_stream_u8(stream, &kind);
    switch (packet->kind) {
    case LS_RELAY_ASK:
    case LS_RELAY_COOKIE:
    case LS_RELAY_REGISTER:
    case LS_RELAY_REGISTERED:
    case LS_RELAY_JOIN:
    case LS_RELAY_JOINED:
    case LS_RELAY_LOOK:
        meeting_fields(stream, packet);
        break;
    case LS_RELAY_PROVE:
    case LS_RELAY_PROVEN:
        proof_fields(stream, packet);
        break;
    case LS_RELAY_LISTED:
        listed_fields(stream, packet);
        break;
    case LS_RELAY_CARRY:
    case LS_RELAY_LIST:
    case LS_RELAY_GAMES:
    case LS_RELAY_KIND_END:
        stream->has_failed = true;
        break;
    default:
        numbered_fields(stream, packet);
        break;
    }
}

/* ---- whole packets ---- */

size_t ls_relay_packet_write(const ls_relay_packet *packet,
                             uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX])
{
    ls_relay_packet copy = *packet;
    ls_byte_stream stream = ls_byte_stream_write(bytes, LS_RELAY_PACKET_BYTES_MAX);
    fields(&stream, &copy);
    LS_ASSERT(!stream.has_failed);
    return stream.at;
}

bool ls_relay_packet_read(const uint8_t *bytes, size_t size, ls_relay_packet *packet)
{
    if (!ls_relay_is_meant(bytes, size) || size > LS_RELAY_PACKET_BYTES_MAX) {
        return false;
    }
    ls_relay_packet read = {.kind = (ls_relay_kind)bytes[0]};
    ls_byte_stream stream = ls_byte_stream_read(bytes, size);
    fields(&stream, &read);
    if (!ls_byte_stream_is_at_end(&stream)) {
        return false;
    }
    *packet = read;
    return true;
}

bool ls_relay_read_carry(const uint8_t *bytes, size_t size, uint64_t *flow)
{
    if (size <= LS_RELAY_CARRY_HEADER_BYTES ||
        size > LS_RELAY_CARRY_HEADER_BYTES + LS_RELAY_CARRIED_BYTES_MAX ||
        bytes[0] != LS_RELAY_CARRY) {
        return false;
    }
    *flow = ls_load_u64(bytes + 1);
    return true;
}

size_t ls_relay_write_carry(uint8_t *bytes, uint64_t flow, const uint8_t *content, size_t size)
{
    LS_ASSERT(size <= LS_RELAY_CARRIED_BYTES_MAX);
    bytes[0] = LS_RELAY_CARRY;
    ls_store_u64(bytes + 1, flow);
    memcpy(bytes + LS_RELAY_CARRY_HEADER_BYTES, content, size);
    return LS_RELAY_CARRY_HEADER_BYTES + size;
}

/* ---- tags ---- */

static size_t tag_place(const uint8_t *bytes)
{
    switch ((ls_relay_kind)bytes[0]) {
    case LS_RELAY_REGISTER:
        return ACCESS_AT + LS_RELAY_TAG_BYTES;
    case LS_RELAY_REGISTERED:
        return 40;
    case LS_RELAY_OPEN:
        return 27;
    case LS_RELAY_LISTED:
        return 26;
    default: /* KEEP, KEPT */
        return 17;
    }
}

static void make_tag(const uint8_t *bytes, size_t size, const uint8_t key[LS_CIPHER_KEY_BYTES],
                     uint8_t tag[LS_RELAY_TAG_BYTES])
{
    ls_cipher_hash(key, LS_CIPHER_KEY_BYTES, bytes, size, tag, LS_RELAY_TAG_BYTES);
}

static bool has_tag(const uint8_t *bytes, size_t at, const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    uint8_t tag[LS_RELAY_TAG_BYTES];
    make_tag(bytes, at, key, tag);
    return ls_cipher_is_equal(tag, bytes + at, sizeof tag);
}

void ls_relay_packet_sign(uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    make_tag(bytes, tag_place(bytes), key, bytes + tag_place(bytes));
}

bool ls_relay_packet_is_signed(const uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    return has_tag(bytes, tag_place(bytes), key);
}

void ls_relay_packet_sign_access(uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    make_tag(bytes, ACCESS_AT, key, bytes + ACCESS_AT);
}

bool ls_relay_packet_has_access(const uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES])
{
    return has_tag(bytes, ACCESS_AT, key);
}

/* ---- relay code ---- */

enum {
    CHARACTER_BITS = 5,
    ALL_CHARACTERS = LS_RELAY_NAME_CHARACTERS + LS_RELAY_SECRET_CHARACTERS,
};

/* None of these looks like another one. */
static const char alphabet[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

bool ls_relay_code_has(char character)
{
    return character != '\0' && strchr(alphabet, character);
}

static void spell(const uint8_t *hash, char *out, size_t characters)
{
    uint32_t bits = (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16;
    for (size_t i = 0; i < characters; i++) {
        out[i] = alphabet[bits & ((1u << CHARACTER_BITS) - 1)];
        bits >>= CHARACTER_BITS;
    }
}

void ls_relay_code_name(const uint8_t public_key[LS_CIPHER_KEY_BYTES], uint8_t attempt,
                        char name[LS_RELAY_NAME_CHARACTERS])
{
    static const char label[] = "lockstep relay code";
    uint8_t bytes[sizeof label - 1 + LS_CIPHER_KEY_BYTES + 1];
    uint8_t hash[LS_CIPHER_KEY_BYTES];
    memcpy(bytes, label, sizeof label - 1);
    memcpy(bytes + sizeof label - 1, public_key, LS_CIPHER_KEY_BYTES);
    bytes[sizeof bytes - 1] = attempt;
    ls_cipher_hash(NULL, 0, bytes, sizeof bytes, hash, sizeof hash);
    spell(hash, name, LS_RELAY_NAME_CHARACTERS);
}

void ls_relay_code_secret(const uint8_t private_key[LS_CIPHER_KEY_BYTES],
                          char secret[LS_RELAY_SECRET_CHARACTERS])
{
    static const char label[] = "lockstep code secret";
    uint8_t hash[LS_CIPHER_KEY_BYTES];
    ls_cipher_hash(private_key, LS_CIPHER_KEY_BYTES, (const uint8_t *)label, sizeof label - 1, hash,
                   sizeof hash);
    spell(hash, secret, LS_RELAY_SECRET_CHARACTERS);
    ls_cipher_wipe(hash, sizeof hash);
}

void ls_relay_code_format(const ls_relay_code *code, char text[LS_RELAY_CODE_BYTES])
{
    snprintf(text, LS_RELAY_CODE_BYTES, "%.*s-%.*s", (int)LS_RELAY_NAME_CHARACTERS, code->name,
             (int)LS_RELAY_SECRET_CHARACTERS, code->secret);
}

bool ls_relay_code_is_meant(const char *text)
{
    return strchr(text, '@') != NULL;
}

ls_status ls_relay_code_parse(const char *text, ls_relay_code *code, const char **place,
                              ls_text *why)
{
    char read[ALL_CHARACTERS];
    size_t count = 0;
    const char *at = text;
    for (; *at != '\0' && *at != '@'; at++) {
        char upper = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
        if (*at == '-' && count == LS_RELAY_NAME_CHARACTERS && at[-1] != '-') {
            continue;
        }
        if (!ls_relay_code_has(upper) || count == sizeof read) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "a code is like K7QM-29F: seven of the letters without I and O and the "
                           "digits from 2 to 9");
        }
        read[count++] = upper;
    }
    if (count != sizeof read || *at != '@' || at[1] == '\0') {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "a code has seven characters and its relay behind it: K7QM-29F@HOST[:PORT]");
    }
    memcpy(code->name, read, sizeof code->name);
    memcpy(code->secret, read + sizeof code->name, sizeof code->secret);
    *place = at + 1;
    return LS_OK;
}

ls_status ls_relay_find(const char *place, ls_endpoint *relay, ls_text *why)
{
    char whole[LS_ENDPOINT_JOINED_BYTES];
    const char *bracket = strchr(place, ']');
    bool has_port = strchr(bracket ? bracket : place, ':') != NULL;
    int size = has_port ? snprintf(whole, sizeof whole, "%s", place)
                        : snprintf(whole, sizeof whole, "%s:%u", place, LS_RELAY_DEFAULT_PORT);
    if (size < 0 || (size_t)size >= sizeof whole) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the name of the relay is too long");
    }
    return ls_endpoint_parse(whole, relay, why);
}
