/* The clients of a virtual match: each is a session that a driver like lockstep-client's calls:
 * it connects, makes a lost link anew, reads packets, updates its session and draws frames. */
#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include <stdio.h>

#define ATTEMPT_NS (5 * LS_NS_PER_SECOND) /* to reconnect (client/program/client.c) */
#define PATIENCE_NS (60 * LS_NS_PER_SECOND)
#define EPOCH_NS UINT64_C(1000000000000)

/* ---- what sessions ask for ---- */

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
    uint32_t size = client->make_input ? client->make_input(client->player, instance, slot, bytes)
                                       : ls_bot_input(&client->bot, instance, slot, bytes);
    VIRTUAL_OBSERVE(client->run, input_made, client, tick, bytes, size);
    return size;
}

static void send_packet(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                        size_t size)
{
    virtual_client *client = user;
    client->server = peer;
    if (!client->transport) {
        return;
    }
    virtual_work work = virtual_match_set_work(client->run, VIRTUAL_WORK_AROUND);
    if (client->tamper.send) {
        client->tamper.send(client->tamper.user, client, channel, bytes, size);
    } else {
        ls_transport_send(client->transport, peer, channel, bytes, size);
    }
    virtual_match_set_work(client->run, work);
}

static void disconnect(void *user, ls_peer_id peer)
{
    const virtual_client *client = user;
    if (client->transport) {
        ls_transport_disconnect(client->transport, peer);
    }
}

static void note_flip(virtual_client *client, ls_sim_instance *instance, size_t at, uint8_t mask)
{
    uint8_t *state = ls_sim_instance_state(instance);
    ls_schema_place place = ls_schema_at(ls_sim_instance_schema(instance), at);
    virtual_flip *flip = &client->flip;
    ls_schema_place_name(&place, flip->text.name, sizeof flip->text.name);
    ls_schema_place_value(&place, state, flip->text.b, sizeof flip->text.b);
    state[at] ^= mask;
    ls_schema_place_value(&place, state, flip->text.a, sizeof flip->text.a);
    state[at] ^= mask;
    flip->is_done = true;
    flip->flipped_byte = at;
    flip->at_ns = client->run->now_ns;
}

/* Flips the bit in the first byte from the chosen one on in which it changes the state hash. */
static void flip_state(virtual_client *client, ls_sim_instance *instance)
{
    size_t bytes = ls_sim_instance_state_bytes(instance);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    uint8_t mask = (uint8_t)(1u << client->flip.bit);
    for (size_t i = 0; i < bytes; i++) {
        size_t at = (client->flip.byte + i) % bytes;
        uint8_t *state = ls_sim_instance_state(instance);
        state[at] ^= mask;
        if (ls_sim_instance_hash(instance) != state_hash) {
            note_flip(client, instance, at, mask);
            virtual_log(client->run, "client %u: a bit of byte %zu of state %u is flipped",
                        client->index, at, client->flip.tick);
            return;
        }
        state[at] ^= mask;
    }
}

static void after_step(void *user, ls_sim_instance *instance)
{
    virtual_client *client = user;
    if (client->flip.tick != 0 && ls_sim_instance_tick(instance) == client->flip.tick) {
        flip_state(client, instance);
    }
}

/* ---- connections ---- */

void virtual_client_set_ways(virtual_client *client, const ls_link_config *up,
                             const ls_link_config *down)
{
    virtual_match *run = client->run;
    client->up = *up;
    client->down = *down;
    if (client->transport) {
        run->network->operations->set_links(run->network, client->transport, up, down);
    }
}

void virtual_client_set_links(virtual_client *client, const ls_link_config *link)
{
    virtual_client_set_ways(client, link, link);
}

void virtual_client_cut(virtual_client *client)
{
    ls_link_config cut = {.is_cut = true};
    virtual_client_set_links(client, &cut);
}

void virtual_match_set_links(virtual_match *run, const ls_link_config *link)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client_set_links(run->clients[i], link);
    }
}

/* Only attempts to reconnect end by themselves: the first attempt is patient. */
static bool is_attempt(const virtual_client *client)
{
    return client->is_connecting && ls_session_state_of(client->session) == LS_SESSION_RECONNECTING;
}

/* While the server is dead its machine answers nothing: the attempt goes on until it is back. */
static void dial(virtual_client *client)
{
    virtual_match *run = client->run;
    if (client->transport || run->is_server_dead) {
        return;
    }
    const virtual_dialer dialer = {.user = client,
                                   .origin = client->index + 1,
                                   .timeout_ns = is_attempt(client) ? ATTEMPT_NS : PATIENCE_NS,
                                   .up = client->up,
                                   .down = client->down};
    client->transport = run->network->operations->connect(run->network, &dialer);
}

void virtual_client_hang_up(virtual_client *client)
{
    ls_transport_destroy(client->transport);
    client->transport = NULL;
}

static void hang_up(virtual_client *client)
{
    virtual_client_hang_up(client);
    client->server = 0;
}

static void connect_client(virtual_client *client)
{
    hang_up(client);
    client->is_connecting = true;
    client->connecting_ns = client->run->now_ns;
    client->connections++;
    dial(client);
}

void virtual_client_come(virtual_client *client)
{
    if (client->is_absent) {
        client->is_absent = false;
        client->next_frame_ns = client->run->now_ns + 1 + client->index * 1700 * LS_NS_PER_US;
        VIRTUAL_OBSERVE(client->run, client_came, client);
        connect_client(client);
    }
}

/* A session is not told of the end of a connection that it has given up itself. */
static void on_disconnect(virtual_client *client, ls_status reason)
{
    bool is_given_up =
        !client->is_connecting && ls_session_reconnect_ns(client->session) != UINT64_MAX;
    client->is_connecting = false;
    if (!is_given_up) {
        ls_session_disconnected(client->session, reason, virtual_client_ns(client));
    }
}

static void pump_connection(virtual_client *client)
{
    virtual_match *run = client->run;
    if (client->is_over) {
        return;
    }
    if (is_attempt(client) && run->now_ns >= client->connecting_ns + ATTEMPT_NS) {
        hang_up(client);
        on_disconnect(client, LS_TIMED_OUT);
    }
    if (client->is_connecting) {
        dial(client);
    } else if (virtual_client_ns(client) >= ls_session_reconnect_ns(client->session)) {
        connect_client(client);
    }
}

/* ---- life ---- */

virtual_client_setup virtual_client_setup_default(const virtual_match *run)
{
    virtual_client_setup setup = {.session = ls_session_config_default(),
                                  .simulation = run->setup.match.simulation,
                                  .frame_hz = 60,
                                  .up = run->setup.link,
                                  .down = run->setup.link};
    setup.session.makes_inputs_between_frames = true;
    setup.session.predict_ticks = run->setup.predict_ticks;
    snprintf(setup.session.name, sizeof setup.session.name, "client %u",
             (unsigned)run->client_count);
    return setup;
}

ls_rerun_local *virtual_match_make_reruns(const virtual_match *run)
{
    ls_rerun_local *reruns = NULL;
    if (run->setup.runs_nothing_again) {
        return NULL;
    }
    ls_status status = ls_rerun_local_create(run->setup.storage, &reruns);
    LS_ASSERT(status == LS_OK);
    return reruns;
}

static void create_session(virtual_client *client, const virtual_client_setup *setup)
{
    ls_session_config config = setup->session;
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.after_step = after_step;
    config.user = client;
    client->reruns = virtual_match_make_reruns(client->run);
    if (client->reruns && !config.rerun_host) {
        config.rerun_host = ls_rerun_local_host(client->reruns);
    }
    ls_packet_sink sink = {.send = send_packet, .disconnect = disconnect, .user = client};
    ls_status status =
        ls_session_create(&config, &sink, client->run->setup.allocator, &client->session, NULL);
    LS_ASSERT(status == LS_OK);
}

virtual_client *virtual_match_add_client(virtual_match *run, const virtual_client_setup *setup)
{
    LS_ASSERT(run->client_count < VIRTUAL_CLIENTS_MAX);
    virtual_client *client = ls_allocate(run->setup.storage, sizeof *client);
    LS_ASSERT(client != NULL);
    const virtual_observer *observer = &run->setup.observer;
    bool is_replaced = setup->simulation && observer->simulation_for;
    client->run = run;
    client->index = run->client_count;
    client->simulation = is_replaced ? observer->simulation_for(observer->user, setup->simulation)
                                     : setup->simulation;
    client->frame_ns = LS_NS_PER_SECOND / setup->frame_hz;
    client->frame_jitter_ns = setup->frame_jitter_ns;
    client->drift_ppm = setup->drift_ppm;
    client->epoch_ns = EPOCH_NS * (client->index + 1);
    /* No two clients draw at the same moments. */
    client->next_frame_ns = run->now_ns + 1 + client->index * 1700 * LS_NS_PER_US;
    client->make_input = setup->make_input;
    client->player = setup->player;
    client->bot = ls_bot_make(run->setup.seed * 1000 + client->index);
    client->up = setup->up;
    client->down = setup->down;
    client->reconnects = setup->session.reconnect_ms > 0;
    client->is_spectator = setup->session.is_spectator;
    client->predict_ticks = setup->session.predict_ticks;
    client->is_absent = setup->comes_later;
    create_session(client, setup);
    run->clients[run->client_count++] = client;
    VIRTUAL_OBSERVE(run, client_added, client);
    if (!client->is_absent) {
        connect_client(client);
    }
    return client;
}

void virtual_client_destroy(virtual_client *client)
{
    virtual_client_hang_up(client);
    ls_session_destroy(client->session);
    ls_rerun_local_destroy(client->reruns);
    ls_release(client->run->setup.storage, client);
}

/* ---- turns ---- */

static void receive_session_events(virtual_client *client)
{
    ls_session_event event;
    while (ls_session_next_event(client->session, &event)) {
        if (!client->run->setup.keeps_no_events) {
            LS_ASSERT(client->event_count < VIRTUAL_CLIENT_EVENTS_MAX);
            client->events[client->event_count++] =
                (virtual_client_event){client->run->now_ns, event};
        }
        client->is_over = client->is_over || event.kind == LS_SESSION_EVENT_OVER;
        virtual_log_session_event(client, &event);
        VIRTUAL_OBSERVE(client->run, session_event, client, &event);
    }
}

static void receive_event(virtual_client *client, const ls_transport_event *event,
                          uint64_t local_ns)
{
    bool is_packet = event->kind == LS_TRANSPORT_RECEIVED;
    if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        on_disconnect(client, event->reason);
        return;
    }
    client->is_connecting = client->is_connecting && is_packet;
    if (is_packet) {
        VIRTUAL_OBSERVE(client->run, session_receives, client, event);
    }
    virtual_match_set_work(client->run, VIRTUAL_WORK_SESSION);
    ls_session_receive_event(client->session, event, local_ns);
    virtual_match_set_work(client->run, VIRTUAL_WORK_AROUND);
    if (is_packet) {
        VIRTUAL_OBSERVE(client->run, session_received, client, event);
    }
}

static void begin_turn(virtual_client *client)
{
    if (client->transport) {
        client->run->network->operations->begin_turn(client->run->network, client->transport);
    }
}

static void end_turn(virtual_client *client)
{
    if (client->transport) {
        client->run->network->operations->end_turn(client->run->network, client->transport);
    }
}

/* True when there were any. */
static bool receive_packets(virtual_client *client)
{
    uint64_t local_ns = virtual_client_ns(client);
    bool is_any = false;
    ls_transport_event event;
    begin_turn(client);
    while (client->transport && ls_transport_next_event(client->transport, &event)) {
        receive_event(client, &event, local_ns);
        receive_session_events(client);
        is_any = true;
    }
    return is_any;
}

static void draw_frame(virtual_client *client)
{
    virtual_match *run = client->run;
    virtual_match_set_work(run, VIRTUAL_WORK_SESSION);
    ls_session_frame(client->session, virtual_client_ns(client));
    virtual_match_set_work(run, VIRTUAL_WORK_AROUND);
    VIRTUAL_OBSERVE(run, frame_drawn, client);
    receive_session_events(client);
    client->next_frame_ns += client->frame_ns;
    if (client->frame_jitter_ns > 0) {
        client->next_frame_ns += ls_rng_below(&run->rng, (uint32_t)client->frame_jitter_ns);
    }
    if (client->next_frame_ns <= run->now_ns) {
        client->next_frame_ns = run->now_ns + client->frame_ns;
    }
}

/* Packets for a process that has ended are taken off the network by nobody else. */
static void discard_packets(virtual_client *client)
{
    ls_transport_event event;
    begin_turn(client);
    while (client->transport && ls_transport_next_event(client->transport, &event)) {
    }
}

static void run_turn(virtual_client *client)
{
    virtual_match *run = client->run;
    bool has_received = receive_packets(client);
    pump_connection(client);
    if (!has_received && run->now_ns < client->due_ns) {
        return;
    }
    if (virtual_client_ns(client) >= ls_session_next_ns(client->session)) {
        virtual_match_set_work(run, VIRTUAL_WORK_SESSION);
        ls_session_update(client->session, virtual_client_ns(client));
        virtual_match_set_work(run, VIRTUAL_WORK_AROUND);
    }
    if (run->now_ns >= client->next_frame_ns) {
        draw_frame(client);
    }
    client->due_ns = virtual_client_find_due_ns(client);
}

void virtual_client_pump(virtual_client *client)
{
    if (client->is_gone) {
        discard_packets(client);
    } else if (!client->is_absent && !client->is_paused) {
        VIRTUAL_OBSERVE(client->run, client_turns, client);
        run_turn(client);
        end_turn(client);
        VIRTUAL_OBSERVE(client->run, client_turned, client);
    }
}

void virtual_client_leave(virtual_client *client)
{
    if (!client->is_over && !client->is_gone) {
        ls_session_leave(client->session, virtual_client_ns(client));
        receive_session_events(client);
        end_turn(client);
    }
}

void virtual_client_vanish(virtual_client *client)
{
    client->is_gone = true;
    virtual_client_cut(client);
}
