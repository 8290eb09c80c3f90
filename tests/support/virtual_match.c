#include "lockstep/tests/support/virtual_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <stdlib.h>

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const virtual_client *client = user;
    (void)name;
    return client->simulation;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    virtual_client *client = user;
    (void)tick;
    return ls_bot_input(&client->bot, instance, slot, bytes);
}

static void after_step(void *user, ls_sim_instance *instance)
{
    const virtual_client *client = user;
    if (client->flip_tick != 0 && ls_sim_instance_tick(instance) == client->flip_tick) {
        uint8_t *state = ls_sim_instance_state(instance);
        state[client->flip_byte] ^= 1u;
    }
}

virtual_client *virtual_match_add_client(virtual_match *run, const ls_simulation *simulation)
{
    virtual_client *client = &run->clients[run->client_count++];
    client->simulation = simulation;
    client->frame_ns = LS_NS_PER_SECOND / 60;
    client->next_frame_ns = run->now_ns;
    client->bot = ls_bot_make(run->client_count);
    ls_status status =
        ls_memory_client_create(run->network, run->server_transport, &client->transport);
    LS_ASSERT(status == LS_OK);
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.after_step = after_step;
    config.user = client;
    ls_packet_sink sink = ls_transport_sink(client->transport);
    status = ls_session_create(&config, &sink, ls_allocator_heap(), &client->session, NULL);
    LS_ASSERT(status == LS_OK);
    return client;
}

virtual_match *virtual_match_create(const ls_match_config *config, uint32_t clients,
                                    uint64_t delay_ns, uint64_t seed)
{
    virtual_match *run = calloc(1, sizeof *run);
    LS_ASSERT(run != NULL);
    run->server_step_ns = LS_NS_PER_MS;
    ls_status status = ls_memory_network_create(seed, ls_allocator_heap(), &run->network);
    LS_ASSERT(status == LS_OK);
    status = ls_memory_server_create(run->network, &run->server_transport);
    LS_ASSERT(status == LS_OK);
    ls_packet_sink sink = ls_transport_sink(run->server_transport);
    ls_text why = {{0}};
    status = ls_match_create(config, &sink, ls_allocator_heap(), &run->match, &why);
    LS_ASSERT(status == LS_OK);
    for (uint32_t i = 0; i < clients; i++) {
        virtual_match_add_client(run, config->simulation);
    }
    ls_memory_link link = {.delay_ns = delay_ns};
    virtual_match_set_links(run, &link);
    return run;
}

void virtual_match_destroy(virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_destroy(run->clients[i].session);
    }
    ls_match_destroy(run->match);
    ls_memory_network_destroy(run->network);
    free(run);
}

void virtual_match_set_links(virtual_match *run, const ls_memory_link *link)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_memory_client_set_links(run->clients[i].transport, link, link);
    }
}

static void pump_server(virtual_match *run)
{
    ls_transport_event event;
    while (ls_transport_next_event(run->server_transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            ls_match_peer_connected(run->match, event.peer, run->now_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            ls_match_peer_disconnected(run->match, event.peer, event.reason, run->now_ns);
            break;
        case LS_TRANSPORT_RECEIVED:
            ls_match_receive(run->match, event.peer, event.lane, event.bytes, event.size,
                             run->now_ns);
            break;
        }
    }
    ls_match_advance(run->match, run->now_ns);
    ls_match_event news;
    while (ls_match_next_event(run->match, &news)) {
        if (run->event_count < VIRTUAL_EVENTS_MAX) {
            run->events[run->event_count++] = news;
        }
    }
}

static void pump_client(virtual_match *run, virtual_client *client)
{
    if (client->is_paused) {
        return;
    }
    ls_transport_event event;
    while (ls_transport_next_event(client->transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            ls_session_connected(client->session, event.peer, run->now_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            ls_session_disconnected(client->session, event.reason, run->now_ns);
            break;
        case LS_TRANSPORT_RECEIVED:
            ls_session_receive(client->session, event.lane, event.bytes, event.size, run->now_ns);
            break;
        }
    }
    if (run->now_ns >= client->next_frame_ns) {
        ls_session_frame(client->session, run->now_ns);
        client->next_frame_ns += client->frame_ns;
        if (client->next_frame_ns <= run->now_ns) {
            client->next_frame_ns = run->now_ns + client->frame_ns;
        }
    }
}

bool virtual_match_is_over(const virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (ls_session_report_of(run->clients[i].session).state != LS_SESSION_OVER) {
            return false;
        }
    }
    return ls_match_state_of(run->match) == LS_MATCH_OVER;
}

void virtual_match_run(virtual_match *run, uint64_t ns)
{
    uint64_t end_ns = run->now_ns + ns;
    while (run->now_ns < end_ns && !virtual_match_is_over(run)) {
        run->now_ns += run->server_step_ns;
        ls_memory_network_set_time(run->network, run->now_ns);
        pump_server(run);
        for (uint32_t i = 0; i < run->client_count; i++) {
            pump_client(run, &run->clients[i]);
        }
    }
}

const ls_match_event *virtual_match_find(const virtual_match *run, ls_match_event_kind kind)
{
    for (uint32_t i = 0; i < run->event_count; i++) {
        if (run->events[i].kind == kind) {
            return &run->events[i];
        }
    }
    return NULL;
}
