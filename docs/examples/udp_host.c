/* A game that hosts a match over UDP in a loop of its own. It prints an invite for the players and
 * then what happens. usage: udp_host NAME|FILE.so PLAYERS TICKS [HOST]; HOST is how the players
 * reach this machine. Exit code 0 when every player agreed on every tick. */
#include <lockstep/match.h>
#include <lockstep/plugin_loader.h>
#include <lockstep/transport_udp.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#define SLEEP_NS 1000000

typedef struct host {
    ls_transport *transport;
    ls_match *match;
} host;

static ls_status open_host(host *self, const ls_match_config *config, const char *name,
                           ls_text *why)
{
    ls_transport_udp_server_config network; /* all interfaces, a free port, a new key */
    ls_status status = ls_transport_udp_server_config_default(&network);
    if (status == LS_OK) {
        status = ls_transport_udp_listen(&network, ls_allocator_heap(), &self->transport, why);
    }
    if (status == LS_OK) {
        ls_packet_sink sink = ls_transport_sink(self->transport);
        status = ls_match_create(config, &sink, ls_allocator_heap(), &self->match, why);
    }
    if (status == LS_OK) {
        char invite[LS_INVITE_TEXT_BYTES_MAX];
        ls_transport_udp_invite(self->transport, name, invite);
        printf("%s\n", invite);
        fflush(stdout);
    }
    return status;
}

/* A game calls this once a frame, and every few milliseconds at least. */
static void run_turn(host *self)
{
    uint64_t now_ns = ls_transport_udp_now_ns(self->transport);
    ls_transport_event event;
    ls_transport_udp_service(self->transport);
    while (ls_transport_next_event(self->transport, &event)) {
        ls_match_receive_event(self->match, &event, now_ns);
    }
    ls_match_advance(self->match, now_ns);
    ls_transport_flush(self->transport);
}

/* Returns how many times somebody differed. */
static uint32_t play(host *self)
{
    uint32_t desyncs = 0;
    while (ls_match_state_of(self->match) != LS_MATCH_OVER) {
        run_turn(self);
        ls_match_event event;
        while (ls_match_next_event(self->match, &event)) {
            desyncs += event.kind == LS_MATCH_DESYNC;
            if (event.text.bytes[0] != '\0') {
                printf("slot %" PRIu32 ", tick %" PRIu32 ": %s\n", event.slot, event.tick,
                       event.text.bytes);
            }
        }
        thrd_sleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
    }
    return desyncs;
}

static bool has_agreed(const ls_match *match, uint32_t players)
{
    for (uint32_t slot = 0; slot < players; slot++) {
        if (ls_match_slot_of(match, slot).agreed_tick != ls_match_tick(match)) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    ls_text why = {""};
    ls_loaded_simulation loaded;
    if (argc < 4 || ls_simulation_load(argv[1], &loaded, &why) != LS_OK) {
        fprintf(stderr, "usage: udp_host NAME|FILE.so PLAYERS TICKS [HOST]\n%s\n", why.bytes);
        return 2;
    }
    host self = {0};
    ls_match_config config = ls_match_config_default(loaded.simulation);
    config.sim.players = (uint32_t)strtoul(argv[2], NULL, 10);
    config.ticks = (uint32_t)strtoul(argv[3], NULL, 10);
    /* The secrets with which players come back to their seats are made from the key. */
    ls_status status = ls_secret_key_random(&config.key);
    config.match_id = ls_secret_match_id(&config.key);
    if (status == LS_OK) {
        status = open_host(&self, &config, argc > 4 ? argv[4] : "127.0.0.1", &why);
    }
    int result = 1;
    if (status == LS_OK) {
        result = play(&self) == 0 && has_agreed(self.match, config.sim.players) ? 0 : 1;
        printf("tick %" PRIu32 ": %s\n", ls_match_tick(self.match),
               result == 0 ? "every player agrees" : "the players do not agree");
    } else {
        fprintf(stderr, "udp_host: %s: %s\n", ls_status_name(status), why.bytes);
    }
    ls_match_destroy(self.match);
    ls_transport_destroy(self.transport);
    ls_simulation_unload(&loaded);
    return result;
}
