/* A game that joins a match over UDP in a loop of its own. usage: udp_client INVITE NAME|FILE.so;
 * on the machine of the server HOST:PORT does in place of the invite. Exit code 0 when the match
 * was played to its end. */
#include <lockstep/plugin_loader.h>
#include <lockstep/session.h>
#include <lockstep/transport_udp.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>

#define FRAME_NS 5000000

typedef struct client {
    const ls_simulation *simulation;
    ls_transport *transport;
    ls_session *session;
} client;

static const ls_simulation *find_simulation(void *user, const char *name)
{
    client *self = user;
    return strcmp(name, self->simulation->name) == 0 ? self->simulation : NULL;
}

/* The bytes are what the simulation takes from a player; this one presses keys in turn. */
static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    (void)user;
    (void)instance;
    bytes[0] = (uint8_t)(tick / 8 + slot);
    return 1;
}

static ls_status open_client(client *self, const char *server, ls_text *why)
{
    ls_transport_udp_client_config network = ls_transport_udp_client_config_default();
    network.server = server;
    ls_status status =
        ls_transport_udp_connect(&network, ls_allocator_heap(), &self->transport, why);
    if (status != LS_OK) {
        return status;
    }
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = self;
    ls_packet_sink sink = ls_transport_sink(self->transport);
    return ls_session_create(&config, &sink, ls_allocator_heap(), &self->session, why);
}

/* One frame of the game; ls_session_draw would give its picture. */
static void run_frame(client *self)
{
    uint64_t now_ns = ls_transport_udp_now_ns(self->transport);
    ls_transport_event event;
    ls_transport_udp_service(self->transport);
    while (ls_transport_next_event(self->transport, &event)) {
        ls_session_receive_event(self->session, &event, now_ns);
    }
    ls_session_frame(self->session, now_ns);
    ls_transport_flush(self->transport);
}

static int play(client *self)
{
    while (ls_session_state_of(self->session) != LS_SESSION_OVER) {
        run_frame(self);
        thrd_sleep(&(struct timespec){.tv_nsec = FRAME_NS}, NULL);
    }
    ls_session_report report = ls_session_report_of(self->session);
    printf("tick %" PRIu32 ": %s\n", report.tick, ls_status_text(report.status));
    if (ls_transport_udp_refusal(self->transport) == LS_SEALED_REFUSAL_KEY_WITHHELD) {
        printf("the server gives its key to no other machine: join by its invite\n");
    }
    return report.status == LS_OK && !report.is_desynced ? 0 : 1;
}

int main(int argc, char **argv)
{
    ls_text why = {""};
    ls_loaded_simulation loaded;
    if (argc < 3 || ls_simulation_load(argv[2], &loaded, &why) != LS_OK) {
        fprintf(stderr, "usage: udp_client INVITE NAME|FILE.so\n%s\n", why.bytes);
        return 2;
    }
    client self = {.simulation = loaded.simulation};
    int result = 1;
    ls_status status = open_client(&self, argv[1], &why);
    if (status == LS_OK) {
        result = play(&self);
    } else {
        fprintf(stderr, "udp_client: %s: %s\n", ls_status_name(status), why.bytes);
    }
    ls_session_destroy(self.session);
    ls_transport_destroy(self.transport);
    ls_simulation_unload(&loaded);
    return result;
}
