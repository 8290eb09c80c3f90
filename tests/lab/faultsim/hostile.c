#include "lockstep/tests/lab/faultsim/hostile.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"

#include <string.h>

enum {
    FLOOD_PACKETS = 300, /* at once: more than a match takes in a tick */
    LIE_TICKS = 40,      /* how far from the truth a tick may lie */
};

static uint32_t below(faultsim_hostile *hostile, uint32_t bound)
{
    return ls_rng_below(&hostile->rng, bound);
}

static void fill_random(faultsim_hostile *hostile, uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)ls_rng_next(&hostile->rng);
    }
}

/* ---- a player ---- */

static void send(faultsim_hostile *hostile, const virtual_client *client, ls_channel channel,
                 const uint8_t *bytes, size_t size)
{
    hostile->sent++;
    ls_transport_send(client->transport, client->server, channel, bytes, size);
}

static void send_garbage(faultsim_hostile *hostile, const virtual_client *client)
{
    uint8_t bytes[64];
    uint32_t size = below(hostile, sizeof bytes + 1);
    fill_random(hostile, bytes, size);
    if (size > 0 && below(hostile, 2) == 0) {
        bytes[0] = (uint8_t)((bytes[0] & 0xc0u) | LS_MESSAGE_INPUTS); /* begins as it should */
    }
    ls_channel channel = below(hostile, 16) == 0 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE;
    send(hostile, client, channel, bytes, size);
}

static void keep(faultsim_hostile *hostile, ls_channel channel, const uint8_t *bytes, size_t size)
{
    faultsim_hostile_packet *packet = &hostile->kept[hostile->kept_count++ % FAULTSIM_HOSTILE_KEPT];
    packet->channel = channel;
    packet->size = (uint32_t)size;
    memcpy(packet->bytes, bytes, size);
}

static void replay(faultsim_hostile *hostile, const virtual_client *client)
{
    uint32_t held =
        hostile->kept_count < FAULTSIM_HOSTILE_KEPT ? hostile->kept_count : FAULTSIM_HOSTILE_KEPT;
    const faultsim_hostile_packet *packet = &hostile->kept[below(hostile, held)];
    send(hostile, client, packet->channel, packet->bytes, packet->size);
}

static void bend(faultsim_hostile *hostile, const virtual_client *client, ls_channel channel,
                 const uint8_t *bytes, size_t size)
{
    uint8_t bent[LS_PACKET_BYTES_MAX];
    memcpy(bent, bytes, size);
    uint32_t how = below(hostile, 3);
    if (how == 0 && size > 0) {
        size = below(hostile, (uint32_t)size);
    } else if (how == 1 && size < sizeof bent) {
        bent[size++] = (uint8_t)ls_rng_next(&hostile->rng);
    } else if (size > 0) {
        for (uint32_t flips = below(hostile, 4) + 1; flips > 0; flips--) {
            uint32_t bit = below(hostile, (uint32_t)size * 8);
            bent[bit / 8] = (uint8_t)(bent[bit / 8] ^ (1u << bit % 8));
        }
    }
    send(hostile, client, channel, bent, size);
}

static ls_tick near(faultsim_hostile *hostile, ls_tick tick)
{
    uint32_t ahead = below(hostile, 2 * LIE_TICKS);
    return tick + ahead > LIE_TICKS ? tick + ahead - LIE_TICKS : 0;
}

/* INPUTS that follow the format and say what is not so. */
static void lie(faultsim_hostile *hostile, const virtual_client *client)
{
    ls_session_report report = ls_session_report_of(client->session);
    ls_inputs_header header = {.next = report.confirmed,
                               .hold = below(hostile, 256),
                               .chain_tick = report.tick,
                               .chain = ls_rng_next(&hostile->rng),
                               .first = report.next_input};
    uint32_t what = below(hostile, 4);
    header.next = what == 0 ? near(hostile, header.next) : header.next;
    header.first = what == 1 ? near(hostile, header.first) : header.first;
    header.has_base = what == 2 && header.first > 0;
    header.chain_tick = header.chain_tick < header.next ? header.chain_tick : header.next;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint8_t value = 0;
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    ls_slot_input before = {0};
    for (uint32_t count = below(hostile, 8); count > 0; count--) {
        value = (uint8_t)ls_rng_next(&hostile->rng);
        ls_slot_input input = {.bytes = &value, .size = 1};
        ls_inputs_write_tick(&stream, &before, &input);
    }
    ls_tick_packet_write_end(&stream);
    send(hostile, client, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream));
}

/* Well-formed words of one that comes back: that it holds what it does not, and closed ticks that
 * nobody closed. Any other message it passes on as it is. */
static size_t lie_about_return(faultsim_hostile *hostile, const uint8_t *bytes, size_t size,
                               uint8_t lied[LS_PACKET_BYTES_MAX])
{
    uint32_t kind = ls_message_peek(bytes, size);
    ls_message *message = &hostile->message;
    bool is_one = kind == LS_MESSAGE_HELLO || kind == LS_MESSAGE_CLOSED_TICK;
    if (!is_one || ls_message_read(bytes, size, 0, message) != LS_OK) {
        return 0;
    }
    if (kind == LS_MESSAGE_HELLO) {
        ls_return *back = &message->body.hello.back;
        uint32_t what = below(hostile, 3);
        back->confirmed = what == 0 ? back->confirmed : near(hostile, back->confirmed);
        back->tick_chain ^= what == 1 ? 0 : ls_rng_next(&hostile->rng);
        back->held =
            below(hostile, 2) == 0 || back->held > back->confirmed ? back->confirmed : back->held;
        back->is_desynced = back->is_desynced && below(hostile, 2) == 0;
        back->hashed_tick = below(hostile, 4) == 0 || back->hashed_tick > back->confirmed
                                ? back->confirmed
                                : back->hashed_tick;
        back->sealed_tick = LS_MIN(back->sealed_tick, back->confirmed);
        back->seal ^= below(hostile, 2);
    } else if (below(hostile, 4) == 0) {
        ls_tick_part *part = &message->body.closed_tick;
        uint32_t bit = below(hostile, part->size * 8);
        part->bytes[bit / 8] = (uint8_t)(part->bytes[bit / 8] ^ (1u << bit % 8));
    }
    hostile->sent++;
    return ls_message_write(message, lied);
}

static void pass_on(faultsim_hostile *hostile, const virtual_client *client, ls_channel channel,
                    const uint8_t *bytes, size_t size)
{
    uint8_t lied[LS_PACKET_BYTES_MAX];
    bool is_lying = hostile->hostility == FAULTSIM_HOSTILITY_LIE && channel == LS_CHANNEL_RELIABLE;
    size_t lied_size = is_lying ? lie_about_return(hostile, bytes, size, lied) : 0;
    ls_transport_send(client->transport, client->server, channel, lied_size > 0 ? lied : bytes,
                      lied_size > 0 ? lied_size : size);
}

static void tamper(void *user, virtual_client *client, ls_channel channel, const uint8_t *bytes,
                   size_t size)
{
    faultsim_hostile *hostile = user;
    bool is_silent = hostile->hostility == FAULTSIM_HOSTILITY_SILENCE;
    bool is_bent = hostile->hostility == FAULTSIM_HOSTILITY_BEND && below(hostile, 4) == 0;
    if (!is_silent && !is_bent) {
        pass_on(hostile, client, channel, bytes, size);
    }
    keep(hostile, channel, bytes, size);
    switch (hostile->hostility) {
    case FAULTSIM_HOSTILITY_GARBAGE:
        send_garbage(hostile, client);
        break;
    case FAULTSIM_HOSTILITY_REPLAY:
        replay(hostile, client);
        break;
    case FAULTSIM_HOSTILITY_BEND:
        if (is_bent) {
            bend(hostile, client, channel, bytes, size);
        }
        break;
    case FAULTSIM_HOSTILITY_LIE:
        lie(hostile, client);
        break;
    case FAULTSIM_HOSTILITY_FLOOD:
        for (uint32_t i = 0; i < FLOOD_PACKETS; i++) {
            send(hostile, client, LS_CHANNEL_UNRELIABLE, bytes, size);
        }
        break;
    default:
        hostile->sent++; /* one that should have been sent, and is not */
        break;
    }
}

void faultsim_hostile_turn(faultsim_hostile *hostile, virtual_client *client,
                           faultsim_hostility hostility, uint64_t seed)
{
    hostile->hostility = hostility;
    hostile->rng = ls_rng_make(seed, 0x68000 + client->index);
    hostile->kept_count = 0;
    client_check *check = client_check_of(client);
    check->is_fed_wrong = true;
    check->is_hostile = true;
    check->may_leave = true;
    client->tamper = (virtual_tamper){.send = tamper, .user = hostile};
}

/* ---- an unknown peer ---- */

static void say_something(faultsim_hostile *unknown)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = below(unknown, 40);
    fill_random(unknown, bytes, (uint32_t)size);
    ls_channel channel = below(unknown, 2) == 0 ? LS_CHANNEL_RELIABLE : LS_CHANNEL_UNRELIABLE;
    bool is_late = ls_match_state_of(unknown->run->match) != LS_MATCH_LOBBY;
    if (is_late && below(unknown, 3) == 0) { /* any earlier, and it would take a seat */
        ls_message hello = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("late")};
        size = ls_message_write(&hello, bytes);
        channel = LS_CHANNEL_RELIABLE;
    }
    unknown->sent++;
    ls_transport_send(unknown->transport, unknown->server, channel, bytes, size);
}

static void act_as_unknown_peer(faultsim_hostile *unknown)
{
    ls_transport_event event;
    while (ls_transport_next_event(unknown->transport, &event)) {
        if (event.kind == LS_TRANSPORT_CONNECTED) {
            unknown->server = event.peer;
        } else if (event.kind == LS_TRANSPORT_DISCONNECTED) {
            unknown->server = 0;
        }
    }
    if (unknown->server == 0 || unknown->run->now_ns < unknown->next_ns) {
        return;
    }
    unknown->next_ns = unknown->run->now_ns + LS_NS_PER_SECOND;
    switch (unknown->hostility) {
    case FAULTSIM_HOSTILITY_SILENCE:
        return;
    case FAULTSIM_HOSTILITY_LIE:
        ls_transport_disconnect(unknown->transport, unknown->server);
        return;
    default:
        say_something(unknown);
    }
}

static void pump_unknown_peer(void *user)
{
    faultsim_hostile *unknown = user;
    virtual_network *network = unknown->run->network;
    network->operations->begin_turn(network, unknown->transport);
    act_as_unknown_peer(unknown);
    network->operations->end_turn(network, unknown->transport);
}

void faultsim_hostile_knock(faultsim_hostile *unknown, virtual_match *run, uint64_t seed)
{
    unknown->rng = ls_rng_make(seed, 0x73000 + run->peer_count);
    unknown->run = run;
    unknown->hostility = (faultsim_hostility)(below(unknown, FAULTSIM_HOSTILITY_COUNT - 1) + 1);
    unknown->next_ns = run->now_ns;
    const virtual_dialer dialer = {.timeout_ns = 60 * LS_NS_PER_SECOND,
                                   .up = {.delay_ns = LS_NS_PER_MS},
                                   .down = {.delay_ns = LS_NS_PER_MS}};
    unknown->transport = run->network->operations->connect(run->network, &dialer);
    virtual_match_add_peer(run, (virtual_peer){pump_unknown_peer, unknown});
}

/* ---- hosts ---- */

enum {
    HOSTS = 1024, /* of which a flood comes */
    FIRST_PORT = 1000,
    SHORT_BYTES = 64,
};

typedef struct flood {
    virtual_network *network;
    ls_rng *rng;
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
} flood;

static uint32_t flood_below(flood *out, uint32_t bound)
{
    return ls_rng_below(out->rng, bound);
}

static ls_endpoint draw_host(flood *out)
{
    ls_endpoint host = ls_endpoint_from_ipv4(0, FIRST_PORT);
    uint32_t number = flood_below(out, HOSTS);
    host.address[12] = 198;
    host.address[13] = 18;
    host.address[14] = (uint8_t)(number >> 8);
    host.address[15] = (uint8_t)number;
    return host;
}

static void fill(flood *out, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out->bytes[i] = (uint8_t)ls_rng_next(out->rng);
    }
}

static size_t make_junk(flood *out)
{
    size_t size = flood_below(out, sizeof out->bytes + 1);
    fill(out, size);
    return size;
}

/* A sealed packet that no key has sealed, for one of the first connections. */
static size_t make_forged(flood *out)
{
    size_t size = 20 + flood_below(out, 100);
    fill(out, size);
    out->bytes[0] = (uint8_t)(0x80 + 16 * flood_below(out, 5));
    out->bytes[1] = (uint8_t)flood_below(out, 8);
    return size;
}

/* Some are too short to be answered. */
static size_t make_request(flood *out)
{
    ls_request request = {.version = LS_KEY_EXCHANGE_VERSION, .asks_key = flood_below(out, 2) == 0};
    fill(out, sizeof request.client_key);
    memcpy(request.client_key, out->bytes, sizeof request.client_key);
    size_t size = ls_request_write(&request, out->bytes);
    return flood_below(out, 4) == 0 ? flood_below(out, SHORT_BYTES) : size;
}

/* A datagram that a client has sent, as it was or with a bit of it flipped. */
static size_t make_copy(flood *out, ls_endpoint *from)
{
    const sealed_network_datagram *heard =
        sealed_network_overhear(out->network, flood_below(out, SEALED_NETWORK_OVERHEARD));
    memcpy(out->bytes, heard->bytes, heard->size);
    if (flood_below(out, 2) == 0 && heard->size > 0) {
        uint32_t bit = flood_below(out, (uint32_t)heard->size * 8);
        out->bytes[bit / 8] = (uint8_t)(out->bytes[bit / 8] ^ 1u << bit % 8);
    }
    if (flood_below(out, 2) == 0) {
        *from = heard->from;
    }
    return heard->size;
}

void faultsim_hostile_flood(virtual_match *run, ls_rng *rng, uint32_t datagrams)
{
    flood out = {.network = run->network, .rng = rng};
    for (uint32_t left = datagrams; left > 0; left--) {
        ls_endpoint from = draw_host(&out);
        uint32_t kind = flood_below(&out, 4);
        size_t size = kind == 0   ? make_junk(&out)
                      : kind == 1 ? make_forged(&out)
                      : kind == 2 ? make_request(&out)
                                  : make_copy(&out, &from);
        sealed_network_inject(out.network, &from, out.bytes, size);
    }
}
