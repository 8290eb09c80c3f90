/* Relay: knows the servers that are registered with it and the players whom it introduces to them,
 * forwards their datagrams, and keeps each within its limits. Reads nothing of what it carries.
 * Datagrams and time come in as arguments and datagrams go out by a callback; all memory is taken
 * at create. Called by relay_program. */
#ifndef LOCKSTEP_SERVER_RELAY_RELAY_H
#define LOCKSTEP_SERVER_RELAY_RELAY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/server/directory/directory.h"

/* Of each there may be so many at most, and it is told apart by so many bits of its number. */
#define LS_RELAY_HOSTS_MAX 4096u
#define LS_RELAY_PLAYERS_MAX 65536u

typedef struct ls_relay_config {
    ls_log *log;                /* borrowed */
    uint32_t hosts_max;         /* servers; 1 .. LS_RELAY_HOSTS_MAX */
    uint32_t players_max;       /* 1 .. LS_RELAY_PLAYERS_MAX */
    uint32_t hosts_per_address; /* 1 or more */
    uint32_t match_kb;          /* that one server may have carried each way in a second; 1 .. */
    uint32_t player_kb;         /* likewise of one player */
    uint32_t games_max;         /* that are listed; 0 .. LS_RELAY_HOSTS_MAX */
    ls_relay_page page;         /* told to servers */
    bool has_access_key;        /* servers need the key of a file */
    uint8_t access_key[LS_CIPHER_KEY_BYTES];
} ls_relay_config;

/* 1,024 servers and games, 8,192 players, 8 servers of an address, 4,096 and 1,024 kB, no key and
 * no log. */
ls_relay_config ls_relay_config_default(void);

/* Forwards a datagram, whose bytes are good for the call. */
typedef struct ls_relay_sink {
    void (*send)(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size);
    void *user;
} ls_relay_sink;

/* Of the time since it was made. */
typedef struct ls_relay_counts {
    uint32_t hosts; /* now */
    uint32_t players;
    uint64_t introduced;
    uint64_t went_directly; /* players who said so */
    uint64_t carried;       /* datagrams */
    uint64_t carried_bytes;
    uint64_t limited; /* datagrams that were dropped by a limit */
    uint64_t refused; /* others that were dropped */
} ls_relay_counts;

typedef struct ls_relay_service ls_relay_service;

/* Needs ls_cipher_init. NO_MEMORY. */
ls_status ls_relay_create(const ls_relay_config *config, const ls_relay_sink *sink,
                          const ls_allocator *allocator, ls_relay_service **out);
/* Wipes its keys; NULL is allowed. */
void ls_relay_destroy(ls_relay_service *relay);

/* A datagram has come. */
void ls_relay_receive(ls_relay_service *relay, const ls_endpoint *from, const uint8_t *bytes,
                      size_t size, uint64_t now_ns);
/* To be called about once a second: forgets what has been silent. */
void ls_relay_expire(ls_relay_service *relay, uint64_t now_ns);

const ls_relay_counts *ls_relay_counts_of(const ls_relay_service *relay);
/* The games that it lists; as long as it is there. */
const ls_directory *ls_relay_directory(const ls_relay_service *relay);

#endif
