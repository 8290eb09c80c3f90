#include "lockstep/protocol/relay/relay_keys.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"

#include <string.h>

/* Parts of what is hashed, one behind the other. */
typedef struct parts {
    uint8_t bytes[192];
    size_t size;
} parts;

static void add(parts *to, const void *bytes, size_t size)
{
    LS_ASSERT(size <= sizeof to->bytes - to->size);
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static void add_text(parts *to, const char *text)
{
    add(to, text, strlen(text));
}

static void add_number(parts *to, uint64_t number)
{
    uint8_t bytes[8];
    ls_store_u64(bytes, number);
    add(to, bytes, sizeof bytes);
}

static void hash(const uint8_t *key, const parts *of, uint8_t *out, size_t out_bytes)
{
    ls_cipher_hash(key, key ? LS_CIPHER_KEY_BYTES : 0, of->bytes, of->size, out, out_bytes);
}

static void derive(const uint8_t *key, const char *label, uint8_t out[LS_CIPHER_KEY_BYTES])
{
    parts of = {.size = 0};
    add_text(&of, label);
    hash(key, &of, out, LS_CIPHER_KEY_BYTES);
}

/* ---- a server to its relay ---- */

bool ls_relay_keys_make(const ls_relay_keys_of *of, ls_relay_keys *out)
{
    uint8_t shared[LS_CIPHER_KEY_BYTES];
    bool is_server = memcmp(of->own->public_key, of->server, LS_CIPHER_KEY_BYTES) == 0;
    if (!ls_key_pair_agree(of->own, is_server ? of->relay : of->server, shared)) {
        return false;
    }
    parts all = {.size = 0};
    add_text(&all, "lockstep relay 1");
    add(&all, of->server, LS_CIPHER_KEY_BYTES);
    add(&all, of->relay, LS_CIPHER_KEY_BYTES);
    add(&all, of->nonce, LS_RELAY_NONCE_BYTES);
    add_number(&all, of->time_ms);
    hash(shared, &all, out->proof, sizeof out->proof);
    derive(out->proof, "server to relay", out->to_relay);
    derive(out->proof, "relay to server", out->to_server);
    ls_cipher_wipe(shared, sizeof shared);
    return true;
}

void ls_relay_access_key(const uint8_t file_key[LS_CIPHER_KEY_BYTES],
                         uint8_t out[LS_CIPHER_KEY_BYTES])
{
    parts of = {.size = 0};
    add_text(&of, "lockstep relay key");
    add(&of, file_key, LS_CIPHER_KEY_BYTES);
    hash(NULL, &of, out, LS_CIPHER_KEY_BYTES);
    ls_cipher_wipe(&of, sizeof of);
}

void ls_relay_cookie(const uint8_t key[LS_CIPHER_KEY_BYTES], const ls_endpoint *from,
                     const uint8_t nonce[LS_RELAY_NONCE_BYTES], uint64_t time_ms,
                     uint8_t out[LS_RELAY_TAG_BYTES])
{
    parts of = {.size = 0};
    uint8_t port[2];
    ls_store_u16(port, from->port);
    add(&of, from->address, sizeof from->address);
    add(&of, port, sizeof port);
    add(&of, nonce, LS_RELAY_NONCE_BYTES);
    add_number(&of, time_ms);
    hash(key, &of, out, LS_RELAY_TAG_BYTES);
}

/* ---- a server to a player ---- */

/* `point` becomes scalar times the point that the code and the flow stand for. */
static bool make_half(const ls_relay_code *code, uint64_t flow, ls_relay_proof *out)
{
    parts of = {.size = 0};
    uint8_t wide[LS_GROUP_HASH_BYTES];
    uint8_t base[LS_GROUP_BYTES];
    add_text(&of, "lockstep code 1");
    add(&of, code->name, sizeof code->name);
    add(&of, code->secret, sizeof code->secret);
    add_number(&of, flow);
    hash(NULL, &of, wide, sizeof wide);
    ls_group_point(wide, base);
    ls_group_scalar_random(out->scalar);
    return ls_group_multiply(out->scalar, base, out->point);
}

typedef struct transcript {
    uint64_t flow;
    const uint8_t *client_point;
    const uint8_t *server_point;
} transcript;

/* H16(k, S). */
static bool make_tag(const transcript *of, const uint8_t scalar[LS_GROUP_BYTES],
                     const uint8_t *other_point, const uint8_t server[LS_CIPHER_KEY_BYTES],
                     uint8_t tag[LS_RELAY_TAG_BYTES])
{
    uint8_t shared[LS_GROUP_BYTES];
    uint8_t key[LS_CIPHER_KEY_BYTES];
    if (!ls_group_multiply(scalar, other_point, shared)) {
        return false;
    }
    parts all = {.size = 0};
    add_text(&all, "lockstep code key 1");
    add_number(&all, of->flow);
    add(&all, of->client_point, LS_GROUP_BYTES);
    add(&all, of->server_point, LS_GROUP_BYTES);
    add(&all, shared, sizeof shared);
    hash(NULL, &all, key, sizeof key);
    ls_cipher_hash(key, sizeof key, server, LS_CIPHER_KEY_BYTES, tag, LS_RELAY_TAG_BYTES);
    ls_cipher_wipe(&all, sizeof all);
    ls_cipher_wipe(shared, sizeof shared);
    ls_cipher_wipe(key, sizeof key);
    return true;
}

bool ls_relay_proof_begin(const ls_relay_code *code, uint64_t flow, ls_relay_proof *out)
{
    return make_half(code, flow, out);
}

bool ls_relay_proof_answer(const ls_relay_code *code, uint64_t flow, const ls_relay_packet *prove,
                           const uint8_t server[LS_CIPHER_KEY_BYTES], ls_relay_packet *proven)
{
    ls_relay_proof own;
    ls_relay_packet made = {.kind = LS_RELAY_PROVEN};
    bool is_made = make_half(code, flow, &own);
    if (is_made) {
        const transcript of = {flow, prove->point, own.point};
        memcpy(made.key, server, sizeof made.key);
        memcpy(made.point, own.point, sizeof made.point);
        is_made = make_tag(&of, own.scalar, prove->point, server, made.tag);
    }
    ls_cipher_wipe(&own, sizeof own);
    if (is_made) {
        *proven = made;
    }
    return is_made;
}

bool ls_relay_proof_is_good(const ls_relay_proof *own, uint64_t flow, const ls_relay_packet *proven)
{
    const transcript of = {flow, own->point, proven->point};
    uint8_t tag[LS_RELAY_TAG_BYTES];
    return make_tag(&of, own->scalar, proven->point, proven->key, tag) &&
           ls_cipher_is_equal(tag, proven->tag, sizeof tag);
}
