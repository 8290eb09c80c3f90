/* STUN (RFC 8489), as much of it as ICE asks of a side that only answers (RFC 8445, ICE-lite):
 * binding requests that know a user's password are read, and answered. Pure; reads untrusted bytes.
 * Called by rtc_peers. */
#ifndef LOCKSTEP_SERVER_DOOR_STUN_H
#define LOCKSTEP_SERVER_DOOR_STUN_H

#include "lockstep/common/base/endpoint.h"

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

#endif
