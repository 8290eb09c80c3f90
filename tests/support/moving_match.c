#include "lockstep/tests/support/moving_match.h"

#include "lockstep/common/base/assert.h"

#include <criterion/criterion.h>
#include <string.h>

#define FRAME_NS (LS_NS_PER_SECOND / 60)
#define ATTEMPT_NS (5 * LS_NS_PER_SECOND)
#define END_NS (300 * LS_NS_PER_SECOND)

/* ---- what sessions ask for ---- */

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const moving_client *client = user;
    const ls_simulation *simulation = client->run->config.simulation;
    return strcmp(name, simulation->name) == 0 ? simulation : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    moving_client *client = user;
    (void)tick;
    return ls_bot_input(&client->bot, instance, slot, bytes);
}

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    const moving_client *client = user;
    cr_assert_eq(peer, client->peer);
    ls_transport_send(client->transport, peer, channel, bytes, size);
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    moving_client *client = user;
    ls_transport_disconnect(client->transport, peer);
}

/* ---- links ---- */

static void set_links(const moving_client *client)
{
    ls_memory_link link = client->link;
    link.is_cut = client->is_cut;
    ls_memory_client_set_links(client->transport, &link, &link);
}

void moving_client_cut(moving_client *client, bool is_cut)
{
    client->is_cut = is_cut;
    set_links(client);
}

static void connect_anew(moving_client *client)
{
    moving_match *run = client->run;
    ls_status status = ls_memory_client_create(run->network, run->server, &client->transport);
    cr_assert_eq(status, LS_OK);
    client->peer = 0;
    client->is_connecting = true;
    client->connecting_ns = run->now_ns;
    client->connections++;
    set_links(client);
}

/* ---- life ---- */

static void create_match(moving_match *run)
{
    ls_text why = {{0}};
    ls_packet_sink sink = ls_transport_sink(run->server);
    ls_status status = ls_match_create(&run->config, &sink, ls_allocator_heap(), &run->match, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
}

moving_match *moving_match_open(const ls_match_config *config, uint64_t seed)
{
    const ls_allocator *heap = ls_allocator_heap();
    moving_match *run = ls_allocate(heap, sizeof *run);
    run->config = *config;
    run->now_ns = LS_NS_PER_SECOND;
    cr_assert_eq(ls_memory_network_create(seed, heap, &run->network), LS_OK);
    ls_memory_network_set_time(run->network, run->now_ns);
    cr_assert_eq(ls_memory_server_create(run->network, &run->server), LS_OK);
    create_match(run);
    run->state_hashes[0] = ls_match_hash(run->match);
    return run;
}

void moving_match_restart(moving_match *run)
{
    ls_match_destroy(run->match);
    create_match(run);
}

void moving_match_close(moving_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_destroy(run->clients[i]->session);
        ls_release(ls_allocator_heap(), run->clients[i]);
    }
    ls_match_destroy(run->match);
    ls_memory_network_destroy(run->network);
    ls_release(ls_allocator_heap(), run);
}

moving_client *moving_match_add(moving_match *run, const ls_session_config *config,
                                const ls_memory_link *link)
{
    LS_ASSERT(run->client_count < MOVING_CLIENTS_MAX);
    moving_client *client = ls_allocate(ls_allocator_heap(), sizeof *client);
    ls_session_config own = *config;
    client->run = run;
    client->index = run->client_count;
    client->link = *link;
    client->bot = ls_bot_make(100 + client->index);
    client->next_frame_ns = run->now_ns + client->index * 1700 * LS_NS_PER_US;
    own.find_simulation = find_simulation;
    own.make_input = make_input;
    own.makes_inputs_between_frames = true;
    own.user = client;
    ls_packet_sink sink = {on_send, on_disconnect, client};
    cr_assert_eq(ls_session_create(&own, &sink, ls_allocator_heap(), &client->session, NULL),
                 LS_OK);
    connect_anew(client);
    run->clients[run->client_count++] = client;
    return client;
}

/* ---- the server ---- */

static void take_server_packets(moving_match *run)
{
    ls_transport_event event;
    while (ls_transport_next_event(run->server, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            ls_match_peer_connected(run->match, event.peer, run->now_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            ls_match_peer_disconnected(run->match, event.peer, event.reason, run->now_ns);
            break;
        case LS_TRANSPORT_RECEIVED:
            ls_match_receive(run->match, event.peer, event.channel, event.bytes, event.size,
                             run->now_ns);
            break;
        }
    }
}

/* Large states are slow to hash. */
static bool is_hashed(const moving_match *run, ls_tick tick)
{
    return tick % run->config.hash_interval_ticks == 0;
}

static void pump_server(moving_match *run)
{
    ls_match_event event;
    take_server_packets(run);
    if (run->now_ns >= ls_match_next_ns(run->match)) {
        ls_match_advance(run->match, run->now_ns);
    }
    while (run->ticks < ls_match_tick(run->match)) {
        run->ticks++;
        LS_ASSERT(run->ticks <= MOVING_TICKS_MAX);
        cr_assert_eq(run->ticks, ls_match_tick(run->match), "a tick at a time");
        if (is_hashed(run, run->ticks)) {
            run->state_hashes[run->ticks] = ls_match_hash(run->match);
        }
        if (run->on_tick) {
            run->on_tick(run->user, run->match);
        }
    }
    while (ls_match_next_event(run->match, &event)) {
        cr_assert_neq(event.kind, LS_MATCH_DESYNC, "slot %u at tick %u", event.slot, event.tick);
        if (event.kind == LS_MATCH_RESUMED) {
            run->resumed = event;
            run->ticks = event.tick; /* what was closed behind it is lost */
        }
    }
}

/* ---- clients ---- */

static void compare(moving_client *client)
{
    ls_session_report report = moving_report(client);
    ls_sim_instance *instance = ls_session_instance(client->session);
    bool is_settled = instance && report.shown_tick == report.tick &&
                      report.tick <= client->run->ticks && report.tick != client->compared &&
                      is_hashed(client->run, report.tick);
    if (!is_settled) {
        return;
    }
    cr_assert_eq(ls_sim_instance_hash(instance), client->run->state_hashes[report.tick],
                 "client %u at tick %u", client->index, report.tick);
    client->compared = report.tick;
    client->compared_count++;
}

static void take_events(moving_client *client)
{
    static ls_session_event event;
    while (ls_session_next_event(client->session, &event)) {
        if (event.kind == LS_SESSION_EVENT_OVER) {
            client->is_over = true;
        } else if (event.kind == LS_SESSION_EVENT_JOINING) {
            client->join = event.join;
            client->joins++;
        } else if (event.kind == LS_SESSION_EVENT_JOINED) {
            client->joined_ns = client->run->now_ns;
            client->joined_tick = event.tick;
        }
    }
}

static void take_disconnect(moving_client *client, ls_status reason)
{
    bool is_given_up =
        !client->is_connecting && ls_session_reconnect_ns(client->session) != UINT64_MAX;
    client->is_connecting = false;
    client->peer = 0;
    if (!is_given_up) {
        ls_session_disconnected(client->session, reason, client->run->now_ns);
    }
}

static void take_packets(moving_client *client)
{
    ls_transport_event event;
    uint64_t now_ns = client->run->now_ns;
    while (ls_transport_next_event(client->transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            client->is_connecting = false;
            client->peer = event.peer;
            ls_session_connected(client->session, event.peer, now_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            take_disconnect(client, event.reason);
            break;
        case LS_TRANSPORT_RECEIVED:
            client->packets_down++;
            ls_session_receive(client->session, event.channel, event.bytes, event.size, now_ns);
            break;
        }
    }
}

static void reconnect(moving_client *client)
{
    uint64_t now_ns = client->run->now_ns;
    if (client->is_connecting && client->connections > 1 &&
        now_ns - client->connecting_ns >= ATTEMPT_NS) {
        ls_transport_destroy(client->transport);
        take_disconnect(client, LS_TIMED_OUT);
    }
    if (!client->is_connecting && now_ns >= ls_session_reconnect_ns(client->session)) {
        ls_transport_destroy(client->transport);
        connect_anew(client);
    }
}

static void pump_client(moving_client *client)
{
    uint64_t now_ns = client->run->now_ns;
    take_packets(client);
    if (now_ns >= ls_session_next_ns(client->session)) {
        ls_session_update(client->session, now_ns);
    }
    if (now_ns >= client->next_frame_ns) {
        ls_session_frame(client->session, now_ns);
        client->next_frame_ns += FRAME_NS;
        compare(client);
    }
    take_events(client);
    if (!client->is_over) {
        reconnect(client);
    }
}

/* ---- running ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_ns(const moving_match *run)
{
    uint64_t next = earlier(ls_memory_network_next_ns(run->network), ls_match_next_ns(run->match));
    for (uint32_t i = 0; i < run->client_count; i++) {
        const moving_client *client = run->clients[i];
        next = earlier(next, client->next_frame_ns);
        next = earlier(next, ls_session_next_ns(client->session));
    }
    return next > run->now_ns ? next : run->now_ns + 1;
}

static void turn(moving_match *run, uint64_t end_ns)
{
    run->now_ns = earlier(next_ns(run), end_ns);
    ls_memory_network_set_time(run->network, run->now_ns);
    pump_server(run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        pump_client(run->clients[i]);
    }
}

void moving_match_run(moving_match *run, uint64_t ns)
{
    uint64_t end_ns = run->now_ns + ns;
    while (run->now_ns < end_ns) {
        turn(run, end_ns);
    }
}

bool moving_match_run_to(moving_match *run, const moving_client *client, ls_session_state state,
                         uint64_t ns)
{
    uint64_t end_ns = run->now_ns + ns;
    while (run->now_ns < end_ns && ls_session_state_of(client->session) != state) {
        turn(run, end_ns);
    }
    return ls_session_state_of(client->session) == state;
}

void moving_match_run_to_end(moving_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        bool is_over = moving_match_run_to(run, run->clients[i], LS_SESSION_OVER, END_NS);
        cr_assert(is_over, "client %u is in state %d", i,
                  (int)ls_session_state_of(run->clients[i]->session));
    }
}

void moving_check_plays(const moving_client *client)
{
    ls_session_report report = moving_report(client);
    cr_assert_eq(report.state, LS_SESSION_PLAYING, "client %u: state %d, %s", client->index,
                 (int)report.state, ls_status_name(report.status));
    /* Who predicts hardly ever shows a settled state: the server compares those. */
    ls_tick known = report.has_prediction ? report.tick : client->compared;
    cr_assert_geq(known + 30 + client->run->config.hash_interval_ticks, client->run->ticks,
                  "client %u: tick %u of %u", client->index, known, client->run->ticks);
}
