/* Limits of a match: of what it is sent, of players, and of the size of its state. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/protocol/blob/blob.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/server/match/state_handover.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/fault_simulation.h"
#include "lockstep/tests/support/raw_peer.h"

#include <stdio.h>

/* ==== limits ==== */

/* The largest matches and inputs there may be, and what a match may cost: no allocation from START
 * to END, no memory that grows, whatever comes and goes. */

/* ---- large inputs ---- */

enum {
    FULL_RATE_TICKS = 150,
    LOSSY_SECONDS = 2,
    LOOKED_AT_TICK = FULL_RATE_TICKS - 30,
};

static virtual_setup setup_with_bytes(uint32_t players, uint32_t bytes, uint32_t tick_rate_hz)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), players, 0);
    setup.match.sim.params[TEST_PARAM_BYTES] = bytes;
    setup.match.sim.tick_rate_hz = tick_rate_hz;
    setup.match.start_delay_ms = 1000;
    return setup;
}

/* On a link without loss nothing is late and nobody falls behind, however much has to be sent. */
static void play_at_full_rate(uint32_t players, uint32_t bytes, uint64_t delay_ns)
{
    virtual_setup setup = setup_with_bytes(players, bytes, 60);
    setup.match.ticks = FULL_RATE_TICKS;
    setup.link.delay_ns = delay_ns;
    virtual_match *run = match_at(&setup, LOOKED_AT_TICK);
    for (uint32_t i = 0; i < players; i++) {
        uint32_t behind = LOOKED_AT_TICK - report_of(run->clients[i]).confirmed;
        cr_assert_leq(behind, delay_ns * 60 / SECOND + 2,
                      "%u players, %u bytes, %lu ms: %u ticks behind", players, bytes,
                      (unsigned long)(delay_ns / MS), behind);
    }
    play_and_check(run);
    cr_assert_eq(substituted(run), 0, "%u players, %u bytes, %lu ms: %lu missing", players, bytes,
                 (unsigned long)(delay_ns / MS), (unsigned long)substituted(run));
    virtual_match_destroy(run);
}

Test(limits, inputs_of_any_size_keep_pace)
{
    play_at_full_rate(16, 8, 100 * MS);
    play_at_full_rate(16, 16, 150 * MS);
    play_at_full_rate(8, 64, 50 * MS);
    play_at_full_rate(2, 256, 150 * MS);
    play_at_full_rate(2, LS_INPUT_BYTES_MAX, 50 * MS);
}

Test(limits, thirty_two_players_with_the_largest_inputs_keep_pace)
{
    play_at_full_rate(TEST_PLAYERS_MAX, LS_INPUT_BYTES_MAX, 10 * MS);
}

static void play_lossy(uint32_t players, uint32_t bytes, uint32_t tick_rate_hz, uint32_t loss_ppm)
{
    virtual_setup setup = setup_with_bytes(players, bytes, tick_rate_hz);
    setup.match.ticks = LOSSY_SECONDS * tick_rate_hz;
    setup.link = (ls_link_config){
        .delay_ns = 20 * MS, .jitter_ns = 5 * MS, .loss_ppm = loss_ppm, .duplicate_ppm = 20000};
    virtual_match *run = checked_match_create(&setup);
    play_out(run);
}

Test(limits, large_ticks_survive_loss)
{
    play_lossy(8, 400, 60, 50000);
    play_lossy(8, 400, 60, 200000);
    play_lossy(TEST_PLAYERS_MAX, LS_INPUT_BYTES_MAX, 20, 50000);
    play_lossy(TEST_PLAYERS_MAX, LS_INPUT_BYTES_MAX, 5, 200000);
}

Test(limits, large_inputs_under_the_rule_wait)
{
    virtual_setup setup = setup_with_bytes(4, LS_INPUT_BYTES_MAX, 60);
    setup.match.late_rule = LS_LATE_WAIT;
    setup.match.ticks = 180;
    setup.link = (ls_link_config){.delay_ns = 30 * MS, .loss_ppm = 50000};
    virtual_match *run = checked_match_create(&setup);
    play_and_check(run);
    cr_assert_eq(substituted(run), 0);
    virtual_match_destroy(run);
}

/* A lost input is sent again after a round trip, not when all before it has been acknowledged:
 * with 80 inputs on their way and every fifth lost that would more than halve the match's speed. */
Test(limits, large_inputs_that_got_lost_are_sent_again_in_time)
{
    virtual_setup setup = setup_with_bytes(4, 400, 60);
    setup.match.late_rule = LS_LATE_WAIT;
    setup.link = (ls_link_config){.delay_ns = 100 * MS, .loss_ppm = 200000};
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run(run, 12 * SECOND);
    cr_assert_geq(ls_match_tick(run->match), 380, "only %u ticks", ls_match_tick(run->match));
    close_run(run);
}

/* A TICKS holds some 32 of these ticks, and as many more come beside it in parts: without them it
 * would take longer than three seconds to make up for as much, at this round trip. */
Test(limits, a_client_that_missed_two_seconds_of_ticks_is_back_in_less)
{
    virtual_setup setup = setup_with_bytes(4, 8, 60);
    setup.link.delay_ns = 150 * MS;
    virtual_match *run = match_at(&setup, 200);
    virtual_client *deaf = run->clients[0];
    ls_link_config cut = {.delay_ns = setup.link.delay_ns, .is_cut = true};
    virtual_client_set_ways(deaf, &setup.link, &cut);
    virtual_match_run(run, 2300 * MS);
    uint32_t missed = ls_match_tick(run->match) - report_of(deaf).confirmed;
    cr_assert_geq(missed, 120, "%u ticks were missed", missed);
    virtual_client_set_ways(deaf, &setup.link, &setup.link);
    virtual_match_run(run, 1600 * MS);
    uint32_t behind = ls_match_tick(run->match) - report_of(deaf).tick;
    cr_assert_leq(behind, 150 * 60 / 1000 + 6, "still %u ticks behind", behind);
    close_run(run);
}

/* Small inputs still take one packet a tick each way. */
Test(limits, small_inputs_take_one_packet_a_tick)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 4, 0);
    setup.link.delay_ns = 33 * MS;
    virtual_match *run = match_at(&setup, 100);
    ls_memory_counts before = run->network->operations->counts(run->network);
    virtual_match_run_to_tick(run, 1100);
    ls_memory_counts after = run->network->operations->counts(run->network);
    uint64_t packets = after.sent - before.sent;
    cr_assert_geq(packets, 2 * 4 * 990);
    cr_assert_leq(packets, 2 * 4 * 1010, "%lu packets in 1000 ticks", (unsigned long)packets);
    virtual_match_destroy(run);
}

/* ---- memory ---- */

static void run_counted(const virtual_setup *setup, counting_allocator *counting)
{
    virtual_match *run = match_at(setup, 1);
    uint64_t allocations = counting->allocations;
    uint64_t calls = heap_calls();
    cr_assert_gt(allocations, 0);
    virtual_match_run_to_tick(run, 200);
    virtual_client_cut(run->clients[2]); /* parts, catching up */
    virtual_match_run_to_tick(run, 230);
    virtual_client_set_links(run->clients[2], &setup->link);
    virtual_match_run_to_tick(run, 320);
    cr_assert_eq(counting->allocations, allocations, "%lu allocations during the match",
                 (unsigned long)(counting->allocations - allocations));
    cr_assert_eq(heap_calls(), calls, "%lu calls of malloc during the match",
                 (unsigned long)(heap_calls() - calls));
    flip_bit(run->clients[1], 340, 20); /* asks for state hashes, and tells */
    virtual_match_run_to_tick(run, 400);
    allocations = counting->allocations; /* the memory in which its cause is looked for */
    calls = heap_calls();
    uint64_t live_bytes = counting->live_bytes;
    flip_bit(run->clients[3], 420, 20);
    virtual_match_run_to_end(run);
    cr_assert(virtual_match_is_over(run));
    cr_assert_eq(counting->allocations, allocations, "%lu allocations by the second desync",
                 (unsigned long)(counting->allocations - allocations));
    cr_assert_eq(heap_calls(), calls, "%lu calls of malloc by the second desync",
                 (unsigned long)(heap_calls() - calls));
    cr_assert_eq(counting->live_bytes, live_bytes);
    close_run(run);
    cr_assert_eq(counting->live_blocks, 0, "everything is given back");
}

/* All memory for ticks is there from START on. That in which causes are looked for comes with the
 * first difference, once. */
Test(limits, nothing_is_allocated_from_start_to_end)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), 4, 500);
    setup.link = (ls_link_config){.delay_ns = 20 * MS, .jitter_ns = 10 * MS, .loss_ppm = 100000};
    setup.allocator = &counting.allocator;
    setup.runs_nothing_again = true; /* a rerun host has memory of its own */
    run_counted(&setup, &counting);
}

Test(limits, nothing_is_allocated_for_large_ticks_either)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    virtual_setup setup = setup_with_bytes(4, 700, 60);
    setup.match.ticks = 500;
    setup.link = (ls_link_config){.delay_ns = 20 * MS, .loss_ppm = 50000};
    setup.allocator = &counting.allocator;
    setup.runs_nothing_again = true; /* a rerun host has memory of its own */
    run_counted(&setup, &counting);
}

/* Memory that is out is an answer, not a crash, and leaves nothing behind. */
Test(limits, every_failed_allocation_is_survived)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_match_config config = ls_match_config_default(ls_arena_simulation());
    ls_packet_sink sink = {0};
    ls_status status = LS_NO_MEMORY;
    uint64_t allowed = 0;
    for (; status != LS_OK; allowed++) {
        cr_assert_lt(allowed, 1000);
        counting.allowed = allowed;
        ls_match *match = NULL;
        ls_text why = {{0}};
        status = ls_match_create(&config, &sink, &counting.allocator, &match, &why);
        cr_assert(status == LS_OK || (status == LS_NO_MEMORY && why.bytes[0] != 0));
        ls_match_destroy(match);
        cr_assert_eq(counting.live_blocks, 0);
    }
    cr_assert_gt(allowed, 5);
}

/* ---- a large state that differs ---- */

enum {
    LARGE_BYTES = 17 << 20,
    LARGE_TICKS = 30,
    LARGE_FLIPPED_TICK = 20,
};

static size_t large_state_bytes(const ls_sim_config *config)
{
    return fault_simulation()->state_bytes(config) + LARGE_BYTES;
}

static uint32_t large_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    uint32_t count = fault_simulation()->fields(config, out, capacity);
    const ls_field ballast = {"ballast",           "", LS_FIELD_U64, 1, LARGE_BYTES / 8,
                              sizeof(fault_state), 8};
    return count + ls_fields_copy(&ballast, 1, out + count, capacity - LS_MIN(count, capacity));
}

/* The client answers nothing, so that all of the time passes. */
static void send_no_evidence(void *user, virtual_client *client, ls_channel channel,
                             const uint8_t *bytes, size_t size)
{
    uint32_t kind = ls_message_peek(bytes, size);
    (void)user;
    if (channel != LS_CHANNEL_RELIABLE || kind < LS_MESSAGE_TREE_ANSWER ||
        kind > LS_MESSAGE_BUILD_FINGERPRINT) {
        ls_transport_send(client->transport, client->server, channel, bytes, size);
    }
}

/* Its ticks take a machine longer to run again than those of a small one. */
Test(limits, clients_with_large_states_have_eight_times_as_long_to_answer)
{
    ls_simulation large = *fault_simulation();
    large.state_bytes = large_state_bytes;
    large.fields = large_fields;
    virtual_setup setup = virtual_setup_default(&large, 2, LARGE_TICKS);
    setup.runs_nothing_again = true;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *bad = run->clients[1];
    flip_bit(bad, LARGE_FLIPPED_TICK, offsetof(fault_state, cells[3]));
    bad->tamper = (virtual_tamper){send_no_evidence, NULL};
    virtual_match_run_to_end(run);
    const ls_desync_finding *finding = ls_match_desync_of(run->match, report_of(bad).slot);
    cr_assert_not_null(finding);
    cr_expect_eq(finding->verdict.kind, LS_DESYNC_CLASS_SILENT, "%s", finding->verdict.why.bytes);
    cr_expect_geq(finding->took_ns, 40 * SECOND);
    cr_expect_leq(finding->took_ns, 41 * SECOND);
    virtual_match_destroy(run);
}

/* ---- coming and going ---- */

typedef struct lobby {
    ls_match *match;
    uint64_t now_ns;
    uint32_t disconnects;
} lobby;

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    (void)user;
    (void)peer;
    (void)channel;
    (void)bytes;
    (void)size;
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    lobby *here = user;
    (void)peer;
    here->disconnects++;
}

static void say_hello(const lobby *here, ls_peer_id peer)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("churn")};
    size_t size = ls_message_write(&message, bytes);
    ls_match_receive(here->match, peer, LS_CHANNEL_RELIABLE, bytes, size, here->now_ns);
}

/* One of: says nothing and goes; says nothing and stays; garbage; a seat, and goes; a seat, and
 * stays until it is taken from it. */
static void come_and_go(lobby *here, ls_peer_id peer)
{
    static const uint8_t garbage[] = {0xff, 0x13, 0x37};
    ls_match_peer_connected(here->match, peer, here->now_ns);
    switch (peer % 5) {
    case 0:
        ls_match_peer_disconnected(here->match, peer, LS_DISCONNECTED, here->now_ns);
        break;
    case 1:
        break;
    case 2:
        ls_match_receive(here->match, peer, LS_CHANNEL_RELIABLE, garbage, sizeof garbage,
                         here->now_ns);
        break;
    case 3:
        say_hello(here, peer);
        ls_match_peer_disconnected(here->match, peer, LS_TIMED_OUT, here->now_ns);
        break;
    default:
        say_hello(here, peer);
        break;
    }
}

Test(limits, ten_thousand_connections_leave_nothing_behind)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    lobby here = {.now_ns = SECOND};
    ls_match_config config = ls_match_config_default(test_simulation());
    config.sim.players = 8;
    ls_packet_sink sink = {on_send, on_disconnect, &here};
    ls_status status = ls_match_create(&config, &sink, &counting.allocator, &here.match, NULL);
    cr_assert_eq(status, LS_OK);
    uint64_t live_bytes = 0;
    uint64_t calls = 0;
    uint32_t seated = 0;
    for (ls_peer_id peer = 1; peer <= 10000; peer++) {
        if (peer == 10) { /* the first that said HELLO made the match take what ticks need */
            live_bytes = counting.live_bytes;
            calls = heap_calls();
        }
        come_and_go(&here, peer);
        here.now_ns += 100 * MS;
        ls_match_advance(here.match, here.now_ns);
        ls_match_event event;
        while (ls_match_next_event(here.match, &event)) {
            seated += event.kind == LS_MATCH_PLAYER_SEATED;
        }
    }
    cr_assert_eq(counting.live_bytes, live_bytes);
    cr_assert_eq(heap_calls(), calls);
    cr_assert_eq(ls_match_state_of(here.match), LS_MATCH_LOBBY);
    cr_assert_geq(seated, 800, "each of 8 seats is free again after ten seconds");
    cr_assert_gt(here.disconnects, 5000);

    here.now_ns += 30 * SECOND;
    ls_match_advance(here.match, here.now_ns);
    for (uint32_t slot = 0; slot < 8; slot++) {
        cr_assert_eq(ls_match_slot_of(here.match, slot).peer, 0);
    }
    say_hello(&here, 1);
    cr_assert_eq(ls_match_slot_of(here.match, 0).peer, 0, "a peer that is gone has no voice");
    ls_match_destroy(here.match);
    cr_assert_eq(counting.live_blocks, 0);
}

/* More pending connections than there is room for at the door: the oldest give way. They displace
 * no players. */
Test(limits, the_door_has_room_for_so_many)
{
    lobby here = {.now_ns = SECOND};
    ls_match_config config = ls_match_config_default(test_simulation());
    config.sim.players = 2;
    ls_packet_sink sink = {on_send, on_disconnect, &here};
    cr_assert_eq(ls_match_create(&config, &sink, ls_allocator_heap(), &here.match, NULL), LS_OK);
    for (ls_peer_id peer = 1; peer <= 200; peer++) {
        ls_match_peer_connected(here.match, peer, here.now_ns);
    }
    cr_assert_eq(here.disconnects, 200 - 64);
    cr_assert_eq(ls_match_packets_rejected(here.match), 200 - 64);
    say_hello(&here, 200 - 64);
    cr_assert_eq(ls_match_slot_of(here.match, 0).peer, 0, "it has been turned away");
    say_hello(&here, 200 - 63);
    cr_assert_eq(ls_match_slot_of(here.match, 0).peer, 200 - 63);
    here.now_ns += 11 * SECOND;
    ls_match_advance(here.match, here.now_ns);
    ls_match_peer_connected(here.match, 201, here.now_ns);
    say_hello(&here, 201);
    cr_assert_eq(ls_match_slot_of(here.match, 0).peer, 201, "the first one was never ready");
    ls_match_destroy(here.match);
}

/* Events that nobody takes gives way to newer events. */
Test(limits, events_that_nobody_takes_fill_no_memory)
{
    lobby here = {.now_ns = SECOND};
    ls_match_config config = ls_match_config_default(test_simulation());
    ls_packet_sink sink = {on_send, on_disconnect, &here};
    cr_assert_eq(ls_match_create(&config, &sink, ls_allocator_heap(), &here.match, NULL), LS_OK);
    for (ls_peer_id peer = 1; peer <= 1000; peer++) {
        ls_match_peer_connected(here.match, peer, here.now_ns);
        say_hello(&here, peer);
        ls_match_peer_disconnected(here.match, peer, LS_DISCONNECTED, here.now_ns);
    }
    ls_match_event event = {0};
    uint32_t count = 0;
    while (ls_match_next_event(here.match, &event)) {
        count++;
    }
    cr_assert_eq(count, 256);
    cr_assert_eq(event.kind, LS_MATCH_PLAYER_LEFT);
    cr_assert_eq(event.peer, 1000, "the newest is the last");
    ls_match_destroy(here.match);
}

/* ==== many ==== */

/* As many players as a match may have: all that holds for a few of them holds for the last slots as
 * well, and players who hold still cost the others next to nothing. */

enum {
    MOVING = 28, /* slots whose players press something; the others hold still */
    FAR = 100,   /* a slot that no word of 32 or 64 bits has */
    PAD_BYTES = 4,
};

#define DOWNLINK_BYTES_PER_S 10000.0

/* ---- a simulation for so many ---- */

typedef struct crowd_state {
    uint64_t sums[LS_PLAYERS_MAX];
} crowd_state;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(crowd_state);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {{"sums", "", LS_FIELD_U64, LS_PLAYERS_MAX, 1, 0, 0}};
    return ls_fields_copy(list, 1, out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((crowd_state *)state)->sums[0] = config->seed;
    return LS_OK;
}

static void add(const ls_step *step)
{
    crowd_state *state = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        uint64_t pad = input->size == PAD_BYTES ? ls_load_u32(input->bytes) : 0;
        state->sums[slot] = state->sums[slot] * 31 + pad + input->events;
    }
}

/* A bit in eight of the pad of one who moves flips in a tick. */
static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    (void)config;
    (void)state;
    bool is_pressed = slot < MOVING && ls_rng_below(rng, 8) == 0;
    ls_store_u32(bytes, is_pressed ? ls_rng_below(rng, 16) : 1);
    return PAD_BYTES;
}

static const ls_simulation *crowd(void)
{
    static const ls_pass passes[] = {{"add", add}};
    static const ls_simulation simulation = {.abi = LS_SIMULATION_ABI,
                                             .size = sizeof(ls_simulation),
                                             .version = 1,
                                             .name = "crowd",
                                             .summary = "adds up what everybody presses",
                                             .default_tick_rate_hz = 60,
                                             .default_players = LS_PLAYERS_MAX,
                                             .players_max = LS_PLAYERS_MAX,
                                             .input_bytes_max = PAD_BYTES,
                                             .passes = passes,
                                             .pass_count = 1,
                                             .state_bytes = state_bytes,
                                             .fields = fields,
                                             .init = init,
                                             .bot = bot};
    return &simulation;
}

static virtual_setup setup_of(uint32_t ticks)
{
    virtual_setup setup = virtual_setup_default(crowd(), LS_PLAYERS_MAX, ticks);
    setup.match.joiners_max = 4;
    return setup;
}

/* All come at once. */
static virtual_match *match_of(virtual_setup *setup, uint32_t clients, ls_tick tick)
{
    setup->clients = clients;
    virtual_match *run = checked_match_create(setup);
    virtual_match_run_to_tick(run, tick);
    return run;
}

static virtual_client *client_of_slot(const virtual_match *run, uint32_t slot)
{
    return check_of(run)->by_slot[slot]->core;
}

/* ---- tests ---- */

Test(many, all_slots_play_with_loss_and_a_late_player_knows_their_names)
{
    virtual_setup setup = setup_of(240);
    setup.match.start_players = LS_PLAYERS_MAX - 1;
    setup.link.loss_ppm = 20000;
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX - 1, 60);
    virtual_client_setup late = virtual_client_setup_default(run);
    snprintf(late.session.name, sizeof late.session.name, "Late");
    virtual_client *last = virtual_match_add_client(run, &late);
    play_and_check(run);
    uint32_t slot = report_of(last).slot;
    cr_expect_eq(slot, LS_PLAYERS_MAX - 1);
    cr_expect_gt(slot_of(run, slot).inputs_on_time, 0);
    for (uint32_t other = 0; other < slot; other++) {
        const char *name = slot_of(run, other).name;
        cr_assert_str_eq(ls_session_player_name(last->session, other), name, "slot %u", other);
        cr_assert_str_eq(ls_session_player_name(client_of_slot(run, 0)->session, other), name);
    }
    virtual_match_destroy(run);
}

Test(many, who_holds_still_costs_the_others_next_to_nothing)
{
    enum {
        SECONDS = 3
    };
    virtual_setup setup = setup_of(0);
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 120);
    ls_peer_id peer = slot_of(run, FAR).peer;
    ls_transport_traffic before = ls_transport_traffic_of(run->network->server, peer);
    virtual_match_run(run, SECONDS * SECOND);
    ls_transport_traffic after = ls_transport_traffic_of(run->network->server, peer);
    double bytes_per_s = (double)(after.bytes_sent - before.bytes_sent) / SECONDS;
    cr_expect_leq(bytes_per_s, DOWNLINK_BYTES_PER_S);
    cr_expect_gt(after.packets_sent - before.packets_sent, 50u * SECONDS);
    printf("%u players, %u of them still: %.0f B/s down\n", LS_PLAYERS_MAX, LS_PLAYERS_MAX - MOVING,
           bytes_per_s);
    close_run(run);
}

Test(many, a_desync_of_a_far_slot_is_named_to_all)
{
    virtual_setup setup = setup_of(150);
    setup.match.on_desync = LS_ON_DESYNC_REPORT;
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 20);
    virtual_client *bad = client_of_slot(run, FAR);
    flip_bit(bad, 60, 8 * FAR);
    virtual_match_run_to_end(run);
    check_sound(run);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 1);
    const ls_match_event *event = &virtual_match_find(run, LS_MATCH_DESYNC)->event;
    cr_expect_eq(event->slot, FAR);
    cr_expect_eq(event->tick, 60);
    for (uint32_t i = 0; i < run->client_count; i++) {
        const virtual_client_event *told =
            virtual_client_find(run->clients[i], LS_SESSION_EVENT_DESYNC);
        cr_assert_not_null(told, "client %u", i);
        cr_expect_eq(told->event.desync.slot, FAR);
    }
    check_others_played(run, bad);
    virtual_match_destroy(run);
}

Test(many, a_far_slot_that_is_waited_for_is_named_to_all)
{
    virtual_setup setup = setup_of(200);
    setup.match.late_rule = LS_LATE_WAIT;
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 60);
    client_of_slot(run, FAR)->is_paused = true;
    virtual_match_run(run, 700 * MS);
    const virtual_client *other = client_of_slot(run, 0);
    const virtual_client_event *told = virtual_client_find(other, LS_SESSION_EVENT_WAITING);
    cr_assert_not_null(told);
    cr_expect(ls_slot_set_is_same(told->event.waiting.slots, ls_slot_set_of(FAR)));
    ls_text names = {{0}};
    ls_session_add_names(other->session, told->event.waiting.slots, &names);
    cr_expect_not_null(strstr(names.bytes, "slot 100"), "%s", names.bytes);
    client_of_slot(run, FAR)->is_paused = false;
    play_out(run);
}

Test(many, a_line_names_some_of_many_players_and_counts_the_others)
{
    virtual_setup setup = setup_of(60);
    virtual_match *run = match_of(&setup, LS_PLAYERS_MAX, 20);
    ls_text names = {{0}};
    ls_session_add_names(run->clients[0]->session, ls_slot_set_first(LS_PLAYERS_MAX), &names);
    cr_expect_not_null(strstr(names.bytes, "slot 11"), "%s", names.bytes);
    cr_expect_null(strstr(names.bytes, "slot 12"), "%s", names.bytes);
    cr_expect_not_null(strstr(names.bytes, " and 116 more"), "%s", names.bytes);
    play_out(run);
}

/* ==== state_limits ==== */

/* The cost of a state on its way to a peer: one that takes it at a trickle, or not at all and says
 * that it gets on, is sent so many bytes of it and then let go, though nobody else waits. */

enum {
    PLAYERS = 2,
    BODIES = 2000, /* a state of many parts */
    PARAM_BODIES = 0,
    RATE_HZ = 10,
};

typedef struct stage {
    virtual_match *run;
    raw_peer *peer;
    uint32_t acknowledged; /* parts */
} stage;

static stage open_stage(void)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), PLAYERS, 0);
    setup.match.sim.params[PARAM_BODIES] = BODIES;
    setup.match.sim.tick_rate_hz = RATE_HZ;
    setup.match.sim.players = PLAYERS + 1;
    setup.match.start_players = PLAYERS;
    setup.match.spectators_max = 4;
    setup.match.spectator_delay_ticks = 2;
    setup.match.join_bytes_per_s = LS_BLOB_RATE_MIN;
    stage here = {.run = checked_match_create(&setup)};
    virtual_match_run_to_tick(here.run, 30);
    here.peer = raw_peer_create(here.run);
    here.peer->takes_no_parts = true;
    virtual_match_run(here.run, 5 * MS);
    return here;
}

/* A sign of life, which says that it has stepped all there is. */
static void claim_all(const stage *here)
{
    ls_inputs_header header = raw_peer_inputs_header(here->peer);
    header.chain_tick = ls_match_tick(here->run->match);
    header.first = header.next;
    raw_peer_send_inputs(here->peer, &header, 0);
}

static void come(const stage *here, bool is_spectator)
{
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    message.body.hello.is_spectator = is_spectator;
    raw_peer_send_message(here->peer, &message);
    virtual_match_run(here->run, 5 * MS);
    raw_peer_say_ready(here->peer);
    for (uint32_t i = 0; i < 10 && here->peer->heard[LS_MESSAGE_JOIN] == 0; i++) {
        claim_all(here);
        virtual_match_run(here->run, 500 * MS);
    }
    cr_assert_eq(here->peer->heard[LS_MESSAGE_JOIN], 1);
    cr_assert_gt(here->peer->join.blob_bytes, 64 * LS_BLOB_PART_BYTES);
}

/* Says that all packets have come, and part after part was not in them. */
static void acknowledge(const stage *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint32_t received = here->peer->heard[LS_MESSAGE_BLOB_PART];
    ls_blob_ack ack = {.blob = here->peer->join.blob,
                       .first = here->acknowledged,
                       .received = received,
                       .newest = received > 0 ? received - 1 : 0};
    raw_peer_send(here->peer, LS_CHANNEL_UNRELIABLE, bytes, ls_blob_ack_write(&ack, bytes));
}

/* For so long, unless it is let go; returns how long it was. */
static uint64_t stay(stage *here, uint64_t longest_ns, bool acknowledges)
{
    uint64_t came_ns = here->run->now_ns;
    for (uint32_t turn = 0; here->run->now_ns - came_ns < longest_ns && !here->peer->is_closed;
         turn++) {
        here->acknowledged += turn % 80 == 79;
        if (acknowledges) {
            acknowledge(here);
        }
        if (turn % 10 == 0) {
            claim_all(here);
        }
        virtual_match_run(here->run, 50 * MS);
    }
    return here->run->now_ns - came_ns;
}

static void check_bytes(const stage *here)
{
    uint64_t sent = (uint64_t)here->peer->heard[LS_MESSAGE_BLOB_PART] *
                    (LS_BLOB_PART_BYTES + LS_PEER_LINK_HEADER_BYTES);
    uint64_t limit = ls_handover_bytes_max(here->peer->join.blob_bytes);
    cr_expect(sent > limit / 2 && sent <= limit, "%u of %u", (unsigned)sent, (unsigned)limit);
    cr_expect_eq(here->peer->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
}

static void close_stage(const stage *here)
{
    ls_match_stop(here->run->match, virtual_match_server_ns(here->run));
    virtual_match_run_to_end(here->run);
    close_run(here->run);
    raw_peer_destroy(here->peer);
}

Test(state_limits, a_joiner_that_takes_nothing_and_says_that_it_steps_is_let_go)
{
    stage here = open_stage();
    come(&here, false);
    cr_expect_leq(stay(&here, 30 * SECOND, false), 11 * SECOND);
    cr_expect_eq(here.peer->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
    close_stage(&here);
}

Test(state_limits, a_joiner_that_takes_its_state_at_a_trickle_is_sent_so_much_of_it)
{
    stage here = open_stage();
    come(&here, false);
    cr_expect_lt(stay(&here, 60 * SECOND, true), 60 * SECOND);
    check_bytes(&here);
    close_stage(&here);
}

Test(state_limits, a_spectator_that_takes_its_state_at_a_trickle_is_sent_so_much_of_it)
{
    stage here = open_stage();
    come(&here, true);
    cr_expect_lt(stay(&here, 60 * SECOND, true), 60 * SECOND);
    check_bytes(&here);
    close_stage(&here);
}
