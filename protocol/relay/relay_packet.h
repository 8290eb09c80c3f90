/* Relay packet: the bytes of the datagrams between a relay, the servers that are registered with it
 * and the players whom it introduces, as docs/relay.md has them. A sealed datagram never begins
 * with a byte of theirs. Pure. Called by relay_server, relay_client and the relay. */
#ifndef LOCKSTEP_PROTOCOL_RELAY_RELAY_PACKET_H
#define LOCKSTEP_PROTOCOL_RELAY_RELAY_PACKET_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ls_relay_kind {
    LS_RELAY_ASK = 0x60,
    LS_RELAY_COOKIE,
    LS_RELAY_REGISTER,
    LS_RELAY_REGISTERED,
    LS_RELAY_KEEP,
    LS_RELAY_KEPT,
    LS_RELAY_JOIN,
    LS_RELAY_JOINED,
    LS_RELAY_OPEN,
    LS_RELAY_OPENED,
    LS_RELAY_CARRY, /* has content of any size: see ls_relay_read_carry */
    LS_RELAY_GONE,
    LS_RELAY_PUNCH,
    LS_RELAY_PROVE,
    LS_RELAY_PROVEN,
    LS_RELAY_WAY,
    LS_RELAY_LIST, /* see relay_listing.h */
    LS_RELAY_LISTED,
    LS_RELAY_LOOK,
    LS_RELAY_GAMES, /* see relay_listing.h */
    LS_RELAY_KIND_END,
} ls_relay_kind;

#define LS_RELAY_PACKET_BYTES_MAX 128u
#define LS_RELAY_CARRY_HEADER_BYTES 9u
#define LS_RELAY_CARRIED_BYTES_MAX 1200u /* as sealed datagrams have them */
#define LS_RELAY_NONCE_BYTES 16u
#define LS_RELAY_TAG_BYTES 16u
#define LS_RELAY_NAME_CHARACTERS 4u /* of a code: the relay's part */

/* Results of REGISTERED, of JOINED and of LISTED. */
enum {
    LS_RELAY_GOOD = 0,
    LS_RELAY_FULL = 1,
    LS_RELAY_KEY_NEEDED = 2,
    LS_RELAY_NO_SUCH_CODE = 1,
    LS_RELAY_CODE_FULL = 2,
    LS_RELAY_TO_BE_PROVEN = 1,
    LS_RELAY_LIST_FULL = 2,
};

/* The door of a relay for pages, which play by it. */
typedef struct ls_relay_page {
    uint16_t port;     /* of HTTP; 0: there is none */
    uint8_t is_sealed; /* 1: by TLS */
} ls_relay_page;

/* All that a packet of any kind can have; the rest is zero. */
typedef struct ls_relay_packet {
    ls_relay_kind kind;
    uint8_t value; /* flags of COOKIE, a result, is_answer of PUNCH, is_direct of WAY */
    uint8_t nonce[LS_RELAY_NONCE_BYTES];
    uint64_t time_ms;
    uint8_t cookie[LS_RELAY_TAG_BYTES];
    uint8_t key[LS_CIPHER_KEY_BYTES];   /* R or S */
    uint8_t point[LS_GROUP_BYTES];      /* A or B */
    uint8_t access[LS_RELAY_TAG_BYTES]; /* of REGISTER */
    uint8_t tag[LS_RELAY_TAG_BYTES];
    uint64_t number; /* the flow; of REGISTERED, KEEP, KEPT and LISTED the id */
    uint64_t counter;
    uint64_t challenge; /* of LISTED; 0: none */
    uint32_t place;     /* of LOOK: where to go on */
    char name[LS_RELAY_NAME_CHARACTERS];
    ls_endpoint host;      /* the server */
    ls_endpoint player;    /* or of REGISTERED none */
    uint16_t outside_port; /* that the server's router leads to it; 0: none */
    ls_endpoint local;     /* the server in its own network; port 0: not told */
    ls_relay_page page;    /* of REGISTERED */
} ls_relay_packet;

/* Whether a datagram is one of these at all, by its first byte. */
static inline bool ls_relay_is_meant(const uint8_t *bytes, size_t size)
{
    return size > 0 && bytes[0] >= LS_RELAY_ASK && bytes[0] < LS_RELAY_KIND_END;
}

/* Of any kind but CARRY, LIST and GAMES; returns the size. */
size_t ls_relay_packet_write(const ls_relay_packet *packet,
                             uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX]);
/* False, and `packet` is as it was, for everything that is not of this page. */
bool ls_relay_packet_read(const uint8_t *bytes, size_t size, ls_relay_packet *packet);

/* The flow of a CARRY, whose content begins behind LS_RELAY_CARRY_HEADER_BYTES. */
bool ls_relay_read_carry(const uint8_t *bytes, size_t size, uint64_t *flow);
/* Writes one, LS_RELAY_CARRIED_BYTES_MAX of content at most; returns its size. */
size_t ls_relay_write_carry(uint8_t *bytes, uint64_t flow, const uint8_t *content, size_t size);

/* Writes the tag of a REGISTER, REGISTERED, KEEP, KEPT, OPEN or LISTED, which has been written but
 * for it; and whether it is that of the key. */
void ls_relay_packet_sign(uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES]);
bool ls_relay_packet_is_signed(const uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES]);
/* The same of the tag in REGISTER that the relay's key file makes; it comes before the other. */
void ls_relay_packet_sign_access(uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES]);
bool ls_relay_packet_has_access(const uint8_t *bytes, const uint8_t key[LS_CIPHER_KEY_BYTES]);

/* ---- Relay code: the short code of a server that is registered with a relay, such as K7QM-29F.
 * Its first four characters name the server to the relay; the last three the relay never sees. Pure
 * but for the system's resolver. Called by relays, servers and clients. */

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
