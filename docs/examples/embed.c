/* A game that embeds Lockstep: a match and two clients in its own loop, in one process, over a
 * network in memory, in virtual time. With --flip one client's state is damaged on the way, and the
 * match has to tell whose and when. Exit code 0 when what should happen did. */
#include <lockstep/match.h>
#include <lockstep/plugin_loader.h>
#include <lockstep/session.h>
#include <lockstep/transport_memory.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLIENTS 2u
#define TICKS 300u
#define FLIP_TICK 100u
#define LOOP_NS UINT64_C(2000000)
#define LOOPS_MAX 60000u

typedef struct client {
    const ls_simulation *simulation;
    ls_transport *transport;
    ls_session *session;
    ls_tick flip_tick; /* of the state whose bit is flipped; 0: none */
} client;

typedef struct game {
    ls_memory_network *network;
    ls_transport *server_transport;
    ls_match *match;
    client clients[CLIENTS];
    uint32_t desyncs;
    ls_match_event desync; /* the first */
} game;

static const ls_simulation *find_simulation(void *user, const char *name)
{
    client *self = user;
    return strcmp(name, self->simulation->name) == 0 ? self->simulation : NULL;
}

/* Runs in a circle, another one for each slot. */
static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    (void)user;
    (void)instance;
    bytes[0] = (uint8_t)(tick * (slot + 1));
    return 1;
}

static void after_step(void *user, ls_sim_instance *instance)
{
    client *self = user;
    if (self->flip_tick != 0 && ls_sim_instance_tick(instance) == self->flip_tick) {
        ((uint8_t *)ls_sim_instance_state(instance))[0] ^= 1;
    }
}

static ls_status open_match(game *game, const ls_simulation *simulation, ls_text *why)
{
    ls_match_config config = ls_match_config_default(simulation);
    config.sim.players = CLIENTS;
    config.ticks = TICKS;
    ls_status status =
        ls_memory_network_create(config.sim.seed, ls_allocator_heap(), &game->network);
    if (status != LS_OK) {
        return status;
    }
    status = ls_memory_server_create(game->network, &game->server_transport);
    if (status != LS_OK) {
        return status;
    }
    ls_packet_sink sink = ls_transport_sink(game->server_transport);
    return ls_match_create(&config, &sink, ls_allocator_heap(), &game->match, why);
}

static ls_status open_client(game *game, client *self, ls_text *why)
{
    ls_status status =
        ls_memory_client_create(game->network, game->server_transport, &self->transport);
    if (status != LS_OK) {
        return status;
    }
    const ls_link_config link = {.delay_ns = 20 * 1000000, .loss_ppm = 50000};
    ls_memory_client_set_links(self->transport, &link, &link);
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.after_step = after_step;
    config.user = self;
    ls_packet_sink sink = ls_transport_sink(self->transport);
    return ls_session_create(&config, &sink, ls_allocator_heap(), &self->session, why);
}

static void run_server(game *game, uint64_t now_ns)
{
    ls_transport_event event;
    while (ls_transport_next_event(game->server_transport, &event)) {
        ls_match_receive_event(game->match, &event, now_ns);
    }
    ls_match_advance(game->match, now_ns);
    ls_transport_flush(game->server_transport);
    ls_match_event happened;
    while (ls_match_next_event(game->match, &happened)) {
        if (happened.kind == LS_MATCH_DESYNC && game->desyncs++ == 0) {
            game->desync = happened;
        }
    }
}

static void run_client(client *self, uint64_t now_ns)
{
    ls_transport_event event;
    while (ls_transport_next_event(self->transport, &event)) {
        ls_session_receive_event(self->session, &event, now_ns);
    }
    ls_session_frame(self->session, now_ns);
    ls_transport_flush(self->transport);
}

static void play(game *game)
{
    uint64_t now_ns = 0;
    for (uint32_t i = 0; i < LOOPS_MAX; i++) {
        bool is_over = ls_match_state_of(game->match) == LS_MATCH_OVER;
        now_ns += LOOP_NS;
        ls_memory_network_set_time(game->network, now_ns);
        run_server(game, now_ns);
        for (uint32_t slot = 0; slot < CLIENTS; slot++) {
            run_client(&game->clients[slot], now_ns);
        }
        if (is_over) {
            return;
        }
    }
}

/* Prints how it went; 0 when every state was compared and only a planted difference was found. */
static int verdict(game *game)
{
    uint64_t compared = 0;
    bool is_flipped = false;
    bool is_equal = true;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        ls_session_report report = ls_session_report_of(game->clients[i].session);
        uint64_t state_hash = ls_sim_instance_hash(ls_session_instance(game->clients[i].session));
        is_flipped |= game->clients[i].flip_tick != 0;
        is_equal &= state_hash == ls_match_hash(game->match) && report.tick == TICKS;
        compared += ls_match_slot_of(game->match, i).hashes_compared;
    }
    printf("match: %" PRIu32 " ticks, %" PRIu64 " hashes compared, %" PRIu32 " differences\n",
           ls_match_tick(game->match), compared, game->desyncs);
    if (!is_flipped) {
        return is_equal && compared >= CLIENTS * TICKS && game->desyncs == 0 ? 0 : 1;
    }
    printf("the state of slot %" PRIu32 " at tick %" PRIu32 ": here %016" PRIx64
           ", there %016" PRIx64 "\n",
           game->desync.slot, game->desync.tick, game->desync.server_hash,
           game->desync.client_hash);
    return game->desyncs == 1 && game->desync.tick == FLIP_TICK ? 0 : 1;
}

static void close_game(game *game)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        ls_session_destroy(game->clients[i].session);
    }
    ls_match_destroy(game->match);
    ls_memory_network_destroy(game->network);
}

int main(int argc, char **argv)
{
    ls_text why = {""};
    ls_loaded_simulation loaded;
    if (argc < 2 || ls_simulation_load(argv[1], &loaded, &why) != LS_OK) {
        fprintf(stderr, "usage: embed FILE.so [--flip]\n%s\n", why.bytes);
        return 2;
    }
    game game = {0};
    ls_status status = open_match(&game, loaded.simulation, &why);
    for (uint32_t i = 0; i < CLIENTS && status == LS_OK; i++) {
        game.clients[i].simulation = loaded.simulation;
        game.clients[i].flip_tick = argc > 2 && i == 1 ? FLIP_TICK : 0;
        status = open_client(&game, &game.clients[i], &why);
    }
    int result = 1;
    if (status == LS_OK) {
        play(&game);
        result = verdict(&game);
    } else {
        fprintf(stderr, "embed: %s: %s\n", ls_status_name(status), why.bytes);
    }
    close_game(&game);
    ls_simulation_unload(&loaded);
    return result;
}
