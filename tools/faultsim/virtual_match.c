#include "lockstep/tools/faultsim/virtual_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tools/faultsim/witness.h"

#include <stdarg.h>
#include <stdio.h>

/* While anybody stands still, packets that wait for it say nothing about what comes next. */
#define PAUSED_STEP_NS LS_NS_PER_MS
#define RUN_LIMIT_NS (120 * LS_NS_PER_SECOND)
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
    uint32_t size = ls_bot_input(&client->bot, instance, slot, bytes);
    virtual_check_input_made(client, tick, bytes, size);
    return size;
}

/* Everything that a session sends goes this way. */
static void send_packet(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                        size_t size)
{
    virtual_client *client = user;
    client->server = peer;
    if (!client->transport) {
        return;
    }
    if (client->tamper.send) {
        client->tamper.send(client->tamper.user, client, channel, bytes, size);
    } else {
        ls_transport_send(client->transport, peer, channel, bytes, size);
    }
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
    ls_difference_text *noted = &client->flipped;
    ls_schema_place_name(&place, noted->name, sizeof noted->name);
    ls_schema_place_value(&place, state, noted->b, sizeof noted->b);
    state[at] ^= mask;
    ls_schema_place_value(&place, state, noted->a, sizeof noted->a);
    state[at] ^= mask;
    client->is_flipped = true;
    client->flipped_byte = at;
    client->flipped_ns = client->run->now_ns;
}

/* Flips a bit that counts. */
static void flip(virtual_client *client, ls_sim_instance *instance)
{
    uint8_t *state = ls_sim_instance_state(instance);
    size_t bytes = ls_sim_instance_state_bytes(instance);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    uint8_t mask = (uint8_t)(1u << client->flip_bit);
    for (size_t i = 0; i < bytes; i++) {
        size_t at = (client->flip_byte + i) % bytes;
        state[at] ^= mask;
        if (ls_sim_instance_hash(instance) != state_hash) {
            note_flip(client, instance, at, mask);
            virtual_log(client->run, "client %u: a bit of byte %zu of state %u is flipped",
                        client->index, at, client->flip_tick);
            return;
        }
        state[at] ^= mask;
    }
}

static void after_step(void *user, ls_sim_instance *instance)
{
    virtual_client *client = user;
    if (client->flip_tick != 0 && ls_sim_instance_tick(instance) == client->flip_tick) {
        flip(client, instance);
    }
}

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

virtual_client_setup virtual_client_setup_default(const virtual_match *run)
{
    virtual_client_setup setup = {.simulation = run->setup.match.simulation,
                                  .frame_hz = 60,
                                  .predict_ticks = run->setup.predict_ticks,
                                  .up = run->setup.link,
                                  .down = run->setup.link};
    snprintf(setup.name, sizeof setup.name, "client %u", (unsigned)run->client_count);
    return setup;
}

static ls_session *create_session(virtual_client *client, const virtual_client_setup *setup)
{
    ls_session_config config = ls_session_config_default();
    ls_name_copy(config.name, sizeof config.name, setup->name);
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.after_step = after_step;
    config.user = client;
    config.ticks = setup->ticks;
    config.keeps_previous_state = setup->has_previous_state;
    config.predict_ticks = setup->predict_ticks;
    config.makes_inputs_between_frames = !setup->makes_inputs_in_frames;
    config.reconnect_ms = setup->reconnect_ms;
    config.is_spectator = setup->is_spectator;
    ls_packet_sink sink = {.send = send_packet, .disconnect = disconnect, .user = client};
    ls_session *session = NULL;
    ls_status status =
        ls_session_create(&config, &sink, client->run->setup.allocator, &session, NULL);
    LS_ASSERT(status == LS_OK);
    return session;
}

static void *reserve(virtual_match *run, size_t count, size_t bytes)
{
    void *memory = ls_allocate_array(run->setup.storage, count, bytes);
    LS_ASSERT(memory != NULL);
    return memory;
}

virtual_client *virtual_match_add_client(virtual_match *run, const virtual_client_setup *setup)
{
    LS_ASSERT(run->client_count < VIRTUAL_CLIENTS_MAX);
    virtual_client *client = reserve(run, 1, sizeof *client);
    client->run = run;
    client->index = run->client_count;
    client->simulation = setup->simulation ? witness_simulation(setup->simulation) : NULL;
    client->frame_ns = LS_NS_PER_SECOND / setup->frame_hz;
    client->frame_jitter_ns = setup->frame_jitter_ns;
    client->drift_ppm = setup->drift_ppm;
    client->epoch_ns = EPOCH_NS * (client->index + 1);
    /* No two clients draw at the same moments. */
    client->next_frame_ns = run->now_ns + 1 + client->index * 1700 * LS_NS_PER_US;
    client->bot = ls_bot_make(run->setup.seed * 1000 + client->index);
    client->made = reserve(run, run->tick_capacity, sizeof *client->made);
    client->made_size = reserve(run, run->tick_capacity, sizeof *client->made_size);
    client->arrived = reserve(run, run->tick_capacity, sizeof *client->arrived);
    client->made_at = reserve(run, run->tick_capacity, sizeof *client->made_at);
    client->made_in = reserve(run, run->tick_capacity, sizeof *client->made_in);
    client->up = setup->up;
    client->down = setup->down;
    client->returns = setup->reconnect_ms > 0;
    client->is_spectator = setup->is_spectator;
    client->is_absent = setup->comes_later;
    client->since_ns = run->now_ns;
    client->life = run->life;
    if (setup->predict_ticks > 0) {
        client->stepped = reserve(run, VIRTUAL_STEPPED_TICKS, sizeof *client->stepped);
    }
    client->session = create_session(client, setup);
    run->clients[run->client_count++] = client;
    if (!client->is_absent) {
        virtual_link_connect(client);
    }
    return client;
}

static void create_network(virtual_match *run)
{
    ls_status status = ls_memory_network_create(run->setup.seed, run->setup.storage, &run->network);
    LS_ASSERT(status == LS_OK);
    status = ls_memory_server_create(run->network, &run->server_transport);
    LS_ASSERT(status == LS_OK);
}

virtual_match *virtual_match_create(const virtual_setup *setup)
{
    virtual_match *run = ls_allocate(setup->storage, sizeof *run);
    LS_ASSERT(run != NULL);
    run->setup = *setup;
    run->now_ns = 1;
    run->server_epoch_ns = 77 * EPOCH_NS;
    run->rng = ls_rng_make(setup->seed, 2);
    /* Inputs are made for ticks beyond the last one. */
    uint32_t ticks = setup->match.ticks;
    run->tick_capacity = ticks > 0 ? ticks + LS_WINDOW_TICKS : VIRTUAL_TICKS_MAX;
    run->events = reserve(run, VIRTUAL_EVENTS_MAX, sizeof *run->events);
    run->ticks = reserve(run, run->tick_capacity, sizeof *run->ticks);
    run->cursor = reserve(run, 1, sizeof *run->cursor);
    create_network(run);
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
    witness_forget_all();
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client *client = run->clients[i];
        ls_session_destroy(client->session);
        ls_release(storage, client->made);
        ls_release(storage, client->made_size);
        ls_release(storage, client->arrived);
        ls_release(storage, client->made_at);
        ls_release(storage, client->made_in);
        ls_release(storage, client->stepped);
        ls_release(storage, client);
    }
    virtual_server_destroy(run);
    ls_memory_network_destroy(run->network);
    for (uint32_t i = 0; i < run->life; i++) {
        ls_release(storage, run->lives[i].ticks);
    }
    ls_release(storage, run->cursor);
    ls_release(storage, run->ticks);
    ls_release(storage, run->events);
    ls_release(storage, run);
}

void virtual_match_add_stranger(virtual_match *run, virtual_stranger stranger)
{
    LS_ASSERT(run->stranger_count < VIRTUAL_STRANGERS_MAX);
    run->strangers[run->stranger_count++] = stranger;
}

/* ---- clocks ---- */

static uint64_t shown_ns(uint64_t epoch_ns, int32_t drift_ppm, uint64_t now_ns)
{
    int64_t drift_ns = (int64_t)(now_ns / 1000) * drift_ppm / 1000;
    return (uint64_t)((int64_t)(epoch_ns + now_ns) + drift_ns);
}

uint64_t virtual_match_server_ns(const virtual_match *run)
{
    return shown_ns(run->server_epoch_ns, run->server_drift_ppm, run->now_ns);
}

uint64_t virtual_client_ns(const virtual_client *client)
{
    return shown_ns(client->epoch_ns, client->drift_ppm, client->run->now_ns);
}

/* About the first moment, in the run's time, at which the server's clock shows `local_ns`. */
static uint64_t when_server_shows(const virtual_match *run, uint64_t local_ns)
{
    if (local_ns <= run->server_epoch_ns + LS_NS_PER_US) {
        return 0; /* drift is reckoned from there */
    }
    uint64_t moment_ns = local_ns - run->server_epoch_ns;
    int64_t drift_ppm = run->server_drift_ppm;
    if (drift_ppm == 0 || local_ns == VIRTUAL_NEVER) {
        return moment_ns;
    }
    int64_t drift_ns = (int64_t)(moment_ns / 1000) * drift_ppm / (1000000 + drift_ppm) * 1000;
    moment_ns = (uint64_t)((int64_t)moment_ns - drift_ns - LS_NS_PER_US);
    uint64_t shown = shown_ns(run->server_epoch_ns, run->server_drift_ppm, moment_ns);
    while (shown < local_ns) {
        moment_ns += local_ns - shown;
        shown = shown_ns(run->server_epoch_ns, run->server_drift_ppm, moment_ns);
    }
    return moment_ns;
}

/* When the server's loop turns next, in the run's time. */
static uint64_t server_due_ns(const virtual_match *run)
{
    bool is_still = run->is_server_paused || run->is_server_dead;
    if (is_still || ls_match_state_of(run->match) == LS_MATCH_OVER) {
        return VIRTUAL_NEVER;
    }
    uint64_t due_ns = when_server_shows(run, ls_match_next_ns(run->match));
    if (run->server_loop_ns > 0) {
        due_ns = (due_ns + run->server_loop_ns - 1) / run->server_loop_ns * run->server_loop_ns;
    }
    return due_ns;
}

void virtual_client_step_clock(virtual_client *client, uint64_t ns)
{
    client->epoch_ns += ns;
}

void virtual_match_step_clock(virtual_match *run, uint64_t ns)
{
    run->server_epoch_ns += ns;
    run->unscheduled_until_ns = run->now_ns + LS_NS_PER_SECOND / 10;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When a client draws its next frame or asks to be updated, in the run's time. */
static uint64_t client_due_ns(const virtual_client *client)
{
    if (client->is_paused || client->is_gone || client->is_absent) {
        return VIRTUAL_NEVER;
    }
    uint64_t due_ns = ls_session_next_ns(client->session);
    if (due_ns == VIRTUAL_NEVER) {
        return client->next_frame_ns;
    }
    uint64_t local_ns = virtual_client_ns(client);
    due_ns = client->run->now_ns + (due_ns > local_ns ? due_ns - local_ns : 0);
    return earlier(due_ns, client->next_frame_ns);
}

static uint64_t next_event_ns(const virtual_match *run)
{
    bool is_anybody_paused = run->is_server_paused;
    uint64_t next_ns = earlier(run->server_due_ns, virtual_server_next_ns(run));
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        is_anybody_paused = is_anybody_paused || client->is_paused;
        next_ns = earlier(next_ns, client->due_ns);
    }
    uint64_t packet_ns = ls_memory_network_next_ns(run->network);
    if (is_anybody_paused && packet_ns <= run->now_ns) {
        packet_ns = run->now_ns + PAUSED_STEP_NS;
    } else if (is_anybody_paused) {
        packet_ns = earlier(packet_ns, run->now_ns + PAUSED_STEP_NS);
    }
    next_ns = earlier(next_ns, packet_ns);
    return next_ns > run->now_ns ? next_ns : run->now_ns + 1;
}

/* ---- the pumps ---- */

static void take_server_packets(virtual_match *run)
{
    uint64_t local_ns = virtual_match_server_ns(run);
    ls_transport_event event;
    while (ls_transport_next_event(run->server_transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            ls_match_peer_connected(run->match, event.peer, local_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            ls_match_peer_disconnected(run->match, event.peer, event.reason, local_ns);
            break;
        case LS_TRANSPORT_RECEIVED:
            virtual_wire_before_match(run, &event);
            ls_match_receive(run->match, event.peer, event.channel, event.bytes, event.size,
                             local_ns);
            virtual_wire_after_match(run, &event);
            break;
        }
        virtual_server_take_events(run);
    }
}

static void pump_server(virtual_match *run)
{
    virtual_server_pump_death(run);
    if (run->is_server_paused || run->is_server_dead) {
        return;
    }
    take_server_packets(run);
    virtual_server_pump_disk(run);
    run->server_due_ns = server_due_ns(run);
    if (run->now_ns >= run->server_due_ns) {
        ls_match_advance(run->match, virtual_match_server_ns(run));
        virtual_server_take_events(run);
        run->server_due_ns = server_due_ns(run);
        if (run->server_due_ns <= run->now_ns) {
            virtual_check_note(run, VIRTUAL_I4, run->tick_count,
                               "the match asks to be called again at once");
        }
        virtual_server_record(run);
    }
    virtual_check_silence(run);
}

static void take_session_events(virtual_client *client)
{
    ls_session_event event;
    while (ls_session_next_event(client->session, &event)) {
        LS_ASSERT(client->event_count < VIRTUAL_CLIENT_EVENTS_MAX);
        client->events[client->event_count++] = (virtual_client_event){client->run->now_ns, event};
        client->is_over = client->is_over || event.kind == LS_SESSION_EVENT_OVER;
        virtual_log_session_event(client, &event);
        if (event.kind == LS_SESSION_EVENT_WAITING) {
            client->waiting_count++;
            client->waiting_mask |= event.waiting.slot_mask;
        }
        if (event.kind == LS_SESSION_EVENT_SEATED && !client->is_watched) {
            virtual_check_watch_client(client);
        }
        virtual_return_session_event(client, &event);
        virtual_check_session_event(client, &event);
    }
}

/* True when there were any. */
static bool take_client_packets(virtual_client *client)
{
    uint64_t local_ns = virtual_client_ns(client);
    bool is_any = false;
    ls_transport_event event;
    while (client->transport && ls_transport_next_event(client->transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            client->is_connecting = false;
            ls_session_connected(client->session, event.peer, local_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            virtual_link_take_disconnect(client, event.reason);
            break;
        case LS_TRANSPORT_RECEIVED:
            virtual_wire_before_session(client, &event);
            ls_session_receive(client->session, event.channel, event.bytes, event.size, local_ns);
            virtual_wire_after_session(client, &event);
            break;
        }
        take_session_events(client);
        is_any = true;
    }
    return is_any;
}

static void draw_frame(virtual_client *client)
{
    virtual_match *run = client->run;
    ls_session_frame(client->session, virtual_client_ns(client));
    virtual_check_frame(client);
    take_session_events(client);
    client->next_frame_ns += client->frame_ns;
    if (client->frame_jitter_ns > 0) {
        client->next_frame_ns += ls_rng_below(&run->rng, (uint32_t)client->frame_jitter_ns);
    }
    if (client->next_frame_ns <= run->now_ns) {
        client->next_frame_ns = run->now_ns + client->frame_ns;
    }
}

static void pump_client(virtual_client *client)
{
    virtual_match *run = client->run;
    if (client->is_absent) {
        return;
    }
    if (client->is_gone) {
        ls_transport_event nobody_sees;
        while (client->transport && ls_transport_next_event(client->transport, &nobody_sees)) {
        }
        return;
    }
    if (client->is_paused) {
        return;
    }
    bool has_heard = take_client_packets(client);
    virtual_link_pump(client);
    if (!has_heard && run->now_ns < client->due_ns) {
        return;
    }
    if (virtual_client_ns(client) >= ls_session_next_ns(client->session)) {
        ls_session_update(client->session, virtual_client_ns(client));
    }
    if (run->now_ns >= client->next_frame_ns) {
        draw_frame(client);
    }
    client->due_ns = client_due_ns(client);
}

/* ---- running ---- */

bool virtual_match_is_over(const virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        if (!client->is_over && !client->is_gone && !client->is_absent) {
            return false;
        }
    }
    return run->is_beyond_help || ls_match_state_of(run->match) == LS_MATCH_OVER;
}

virtual_client *virtual_match_client_of(const virtual_match *run, ls_peer_id peer)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (run->clients[i]->server == peer) {
            return run->clients[i];
        }
    }
    return NULL;
}

/* What may have been changed from outside: clocks, who stands still. */
static void find_due(virtual_match *run)
{
    run->server_due_ns = server_due_ns(run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        run->clients[i]->due_ns = client_due_ns(run->clients[i]);
    }
}

/* What has broken may break whatever comes next, this harness too. */
static bool is_given_up(const virtual_match *run)
{
    return run->setup.is_strict && run->fault_count > 0;
}

/* Who comes in takes memory for that; who plays does not. */
static void pump_and_count(virtual_client *client)
{
    virtual_match *run = client->run;
    const uint64_t *allocations = run->setup.allocations;
    uint64_t before = allocations ? *allocations : 0;
    bool was_settled = client->is_settled;
    pump_client(client);
    if (allocations && !(was_settled && client->is_settled)) {
        run->start_allocations += *allocations - before;
    }
}

static void run_until(virtual_match *run, uint64_t end_ns, ls_tick tick)
{
    find_due(run);
    while (run->now_ns < end_ns && ls_match_tick(run->match) < tick &&
           !virtual_match_is_over(run) && !is_given_up(run)) {
        run->now_ns = earlier(next_event_ns(run), end_ns);
        ls_memory_network_set_time(run->network, run->now_ns);
        pump_server(run);
        for (uint32_t i = 0; i < run->client_count; i++) {
            pump_and_count(run->clients[i]);
        }
        for (uint32_t i = 0; i < run->stranger_count; i++) {
            run->strangers[i].pump(run->strangers[i].user);
        }
    }
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

void virtual_match_pause_server(virtual_match *run)
{
    run->is_server_paused = true;
    run->unscheduled_until_ns = VIRTUAL_NEVER;
}

void virtual_match_resume_server(virtual_match *run)
{
    run->is_server_paused = false;
    run->unscheduled_until_ns = run->now_ns + LS_NS_PER_SECOND / 10;
}

void virtual_match_suspend_server(virtual_match *run, uint64_t ns)
{
    virtual_match_pause_server(run);
    virtual_match_run(run, ns);
    virtual_match_resume_server(run);
}

void virtual_client_leave(virtual_client *client)
{
    if (!client->is_over && !client->is_gone) {
        ls_session_leave(client->session, virtual_client_ns(client));
        take_session_events(client);
    }
}

void virtual_client_vanish(virtual_client *client)
{
    client->is_gone = true;
    virtual_client_cut(client);
}
