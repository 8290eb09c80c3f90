/* Relay code: the short code of a server that is registered with a relay, such as K7QM-29F. Its
 * first four characters name the server to the relay; the last three the relay never sees. Pure but
 * for the system's resolver. Called by relays, servers and clients. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_CODE_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_CODE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/protocol/relay/relay_packet.h"

#define LS_RELAY_DEFAULT_PORT 7310u
#define LS_RELAY_SECRET_CHARACTERS 3u

typedef struct ls_relay_code {
    char name[LS_RELAY_NAME_CHARACTERS]; /* no texts: without a NUL */
    char secret[LS_RELAY_SECRET_CHARACTERS];
} ls_relay_code;

/* "K7QM-29F" and its final NUL. */
#define LS_RELAY_CODE_BYTES 9u

/* Whether a character can be in a code. */
bool ls_relay_code_has(char character);

/* The first part of a server's code; the attempts from 0 on give one after the other. */
void ls_relay_code_name(const uint8_t public_key[LS_CIPHER_KEY_BYTES], uint8_t attempt,
                        char name[LS_RELAY_NAME_CHARACTERS]);
/* The second one. */
void ls_relay_code_secret(const uint8_t private_key[LS_CIPHER_KEY_BYTES],
                          char secret[LS_RELAY_SECRET_CHARACTERS]);

void ls_relay_code_format(const ls_relay_code *code, char text[LS_RELAY_CODE_BYTES]);

/* Whether what a player was given is CODE@HOST[:PORT], and no HOST[:PORT]. */
bool ls_relay_code_is_meant(const char *text);
/* Reads the code before the '@', whatever the case of its letters and with or without its '-', and
 * gives what stands behind. BAD_ARGUMENT with what is wrong. */
ls_status ls_relay_code_parse(const char *text, ls_relay_code *code, const char **place,
                              ls_text *why);

/* Resolves HOST[:PORT] of a relay. Statuses as ls_endpoint_resolve. */
ls_status ls_relay_find(const char *place, ls_endpoint *relay, ls_text *why);

#endif
