/* Invite: the one line that a server prints and a player gives to a client:
 *   lockstep://HOST:PORT/#KEY.CHECK     or     lockstep://HOST:PORT/#KEY.SECRET.CHECK
 * and for one room of a server with many, on its worker K: lockstep://HOST:PORT/ROOM@K#...
 * KEY is the server's public key in 43 characters, SECRET what lets its owner in, in 22, CHECK four
 * characters that tell a typing error in these; all in base64url without padding (RFC 4648). The
 * host may be changed by hand: the server that is found there proves to have the key. It is
 * CODE@HOST, with the port of a relay, for a server that is reached by one. Pure.
 * Called by programs. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_INVITE_H
#define LOCKSTEP_PROTOCOL_SEALED_INVITE_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_INVITE_SECRET_BYTES 16u
#define LS_INVITE_HOST_BYTES_MAX 254u /* with its final NUL: a DNS name has at most 253 */
#define LS_INVITE_ROOM_BYTES_MAX 48u  /* likewise: letters, digits, '-' and '_' */
#define LS_INVITE_WORKERS_MAX 16u
/* The longest invite with its final NUL. */
#define LS_INVITE_TEXT_BYTES_MAX 416u

typedef struct ls_invite {
    char host[LS_INVITE_HOST_BYTES_MAX]; /* an address of IPv6 without its brackets */
    uint16_t port;
    char room[LS_INVITE_ROOM_BYTES_MAX]; /* "": any; else it is on ... */
    uint32_t worker;                     /* ... this one; 0 .. LS_INVITE_WORKERS_MAX - 1 */
    uint8_t key[LS_CIPHER_KEY_BYTES];
    bool has_secret;
    uint8_t secret[LS_INVITE_SECRET_BYTES];
} ls_invite;

/* Whether a text is meant as an invite, and not as HOST:PORT: it begins as one, whatever the case
 * of its letters and with blanks in front, or has the '#' of one, behind which a secret may be. */
bool ls_invite_is_meant(const char *text);

/* BAD_ARGUMENT, with what is wrong in `why`, which never has the secret; `out` is then untouched.
 * Blanks around the invite and the case of its scheme do not count. Without a port: the default
 * one. The caller wipes `out` where it has a secret. */
ls_status ls_invite_parse(const char *text, ls_invite *out, ls_text *why);

/* The host must not be empty. */
void ls_invite_format(const ls_invite *invite, char text[LS_INVITE_TEXT_BYTES_MAX]);

LS_C_END

#endif
