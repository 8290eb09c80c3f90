#include "lockstep/server/door/stun.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/server/door/sha1.h"

#include <string.h>

enum {
    HEADER_BYTES = 20,
    ID_AT = 8,
    ATTRIBUTE_BYTES = 4, /* its kind and size */
    MESSAGE_BYTES_MAX = 1280,
    BINDING_REQUEST = 0x0001,
    BINDING_SUCCESS = 0x0101,
    USERNAME = 0x0006,
    MESSAGE_INTEGRITY = 0x0008,
    XOR_MAPPED_ADDRESS = 0x0020,
    USE_CANDIDATE = 0x0025,
    FINGERPRINT = 0x8028,
    FAMILY_IPV4 = 1,
    FAMILY_IPV6 = 2,
};

static const uint8_t MAGIC[] = {0x21, 0x12, 0xa4, 0x42};

static uint32_t load_16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static void store_16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

/* ---- reading ---- */

static bool read_name(const uint8_t *bytes, size_t size, char out[LS_STUN_NAME_BYTES_MAX])
{
    const uint8_t *end = memchr(bytes, ':', size);
    size_t name_size = end ? (size_t)(end - bytes) : 0;
    if (name_size == 0 || name_size >= LS_STUN_NAME_BYTES_MAX || memchr(bytes, 0, name_size)) {
        return false;
    }
    memcpy(out, bytes, name_size);
    out[name_size] = '\0';
    return true;
}

bool ls_stun_read(const uint8_t *bytes, size_t size, ls_stun_request *out)
{
    ls_stun_request read = {.signed_bytes = 0};
    if (size < HEADER_BYTES || size > MESSAGE_BYTES_MAX || load_16(bytes) != BINDING_REQUEST ||
        load_16(bytes + 2) != size - HEADER_BYTES || memcmp(bytes + 4, MAGIC, sizeof MAGIC) != 0) {
        return false;
    }
    memcpy(read.id, bytes + ID_AT, sizeof read.id);
    for (size_t at = HEADER_BYTES; size - at >= ATTRIBUTE_BYTES && read.signed_bytes == 0;) {
        uint32_t kind = load_16(bytes + at);
        size_t value_size = load_16(bytes + at + 2);
        const uint8_t *value = bytes + at + ATTRIBUTE_BYTES;
        size_t whole = ATTRIBUTE_BYTES + ((value_size + 3) & ~(size_t)3);
        if (whole > size - at) {
            return false;
        }
        if (kind == USERNAME && !read_name(value, value_size, read.name)) {
            return false;
        }
        read.is_chosen |= kind == USE_CANDIDATE;
        if (kind == MESSAGE_INTEGRITY) {
            if (value_size != LS_SHA1_BYTES) {
                return false;
            }
            read.signed_bytes = at;
        }
        at += whole;
    }
    if (read.signed_bytes == 0 || read.name[0] == '\0') {
        return false;
    }
    *out = read;
    return true;
}

/* Of the message up to its proof, whose header says that it ends behind the proof. */
static void prove(const uint8_t *bytes, size_t size, const char *password,
                  uint8_t out[LS_SHA1_BYTES])
{
    uint8_t whole[MESSAGE_BYTES_MAX];
    memcpy(whole, bytes, size);
    store_16(whole + 2, (uint32_t)(size + ATTRIBUTE_BYTES + LS_SHA1_BYTES - HEADER_BYTES));
    ls_sha1_hmac((const uint8_t *)password, strlen(password), whole, size, out);
}

bool ls_stun_is_proven(const uint8_t *bytes, const ls_stun_request *request, const char *password)
{
    uint8_t proof[LS_SHA1_BYTES];
    prove(bytes, request->signed_bytes, password, proof);
    return ls_cipher_is_equal(proof, bytes + request->signed_bytes + ATTRIBUTE_BYTES, sizeof proof);
}

/* ---- answering ---- */

static uint32_t crc_32(const uint8_t *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

static size_t add_address(uint8_t *at, const ls_endpoint *from, const uint8_t id[LS_STUN_ID_BYTES])
{
    uint8_t mask[sizeof MAGIC + LS_STUN_ID_BYTES];
    bool is_ipv4 = ls_endpoint_is_ipv4(from);
    size_t size = is_ipv4 ? 4 : LS_ENDPOINT_ADDRESS_BYTES;
    const uint8_t *address = from->address + LS_ENDPOINT_ADDRESS_BYTES - size;
    memcpy(mask, MAGIC, sizeof MAGIC);
    memcpy(mask + sizeof MAGIC, id, LS_STUN_ID_BYTES);
    store_16(at, XOR_MAPPED_ADDRESS);
    store_16(at + 2, (uint32_t)(4 + size));
    at[4] = 0;
    at[5] = is_ipv4 ? FAMILY_IPV4 : FAMILY_IPV6;
    store_16(at + 6, from->port ^ load_16(MAGIC));
    for (size_t i = 0; i < size; i++) {
        at[8 + i] = address[i] ^ mask[i];
    }
    return 8 + size;
}

size_t ls_stun_answer(const ls_stun_request *request, const ls_endpoint *from, const char *password,
                      uint8_t out[LS_STUN_ANSWER_BYTES_MAX])
{
    store_16(out, BINDING_SUCCESS);
    memcpy(out + 4, MAGIC, sizeof MAGIC);
    memcpy(out + ID_AT, request->id, sizeof request->id);
    size_t size = HEADER_BYTES + add_address(out + HEADER_BYTES, from, request->id);
    store_16(out + size, MESSAGE_INTEGRITY);
    store_16(out + size + 2, LS_SHA1_BYTES);
    prove(out, size, password, out + size + ATTRIBUTE_BYTES);
    size += ATTRIBUTE_BYTES + LS_SHA1_BYTES;
    store_16(out + 2, (uint32_t)(size + 8 - HEADER_BYTES));
    uint32_t crc = crc_32(out, size) ^ 0x5354554eu;
    store_16(out + size, FINGERPRINT);
    store_16(out + size + 2, 4);
    store_16(out + size + 4, crc >> 16);
    store_16(out + size + 6, crc & 0xffff);
    return size + 8;
}
