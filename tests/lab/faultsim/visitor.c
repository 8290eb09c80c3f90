#include "lockstep/tests/lab/faultsim/visitor.h"

#include "lockstep/protocol/wire/handshake.h"

#include <string.h>

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

/* ---- what it says ---- */

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

/* ---- what it hears ---- */

static void take_join(faultsim_visitor *visitor)
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

static void take_message(faultsim_visitor *visitor, const ls_transport_event *event)
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
        take_join(visitor);
    } else if (message->kind == LS_MESSAGE_HASH_REQUEST && is_lying) {
        send_random_hashes(visitor, message->body.hash_request);
    } else if (message->kind == LS_MESSAGE_TREE_QUERY && is_lying) {
        send_empty_answer(visitor, &message->body.tree_query);
    }
}

/* ---- coming and going ---- */

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

static void take_events(faultsim_visitor *visitor)
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
            take_message(visitor, &event);
        }
    }
}

static void act(faultsim_visitor *visitor)
{
    virtual_match *run = visitor->run;
    take_events(visitor);
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
        act(visitor);
        if (visitor->transport) {
            network->operations->end_turn(network, transport);
        }
    } else if (run->now_ns >= visitor->next_ns && run->now_ns < visitor->end_ns &&
               visitor->visits < VISITS_MAX && !run->is_server_dead &&
               ls_match_state_of(run->match) == LS_MATCH_RUNNING) {
        come(visitor);
    }
}

void faultsim_visitor_start(faultsim_visitor *visitor, virtual_match *run,
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
