/* SDP (RFC 8866, 8829), as much of it as a data channel needs: the offer of a page is read, and the
 * answer of a door is written. Pure; reads an untrusted text. Called by rtc_peers. */
#ifndef LOCKSTEP_SERVER_DOOR_SDP_H
#define LOCKSTEP_SERVER_DOOR_SDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
