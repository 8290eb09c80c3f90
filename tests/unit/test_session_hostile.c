/* What fuzzing found in the session, told in words: a server that breaks the rules. */
#include "lockstep/client/session/session.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"
#include "lockstep/tests/support/counter_simulation.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    SERVER = 3,
    SLOTS = 2,
};

#define DT_NS (10 * LS_NS_PER_MS)

/* A session and what it sent last. */
typedef struct stage {
    ls_session *session;
    uint64_t now_ns;
    bool is_disconnected;
    uint32_t sent; /* packets */
    ls_message reliable;
    ls_inputs_header inputs;
} stage;

static stage here;

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    (void)user;
    cr_assert_eq(peer, SERVER);
    here.sent++;
    if (channel == LS_CHANNEL_RELIABLE) {
        cr_assert_eq(ls_message_read(bytes, size, SLOTS, &here.reliable), LS_OK);
        return;
    }
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    ls_inputs_header_bits(&stream, &here.inputs, ls_session_report_of(here.session).confirmed);
    cr_assert_not(stream.is_failed);
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    (void)user;
    cr_assert_eq(peer, SERVER);
    here.is_disconnected = true;
}

static const ls_simulation *find_simulation(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "counter") == 0 ? counter_simulation() : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    (void)user;
    (void)instance;
    (void)slot;
    bytes[0] = (uint8_t)(tick / 10);
    return 1;
}

static void send_message(const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    ls_session_receive(here.session, LS_CHANNEL_RELIABLE, bytes, size, here.now_ns);
}

static ls_message offer_of_server(void)
{
    ls_message message = {.kind = LS_MESSAGE_OFFER};
    ls_offer *offer = &message.body.offer;
    offer->match_id = 1;
    ls_name_copy(offer->simulation, sizeof offer->simulation, "counter");
    offer->simulation_version = counter_simulation()->version;
    offer->config = ls_sim_config_default(counter_simulation());
    offer->config.tick_rate_hz = 100;
    offer->config.players = SLOTS;
    offer->hash_interval_ticks = 1;
    offer->timeout_ms = 10000;
    return message;
}

static void open_session(void)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    ls_packet_sink sink = {on_send, on_disconnect, NULL};
    here = (stage){.now_ns = LS_NS_PER_SECOND};
    cr_assert_eq(ls_session_create(&config, &sink, ls_allocator_heap(), &here.session, NULL),
                 LS_OK);
    ls_session_connected(here.session, SERVER, here.now_ns);
}

static void start_session(void)
{
    open_session();
    ls_message message = offer_of_server();
    send_message(&message);
    message = (ls_message){.kind = LS_MESSAGE_START};
    message.body.start.players = SLOTS;
    message.body.start.delay_us = 100000;
    send_message(&message);
    cr_assert_eq(ls_session_report_of(here.session).state, LS_SESSION_PLAYING);
}

static void close_session(void)
{
    ls_session_destroy(here.session);
}

static void frame(void)
{
    here.now_ns += DT_NS;
    ls_session_frame(here.session, here.now_ns);
}

/* TICKS with `count` empty ticks from where the session is. */
static void send_ticks(ls_ticks_header header, uint32_t count)
{
    static const ls_slot_input nothing[SLOTS];
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_ticks_header_bits(&stream, &header, 0);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(ls_ticks_write_tick(&stream, SLOTS, nothing, nothing));
    }
    ls_tick_packet_write_end(&stream);
    ls_session_receive(here.session, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream),
                       here.now_ns);
}

Test(session_hostile, a_server_that_acknowledges_no_input_is_survived, .init = start_session,
     .fini = close_session)
{
    for (ls_tick tick = 0; tick < 3000; tick++) {
        ls_ticks_header header = {
            .sequence = tick, .first = tick, .hold = LS_HOLD_NONE, .slack = LS_SLACK_NONE};
        send_ticks(header, 1);
        frame();
    }
    ls_session_report report = ls_session_report_of(here.session);
    cr_assert_eq(report.state, LS_SESSION_PLAYING);
    cr_assert_geq(report.tick, 2900);
    /* What is closed is wanted no more, whatever the server says. */
    cr_assert_geq(report.next_input, 3000);
    cr_assert_leq(report.next_input - here.inputs.first, LS_WINDOW_TICKS,
                  "no more than can be held");
    cr_assert_gt(report.inputs_skipped, 0);

    /* Once the server comes to its senses, inputs go on. */
    for (ls_tick tick = 3000; tick < 3300; tick++) {
        ls_ticks_header header = {.sequence = tick,
                                  .first = tick,
                                  .hold = LS_HOLD_NONE,
                                  .wanted = tick + 5,
                                  .slack = LS_SLACK_NONE};
        send_ticks(header, 1);
        frame();
    }
    cr_assert_geq(ls_session_report_of(here.session).next_input, 3300);
}

static void hitch(void)
{
    frame();
    frame();
    here.now_ns += LS_NS_PER_SECOND;
    frame();
}

Test(session_hostile, a_hitch_before_the_offer_comes_is_survived, .init = open_session,
     .fini = close_session)
{
    hitch();
    cr_assert_eq(ls_session_report_of(here.session).state, LS_SESSION_HANDSHAKING);
}

Test(session_hostile, a_hitch_after_a_refusal_is_survived, .init = open_session,
     .fini = close_session)
{
    ls_message message = {.kind = LS_MESSAGE_REFUSE};
    message.body.close_reason.negated_status = 30;
    send_message(&message);
    hitch();
    cr_assert_eq(ls_session_report_of(here.session).status, LS_MATCH_FULL);
}

/* The machine may stand still before it knows the length of a tick. */
Test(session_hostile, frames_of_any_length_may_come_before_the_offer, .init = open_session,
     .fini = close_session)
{
    static const uint64_t lengths_ms[] = {10, 10, 10, 500, 10, 3000};
    for (size_t i = 0; i < sizeof lengths_ms / sizeof lengths_ms[0]; i++) {
        here.now_ns += lengths_ms[i] * LS_NS_PER_MS;
        ls_session_frame(here.session, here.now_ns);
    }
    ls_message message = offer_of_server();
    send_message(&message);
    cr_assert_eq(ls_session_report_of(here.session).state, LS_SESSION_SEATED);
}
