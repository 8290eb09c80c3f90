#define _POSIX_C_SOURCE 200809L
/* Players of one address who take their seats, say READY, and never a word about a state: a match
 * that they begin is one in which nobody plays. usage: silent_players INVITE PLAYERS [FIRST]: they
 * ask by the invite FIRST first, as ones that were sent to its worker. Prints how many had a seat
 * and how many were refused, and keeps the connections until its standard input ends. */
#include "lockstep/client/session/session.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/protocol/udp/transport_udp.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    PLAYERS_MAX = 400,
    TURN_NS = 1000000,
    LINGER_TURNS = 30, /* in which the match of a pair begins */
};

typedef struct player {
    ls_transport *transport;
    ls_session *session; /* NULL: it says nothing more */
} player;

static ls_loaded_simulation loaded;

static const ls_simulation *find_simulation(void *user, const char *name)
{
    (void)user;
    return strcmp(name, loaded.simulation->name) == 0 ? loaded.simulation : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    (void)user, (void)instance, (void)slot, (void)tick, (void)bytes;
    return 0;
}

static player come(const char *server)
{
    player self = {NULL, NULL};
    ls_text why = {""};
    ls_transport_udp_client_config network = ls_transport_udp_client_config_default();
    network.server = server;
    if (ls_transport_udp_connect(&network, ls_allocator_heap(), &self.transport, &why) != LS_OK) {
        fprintf(stderr, "silent_players: %s\n", why.bytes);
        exit(1);
    }
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    ls_packet_sink sink = ls_transport_sink(self.transport);
    if (ls_session_create(&config, &sink, ls_allocator_heap(), &self.session, &why) != LS_OK) {
        fprintf(stderr, "silent_players: %s\n", why.bytes);
        exit(1);
    }
    return self;
}

static void turn(player *self)
{
    ls_transport_event event;
    uint64_t now_ns = ls_transport_udp_now_ns(self->transport);
    ls_transport_udp_service(self->transport);
    while (ls_transport_next_event(self->transport, &event)) {
        if (self->session) {
            ls_session_receive_event(self->session, &event, now_ns);
        }
    }
    if (self->session) {
        ls_session_frame(self->session, now_ns);
    }
    ls_transport_flush(self->transport);
}

static void turn_all(player *players, int count)
{
    for (int i = 0; i < count; i++) {
        if (players[i].transport) {
            turn(&players[i]);
        }
    }
    nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
}

/* How it ended up: OK with a seat, else why not. */
static ls_status ask_for_seat(player *players, int index, const char *server)
{
    player *self = &players[index];
    *self = come(server);
    ls_session_state state = LS_SESSION_CONNECTING;
    while (state != LS_SESSION_SEATED && state != LS_SESSION_PLAYING && state != LS_SESSION_OVER) {
        turn_all(players, index + 1);
        state = ls_session_state_of(self->session);
    }
    ls_status status =
        state == LS_SESSION_OVER ? ls_session_report_of(self->session).status : LS_OK;
    ls_session_destroy(self->session);
    self->session = NULL;
    if (status != LS_OK) {
        ls_transport_destroy(self->transport);
        self->transport = NULL;
    }
    return status;
}

/* Asks again while there is no room yet; whether it got a seat. */
static bool take_seat(player *players, int index, const char *server, const char *first)
{
    ls_status status = ask_for_seat(players, index, first);
    while (status == LS_FULL) {
        status = ask_for_seat(players, index, server);
    }
    return status == LS_OK;
}

int main(int argc, char **argv)
{
    static player players[PLAYERS_MAX];
    ls_text why = {""};
    int count = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (count < 1 || count > PLAYERS_MAX || ls_simulation_load("arena", &loaded, &why) != LS_OK) {
        fprintf(stderr, "usage: silent_players INVITE PLAYERS [FIRST]\n");
        return 2;
    }
    int seated = 0;
    for (int i = 0; i < count; i++) {
        seated += take_seat(players, i, argv[1], argv[argc > 3 ? 3 : 1]) ? 1 : 0;
        for (int k = 0; i % 2 == 1 && k < LINGER_TURNS; k++) {
            turn_all(players, i + 1);
        }
    }
    printf("%d %d\n", seated, count - seated);
    fflush(stdout);
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, 0) == 0) {
        turn_all(players, count);
    }
    for (int i = 0; i < count; i++) {
        ls_transport_destroy(players[i].transport);
    }
    ls_simulation_unload(&loaded);
    return 0;
}
