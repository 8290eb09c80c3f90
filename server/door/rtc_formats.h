/* RTC formats: what pages and a door say to each other about data channels: SDP, STUN and DCEP.
 * Pure; reads untrusted texts and bytes. Called by rtc_peers and rtc_stream. */
#ifndef LOCKSTEP_SERVER_DOOR_RTC_FORMATS_H
#define LOCKSTEP_SERVER_DOOR_RTC_FORMATS_H

#include "lockstep/common/base/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- SDP (RFC 8866, 8829), as much of it as a data channel needs: the offer of a page is read,
 * and the answer of a door is written ---- */

#define LS_SDP_BYTES_MAX 8192u /* of an offer */
#define LS_SDP_ANSWER_BYTES_MAX 1024u
#define LS_SDP_FINGERPRINT_BYTES 32u /* SHA-256 of a certificate */
#define LS_SDP_WORD_BYTES_MAX 40u

typedef struct ls_sdp_offer {
    char mid[LS_SDP_WORD_BYTES_MAX]; /* the name of the channel's part */
    uint16_t sctp_port;
    uint8_t fingerprint[LS_SDP_FINGERPRINT_BYTES];
} ls_sdp_offer;

/* An offer of a data channel, and of nothing else, whose side opens the connection. False, with
 * the reason in `why`. */
bool ls_sdp_read_offer(const char *text, size_t size, ls_sdp_offer *out, const char **why);

typedef struct ls_sdp_answer {
    const ls_sdp_offer *offer;
    const char *user, *password; /* of ICE */
    uint8_t fingerprint[LS_SDP_FINGERPRINT_BYTES];
    const char *address; /* numeric, where UDP is awaited */
    uint16_t port;
} ls_sdp_answer;

/* Returns its size. */
size_t ls_sdp_write_answer(const ls_sdp_answer *answer, char out[LS_SDP_ANSWER_BYTES_MAX]);

/* ---- STUN (RFC 8489), as much of it as ICE asks of a side that only answers (RFC 8445, ICE-lite):
 * binding requests that know a user's password are read, and answered ---- */

#define LS_STUN_ID_BYTES 12u
#define LS_STUN_NAME_BYTES_MAX 64u /* of the part of a user's name that is ours, with its NUL */
#define LS_STUN_ANSWER_BYTES_MAX 96u

typedef struct ls_stun_request {
    uint8_t id[LS_STUN_ID_BYTES];
    char name[LS_STUN_NAME_BYTES_MAX]; /* in front of the ':' */
    size_t signed_bytes;               /* in front of the proof */
    bool is_chosen;                    /* this way is the one to send by */
} ls_stun_request;

/* Whether it is a binding request with a name and a proof; the proof is not looked at yet. */
bool ls_stun_read(const uint8_t *bytes, size_t size, ls_stun_request *out);

/* Whether the request that was read was made with this password. */
bool ls_stun_is_proven(const uint8_t *bytes, const ls_stun_request *request, const char *password);

/* The answer to one who is seen at `from`; returns its size. */
size_t ls_stun_answer(const ls_stun_request *request, const ls_endpoint *from, const char *password,
                      uint8_t out[LS_STUN_ANSWER_BYTES_MAX]);

/* ---- DCEP (RFC 8832): how a page opens a data channel in band ---- */

typedef struct ls_dcep_open {
    bool is_ordered;
    bool is_reliable;
    uint32_t retransmissions; /* or milliseconds; of one that is not */
    bool is_ours;             /* its protocol is "lockstep", or it names none */
} ls_dcep_open;

/* Whether it is an OPEN. */
bool ls_dcep_read(const uint8_t *bytes, size_t size, ls_dcep_open *out);

/* The answer, of one byte. */
extern const uint8_t ls_dcep_ack;

#endif
