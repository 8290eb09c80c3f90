#include "lockstep/tests/support/virtual_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/hash.h"
#include "lockstep/tests/support/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void after_step(void *user, ls_sim_instance *instance)
{
    const virtual_client *client = user;
    if (client->flip_tick != 0 && ls_sim_instance_tick(instance) == client->flip_tick) {
        uint8_t *state = ls_sim_instance_state(instance);
        state[client->flip_byte] ^= 1u;
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
                           .allocator = ls_allocator_heap()};
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
    ls_packet_sink sink = ls_transport_sink(client->transport);
    ls_session *session = NULL;
    ls_status status =
        ls_session_create(&config, &sink, client->run->setup.allocator, &session, NULL);
    LS_ASSERT(status == LS_OK);
    return session;
}

virtual_client *virtual_match_add_client(virtual_match *run, const virtual_client_setup *setup)
{
    virtual_client *client = calloc(1, sizeof *client);
    LS_ASSERT(client != NULL && run->client_count < VIRTUAL_CLIENTS_MAX);
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
    client->made = calloc(VIRTUAL_TICKS_MAX, sizeof *client->made);
    client->stepped = calloc(VIRTUAL_STEPPED_TICKS, sizeof *client->stepped);
    LS_ASSERT(client->made != NULL && client->stepped != NULL);
    ls_status status =
        ls_memory_client_create(run->network, run->server_transport, &client->transport);
    LS_ASSERT(status == LS_OK);
    ls_memory_client_set_links(client->transport, &setup->up, &setup->down);
    client->session = create_session(client, setup);
    run->clients[run->client_count++] = client;
    return client;
}

static void create_server(virtual_match *run)
{
    ls_status status =
        ls_memory_network_create(run->setup.seed, ls_allocator_heap(), &run->network);
    LS_ASSERT(status == LS_OK);
    status = ls_memory_server_create(run->network, &run->server_transport);
    LS_ASSERT(status == LS_OK);
    ls_match_config config = run->setup.match;
    config.simulation = witness_simulation(config.simulation);
    ls_packet_sink sink = ls_transport_sink(run->server_transport);
    ls_text why = {{0}};
    status = ls_match_create(&config, &sink, run->setup.allocator, &run->match, &why);
    if (status != LS_OK) {
        fprintf(stderr, "%s\n", why.bytes);
    }
    LS_ASSERT(status == LS_OK);
    virtual_check_watch_server(run);
}

virtual_match *virtual_match_create(const virtual_setup *setup)
{
    virtual_match *run = calloc(1, sizeof *run);
    LS_ASSERT(run != NULL);
    run->setup = *setup;
    run->now_ns = 1;
    run->server_epoch_ns = 77 * EPOCH_NS;
    run->rng = ls_rng_make(setup->seed, 2);
    run->events = calloc(VIRTUAL_EVENTS_MAX, sizeof *run->events);
    run->ticks = calloc(VIRTUAL_TICKS_MAX, sizeof *run->ticks);
    LS_ASSERT(run->events != NULL && run->ticks != NULL);
    create_server(run);
    for (uint32_t i = 0; i < setup->clients; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        virtual_match_add_client(run, &client);
    }
    return run;
}

void virtual_match_destroy(virtual_match *run)
{
    witness_forget_all();
    for (uint32_t i = 0; i < run->client_count; i++) {
        ls_session_destroy(run->clients[i]->session);
        free(run->clients[i]->made);
        free(run->clients[i]->stepped);
        free(run->clients[i]);
    }
    ls_match_destroy(run->match);
    ls_memory_network_destroy(run->network);
    free(run->ticks);
    free(run->events);
    free(run);
}

void virtual_match_add_stranger(virtual_match *run, virtual_stranger stranger)
{
    LS_ASSERT(run->stranger_count < VIRTUAL_STRANGERS_MAX);
    run->strangers[run->stranger_count++] = stranger;
}

/* ---- links ---- */

void virtual_client_set_links(virtual_client *client, const ls_memory_link *link)
{
    ls_memory_client_set_links(client->transport, link, link);
}

void virtual_client_cut(virtual_client *client)
{
    ls_memory_link cut = {.is_cut = true};
    virtual_client_set_links(client, &cut);
}

void virtual_match_set_links(virtual_match *run, const ls_memory_link *link)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client_set_links(run->clients[i], link);
    }
}

/* ---- clocks ---- */

uint64_t virtual_match_server_ns(const virtual_match *run)
{
    return run->server_epoch_ns + run->now_ns;
}

uint64_t virtual_client_ns(const virtual_client *client)
{
    int64_t drift_ns = (int64_t)(client->run->now_ns / 1000) * client->drift_ppm / 1000;
    return (uint64_t)((int64_t)(client->epoch_ns + client->run->now_ns) + drift_ns);
}

/* When the server's loop turns next, in the run's time. */
static uint64_t server_due_ns(const virtual_match *run)
{
    if (run->is_server_paused || ls_match_state_of(run->match) == LS_MATCH_OVER) {
        return VIRTUAL_NEVER;
    }
    uint64_t due_ns = ls_match_next_ns(run->match);
    due_ns = due_ns > run->server_epoch_ns ? due_ns - run->server_epoch_ns : 0;
    if (run->server_loop_ns > 0) {
        due_ns = (due_ns + run->server_loop_ns - 1) / run->server_loop_ns * run->server_loop_ns;
    }
    return due_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t next_event_ns(const virtual_match *run)
{
    bool is_anybody_paused = run->is_server_paused;
    uint64_t next_ns = server_due_ns(run);
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        is_anybody_paused = is_anybody_paused || client->is_paused;
        if (!client->is_paused) {
            next_ns = earlier(next_ns, client->next_frame_ns);
        }
    }
    uint64_t packet_ns = ls_memory_network_next_ns(run->network);
    if (!is_anybody_paused) {
        next_ns = earlier(next_ns, packet_ns);
    } else if (packet_ns > run->now_ns) {
        next_ns = earlier(next_ns, earlier(packet_ns, run->now_ns + PAUSED_STEP_NS));
    } else {
        next_ns = earlier(next_ns, run->now_ns + PAUSED_STEP_NS);
    }
    return next_ns > run->now_ns ? next_ns : run->now_ns + 1;
}

/* ---- the pumps ---- */

static void take_match_events(virtual_match *run)
{
    ls_match_event event;
    while (ls_match_next_event(run->match, &event)) {
        LS_ASSERT(run->event_count < VIRTUAL_EVENTS_MAX);
        run->events[run->event_count++] = (virtual_event){run->now_ns, event};
        virtual_check_event(run, &event);
    }
}

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
            ls_match_receive(run->match, event.peer, event.lane, event.bytes, event.size, local_ns);
            break;
        }
        take_match_events(run);
    }
}

static void pump_server(virtual_match *run)
{
    if (run->is_server_paused) {
        return;
    }
    take_server_packets(run);
    if (run->now_ns >= server_due_ns(run)) {
        ls_match_advance(run->match, virtual_match_server_ns(run));
        take_match_events(run);
        if (server_due_ns(run) <= run->now_ns) {
            virtual_check_note(run, "the match asks to be called again at once");
        }
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
        if (event.kind == LS_SESSION_EVENT_WAITING) {
            client->waiting_count++;
            client->waiting_mask |= event.waiting.slot_mask;
        }
        if (event.kind == LS_SESSION_EVENT_SEATED) {
            client->run->by_slot[ls_session_report_of(client->session).slot] = client;
            virtual_check_watch_client(client);
        }
    }
}

static void take_client_packets(virtual_client *client)
{
    uint64_t local_ns = virtual_client_ns(client);
    ls_transport_event event;
    while (ls_transport_next_event(client->transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            ls_session_connected(client->session, event.peer, local_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            ls_session_disconnected(client->session, event.reason, local_ns);
            break;
        case LS_TRANSPORT_RECEIVED:
            ls_session_receive(client->session, event.lane, event.bytes, event.size, local_ns);
            break;
        }
        take_session_events(client);
    }
}

static void pump_client(virtual_client *client)
{
    virtual_match *run = client->run;
    if (client->is_paused) {
        return;
    }
    take_client_packets(client);
    if (run->now_ns < client->next_frame_ns) {
        return;
    }
    ls_session_frame(client->session, virtual_client_ns(client));
    virtual_check_client(client);
    take_session_events(client);
    client->next_frame_ns += client->frame_ns;
    if (client->frame_jitter_ns > 0) {
        client->next_frame_ns += ls_rng_below(&run->rng, (uint32_t)client->frame_jitter_ns);
    }
    if (client->next_frame_ns <= run->now_ns) {
        client->next_frame_ns = run->now_ns + client->frame_ns;
    }
}

/* ---- running ---- */

bool virtual_match_is_over(const virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (!run->clients[i]->is_over) {
            return false;
        }
    }
    return ls_match_state_of(run->match) == LS_MATCH_OVER;
}

static void run_until(virtual_match *run, uint64_t end_ns, ls_tick tick)
{
    while (run->now_ns < end_ns && ls_match_tick(run->match) < tick &&
           !virtual_match_is_over(run)) {
        run->now_ns = earlier(next_event_ns(run), end_ns);
        ls_memory_network_set_time(run->network, run->now_ns);
        pump_server(run);
        for (uint32_t i = 0; i < run->client_count; i++) {
            pump_client(run->clients[i]);
        }
        for (uint32_t i = 0; i < run->stranger_count; i++) {
            run->strangers[i].pump(run->strangers[i].user);
        }
    }
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
    run->is_server_paused = true;
    virtual_match_run(run, ns);
    run->is_server_paused = false;
    run->unscheduled_until_ns = run->now_ns + LS_NS_PER_SECOND / 10;
}

/* ---- looking back ---- */

const virtual_event *virtual_match_find_slot(const virtual_match *run, ls_match_event_kind kind,
                                             uint32_t slot)
{
    for (uint32_t i = 0; i < run->event_count; i++) {
        const ls_match_event *event = &run->events[i].event;
        if (event->kind == kind && (slot == LS_PLAYERS_MAX || event->slot == slot)) {
            return &run->events[i];
        }
    }
    return NULL;
}

const virtual_event *virtual_match_find(const virtual_match *run, ls_match_event_kind kind)
{
    return virtual_match_find_slot(run, kind, LS_PLAYERS_MAX);
}

uint32_t virtual_match_count(const virtual_match *run, ls_match_event_kind kind, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->event_count; i++) {
        const ls_match_event *event = &run->events[i].event;
        count += event->kind == kind && (slot == LS_PLAYERS_MAX || event->slot == slot);
    }
    return count;
}

const virtual_client_event *virtual_client_find(const virtual_client *client,
                                                ls_session_event_kind kind)
{
    for (uint32_t i = 0; i < client->event_count; i++) {
        if (client->events[i].event.kind == kind) {
            return &client->events[i];
        }
    }
    return NULL;
}

uint32_t virtual_client_count(const virtual_client *client, ls_session_event_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < client->event_count; i++) {
        count += client->events[i].event.kind == kind;
    }
    return count;
}

/* ---- a digest of it all ---- */

static uint64_t digest_text(uint64_t digest, const char *text)
{
    return ls_hash_bytes(text, strlen(text), digest);
}

static uint64_t digest_match_event(uint64_t digest, const virtual_event *taken)
{
    const ls_match_event *event = &taken->event;
    const uint64_t fields[] = {taken->at_ns,      (uint64_t)event->kind, event->slot,
                               event->peer,       event->tick,           (uint64_t)event->status,
                               event->slot_mask,  event->waited_ms,      event->server_root,
                               event->client_root};
    return digest_text(ls_hash_bytes(fields, sizeof fields, digest), event->text.bytes);
}

static uint64_t digest_session_event(uint64_t digest, const virtual_client_event *taken)
{
    const ls_session_event *event = &taken->event;
    const uint64_t fields[] = {taken->at_ns,           (uint64_t)event->kind,
                               event->waiting.tick,    event->waiting.slot_mask,
                               event->desync.slot,     event->desync.tick,
                               event->end.final_tick,  event->end.final_root,
                               (uint64_t)event->status};
    return digest_text(ls_hash_bytes(fields, sizeof fields, digest), event->text.bytes);
}

static uint64_t digest_session(uint64_t digest, const ls_session *session)
{
    ls_session_report report = ls_session_report_of(session);
    const uint64_t fields[] = {(uint64_t)report.status,
                               report.tick,
                               report.inputs_made,
                               report.inputs_skipped,
                               report.stalled_ticks,
                               report.rtt_ns,
                               (uint64_t)report.slack_ns,
                               report.confirm_latency_p50_ns,
                               report.confirm_latency_max_ns,
                               report.packets_rejected};
    return ls_hash_bytes(fields, sizeof fields, digest);
}

uint64_t virtual_match_digest(const virtual_match *run)
{
    ls_memory_counts counts = ls_memory_network_counts(run->network);
    const uint64_t traffic[] = {counts.sent, counts.delivered, counts.lost, counts.duplicated,
                                counts.corrupted};
    uint64_t digest = ls_hash_bytes(traffic, sizeof traffic, ls_match_root(run->match));
    for (uint32_t i = 0; i < run->event_count; i++) {
        digest = digest_match_event(digest, &run->events[i]);
    }
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        digest = digest_session(digest, client->session);
        for (uint32_t j = 0; j < client->event_count; j++) {
            digest = digest_session_event(digest, &client->events[j]);
        }
    }
    return digest;
}
