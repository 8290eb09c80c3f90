/* Moving match: the real match and sessions that come late, lose their links, come back and watch,
 * in virtual time over the memory network; every session is driven as lockstep-client drives its
 * own. It compares each hashed state that a session shows as settled with the server's of that
 * tick, and stops the test where they differ. The same calls give the same run. Called by
 * tests/match. */
#ifndef LOCKSTEP_TESTS_SUPPORT_MOVING_MATCH_H
#define LOCKSTEP_TESTS_SUPPORT_MOVING_MATCH_H

#include "lockstep/client/bots.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/server/match/match.h"

enum {
    MOVING_CLIENTS_MAX = 8,
    MOVING_TICKS_MAX = 16384,
};

typedef struct moving_match moving_match;

typedef struct moving_client {
    moving_match *run;
    uint32_t index;
    ls_session *session;
    ls_transport *transport; /* of the newest connection */
    ls_peer_id peer;         /* of it, as the session knows it; 0: none */
    bool is_connecting;
    uint64_t connecting_ns; /* since when */
    ls_memory_link link;
    bool is_cut;
    ls_bot bot;
    uint64_t next_frame_ns;
    bool is_over;
    uint32_t connections;
    uint32_t joins;
    ls_join join;        /* the newest */
    uint64_t joined_ns;  /* when it last began to play */
    ls_tick joined_tick; /* from which state on */
    ls_tick compared;    /* newest state that was */
    uint32_t compared_count;
    uint32_t packets_down; /* received */
} moving_client;

struct moving_match {
    ls_match_config config;
    ls_memory_network *network;
    ls_transport *server;
    ls_match *match;
    uint64_t now_ns;
    uint64_t state_hashes[MOVING_TICKS_MAX + 1]; /* by tick, of the states that are hashed */
    ls_tick ticks;
    void (*on_tick)(void *user, const ls_match *match); /* a tick was closed; NULL: nobody cares */
    void *user;
    ls_match_event resumed; /* RESUMED; kind 0: none */
    uint32_t client_count;
    moving_client *clients[MOVING_CLIENTS_MAX];
};

/* A match of 60 Hz by this config; nobody is there yet. */
moving_match *moving_match_open(const ls_match_config *config, uint64_t seed);
void moving_match_close(moving_match *run);

/* The server is killed, and another one begins in its place with a new match of the same config: it
 * knows nothing of the old connections. */
void moving_match_restart(moving_match *run);

/* Connects. What `config` leaves open is filled in: the simulation, a bot. */
moving_client *moving_match_add(moving_match *run, const ls_session_config *config,
                                const ls_memory_link *link);

/* From now on nothing passes, or what the link lets pass. */
void moving_client_cut(moving_client *client, bool is_cut);

void moving_match_run(moving_match *run, uint64_t ns);

/* Until the session is in this state; false after `ns`. */
bool moving_match_run_to(moving_match *run, const moving_client *client, ls_session_state state,
                         uint64_t ns);

static inline ls_session_report moving_report(const moving_client *client)
{
    return ls_session_report_of(client->session);
}

/* Until everybody is over. */
void moving_match_run_to_end(moving_match *run);

/* It plays, and its newest state was found equal not long ago. */
void moving_check_plays(const moving_client *client);

#endif
