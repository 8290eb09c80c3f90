/* The driver of a virtual match: it builds the network, the server and the clients, and moves from
 * one event to the next. */
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include "lockstep/common/base/assert.h"

/* While a machine stands still, the packets that wait for it say nothing about what comes next. */
#define PAUSED_STEP_NS LS_NS_PER_MS
#define RUN_LIMIT_NS (120 * LS_NS_PER_SECOND)
#define SERVER_EPOCH_NS UINT64_C(77000000000000)

/* ---- building ---- */

virtual_setup virtual_setup_default(const ls_simulation *simulation, uint32_t players,
                                    uint32_t ticks)
{
    virtual_setup setup = {.match = ls_match_config_default(simulation),
                           .clients = players,
                           .seed = 1,
                           .link = {.delay_ns = 10 * LS_NS_PER_MS},
                           .allocator = ls_allocator_heap(),
                           .storage = ls_allocator_heap()};
    setup.match.sim.players = players;
    setup.match.ticks = ticks;
    return setup;
}

void virtual_match_observe(virtual_match *run, const virtual_observer *observer)
{
    LS_ASSERT(run->observer_count < VIRTUAL_OBSERVERS_MAX);
    run->observers[run->observer_count++] = *observer;
}

static void create_network(virtual_match *run)
{
    const virtual_network_setup setup = {run->setup.seed, run->setup.resend_ns, run->setup.storage};
    virtual_network_maker *make =
        run->setup.network ? run->setup.network : virtual_network_of_memory;
    run->network = make(&setup);
    LS_ASSERT(run->network != NULL);
}

virtual_match *virtual_match_create(const virtual_setup *setup)
{
    virtual_match *run = ls_allocate(setup->storage, sizeof *run);
    LS_ASSERT(run != NULL);
    run->setup = *setup;
    run->now_ns = 1;
    run->server_epoch_ns = SERVER_EPOCH_NS;
    run->rng = ls_rng_make(setup->seed, 2);
    run->events = ls_allocate_array(setup->storage, VIRTUAL_EVENTS_MAX, sizeof *run->events);
    LS_ASSERT(run->events != NULL);
    virtual_match_observe(run, &setup->observer);
    create_network(run);
    run->reruns = virtual_match_make_reruns(run);
    virtual_server_create(run);
    for (uint32_t i = 0; i < setup->clients; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        virtual_match_add_client(run, &client);
    }
    return run;
}

void virtual_match_destroy(virtual_match *run)
{
    const ls_allocator *storage = run->setup.storage;
    VIRTUAL_OBSERVE(run, run_destroyed, run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client_destroy(run->clients[i]);
    }
    virtual_server_destroy(run);
    ls_rerun_local_destroy(run->reruns);
    run->network->operations->destroy(run->network);
    ls_release(storage, run->events);
    ls_release(storage, run);
}

void virtual_match_add_peer(virtual_match *run, virtual_peer peer)
{
    LS_ASSERT(run->peer_count < VIRTUAL_PEERS_MAX);
    run->peers[run->peer_count++] = peer;
}

/* ---- running ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return LS_MIN(a, b);
}

static uint64_t next_event_ns(const virtual_match *run)
{
    if (run->setup.step_ns > 0) {
        return run->now_ns + run->setup.step_ns;
    }
    bool is_any_paused = run->is_server_paused;
    uint64_t next_ns = earlier(run->server_due_ns, virtual_server_next_ns(run));
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        is_any_paused = is_any_paused || client->is_paused;
        next_ns = earlier(next_ns, client->due_ns);
    }
    uint64_t packet_ns = run->network->operations->next_ns(run->network);
    if (is_any_paused && packet_ns <= run->now_ns) {
        packet_ns = run->now_ns + PAUSED_STEP_NS;
    } else if (is_any_paused) {
        packet_ns = earlier(packet_ns, run->now_ns + PAUSED_STEP_NS);
    }
    next_ns = earlier(next_ns, packet_ns);
    return next_ns > run->now_ns ? next_ns : run->now_ns + 1;
}

bool virtual_match_is_over(const virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        if (!client->is_over && !client->is_gone && !client->is_absent) {
            return false;
        }
    }
    return run->is_server_lost || ls_match_state_of(run->match) == LS_MATCH_OVER;
}

/* The owner may have changed it between two runs: clocks, who stands still. */
static void find_due(virtual_match *run)
{
    run->server_due_ns = virtual_match_find_server_due_ns(run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        run->clients[i]->due_ns = virtual_client_find_due_ns(run->clients[i]);
    }
}

static void step(virtual_match *run, uint64_t end_ns)
{
    run->now_ns = earlier(next_event_ns(run), end_ns);
    run->network->operations->set_time(run->network, run->now_ns);
    virtual_server_pump(run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client_pump(run->clients[i]);
    }
    for (uint32_t i = 0; i < run->peer_count; i++) {
        run->peers[i].pump(run->peers[i].user);
    }
}

static void run_until(virtual_match *run, uint64_t end_ns, ls_tick tick)
{
    find_due(run);
    while (run->now_ns < end_ns && ls_match_tick(run->match) < tick &&
           !virtual_match_is_over(run) && !run->is_stopped) {
        step(run, end_ns);
    }
}

bool virtual_client_run_to_state(virtual_client *client, ls_session_state state, uint64_t ns)
{
    virtual_match *run = client->run;
    uint64_t end_ns = run->now_ns + ns;
    find_due(run);
    while (run->now_ns < end_ns && ls_session_state_of(client->session) != state) {
        step(run, end_ns);
    }
    return ls_session_state_of(client->session) == state;
}

void virtual_match_run_until(virtual_match *run, uint64_t end_ns)
{
    run_until(run, end_ns, UINT32_MAX);
}

void virtual_match_run(virtual_match *run, uint64_t ns)
{
    run_until(run, run->now_ns + ns, UINT32_MAX);
}

void virtual_match_run_to_end(virtual_match *run)
{
    run_until(run, run->now_ns + RUN_LIMIT_NS, UINT32_MAX);
}

void virtual_match_run_to_tick(virtual_match *run, ls_tick tick)
{
    run_until(run, run->now_ns + RUN_LIMIT_NS, tick);
}

void virtual_match_suspend_server(virtual_match *run, uint64_t ns)
{
    virtual_match_pause_server(run);
    virtual_match_run(run, ns);
    virtual_match_resume_server(run);
}
