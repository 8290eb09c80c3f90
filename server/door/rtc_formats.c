#include "lockstep/server/door/rtc_formats.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/text.h"
#include "lockstep/server/door/sha1.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- sdp ---- */

/* The offer, as far as it was read. */
typedef struct reading {
    ls_sdp_offer offer;
    uint32_t parts; /* lines with m= */
    bool is_channel, has_fingerprint, is_active;
} reading;

typedef struct line {
    const char *text;
    size_t size;
} line;

static bool begins(line at, const char *start, line *rest)
{
    size_t size = strlen(start);
    if (at.size < size || memcmp(at.text, start, size) != 0) {
        return false;
    }
    *rest = (line){at.text + size, at.size - size};
    return true;
}

static bool is_equal(line at, const char *text)
{
    return at.size == strlen(text) && memcmp(at.text, text, at.size) == 0;
}

/* "AB:CD:..." */
static bool read_fingerprint(line at, uint8_t out[LS_SDP_FINGERPRINT_BYTES])
{
    if (at.size != 3 * LS_SDP_FINGERPRINT_BYTES - 1) {
        return false;
    }
    for (size_t i = 0; i < LS_SDP_FINGERPRINT_BYTES; i++) {
        bool is_parted = 3 * i + 2 == at.size || at.text[3 * i + 2] == ':';
        if (!is_parted || !ls_hex_read(at.text + 3 * i, &out[i], 1)) {
            return false;
        }
    }
    return true;
}

static bool read_mid(line at, char out[LS_SDP_WORD_BYTES_MAX])
{
    bool is_good = at.size > 0 && at.size < LS_SDP_WORD_BYTES_MAX;
    for (size_t i = 0; is_good && i < at.size; i++) {
        is_good = isalnum((unsigned char)at.text[i]) || strchr("-_.", at.text[i]);
    }
    if (is_good) {
        memcpy(out, at.text, at.size);
        out[at.size] = '\0';
    }
    return is_good;
}

static bool read_port(line at, uint16_t *out)
{
    uint32_t port = 0;
    for (size_t i = 0; i < at.size && port <= UINT16_MAX; i++) {
        if (!isdigit((unsigned char)at.text[i])) {
            return false;
        }
        port = port * 10 + (uint32_t)(at.text[i] - '0');
    }
    *out = (uint16_t)port;
    return port > 0 && port <= UINT16_MAX;
}

/* False: it is wrong. Lines that say nothing of a channel are passed over. */
static bool read_line(reading *read, line at)
{
    line rest;
    if (begins(at, "m=", &rest)) {
        read->parts++;
        size_t tail = strlen(" UDP/DTLS/SCTP webrtc-datachannel");
        bool is_long = rest.size > tail;
        read->is_channel =
            is_long && begins(rest, "application ", &at) &&
            memcmp(rest.text + rest.size - tail, " UDP/DTLS/SCTP webrtc-datachannel", tail) == 0;
        return read->is_channel;
    }
    if (begins(at, "a=mid:", &rest)) {
        return read_mid(rest, read->offer.mid);
    }
    if (begins(at, "a=fingerprint:", &rest)) {
        line value;
        bool is_ours = begins(rest, "sha-256 ", &value) || begins(rest, "SHA-256 ", &value);
        read->has_fingerprint |= is_ours;
        return !is_ours || read_fingerprint(value, read->offer.fingerprint);
    }
    if (begins(at, "a=setup:", &rest)) {
        read->is_active = is_equal(rest, "actpass") || is_equal(rest, "active");
        return read->is_active;
    }
    return !begins(at, "a=sctp-port:", &rest) || read_port(rest, &read->offer.sctp_port);
}

bool ls_sdp_read_offer(const char *text, size_t size, ls_sdp_offer *out, const char **why)
{
    reading read = {.offer = {.sctp_port = 0}};
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t whole = end ? (size_t)(end - text) - at : size - at;
        line next = {text + at, whole};
        if (whole > 0 && text[at + whole - 1] == '\r') {
            next.size--;
        }
        if (!read_line(&read, next)) {
            *why = "a line of the offer is none of a data channel";
            return false;
        }
        at += whole + 1;
    }
    if (read.parts != 1 || !read.has_fingerprint || !read.is_active || read.offer.mid[0] == '\0' ||
        read.offer.sctp_port == 0) {
        *why = "the offer is not one of a data channel alone";
        return false;
    }
    *out = read.offer;
    return true;
}

size_t ls_sdp_write_answer(const ls_sdp_answer *answer, char out[LS_SDP_ANSWER_BYTES_MAX])
{
    char fingerprint[3 * LS_SDP_FINGERPRINT_BYTES + 1];
    const char *family = strchr(answer->address, ':') ? "IP6" : "IP4";
    for (size_t i = 0; i < LS_SDP_FINGERPRINT_BYTES; i++) {
        snprintf(fingerprint + 3 * i, 4, "%02X:", answer->fingerprint[i]);
    }
    fingerprint[3 * LS_SDP_FINGERPRINT_BYTES - 1] = '\0';
    int size =
        snprintf(out, LS_SDP_ANSWER_BYTES_MAX,
                 "v=0\r\no=- 1 1 IN %s %s\r\ns=-\r\nt=0 0\r\na=ice-lite\r\na=group:BUNDLE %s\r\n"
                 "m=application %u UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN %s %s\r\na=mid:%s\r\n"
                 "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\na=fingerprint:sha-256 %s\r\na=setup:passive\r\n"
                 "a=sctp-port:5000\r\na=max-message-size:1280\r\n"
                 "a=candidate:1 1 UDP 2130706431 %s %u typ host\r\na=end-of-candidates\r\n",
                 family, answer->address, answer->offer->mid, answer->port, family, answer->address,
                 answer->offer->mid, answer->user, answer->password, fingerprint, answer->address,
                 answer->port);
    return size > 0 && (size_t)size < LS_SDP_ANSWER_BYTES_MAX ? (size_t)size : 0;
}

/* ---- stun ---- */

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

/* ---- dcep ---- */

enum {
    OPEN_BYTES = 12, /* without its names */
    OPEN = 0x03,
    ACK = 0x02,
    UNORDERED = 0x80,
};

const uint8_t ls_dcep_ack = ACK;

bool ls_dcep_read(const uint8_t *bytes, size_t size, ls_dcep_open *out)
{
    static const char ours[] = "lockstep";
    if (size < OPEN_BYTES || bytes[0] != OPEN || (bytes[1] & ~UNORDERED) > 2) {
        return false;
    }
    size_t label = load_16(bytes + 8);
    size_t protocol = load_16(bytes + 10);
    if (label + protocol != size - OPEN_BYTES) {
        return false;
    }
    const uint8_t *name = bytes + OPEN_BYTES + label;
    *out = (ls_dcep_open){.is_ordered = (bytes[1] & UNORDERED) == 0,
                          .is_reliable = (bytes[1] & ~UNORDERED) == 0,
                          .retransmissions = load_16(bytes + 4) << 16 | load_16(bytes + 6),
                          .is_ours = protocol == 0 || (protocol == sizeof ours - 1 &&
                                                       memcmp(name, ours, sizeof ours - 1) == 0)};
    return true;
}
