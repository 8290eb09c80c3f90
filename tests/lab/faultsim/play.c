#include "lockstep/tests/lab/faultsim/play.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/lab/faultsim/hostile.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/match_memory.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Somebody who is let into a match again and again and means it ill: comes back for one state after
 * another, takes it at a trickle or not at all, sits on a seat without a word, lies about its
 * states, and sends the largest messages that are valid. A visitor speaks the protocol by hand,
 * with the match before its eyes, and draws its acts from a stream of its own. */
typedef struct faultsim_visitor {
    const faultsim_scenario_visitor *drawn;
    virtual_match *run;
    ls_rng rng;
    uint32_t number;
    uint32_t visits;
    uint64_t sent; /* packets */

    ls_transport *transport; /* NULL: it is away */
    ls_peer_id server;       /* 0: not connected */
    uint64_t next_ns;        /* it comes, or goes */
    uint64_t end_ns;         /* it comes no more */
    uint64_t inputs_ns;      /* its next INPUTS */
    bool has_join;
    bool is_playing;
    uint32_t sequence;
    ls_offer offer; /* of its seat; match_id 0: it has none */
    ls_join join;
    ls_message message;
} faultsim_visitor;

enum {
    LOBBY_SECONDS_MAX = 60,
    SPARE_TICKS = 3,
    WATCH_TICKS = 40, /* spectators are sent ticks many at a time */
};

/* A session holds back what jitter may need, a quarter of a second at most, and mends another one
 * by speed; beyond, it catches up at once. */
#define BACKLOG_NS (500 * LS_NS_PER_MS)
#define TAIL_NS (60 * LS_NS_PER_SECOND) /* by then everything is over, long ago */

struct ls_play {
    faultsim_scenario_options options;
    ls_match_memory *memory;
    faultsim_scenario scenario;
    faultsim_hostile players[FAULTSIM_SCENARIO_CLIENTS_MAX];
    faultsim_hostile unknown_peers[FAULTSIM_SCENARIO_UNKNOWN_PEERS_MAX];
    faultsim_visitor visitors[FAULTSIM_SCENARIO_VISITORS_MAX];
    uint64_t moments[LS_CLASS_COUNT]; /* what happened in this match */
    ls_rng floods;
};

/* ---- visitors ---- */

enum {
    FIRST_ORIGIN = 1000, /* behind those of the clients */
    VISITS_MAX = 40,     /* the network has room for so many connections */
    STAY_MS_MIN = 60,
    STAY_MS_MAX = 400,
    PLAY_MS = 350,  /* for which a liar stays, so that its states are looked into */
    INPUTS_MS = 20, /* between two of a liar */
    ALIVE_MS = 300, /* likewise, of one that takes nothing of its state */
    LARGE_MESSAGES = 8,
};

static uint32_t below(faultsim_visitor *visitor, uint32_t bound)
{
    return ls_rng_below(&visitor->rng, bound);
}

static bool is_watching(const faultsim_visitor *visitor)
{
    return visitor->drawn->kind == FAULTSIM_VISITOR_WATCHES ||
           visitor->drawn->kind == FAULTSIM_VISITOR_WATCHES_SLOWLY;
}

static bool is_slow(const faultsim_visitor *visitor)
{
    return visitor->drawn->kind == FAULTSIM_VISITOR_TAKES_SLOWLY ||
           visitor->drawn->kind == FAULTSIM_VISITOR_WATCHES_SLOWLY ||
           visitor->drawn->kind == FAULTSIM_VISITOR_IDLES;
}

static bool is_vanishing(const faultsim_visitor *visitor)
{
    return visitor->drawn->kind == FAULTSIM_VISITOR_WATCHES_SLOWLY && visitor->number % 2 == 1;
}

/* ---- what a visitor says ---- */

static void send(faultsim_visitor *visitor, ls_channel channel, const uint8_t *bytes, size_t size)
{
    visitor->sent++;
    ls_transport_send(visitor->transport, visitor->server, channel, bytes, size);
}

static void send_message(faultsim_visitor *visitor)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    send(visitor, LS_CHANNEL_RELIABLE, bytes, ls_message_write(&visitor->message, bytes));
}

/* To its own seat it comes back with nothing, so that it is to be sent a state. */
static void say_hello(faultsim_visitor *visitor)
{
    visitor->message = (ls_message){.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("visit")};
    ls_hello *hello = &visitor->message.body.hello;
    hello->is_spectator = is_watching(visitor);
    if (visitor->drawn->kind == FAULTSIM_VISITOR_SHOUTS) {
        memset(hello->name, 'x', sizeof hello->name - 1);
        memset(hello->token, 'x', sizeof hello->token - 1);
    }
    if (visitor->offer.match_id != 0 && !hello->is_spectator) {
        hello->back.match_id = visitor->offer.match_id;
        hello->back.is_optional = true;
        memcpy(hello->back.secret, visitor->offer.secret, sizeof hello->back.secret);
    }
    send_message(visitor);
}

static void say_goodbye(faultsim_visitor *visitor)
{
    visitor->message = (ls_message){.kind = LS_MESSAGE_GOODBYE};
    ls_close_reason *reason = &visitor->message.body.close_reason;
    reason->negated_status = (uint32_t)-LS_DISCONNECTED;
    memset(reason->text.bytes, 'x', sizeof reason->text.bytes - 1);
    send_message(visitor);
    visitor->offer.match_id = 0;
}

static void say_ready(faultsim_visitor *visitor)
{
    visitor->message = (ls_message){.kind = LS_MESSAGE_READY};
    visitor->message.body.ready = ls_ready_make(ls_match_instance(visitor->run->match));
    send_message(visitor);
}

static void say_joined(faultsim_visitor *visitor)
{
    const ls_join *join = &visitor->join;
    visitor->message = (ls_message){.kind = LS_MESSAGE_JOINED};
    visitor->message.body.joined =
        (ls_joined){.tick = join->tick, .state_hash = join->state_hash, .first_input = join->tick};
    send_message(visitor);
    visitor->is_playing = true;
    visitor->inputs_ns = visitor->run->now_ns;
}

static void send_random_hashes(faultsim_visitor *visitor, ls_hash_request asked)
{
    visitor->message = (ls_message){.kind = LS_MESSAGE_HASHES};
    ls_hashes *hashes = &visitor->message.body.hashes;
    hashes->first = asked.first;
    hashes->count = asked.count;
    for (uint32_t i = 0; i < asked.count; i++) {
        hashes->state_hashes[i] = ls_rng_next(&visitor->rng);
    }
    send_message(visitor);
}

/* The state that it is asked about is not held any more, it says. */
static void send_empty_answer(faultsim_visitor *visitor, const ls_wire_query *asked)
{
    const ls_wire_query query = *asked;
    visitor->message = (ls_message){.kind = LS_MESSAGE_TREE_ANSWER};
    visitor->message.body.tree_answer.asked = query;
    send_message(visitor);
}

/* The first tick that it was not sent yet, as far as it knows. */
static ls_tick shown_end(const faultsim_visitor *visitor)
{
    ls_tick delay = is_watching(visitor) ? visitor->run->setup.match.spectator_delay_ticks : 0;
    ls_tick closed = ls_match_tick(visitor->run->match);
    ls_tick shown = closed > delay ? closed - delay : 0;
    return is_watching(visitor) ? LS_MAX(shown, visitor->join.tick) : shown;
}

/* All that is closed is acknowledged, and no state is what the server has. One that takes nothing
 * of its state acknowledges nothing, and may say that it has stepped what it was never sent. */
static void send_inputs(faultsim_visitor *visitor)
{
    const ls_match *match = visitor->run->match;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    bool is_honest = is_slow(visitor) && visitor->number % 2 == 0;
    ls_tick next = is_honest ? visitor->join.tick : shown_end(visitor);
    ls_inputs_header header = {
        .sequence = visitor->sequence++, .next = next, .hold = LS_HOLD_NONE, .first = next};
    if (!is_honest && !is_watching(visitor)) {
        header.chain = (uint32_t)ls_match_hash_chain(match, &header.chain_tick) ^ 1u;
    }
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    ls_tick_packet_write_end(&stream);
    send(visitor, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
}

/* Messages that are as large as they can be, and belong nowhere; the first one ends it. */
static void shout(faultsim_visitor *visitor)
{
    visitor->message = (ls_message){.kind = LS_MESSAGE_CLOSED_TICK};
    ls_tick_part *part = &visitor->message.body.closed_tick;
    part->tick = ls_match_tick(visitor->run->match);
    part->size = LS_TICK_PART_BYTES;
    part->total_bytes = LS_TICK_PART_BYTES;
    for (uint32_t i = 0; i < LARGE_MESSAGES; i++) {
        send_message(visitor);
    }
}

/* ---- what a visitor hears ---- */

static void receive_join(faultsim_visitor *visitor)
{
    visitor->join = visitor->message.body.join;
    visitor->has_join = true;
    if (visitor->drawn->kind == FAULTSIM_VISITOR_LIES) {
        say_joined(visitor);
        visitor->next_ns = visitor->run->now_ns + PLAY_MS * LS_NS_PER_MS;
    } else if (visitor->drawn->kind == FAULTSIM_VISITOR_SHOUTS) {
        shout(visitor);
    }
}

static void receive_message(faultsim_visitor *visitor, const ls_transport_event *event)
{
    ls_message *message = &visitor->message;
    uint32_t players = ls_match_players(visitor->run->match);
    if (event->channel != LS_CHANNEL_RELIABLE ||
        ls_message_read(event->bytes, event->size, players, message) != LS_OK) {
        return;
    }
    bool is_lying = visitor->drawn->kind == FAULTSIM_VISITOR_LIES;
    if (message->kind == LS_MESSAGE_OFFER) {
        visitor->offer = message->body.offer;
        if (visitor->drawn->kind != FAULTSIM_VISITOR_IDLES) {
            say_ready(visitor);
        }
    } else if (message->kind == LS_MESSAGE_JOIN) {
        receive_join(visitor);
    } else if (message->kind == LS_MESSAGE_HASH_REQUEST && is_lying) {
        send_random_hashes(visitor, message->body.hash_request);
    } else if (message->kind == LS_MESSAGE_TREE_QUERY && is_lying) {
        send_empty_answer(visitor, &message->body.tree_query);
    }
}

/* ---- how a visitor comes and goes ---- */

static void come(faultsim_visitor *visitor)
{
    virtual_match *run = visitor->run;
    const virtual_dialer dialer = {.timeout_ns = 2 * LS_NS_PER_SECOND,
                                   .origin = FIRST_ORIGIN + visitor->number,
                                   .up = {.delay_ns = visitor->drawn->delay_ns},
                                   .down = {.delay_ns = visitor->drawn->delay_ns}};
    visitor->transport = run->network->operations->connect(run->network, &dialer);
    visitor->server = 0;
    visitor->has_join = false;
    visitor->is_playing = false;
    visitor->sequence = 0;
    visitor->visits++;
    visitor->next_ns = run->now_ns + 20 * LS_NS_PER_SECOND;
}

static void vanish(const faultsim_visitor *visitor)
{
    virtual_network *network = visitor->run->network;
    const ls_link_config cut = {.is_cut = true};
    network->operations->set_links(network, visitor->transport, &cut, &cut);
}

/* Where it goes without a word the server keeps its seat, to which it comes back. Where not even
 * the connection is closed the server has it to watch many times at once. */
static void go(faultsim_visitor *visitor)
{
    bool says_so = visitor->server != 0 && !is_watching(visitor) &&
                   visitor->drawn->kind != FAULTSIM_VISITOR_RETURNS;
    if (says_so) {
        say_goodbye(visitor);
    } else if (is_vanishing(visitor)) {
        vanish(visitor);
    } else if (visitor->server != 0) {
        ls_transport_disconnect(visitor->transport, visitor->server);
    }
    ls_transport_flush(visitor->transport);
    ls_transport_destroy(visitor->transport);
    visitor->transport = NULL;
    visitor->server = 0;
    visitor->next_ns = visitor->run->now_ns + visitor->drawn->pause_ns;
}

static void receive_events(faultsim_visitor *visitor)
{
    ls_transport_event event;
    while (visitor->transport && ls_transport_next_event(visitor->transport, &event)) {
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            visitor->server = event.peer;
            say_hello(visitor);
            uint64_t stay_ms = STAY_MS_MIN + below(visitor, STAY_MS_MAX - STAY_MS_MIN);
            stay_ms = is_slow(visitor) && !is_vanishing(visitor) ? UINT64_C(20000) : stay_ms;
            visitor->next_ns =
                visitor->run->now_ns + 6 * visitor->drawn->delay_ns + stay_ms * LS_NS_PER_MS;
        } else if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            visitor->server = 0;
            visitor->next_ns = visitor->run->now_ns;
        } else {
            receive_message(visitor, &event);
        }
    }
}

static void visit(faultsim_visitor *visitor)
{
    virtual_match *run = visitor->run;
    receive_events(visitor);
    bool is_slower = is_slow(visitor) && visitor->has_join;
    if ((visitor->is_playing || is_slower) && visitor->server != 0 &&
        run->now_ns >= visitor->inputs_ns) {
        visitor->inputs_ns = run->now_ns + (is_slower ? ALIVE_MS : INPUTS_MS) * LS_NS_PER_MS;
        send_inputs(visitor);
    }
    if (run->now_ns >= visitor->next_ns) {
        go(visitor);
    }
}

static void pump(void *user)
{
    faultsim_visitor *visitor = user;
    virtual_match *run = visitor->run;
    virtual_network *network = run->network;
    if (visitor->transport) {
        ls_transport *transport = visitor->transport;
        network->operations->begin_turn(network, transport);
        visit(visitor);
        if (visitor->transport) {
            network->operations->end_turn(network, transport);
        }
    } else if (run->now_ns >= visitor->next_ns && run->now_ns < visitor->end_ns &&
               visitor->visits < VISITS_MAX && !run->is_server_dead &&
               ls_match_state_of(run->match) == LS_MATCH_RUNNING) {
        come(visitor);
    }
}

/* From now on it comes and goes, until the run is over. `visitor` outlives the run. */
static void faultsim_visitor_start(faultsim_visitor *visitor, virtual_match *run,
                                   const faultsim_scenario_visitor *drawn, uint32_t number)
{
    *visitor = (faultsim_visitor){.drawn = drawn,
                                  .run = run,
                                  .rng = ls_rng_make(run->setup.seed, 0x76697300 + number),
                                  .number = number,
                                  .next_ns = run->now_ns + drawn->from_ns,
                                  .end_ns = run->now_ns + drawn->end_ns};
    virtual_match_add_peer(run, (virtual_peer){pump, visitor});
}

/* ---- a play ---- */

ls_play *faultsim_play_create(const faultsim_scenario_options *options)
{
    ls_play *play = calloc(1, sizeof *play);
    if (!play) {
        return NULL;
    }
    play->options = *options;
    play->memory = faultsim_match_memory_create();
    if (!play->memory) {
        free(play);
        return NULL;
    }
    return play;
}

void faultsim_play_destroy(ls_play *play)
{
    if (play) {
        faultsim_match_memory_destroy(play->memory);
        free(play);
    }
}

/* ---- before the match ---- */

static ls_tick lag_max_of(const faultsim_scenario *scenario, const faultsim_scenario_client *client)
{
    uint64_t dt_ns = LS_NS_PER_SECOND / scenario->setup.match.sim.tick_rate_hz;
    uint64_t frame_ns = LS_NS_PER_SECOND / client->setup.frame_hz + client->setup.frame_jitter_ns;
    uint64_t path_ns = client->baseline.delay_ns + 2 * frame_ns + scenario->server_loop_ns;
    ls_tick delay_ticks = client->setup.session.is_spectator
                              ? scenario->setup.match.spectator_delay_ticks + WATCH_TICKS
                              : 0;
    return (ls_tick)((path_ns + BACKLOG_NS) / dt_ns) + SPARE_TICKS + delay_ticks;
}

static void add_client(ls_play *play, virtual_match *run, uint32_t index)
{
    const faultsim_scenario_client *drawn = &play->scenario.clients[index];
    virtual_client_setup setup = drawn->setup;
    snprintf(setup.session.name, sizeof setup.session.name, "player %u", (unsigned)index);
    virtual_client *client = virtual_match_add_client(run, &setup);
    client_check *check = client_check_of(client);
    client->flip.tick = drawn->flip_tick;
    client->flip.byte = drawn->flip_byte;
    check->may_leave = drawn->is_free || drawn->end != LS_OK || setup.session.ticks > 0;
    /* Ticks that fit no packet come 32 a round trip: it takes long to make up for lost ones. */
    bool is_large = run->setup.match.simulation == test_simulation();
    check->lag_max_ticks = is_large ? 0 : lag_max_of(&play->scenario, drawn);
    play->moments[LS_CLASS_SLOW] += setup.frame_hz < 60 || setup.frame_jitter_ns > 0;
    play->moments[LS_CLASS_CLOCK] += setup.drift_ppm != 0;
    play->moments[LS_CLASS_VANISH] += setup.session.ticks > 0;
}

/* A bit of a client's state is flipped in the first step after it was let into a running match. The
 * same bit of a state that differs already is not flipped again: that would undo the fault. */
static void flip_on_entry(void *user, virtual_client *client, const ls_session_event *event)
{
    ls_play *play = user;
    faultsim_scenario_client *drawn = &play->scenario.clients[client->index];
    if (event->kind != LS_SESSION_EVENT_JOINING || !drawn->flips_on_entry) {
        return;
    }
    bool is_held = event->join.source == LS_JOIN_HELD;
    if (!is_held || !client_check_of(client)->has_state_difference) {
        drawn->flips_on_entry = false;
        client->flip.tick = event->join.tick + 1;
    }
}

static virtual_match *create_run(ls_play *play, void (*log)(void *user, const char *line),
                                 void *log_user)
{
    faultsim_match_memory_reset(play->memory);
    memset(play->moments, 0, sizeof play->moments);
    const faultsim_scenario *scenario = &play->scenario;
    virtual_setup setup = scenario->setup;
    setup.allocator = faultsim_match_memory_of_cores(play->memory);
    setup.storage = faultsim_match_memory_of_harness(play->memory);
    setup.log = log;
    setup.log_user = log_user;
    virtual_match *run = checked_match_create(&setup);
    virtual_observer flips = {.user = play, .session_event = flip_on_entry};
    virtual_match_observe(run, &flips);
    check_of(run)->is_strict = true;
    check_of(run)->allocations = faultsim_match_memory_allocations(play->memory);
    run->server_drift_ppm = scenario->server_drift_ppm;
    run->server_loop_ns = scenario->server_loop_ns;
    play->moments[LS_CLASS_CLOCK] += run->server_drift_ppm != 0;
    for (uint32_t i = 0; i < scenario->client_count; i++) {
        add_client(play, run, i);
    }
    for (uint32_t i = 0; i < scenario->unknown_peer_count; i++) {
        memset(&play->unknown_peers[i], 0, sizeof play->unknown_peers[i]);
        faultsim_hostile_knock(&play->unknown_peers[i], run, scenario->seed);
    }
    return run;
}

/* ---- what happens in it ---- */

static void set_links(virtual_client *client, const faultsim_action *action)
{
    if (!client->is_gone) {
        virtual_client_set_ways(client, &action->up, &action->down);
    }
}

static void set_slot_delay(virtual_match *run, const virtual_client *client, uint32_t ticks)
{
    if (run->is_server_dead) {
        return;
    }
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        if (check_of(run)->by_slot[slot] == client_check_of(client)) {
            ls_match_set_input_delay(run->match, slot, ticks);
        }
    }
}

/* Does to one client what the action says; returns the class that it counts for. */
static faultsim_fault_class act_on_client(ls_play *play, virtual_client *client,
                                          const faultsim_action *action)
{
    virtual_match *run = client->run;
    switch (action->kind) {
    case FAULTSIM_ACTION_PAUSE:
        client->is_paused = true;
        return LS_CLASS_SLOW;
    case FAULTSIM_ACTION_RESUME:
        client->is_paused = false;
        return LS_CLASS_COUNT;
    case FAULTSIM_ACTION_STEP_CLOCK:
        virtual_client_step_clock(client, action->ns);
        return LS_CLASS_CLOCK;
    case FAULTSIM_ACTION_VANISH:
        virtual_client_vanish(client);
        return LS_CLASS_VANISH;
    case FAULTSIM_ACTION_LEAVE:
        virtual_client_leave(client);
        return LS_CLASS_VANISH;
    case FAULTSIM_ACTION_HANG_UP:
        if (client->is_connecting) { /* its server has not heard of it and never will */
            virtual_client_vanish(client);
        } else if (client->transport) {
            virtual_client_hang_up(client);
        }
        return LS_CLASS_VANISH;
    case FAULTSIM_ACTION_COME:
        virtual_client_come(client);
        return client->is_spectator ? LS_CLASS_WATCH : LS_CLASS_JOIN;
    case FAULTSIM_ACTION_MOVE:
        if (client->transport) {
            sealed_network_move(run->network, client->transport);
        }
        return LS_CLASS_MOVE;
    case FAULTSIM_ACTION_CUT_LINK:
        set_links(client, action);
        return LS_CLASS_RECONNECT;
    case FAULTSIM_ACTION_TURN_HOSTILE:
        faultsim_hostile_turn(&play->players[client->index], client,
                              play->scenario.clients[client->index].hostility, run->setup.seed);
        return LS_CLASS_COUNT;
    case FAULTSIM_ACTION_SET_DELAY:
        ls_session_set_input_delay(client->session, action->ticks);
        return LS_CLASS_COUNT;
    case FAULTSIM_ACTION_SET_SLOT_DELAY:
        set_slot_delay(run, client, action->ticks);
        return LS_CLASS_COUNT;
    case FAULTSIM_ACTION_ALTER:
        client_check_of(client)->is_fed_wrong = true;
        set_links(client, action);
        return LS_CLASS_COUNT;
    default:
        set_links(client, action);
        return action->up.is_cut || action->down.is_cut ? LS_CLASS_PARTITION : LS_CLASS_COUNT;
    }
}

static void act(ls_play *play, virtual_match *run, const faultsim_action *action)
{
    faultsim_fault_class fault = LS_CLASS_COUNT;
    switch (action->kind) {
    case FAULTSIM_ACTION_PAUSE_SERVER:
        virtual_log(run, "%s", faultsim_action_name(action->kind));
        virtual_match_pause_server(run);
        fault = LS_CLASS_SLOW;
        break;
    case FAULTSIM_ACTION_RESUME_SERVER:
        virtual_log(run, "%s", faultsim_action_name(action->kind));
        virtual_match_resume_server(run);
        break;
    case FAULTSIM_ACTION_STEP_SERVER_CLOCK:
        virtual_log(run, "%s", faultsim_action_name(action->kind));
        virtual_match_step_clock(run, action->ns);
        fault = LS_CLASS_CLOCK;
        break;
    case FAULTSIM_ACTION_CRASH:
        virtual_match_crash(run, action->ns);
        break;
    case FAULTSIM_ACTION_SET_DISK:
        virtual_log(run, "%s", faultsim_action_name(action->kind));
        run->disk->state = action->disk;
        fault = LS_CLASS_DISK;
        break;
    case FAULTSIM_ACTION_FLOOD:
        virtual_log(run, "%s", faultsim_action_name(action->kind));
        faultsim_hostile_flood(run, &play->floods, action->ticks);
        play->moments[LS_CLASS_FLOOD] += action->ticks;
        break;
    default:
        virtual_log(run, "client %u: %s", action->client, faultsim_action_name(action->kind));
        fault = act_on_client(play, run->clients[action->client], action);
        break;
    }
    if (fault != LS_CLASS_COUNT) {
        play->moments[fault]++;
    }
}

/* True when the match has begun. */
static bool wait_for_start(virtual_match *run)
{
    for (uint32_t i = 0; i < 20 * LOBBY_SECONDS_MAX; i++) {
        if (ls_match_state_of(run->match) != LS_MATCH_LOBBY) {
            return true;
        }
        virtual_match_run(run, 50 * LS_NS_PER_MS);
    }
    match_check_note(check_of(run), CHECK_I4, 0, "the match never begins");
    return false;
}

static void run_through(ls_play *play, virtual_match *run)
{
    const faultsim_scenario *scenario = &play->scenario;
    if (!wait_for_start(run)) {
        return;
    }
    uint64_t start_ns = run->now_ns;
    check_of(run)->baseline_ns = start_ns + scenario->baseline_ns;
    for (uint32_t i = 0; i < scenario->visitor_count; i++) {
        faultsim_visitor_start(&play->visitors[i], run, &scenario->visitors[i], i);
    }
    for (uint32_t i = 0; i < scenario->action_count; i++) {
        virtual_match_run_until(run, start_ns + scenario->actions[i].at_ns);
        act(play, run, &scenario->actions[i]);
    }
    uint64_t rest_ns = (uint64_t)scenario->setup.match.ticks * LS_NS_PER_SECOND /
                       scenario->setup.match.sim.tick_rate_hz;
    virtual_match_run_until(run, run->now_ns + rest_ns + TAIL_NS);
}

/* ---- after it ---- */

/* Clients that were to be dropped have been, for the expected reason. */
static void check_ends(const ls_play *play, virtual_match *run)
{
    if (run->is_server_lost) {
        return;
    }
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        const client_check *client = check_of(run)->by_slot[slot];
        ls_match_slot report = ls_match_slot_of(run->match, slot);
        if (!client || !report.has_played) {
            continue;
        }
        faultsim_hostility hostility = play->players[client->core->index].hostility;
        bool is_flood =
            hostility == FAULTSIM_HOSTILITY_FLOOD && play->players[client->core->index].sent > 0;
        if (is_flood && !report.has_finished && report.left_status == LS_OK) {
            match_check_note(check_of(run), CHECK_I5, check_of(run)->tick_count,
                             "slot %u may flood the server", slot);
        }
        if (client->core->is_gone && !report.has_finished && report.left_status == LS_OK) {
            match_check_note(check_of(run), CHECK_I4, check_of(run)->tick_count,
                             "slot %u is gone and is kept", slot);
        }
    }
}

/* No address that is not proven is sent more than has come from it. */
static void check_reflection(const ls_play *play, virtual_match *run)
{
    if (!play->options.is_sealed) {
        return;
    }
    sealed_network_reflection reflection = sealed_network_reflected(run->network);
    if (reflection.excesses > 0) {
        char address[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&reflection.worst, address);
        match_check_note(check_of(run), CHECK_I8, check_of(run)->tick_count,
                         "%" PRIu64 " bytes came from %s, which is not proven, and %" PRIu64
                         " went there",
                         reflection.in_bytes, address, reflection.out_bytes);
    }
}

static void count_slots(virtual_match *run, faultsim_play_totals *totals)
{
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        ls_match_slot report = ls_match_slot_of(run->match, slot);
        totals->hashes_compared += report.hashes_compared;
        totals->inputs_on_time += report.inputs_on_time;
        totals->inputs_late += report.inputs_late;
        totals->inputs_substituted += report.inputs_substituted;
        totals->desyncs += report.is_desynced;
        totals->players_left += report.left_status != LS_OK;
    }
    totals->watched += ls_match_spectating_of(run->match).finished;
    for (uint32_t i = 0; i < run->client_count; i++) {
        totals->joins += client_check_of(run->clients[i])->entries;
    }
}

static void count(const ls_play *play, virtual_match *run, faultsim_play_totals *totals)
{
    ls_memory_counts network = run->network->operations->counts(run->network);
    faultsim_play_totals one = {.matches = 1,
                                .ticks = check_of(run)->tick_count,
                                .packets = network.sent,
                                .packets_rejected = ls_match_packets_rejected(run->match)};
    memcpy(one.faults, play->moments, sizeof one.faults);
    one.resumes = check_of(run)->resumes;
    one.faults[LS_CLASS_CRASH] = check_of(run)->resumes.crashes;
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        one.shares[i] = check_bounds_use(check_of(run)->bounds, (check_bound)i).share;
    }
    one.disk_failures = run->disk ? run->disk->counts.failures : 0;
    count_slots(run, &one);
    one.faults[LS_CLASS_LOSS] = network.lost - network.lost_in_bursts - network.lost_in_cuts;
    one.faults[LS_CLASS_BURST] = network.lost_in_bursts;
    one.faults[LS_CLASS_JITTER] = network.reordered;
    one.faults[LS_CLASS_DUPLICATE] = network.duplicated;
    one.faults[LS_CLASS_ALTER] = network.corrupted;
    for (uint32_t i = 0; i < run->client_count; i++) {
        one.faults[LS_CLASS_HOSTILE] += play->players[i].sent;
        one.faults[LS_CLASS_FLIP] += run->clients[i]->flip.is_done;
    }
    for (uint32_t i = 0; i < play->scenario.unknown_peer_count; i++) {
        one.faults[LS_CLASS_HOSTILE] += play->unknown_peers[i].sent;
    }
    for (uint32_t i = 0; i < play->scenario.visitor_count; i++) {
        one.faults[LS_CLASS_VISIT] += play->visitors[i].visits;
    }
    faultsim_play_totals_add(totals, &one);
}

faultsim_play_outcome faultsim_play_seed(ls_play *play, uint64_t seed,
                                         void (*log)(void *user, const char *line), void *log_user,
                                         faultsim_play_totals *totals)
{
    faultsim_scenario_draw(&play->scenario, seed, &play->options);
    for (uint32_t i = 0; i < play->scenario.client_count; i++) {
        play->players[i].hostility = FAULTSIM_HOSTILITY_NONE;
        play->players[i].sent = 0;
    }
    for (uint32_t i = 0; i < play->scenario.visitor_count; i++) {
        play->visitors[i].visits = 0;
    }
    virtual_match *run = create_run(play, log, log_user);
    play->floods = ls_rng_make(seed, 0x666c6f);
    run_through(play, run);
    check_ends(play, run);
    check_reflection(play, run);
    faultsim_play_outcome outcome = {.is_sound = match_check_is_sound(check_of(run)),
                                     .broken = check_of(run)->broken,
                                     .fault = check_of(run)->fault,
                                     .digest = virtual_match_digest(run)};
    count(play, run, totals);
    virtual_match_destroy(run);
    return outcome;
}

/* The totals are counters and nothing else. */
_Static_assert(sizeof(faultsim_play_totals) % sizeof(uint64_t) == 0, "counters of 64 bits");

void faultsim_play_totals_add(faultsim_play_totals *sum, const faultsim_play_totals *part)
{
    uint64_t shares[CHECK_BOUND_COUNT];
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        shares[i] = LS_MAX(sum->shares[i], part->shares[i]);
    }
    uint64_t *counters = (uint64_t *)sum;
    const uint64_t *more = (const uint64_t *)part;
    for (size_t i = 0; i < sizeof *sum / sizeof *counters; i++) {
        counters[i] += more[i];
    }
    memcpy(sum->shares, shares, sizeof sum->shares);
}
