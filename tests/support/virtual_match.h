/* Virtual match: one match and its sessions in one process, in virtual time, over the memory
 * network. The same config gives the same run to the bit. Used by tests/match. */
#ifndef LOCKSTEP_TESTS_SUPPORT_VIRTUAL_MATCH_H
#define LOCKSTEP_TESTS_SUPPORT_VIRTUAL_MATCH_H

#include "lockstep/client/bots.h"
#include "lockstep/client/session.h"
#include "lockstep/protocol/transport_memory.h"
#include "lockstep/server/match.h"

enum {
    VIRTUAL_EVENTS_MAX = 512
};

typedef struct virtual_client {
    ls_session *session;
    ls_transport *transport;
    ls_bot bot;
    uint64_t frame_ns; /* length of a rendered frame */
    uint64_t next_frame_ns;
    ls_tick flip_tick; /* flips a bit of the state after the step to this tick; 0: never */
    size_t flip_byte;
    bool is_paused; /* draws no frames and reads no packets: a frozen process */
    const ls_simulation *simulation;
} virtual_client;

typedef struct virtual_match {
    ls_memory_network *network;
    ls_transport *server_transport;
    ls_match *match;
    uint32_t client_count;
    virtual_client clients[LS_PLAYERS_MAX];
    uint64_t now_ns;
    uint64_t server_step_ns; /* how often the server's loop runs */
    uint32_t event_count;
    ls_match_event events[VIRTUAL_EVENTS_MAX];
} virtual_match;

/* Builds the match and `clients` clients at 60 frames a second over perfect links of `delay_ns`. */
virtual_match *virtual_match_create(const ls_match_config *config, uint32_t clients,
                                    uint64_t delay_ns, uint64_t seed);
void virtual_match_destroy(virtual_match *run);

/* Adds one more client, which connects at once. */
virtual_client *virtual_match_add_client(virtual_match *run, const ls_simulation *simulation);

/* The same link in both directions for every client. */
void virtual_match_set_links(virtual_match *run, const ls_memory_link *link);

/* Runs for `ns` of virtual time, or until the match and every session are over. */
void virtual_match_run(virtual_match *run, uint64_t ns);
bool virtual_match_is_over(const virtual_match *run);

/* The first event of a kind, or NULL. */
const ls_match_event *virtual_match_find(const virtual_match *run, ls_match_event_kind kind);

#endif
