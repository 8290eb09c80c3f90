#include "lockstep/server/door/sdp.h"

#include "lockstep/common/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
