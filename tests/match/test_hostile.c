#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/protocol/wire/tick_packet.h"

#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

/* ==== hostile ==== */

/* Peers that break the rules, from silence to flood: each ends in a counted, named rejection, and
 * the match of the others stays what it was. */

enum {
    HONEST = 3,
    TICKS = 300
};

/* Three honest clients and one seat for somebody else. */
typedef struct stage {
    virtual_match *run;
    raw_peer *peer;
    uint32_t slot; /* the raw peer's */
} stage;

static stage open_stage(uint32_t tick_rate_hz)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, TICKS);
    setup.match.sim.players = HONEST + 1;
    setup.match.sim.tick_rate_hz = tick_rate_hz;
    stage here = {.run = checked_match_create(&setup)};
    here.peer = raw_peer_create(here.run);
    raw_peer_join(here.peer);
    here.slot = here.peer->offer.slot;
    virtual_match_run_to_tick(here.run, 20);
    cr_assert_eq(here.peer->heard[LS_MESSAGE_START], 1);
    return here;
}

static bool is_dropped(const stage *here)
{
    return slot_of(here->run, here->slot).peer == 0;
}

/* Lets the raw peer's packets arrive. */
static void deliver(const stage *here)
{
    virtual_match_run(here->run, 3 * MS);
}

static void check_dropped_as(const stage *here, ls_status status)
{
    deliver(here);
    cr_assert(is_dropped(here));
    cr_assert_eq(slot_of(here->run, here->slot).left_status, status);
    cr_assert(here->peer->is_closed);
    cr_assert_eq(here->peer->refusal.negated_status, (uint32_t)-status);
    cr_assert_neq(here->peer->refusal.text.bytes[0], 0);
}

/* The honest three play on to the end as if nothing had been. */
static void close_stage(stage *here)
{
    virtual_match_run_to_end(here->run);
    cr_assert(virtual_match_is_over(here->run));
    for (uint32_t i = 0; i < HONEST; i++) {
        check_played_to_the_end(here->run, here->run->clients[i]);
        uint32_t slot = report_of(here->run->clients[i]).slot;
        cr_assert_eq(slot_of(here->run, slot).inputs_substituted, 0);
        cr_assert_eq(report_of(here->run->clients[i]).packets_rejected, 0);
    }
    check_sound(here->run);
    raw_peer_destroy(here->peer);
    virtual_match_destroy(here->run);
}

/* ---- bytes without sense ---- */

static void send_garbage(const stage *here, ls_channel channel, ls_rng *rng, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint8_t bytes[64];
        for (size_t j = 0; j < sizeof bytes; j++) {
            bytes[j] = (uint8_t)ls_rng_next(rng);
        }
        bytes[0] |= 0x3f; /* no kind of ours */
        raw_peer_send(here->peer, channel, bytes, ls_rng_below(rng, sizeof bytes) + 1);
    }
    deliver(here);
}

Test(hostile, the_sixty_fourth_malformed_packet_is_one_too_many)
{
    for (ls_channel channel = LS_CHANNEL_RELIABLE; channel < LS_CHANNEL_COUNT; channel++) {
        stage here = open_stage(60);
        ls_rng rng = ls_rng_make(channel, 0);
        send_garbage(&here, channel, &rng, 63);
        cr_assert_not(is_dropped(&here));
        cr_assert_eq(slot_of(here.run, here.slot).packets_rejected, 63);
        cr_assert_eq(ls_match_packets_rejected(here.run->match), 63);
        send_garbage(&here, channel, &rng, 1);
        check_dropped_as(&here, LS_MISBEHAVED);
        close_stage(&here);
    }
}

Test(hostile, a_truncated_packet_changes_nothing)
{
    stage here = open_stage(60);
    ls_inputs_header header = raw_peer_inputs_header(here.peer);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t whole = raw_peer_write_inputs(&header, 5, bytes);
    ls_match_slot before = slot_of(here.run, here.slot);
    cr_assert_lt(whole, 40);
    for (size_t size = 0; size < whole; size++) {
        raw_peer_send(here.peer, LS_CHANNEL_UNRELIABLE, bytes, size);
    }
    deliver(&here);
    ls_match_slot after = slot_of(here.run, here.slot);
    cr_assert_eq(after.packets_rejected - before.packets_rejected, whole);
    cr_assert_eq(after.ticks_behind, before.ticks_behind);
    cr_assert_eq(after.slack_ns, before.slack_ns);
    raw_peer_send(here.peer, LS_CHANNEL_UNRELIABLE, bytes, whole);
    deliver(&here);
    after = slot_of(here.run, here.slot);
    cr_assert_eq(after.packets_rejected - before.packets_rejected, whole, "the whole one is good");
    cr_assert_neq(after.slack_ns, before.slack_ns);
    close_stage(&here);
}

Test(hostile, mutated_packets_harm_nobody)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        stage here = open_stage(60);
        ls_rng rng = ls_rng_make(seed, 3);
        for (uint32_t i = 0; i < 200; i++) {
            ls_inputs_header header = raw_peer_inputs_header(here.peer);
            uint8_t bytes[LS_PACKET_BYTES_MAX];
            size_t size = raw_peer_write_inputs(&header, 10, bytes);
            uint32_t bit = ls_rng_below(&rng, (uint32_t)size * 8);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            raw_peer_send(here.peer, LS_CHANNEL_UNRELIABLE, bytes, size);
            virtual_match_run(here.run, 10 * MS);
        }
        close_stage(&here);
    }
}

/* ---- sense without right ---- */

Test(hostile, ticks_never_sent_cannot_be_acknowledged)
{
    stage here = open_stage(60);
    ls_inputs_header header = raw_peer_inputs_header(here.peer);
    header.next += 10;
    header.first = header.next;
    raw_peer_send_inputs(here.peer, &header, 0);
    deliver(&here);
    cr_assert_eq(slot_of(here.run, here.slot).packets_rejected, 1);
    /* It is sent the ticks from where it really stands. */
    cr_assert_eq(here.peer->confirmed, 0);
    close_stage(&here);
}

Test(hostile, inputs_too_far_ahead_are_not_kept)
{
    stage here = open_stage(60);
    ls_inputs_header header = raw_peer_inputs_header(here.peer);
    uint64_t accepted_before = slot_of(here.run, here.slot).packets_rejected;
    header.first = header.next + LS_LEAD_TICKS_MAX - 1;
    raw_peer_send_inputs(here.peer, &header, 1);
    deliver(&here);
    cr_assert_eq(slot_of(here.run, here.slot).packets_rejected, accepted_before);
    header = raw_peer_inputs_header(here.peer);
    header.first = header.next + LS_LEAD_TICKS_MAX;
    for (int i = 0; i < 100; i++) {
        raw_peer_send_inputs(here.peer, &header, 1);
        header.first += 1000;
    }
    deliver(&here);
    cr_assert_eq(slot_of(here.run, here.slot).packets_rejected, accepted_before + 100);
    cr_assert_not(is_dropped(&here), "an honest client may be far ahead of a slow server");
    close_stage(&here);
}

Test(hostile, a_message_that_does_not_belong_there_ends_it)
{
    static const ls_message_kind kinds[] = {
        LS_MESSAGE_HELLO,                       /* a second one */
        LS_MESSAGE_READY,  LS_MESSAGE_FINISHED, /* while the match runs */
        LS_MESSAGE_HASHES,                      /* that nobody asked for */
        LS_MESSAGE_OFFER,  LS_MESSAGE_START,    LS_MESSAGE_REFUSE,  LS_MESSAGE_HASH_REQUEST,
        LS_MESSAGE_DESYNC, LS_MESSAGE_END,      LS_MESSAGE_WAITING,
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        stage here = open_stage(60);
        raw_peer_send_kind(here.peer, kinds[i]);
        check_dropped_as(&here, LS_MISBEHAVED);
        close_stage(&here);
    }
}

/* A client that says that it agrees about the end has to say that it agreed all the way. */
Test(hostile, a_final_state_without_the_chain_that_leads_to_it_ends_it)
{
    stage here = open_stage(60);
    while (ls_match_state_of(here.run->match) == LS_MATCH_RUNNING) {
        ls_inputs_header header = raw_peer_inputs_header(here.peer);
        raw_peer_send_inputs(here.peer, &header, 0);
        virtual_match_run(here.run, 10 * MS);
    }
    ls_message message = {.kind = LS_MESSAGE_FINISHED};
    message.body.finished.tick = ls_match_tick(here.run->match);
    message.body.finished.state_hash = ls_match_hash(here.run->match);
    message.body.finished.chain = raw_peer_inputs_header(here.peer).chain;
    raw_peer_send_message(here.peer, &message);
    check_dropped_as(&here, LS_MISBEHAVED);
    close_stage(&here);
}

/* Says once that its states are others, and nothing when it is asked which; after a second perhaps
 * nothing at all. */
static void differ_and_keep_quiet(bool is_talking, ls_status expected)
{
    stage here = open_stage(20);
    ls_inputs_header header = raw_peer_inputs_header(here.peer);
    header.chain ^= 1;
    raw_peer_send_inputs(here.peer, &header, 0);
    deliver(&here);
    cr_assert_eq(here.peer->heard[LS_MESSAGE_HASH_REQUEST], 1);
    for (uint32_t i = 0; i < 125 && !is_dropped(&here); i++) {
        header = raw_peer_inputs_header(here.peer);
        if (is_talking || i < 10) {
            raw_peer_send_inputs(here.peer, &header, 0);
        }
        virtual_match_run(here.run, 100 * MS);
    }
    cr_assert_eq(slot_of(here.run, here.slot).left_status, expected);
    cr_assert(slot_of(here.run, here.slot).is_desynced);
    close_stage(&here);
}

Test(hostile, a_player_that_differs_and_does_not_say_from_where_on_is_sent_away)
{
    differ_and_keep_quiet(true, LS_MISBEHAVED);
}

Test(hostile, a_player_whose_link_is_lost_before_it_can_say_so_has_lost_its_link)
{
    differ_and_keep_quiet(false, LS_TIMED_OUT);
}

/* ---- too much ---- */

static void flood(const stage *here, uint32_t packets)
{
    ls_inputs_header header = raw_peer_inputs_header(here->peer);
    for (uint32_t i = 0; i < packets; i++) {
        raw_peer_send_inputs(here->peer, &header, 0);
    }
}

Test(hostile, more_than_256_packets_a_tick_are_too_many)
{
    stage here = open_stage(20);
    virtual_match_run_to_tick(here.run, 30);
    flood(&here, 256);
    deliver(&here);
    cr_assert_not(is_dropped(&here));
    virtual_match_run_to_tick(here.run, 40);
    flood(&here, 257);
    check_dropped_as(&here, LS_MISBEHAVED);
    close_stage(&here);
}

/* Packets that pile up while the server's machine stands still are no flood. */
Test(hostile, a_server_that_stood_still_drops_nobody_for_it)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 4, 1500);
    setup.match.sim.tick_rate_hz = 128;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < 4; i++) {
        run->clients[i]->frame_ns = SECOND / 240;
    }
    virtual_match_run_to_tick(run, 200);
    virtual_match_suspend_server(run, 5 * SECOND);
    play_and_check(run);
    cr_assert_eq(ls_match_packets_rejected(run->match), 0);
    virtual_match_destroy(run);
}

/* ---- too little ---- */

Test(hostile, a_silent_player_times_out)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, 600);
    setup.match.sim.players = HONEST + 1;
    setup.match.timeout_ms = 3000;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *peer = raw_peer_create(run);
    raw_peer_join(peer);
    virtual_match_run_to_end(run);
    const virtual_event *left =
        virtual_match_find_slot(run, LS_MATCH_PLAYER_LOST, peer->offer.slot);
    cr_assert_eq(left->event.status, LS_TIMED_OUT);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
    for (uint32_t i = 0; i < HONEST; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    check_sound(run);
    raw_peer_destroy(peer);
    virtual_match_destroy(run);
}

/* It plays, and says all the time that it has hashed no state but the first. */
Test(hostile, a_player_that_hashes_nothing_is_sent_away_after_ten_seconds)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, 900);
    setup.match.sim.players = HONEST + 1;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *peer = raw_peer_create(run);
    raw_peer_join(peer);
    uint64_t begun_ns = run->now_ns;
    while (!peer->is_closed && run->now_ns < begun_ns + 14 * SECOND) {
        ls_inputs_header header = raw_peer_inputs_header(peer);
        raw_peer_send_inputs(peer, &header, 1);
        virtual_match_run(run, 20 * MS);
    }
    cr_assert(peer->is_closed);
    cr_assert_geq(run->now_ns, begun_ns + 10 * SECOND);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < HONEST; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    check_sound(run);
    raw_peer_destroy(peer);
    virtual_match_destroy(run);
}

/* ---- before the match ---- */

/* A match that waits for one player more. */
static virtual_match *open_lobby(uint32_t clients)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), clients, 60);
    setup.match.sim.players = 2;
    setup.match.timeout_ms = 60000;
    return checked_match_create(&setup);
}

static raw_peer *connect(virtual_match *run)
{
    raw_peer *peer = raw_peer_create(run);
    virtual_match_run(run, 5 * MS);
    return peer;
}

static void check_refused_as(const raw_peer *peer, ls_status status)
{
    cr_assert(peer->is_closed);
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-status);
    cr_assert_neq(peer->refusal.text.bytes[0], 0);
}

Test(hostile, silent_pending_connections_are_shown_out_after_ten_seconds)
{
    enum {
        PENDING = 40
    };
    virtual_match *run = open_lobby(0);
    raw_peer *pending[PENDING];
    for (uint32_t i = 0; i < PENDING; i++) {
        pending[i] = raw_peer_create(run);
    }
    virtual_match_run(run, 9 * SECOND);
    for (uint32_t i = 0; i < PENDING; i++) {
        cr_assert_not(pending[i]->is_closed);
    }
    virtual_match_run(run, 2 * SECOND);
    for (uint32_t i = 0; i < PENDING; i++) {
        check_refused_as(pending[i], LS_TIMED_OUT);
        raw_peer_destroy(pending[i]);
    }
    cr_assert_eq(virtual_match_count(run, LS_MATCH_PEER_REFUSED, LS_PLAYERS_MAX), PENDING);
    run->peer_count = 0;
    add_clients(run, 2, NULL);
    play_out(run);
}

Test(hostile, a_pending_connection_must_begin_with_hello)
{
    virtual_match *run = open_lobby(1);
    for (uint32_t kind = 0; kind < RAW_KINDS; kind++) {
        for (ls_channel channel = LS_CHANNEL_RELIABLE; channel < LS_CHANNEL_COUNT; channel++) {
            if (kind == LS_MESSAGE_HELLO || run->peer_count > 50) {
                continue;
            }
            raw_peer *peer = connect(run);
            uint8_t bytes[] = {(uint8_t)kind, 0, 0, 0};
            raw_peer_send(peer, channel, bytes, sizeof bytes);
            virtual_match_run(run, 5 * MS);
            check_refused_as(peer, LS_MALFORMED);
        }
    }
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    for (uint32_t i = 0; i < run->peer_count; i++) {
        raw_peer_destroy(run->peers[i].user);
    }
    virtual_match_destroy(run);
}

/* A seat is not kept for who never gets ready, whatever else it sends. */
Test(hostile, a_seat_without_ready_is_free_again_after_ten_seconds)
{
    virtual_match *run = open_lobby(1);
    raw_peer *peer = connect(run);
    raw_peer_say_hello(peer);
    virtual_match_run(run, 5 * MS);
    cr_assert_eq(peer->heard[LS_MESSAGE_OFFER], 1);
    ls_inputs_header header = raw_peer_inputs_header(peer);
    for (uint32_t i = 0; i < 24; i++) {
        raw_peer_send_inputs(peer, &header, 0);
        virtual_match_run(run, SECOND / 2);
    }
    check_refused_as(peer, LS_TIMED_OUT);
    add_clients(run, 1, NULL);
    play_and_check(run);
    raw_peer_destroy(peer);
    virtual_match_destroy(run);
}

/* ---- names ---- */

Test(hostile, names_cannot_steer_a_terminal)
{
    virtual_match *run = open_lobby(1);
    raw_peer *peer = connect(run);
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("")};
    memcpy(message.body.hello.name, "\x1b[2Jx\n", 7);
    raw_peer_send_message(peer, &message);
    virtual_match_run(run, 500 * MS);
    const virtual_event *seated =
        virtual_match_find_slot(run, LS_MATCH_PLAYER_SEATED, peer->offer.slot);
    cr_assert_str_eq(seated->event.text.bytes, "?[2Jx?");
    raw_peer_destroy(peer);
    virtual_match_destroy(run);
}

/* ==== altered ==== */

/* One bit of one packet altered on its way, each bit of the header in turn, in both directions:
 * no player is lost, none stands still for longer than it takes the next packet to mend it, and a
 * packet that only acknowledges leaves no state that differs. Bits of inputs cost no more than
 * inputs. */

enum {
    ALTERED_TICKS = 200,
    ALTERED_FROM_TICK = 70,
    CUT_TICKS = 13,
    KIND_BITS = 6, /* the kind itself is no part of the header */
};

#define RTT_NS (60 * MS)

/* Between a transport and its reader: alters one bit of one packet of a kind. */
typedef struct alteration {
    ls_transport_operations operations;
    int (*next_event)(ls_transport *transport, ls_transport_event *event);
    uint32_t kind;
    ls_peer_id peer; /* from whom; 0: anybody */
    ls_late_rule late_rule;
    bool has_report; /* of a packet that carries health, or one of the others */
    bool is_content; /* bits of what stands behind the header, not of the header */
    size_t bit;
    bool is_armed;
    bool is_done;
    bool is_beyond; /* the header has fewer bits */
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} alteration;

static alteration here;

/* Bits of a packet that come into question, *first is where they begin; 0 when it is not one that
 * is meant. */
static size_t bits_of(const ls_transport_event *event, size_t *first)
{
    if (event->kind != LS_TRANSPORT_RECEIVED || (here.peer != 0 && event->peer != here.peer) ||
        ls_message_peek(event->bytes, event->size) != here.kind) {
        return 0;
    }
    ls_bit_stream stream = ls_bit_reader(event->bytes, event->size);
    ls_inputs_header inputs = {0};
    ls_ticks_header ticks = {0};
    if (here.kind == LS_MESSAGE_INPUTS) {
        ls_inputs_header_bits(&stream, &inputs, ALTERED_FROM_TICK);
    } else {
        ls_ticks_header_bits(&stream, &ticks, ALTERED_FROM_TICK);
    }
    bool has_report = inputs.has_health || ticks.has_uplink;
    *first = here.is_content ? stream.position_bits : 0;
    size_t bits = here.is_content ? 8 * event->size - stream.position_bits : stream.position_bits;
    return has_report == here.has_report ? bits : 0;
}

static int next_event(ls_transport *transport, ls_transport_event *event)
{
    int has_event = here.next_event(transport, event);
    size_t first = 0;
    size_t bits = has_event && here.is_armed && !here.is_done ? bits_of(event, &first) : 0;
    if (bits == 0) {
        return has_event;
    }
    here.is_done = true;
    here.is_beyond = here.bit >= bits;
    if (here.is_beyond) {
        return has_event;
    }
    memcpy(here.bytes, event->bytes, event->size);
    size_t bit = first + here.bit;
    here.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    event->bytes = here.bytes;
    return has_event;
}

static void stand_before(ls_transport *transport)
{
    here.next_event = transport->operations->next_event;
    here.operations = *transport->operations;
    here.operations.next_event = next_event;
    transport->operations = &here.operations;
}

/* The longest time in which this client received no closed tick, until it had all. */
static uint64_t run_and_watch(virtual_match *run, const virtual_client *client)
{
    uint64_t longest_ns = 0;
    uint64_t since_ns = run->now_ns;
    ls_tick confirmed = report_of(client).confirmed;
    while (confirmed < ALTERED_TICKS && !virtual_match_is_over(run)) {
        virtual_match_run(run, MS);
        if (report_of(client).confirmed != confirmed) {
            confirmed = report_of(client).confirmed;
            since_ns = run->now_ns;
        }
        longest_ns = run->now_ns - since_ns > longest_ns ? run->now_ns - since_ns : longest_ns;
    }
    virtual_match_run_to_end(run);
    return longest_ns;
}

/* The bits that say what a packet holds, and not what has come: wrong, they put inputs of one tick
 * in the place of another's. Only the network's own checksum can find that. */
static bool is_content(size_t bit)
{
    return here.kind == LS_MESSAGE_TICKS && bit >= 12 && bit < 28; /* first */
}

/* When nothing is altered: ticks for which the others stand still, the longest time without a tick.
 */
static uint64_t others_stalled;
static uint64_t unaltered_ns;

static uint64_t count_stalled(const virtual_match *run, const virtual_client *altered)
{
    uint64_t stalled = 0;
    for (uint32_t i = 0; i < run->client_count; i++) {
        stalled += run->clients[i] != altered ? report_of(run->clients[i]).stalled_ticks : 0;
    }
    return stalled;
}

static void check_others(virtual_match *run, const virtual_client *altered)
{
    bool is_waiting = run->setup.match.late_rule == LS_LATE_WAIT;
    cr_assert(is_waiting || count_stalled(run, altered) == others_stalled);
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client *client = run->clients[i];
        check_played_to_the_end(run, client);
        if (client != altered) {
            cr_assert_eq(seat_of(client).inputs_substituted, 0);
        }
    }
}

static void check_mended(const virtual_client *client, uint64_t longest_ns, uint32_t cut_ticks)
{
    ls_match_slot slot = seat_of(client);
    cr_assert_eq(slot.left_status, LS_OK, "bit %zu", here.bit);
    cr_assert_not(slot.is_desynced, "bit %zu", here.bit);
    cr_assert_leq(longest_ns, unaltered_ns + RTT_NS + 2 * DT_NS, "bit %zu: %lu ms without a tick",
                  here.bit, (unsigned long)(longest_ns / MS));
    cr_assert_leq(slot.inputs_substituted, cut_ticks + 6, "bit %zu: %lu", here.bit,
                  (unsigned long)slot.inputs_substituted);
}

/* Alters the packet while nothing comes of what it acknowledges, so that an acknowledgement that is
 * too high hides something. */
static void alter_in_a_cut(virtual_match *run, virtual_client *client, bool is_up)
{
    ls_link_config open = run->setup.link;
    ls_link_config cut = {.is_cut = true};
    ls_memory_client_set_links(client->transport, is_up ? &open : &cut, is_up ? &cut : &open);
    virtual_match_run(run, (CUT_TICKS - 2) * DT_NS);
    here.is_armed = true;
    while (!here.is_done) {
        virtual_match_run(run, MS);
    }
    virtual_match_run(run, DT_NS / 2);
    virtual_client_set_links(client, &open);
}

/* Gives the client whose packet it will be. */
static virtual_client *open_match_to_alter(ls_late_rule late_rule)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 3, ALTERED_TICKS);
    setup.link.delay_ns = RTT_NS / 2;
    setup.match.late_rule = late_rule;
    virtual_client *client = checked_match_create(&setup)->clients[1];
    client_check_of(client)->is_fed_wrong = true;
    return client;
}

/* False when the header has no such bit. */
static bool alter(const alteration *asked, size_t bit)
{
    bool is_up = asked->kind == LS_MESSAGE_INPUTS;
    virtual_client *client = open_match_to_alter(asked->late_rule);
    virtual_match *run = client->run;
    here = *asked;
    here.bit = bit;
    virtual_match_run_to_tick(run, ALTERED_FROM_TICK);
    here.peer = is_up ? seat_of(client).peer : 0;
    stand_before(is_up ? run->network->server : client->transport);
    alter_in_a_cut(run, client, is_up);
    uint32_t cut_ticks = ls_match_tick(run->match) - ALTERED_FROM_TICK;
    uint64_t longest_ns = run_and_watch(run, client);
    check_sound(run);
    if (here.is_beyond) {
        others_stalled = count_stalled(run, client);
        unaltered_ns = longest_ns;
    } else if (!is_content(bit)) {
        check_mended(client, longest_ns, cut_ticks);
        check_others(run, client);
    } else if (asked->late_rule == LS_LATE_REPEAT) {
        cr_assert_eq(seat_of(client).left_status, LS_OK, "bit %zu", bit);
    }
    virtual_match_destroy(run);
    return !here.is_beyond;
}

static size_t alter_every_bit(uint32_t kind, ls_late_rule late_rule, bool has_report)
{
    alteration asked = {.kind = kind, .late_rule = late_rule, .has_report = has_report};
    size_t bit = KIND_BITS;
    cr_assert_not(alter(&asked, 8 * LS_PACKET_BYTES_MAX));
    while (alter(&asked, bit)) {
        bit++;
    }
    return bit;
}

static void alter_headers(uint32_t kind, ls_late_rule late_rule)
{
    size_t bits = alter_every_bit(kind, late_rule, false);
    cr_assert_gt(bits, 50, "only %zu", bits);
    cr_assert_gt(alter_every_bit(kind, late_rule, true), bits + 10);
}

Test(altered, no_bit_of_a_header_of_inputs_costs_anybody_the_match)
{
    alter_headers(LS_MESSAGE_INPUTS, LS_LATE_REPEAT);
}

Test(altered, no_bit_of_a_header_of_ticks_costs_anybody_the_match)
{
    alter_headers(LS_MESSAGE_TICKS, LS_LATE_REPEAT);
}

Test(altered, nobody_waits_for_long_because_of_a_bit_of_a_header_of_inputs)
{
    alter_headers(LS_MESSAGE_INPUTS, LS_LATE_WAIT);
}

Test(altered, nobody_waits_for_long_because_of_a_bit_of_a_header_of_ticks)
{
    alter_headers(LS_MESSAGE_TICKS, LS_LATE_WAIT);
}

/* ---- what stands behind the header ---- */

enum {
    SETTLED_TICKS = 60, /* after the altered packet everything is as if there had been none */
};

/* Ticks that were closed with another input than the client made for them. */
static uint32_t count_wrong(const virtual_match *run, const virtual_client *client, ls_tick from)
{
    uint32_t slot = report_of(client).slot;
    uint32_t wrong = 0;
    for (ls_tick tick = from; tick < check_of(run)->tick_count; tick++) {
        wrong += check_of(run)->ticks[tick].inputs[slot] != client_check_of(client)->made[tick];
    }
    return wrong;
}

/* False when the packet has no such bit. */
static bool alter_content(ls_late_rule late_rule, size_t bit, uint32_t *wrong)
{
    virtual_client *client = open_match_to_alter(late_rule);
    virtual_match *run = client->run;
    here = (alteration){.kind = LS_MESSAGE_INPUTS, .is_content = true, .bit = bit};
    virtual_match_run_to_tick(run, ALTERED_FROM_TICK);
    here.peer = seat_of(client).peer;
    here.is_armed = true;
    stand_before(run->network->server);
    virtual_match_run_to_end(run);
    cr_assert(here.is_done);
    for (uint32_t i = 0; i < run->client_count; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    cr_assert_eq(count_wrong(run, client, ALTERED_FROM_TICK + SETTLED_TICKS), 0, "bit %zu", bit);
    *wrong += count_wrong(run, client, 0);
    close_run(run);
    return !here.is_beyond;
}

static void alter_contents(ls_late_rule late_rule)
{
    uint32_t wrong = 0;
    size_t bit = 0;
    while (alter_content(late_rule, bit, &wrong)) {
        bit++;
    }
    cr_assert_gt(bit, 50, "only %zu", bit);
    cr_assert_gt(wrong, 0, "no input was altered");
}

Test(altered, no_bit_of_an_input_costs_more_than_inputs_of_its_time)
{
    alter_contents(LS_LATE_REPEAT);
}

Test(altered, nobody_is_waited_for_in_vain_because_of_a_bit_of_an_input)
{
    alter_contents(LS_LATE_WAIT);
}
