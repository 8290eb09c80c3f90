/* Sealed server: the connections of a server, as protocol/SEALED.md has them: key exchange,
 * cookies, limits, keys, roaming. Does no I/O: datagrams, addresses and time come in as arguments,
 * and answers go out as bytes. Keeps nothing for an address that is not proven. Memory is fixed at
 * create. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_SERVER_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_SERVER_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/protocol/sealed/token_gate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* In place of a worker: there is no place for the client anywhere, and it is told so (FULL). */
#define LS_SEALED_NO_WORKER UINT32_MAX

/* A client whose credential is proven, and that has no place yet. */
typedef struct ls_sealed_asker {
    const ls_sealed_pass *pass; /* by its token, is_return is not known yet; NULL without one */
    uint64_t match;             /* that it says it comes back to; 0: none */
    uint64_t attempt;           /* the same in each CONFIRM that is repeated, else another one */
    /* It has no token and asked for this worker: it was here before, or was sent here. */
    bool has_asked;
} ls_sealed_asker;

typedef struct ls_sealed_server_config {
    ls_key_pair identity;
    bool gives_key;             /* to a client that was given an address alone */
    bool gives_key_to_loopback; /* likewise to one on this machine */
    bool needs_secret;
    uint8_t secret[LS_INVITE_SECRET_BYTES];
    uint32_t connections_max; /* 1 .. LS_SEALED_CONNECTIONS_MAX(workers) */
    uint32_t per_address_max; /* connections of one address without a token, 1 or more */
    bool avoids_aes; /* packets are sealed with ChaCha20-Poly1305 though the processor has AES */
    /* Takes connect tokens, and clients without a token only by the secret, if `needs_secret`. The
     * key is given to any client that asks: a token proves the server. Borrowed; NULL: no tokens.
     */
    ls_token_gate *token_gate;

    /* One of several servers behind one port, with one identity (udp_group.h steers datagrams to
     * them): the indices of its connections on the wire are those whose lowest 12 bits leave
     * `worker` when divided by `workers`. All else counts its connections from 0. */
    uint32_t worker;  /* 0 .. workers - 1 */
    uint32_t workers; /* 0 .. LS_SEALED_WORKERS_MAX; 0 is the same as 1 */
    /* The worker that a client belongs to, or LS_SEALED_NO_WORKER: it is told that all is full, and
     * asks again. Asked before anything is kept of the client, again for each CONFIRM that is
     * repeated. Each worker must answer the same for a token, or it can be used once with each.
     * Must not call the server. NULL: each client belongs to the worker that it comes to. */
    uint32_t (*choose_worker)(void *user, const ls_sealed_asker *asker);
    /* Counts a connection without a token of an address beyond this server: false, when it has too
     * many; with `has_ended`, one that was counted has ended. NULL: per_address_max is all. */
    bool (*count_connection)(void *user, const ls_endpoint *address, bool has_ended);
    void *worker_user; /* handed to both */
} ls_sealed_server_config;

typedef struct ls_sealed_server ls_sealed_server;

/* The config is copied. Needs ls_cipher_init. BAD_ARGUMENT, NO_MEMORY. */
ls_status ls_sealed_server_create(const ls_sealed_server_config *config,
                                  const ls_allocator *allocator, ls_sealed_server **out);
/* Wipes every key. NULL is allowed. */
void ls_sealed_server_destroy(ls_sealed_server *server);

/* Writes the key, and the secret if one is needed, into an invite; the rest of it stays as it is.
 * The caller wipes it. */
void ls_sealed_server_invite(const ls_sealed_server *server, ls_invite *invite);

typedef struct ls_sealed_received {
    ls_sealed_rejection rejection;  /* LS_SEALED_ACCEPTED, or why the datagram was dropped */
    ls_token_refusal token_refusal; /* CREDENTIAL: what is wrong with a token; else NONE */
    ls_denial denial;               /* what the client is told of it */

    /* To be sent to where the datagram came from, when answer_bytes is not 0. Good until the next
     * call. */
    const uint8_t *answer;
    size_t answer_bytes;

    bool has_content;
    /* Beside content: ls_sealed_server_challenge_paths is to be called, when what is of use to the
     * client at once has gone; or before, as it had to wait the last time. */
    bool is_challenge_due;
    bool is_challenge_first;
    bool is_opened;            /* the first content of this connection: it is there from now on */
    bool has_moved;            /* its endpoint has just changed */
    uint32_t index;            /* of the connection: has_content, has_moved */
    ls_sealed_content content; /* PACKET, PACKETS or ENET */
    const uint8_t *bytes;      /* within the datagram, decrypted in place */
    size_t size;
    uint64_t rtt_ns; /* is_opened: from ACCEPT to this packet, at least 1; 0: it was repeated */
} ls_sealed_received;

/* A datagram has come; its bytes are changed. */
void ls_sealed_server_receive(ls_sealed_server *server, const ls_endpoint *from, uint8_t *datagram,
                              size_t size, uint64_t now_ns, ls_sealed_received *out);

/* Makes a sealed packet of `size` bytes of content that stand LS_SEALED_SERVER_HEADER_BYTES into
 * `datagram`, which has room for LS_SEALED_TAG_BYTES behind them; returns the bytes of the
 * datagram. For a connection that is there. */
size_t ls_sealed_server_seal(ls_sealed_server *server, uint32_t index, ls_sealed_content content,
                             uint8_t *datagram, size_t size);

/* The connection that a datagram names, and that is there; false when there is none. Nothing is
 * proven by it: anybody can write the number. */
bool ls_sealed_server_find(const ls_sealed_server *server, const uint8_t *datagram, size_t size,
                           uint32_t *index);

/* Asks for the memory that the next packet of a connection needs, either way. */
void ls_sealed_server_prefetch(const ls_sealed_server *server, uint32_t index);

/* Clients that were let in and have not said their first word. */
uint32_t ls_sealed_server_half_open(const ls_sealed_server *server);

/* Where a connection that is there is reached. */
const ls_endpoint *ls_sealed_server_endpoint(const ls_sealed_server *server, uint32_t index);

/* Bytes of a datagram that may go to the address that the newest packet of a connection came from,
 * while that is another one than the connection's, and not proven to be the client's; 0: there is
 * none, or nothing may go there. */
size_t ls_sealed_server_path_room(const ls_sealed_server *server, uint32_t index);

/* A datagram of at most so many bytes goes there: returns where. */
const ls_endpoint *ls_sealed_server_claim_path(ls_sealed_server *server, uint32_t index,
                                               size_t size);

/* Where the datagrams of a connection that is there go as well, since the client hears them there
 * and may not hear them where it was; NULL: nowhere. */
const ls_endpoint *ls_sealed_server_second_path(const ls_sealed_server *server, uint32_t index);

typedef struct ls_path_challenge {
    ls_endpoint to;
    uint8_t bytes[LS_SEALED_SERVER_HEADER_BYTES + LS_PATH_NUMBER_BYTES + LS_SEALED_TAG_BYTES];
    size_t size;
} ls_path_challenge;

/* Makes the PATH_CHALLENGEs that are due, and may be sent now; returns how many. */
uint32_t ls_sealed_server_challenge_paths(ls_sealed_server *server, uint32_t index, uint64_t now_ns,
                                          ls_path_challenge out[LS_PATH_CHALLENGES_MAX]);

/* The pass of a connection that is there; NULL for one without a token. */
const ls_sealed_pass *ls_sealed_server_pass(const ls_sealed_server *server, uint32_t index);

/* The client of a connection that is there was given what its token is for, so that the token is
 * used; or it was not and will not be: its client may begin anew with the token, unless that had
 * been used before. The first word counts; without a token nothing happens. */
void ls_sealed_server_settle_pass(ls_sealed_server *server, uint32_t index, bool is_used);

/* Forgets a connection and wipes its keys; its index may be given to another from then on. */
void ls_sealed_server_close(ls_sealed_server *server, uint32_t index);

LS_C_END

#endif
