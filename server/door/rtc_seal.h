/* RTC seal: DTLS 1.2 as the side that waits, between two certificates that both sides know by
 * their fingerprints (RFC 8827). The only module that knows OpenSSL. Called by rtc_peers. */
#ifndef LOCKSTEP_SERVER_DOOR_RTC_SEAL_H
#define LOCKSTEP_SERVER_DOOR_RTC_SEAL_H

#include "lockstep/common/base/status.h"
#include "lockstep/server/door/rtc_formats.h"

/* A certificate made anew, for all peers. */
typedef struct ls_rtc_identity ls_rtc_identity;

/* NO_MEMORY, IO: there is no randomness. */
ls_status ls_rtc_identity_create(ls_rtc_identity **out);
void ls_rtc_identity_destroy(ls_rtc_identity *identity); /* NULL is allowed */
const uint8_t *ls_rtc_identity_fingerprint(const ls_rtc_identity *identity);

typedef struct ls_rtc_seal_config {
    const uint8_t *fingerprint;                                  /* of the peer; copied */
    void (*send)(void *user, const uint8_t *bytes, size_t size); /* a datagram */
    /* The content of a datagram, behind its seal. */
    void (*receive)(void *user, const uint8_t *bytes, size_t size);
    void *user;
} ls_rtc_seal_config;

typedef enum ls_rtc_seal_state {
    LS_RTC_SEAL_OPENING,
    LS_RTC_SEAL_OPEN,
    LS_RTC_SEAL_OVER,
} ls_rtc_seal_state;

typedef struct ls_rtc_seal ls_rtc_seal;

/* NULL: memory is out. */
ls_rtc_seal *ls_rtc_seal_create(const ls_rtc_identity *identity, const ls_rtc_seal_config *config);
void ls_rtc_seal_destroy(ls_rtc_seal *seal); /* says goodbye; NULL is allowed */

ls_rtc_seal_state ls_rtc_seal_receive(ls_rtc_seal *seal, const uint8_t *bytes, size_t size);
void ls_rtc_seal_send(ls_rtc_seal *seal, const uint8_t *bytes, size_t size);

/* Repeats what was not answered: a few times a second. */
void ls_rtc_seal_tend(ls_rtc_seal *seal);

#endif
