/* How many packets go each way: as configured, and with `auto` twice as many in just the direction
 * that loses many. The same match is played at any rate. */
#include "lockstep/protocol/wire/send_rate.h"
#include "lockstep/tests/match/match_test.h"

enum {
    PLAYERS = 3,
    TICK_RATE_HZ = 60,
    SECONDS = 10,
};

/* Packets of one client in one second of the match, each way. */
typedef struct rates {
    double up;
    double down;
} rates;

static ls_transport_traffic traffic_of(const virtual_client *client)
{
    uint32_t slot = report_of(client).slot;
    return ls_transport_traffic_of(client->run->network->server, slot_of(client->run, slot).peer);
}

/* As the server counts them: `up` are those that arrived. */
static rates measure(virtual_client *client)
{
    ls_transport_traffic before = traffic_of(client);
    virtual_match_run(client->run, SECONDS * SECOND);
    ls_transport_traffic after = traffic_of(client);
    return (rates){.up = (double)(after.packets_received - before.packets_received) / SECONDS,
                   .down = (double)(after.packets_sent - before.packets_sent) / SECONDS};
}

static virtual_match *start(ls_send_rate send_rate, uint64_t delay_ns)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.send_rate = send_rate;
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.link.delay_ns = delay_ns;
    virtual_match *run = match_at(&setup, 120);
    return run;
}

static void check_rate(ls_send_rate send_rate, uint64_t delay_ns, double packets)
{
    virtual_match *run = start(send_rate, delay_ns);
    rates seen = measure(run->clients[1]);
    cr_assert(seen.down >= packets - 1 && seen.down <= packets + 1, "%f down", seen.down);
    cr_assert(seen.up >= packets - 1 && seen.up <= packets + 1, "%f up", seen.up);
    close_run(run);
}

Test(send_rate, half_sends_one_packet_for_two_ticks)
{
    check_rate(LS_SEND_HALF, 30 * MS, TICK_RATE_HZ / 2.0);
}

Test(send_rate, tick_sends_one_packet_a_tick)
{
    check_rate(LS_SEND_TICK, 30 * MS, TICK_RATE_HZ);
}

Test(send_rate, double_sends_two_packets_a_tick)
{
    check_rate(LS_SEND_DOUBLE, 30 * MS, 2.0 * TICK_RATE_HZ);
}

Test(send_rate, auto_sends_one_packet_a_tick_while_nothing_is_lost)
{
    check_rate(LS_SEND_AUTO, 30 * MS, TICK_RATE_HZ);
}

Test(send_rate, a_spectator_sends_two_packets_a_second)
{
    enum {
        DOWN = TICK_RATE_HZ / 6
    };
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.match.spectators_max = 1;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = match_at(&setup, 120);
    virtual_client_setup spectator = virtual_client_setup_default(run);
    spectator.session.is_spectator = true;
    virtual_client *client = virtual_match_add_client(run, &spectator);
    virtual_match_run(run, 5 * SECOND);
    cr_assert_eq(report_of(client).state, LS_SESSION_PLAYING);
    ls_peer_id peer = PLAYERS + 1;
    ls_transport_traffic before = ls_transport_traffic_of(run->network->server, peer);
    virtual_match_run(run, SECONDS * SECOND);
    ls_transport_traffic after = ls_transport_traffic_of(run->network->server, peer);
    uint64_t up = after.packets_received - before.packets_received;
    uint64_t down = after.packets_sent - before.packets_sent;
    cr_assert(up >= 2 * SECONDS - 1 && up <= 2 * SECONDS + 1, "%lu up", (unsigned long)up);
    cr_assert(down >= DOWN * SECONDS - 1 && down <= DOWN * SECONDS + 1, "%lu down",
              (unsigned long)down);
    close_run(run);
}

/* Bytes of one client in a second, each way. */
static rates measure_bytes(uint64_t delay_ns)
{
    virtual_match *run = start(LS_SEND_AUTO, delay_ns);
    virtual_match_run(run, 4 * SECOND); /* until both directions are known to lose nothing */
    ls_transport_traffic before = traffic_of(run->clients[1]);
    virtual_match_run(run, SECONDS * SECOND);
    ls_transport_traffic after = traffic_of(run->clients[1]);
    close_run(run);
    return (rates){.up = (double)(after.bytes_received - before.bytes_received) / SECONDS,
                   .down = (double)(after.bytes_sent - before.bytes_sent) / SECONDS};
}

Test(send_rate, a_longer_round_trip_costs_no_bytes_while_nothing_is_lost)
{
    rates near = measure_bytes(30 * MS);
    rates far = measure_bytes(300 * MS);
    cr_assert_leq(far.up, near.up * 1.05, "%f and %f up", near.up, far.up);
    cr_assert_leq(far.down, near.down * 1.05, "%f and %f down", near.down, far.down);
}

/* More packets in a row than carry a tick. */
Test(send_rate, what_is_lost_in_a_burst_comes_after_a_round_trip)
{
    enum {
        DELAY_MS = 100
    };
    virtual_match *run = start(LS_SEND_AUTO, DELAY_MS * MS);
    virtual_match_run(run, 4 * SECOND);
    virtual_client *client = run->clients[1];
    const ls_link_config clean = {.delay_ns = DELAY_MS * MS};
    const ls_link_config cut = {.delay_ns = DELAY_MS * MS, .loss_ppm = 1000000};
    ls_memory_client_set_links(client->transport, &cut, &cut);
    virtual_match_run(run, 100 * MS);
    ls_memory_client_set_links(client->transport, &clean, &clean);
    ls_tick closed = ls_match_tick(run->match);
    virtual_match_run(run, (2 * DELAY_MS + DELAY_MS + 50) * MS);
    cr_assert_geq(report_of(client).confirmed, closed);
    close_run(run);
}

/* At 5 ticks a second an answer is there before the half of a tick has passed. */
Test(send_rate, double_sends_nothing_twice_that_is_acknowledged)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.send_rate = LS_SEND_DOUBLE;
    setup.match.sim.tick_rate_hz = 5;
    virtual_match *run = match_at(&setup, 20);
    rates seen = measure(run->clients[1]);
    /* There is the heartbeat of 100 ms. */
    cr_assert_leq(seen.down, 11);
    virtual_match_destroy(run);
}

static void check_auto(const ls_link_config *up, const ls_link_config *down, rates expected)
{
    virtual_match *run = start(LS_SEND_AUTO, 30 * MS);
    virtual_client *lossy = run->clients[1];
    ls_memory_client_set_links(lossy->transport, up, down);
    virtual_match_run(run, 8 * SECOND); /* until two windows of packets have been measured */
    rates seen = measure(lossy);
    cr_assert_float_eq(seen.up, expected.up, expected.up / 20, "%f up", seen.up);
    cr_assert_float_eq(seen.down, expected.down, expected.down / 20, "%f down", seen.down);
    virtual_client_set_links(lossy, &run->setup.link);
    virtual_match_run(run, 20 * SECOND);
    seen = measure(lossy);
    cr_assert_float_eq(seen.up, TICK_RATE_HZ, 1, "%f up after it", seen.up);
    cr_assert_float_eq(seen.down, TICK_RATE_HZ, 1, "%f down after it", seen.down);
    rates other = measure(run->clients[0]);
    cr_assert_float_eq(other.up, TICK_RATE_HZ, 1);
    cr_assert_float_eq(other.down, TICK_RATE_HZ, 1);
    close_run(run);
}

Test(send_rate, auto_doubles_the_direction_that_loses_many_and_no_other)
{
    ls_link_config clean = {.delay_ns = 30 * MS};
    ls_link_config lossy = {.delay_ns = 30 * MS, .loss_ppm = 100000};
    check_auto(&clean, &lossy, (rates){.up = TICK_RATE_HZ, .down = 2 * TICK_RATE_HZ});
    check_auto(&lossy, &clean, (rates){.up = 0.9 * 2 * TICK_RATE_HZ, .down = TICK_RATE_HZ});
}

/* Mean of all clients, when each way of each of them loses so much; `closed`: ticks of that time.
 */
static rates measure_all_losing(uint32_t loss_ppm, ls_tick *closed)
{
    virtual_match *run = start(LS_SEND_AUTO, 50 * MS);
    const ls_link_config lossy = {.delay_ns = 50 * MS, .loss_ppm = loss_ppm};
    rates sum = {0, 0};
    for (uint32_t i = 0; i < PLAYERS; i++) {
        virtual_client_set_links(run->clients[i], &lossy);
    }
    virtual_match_run(run, 12 * SECOND); /* until the loss is reported, and the lead is known */
    ls_tick first = ls_match_tick(run->match);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        rates seen = measure(run->clients[i]);
        sum.up += seen.up / PLAYERS;
        sum.down += seen.down / PLAYERS;
    }
    *closed = (ls_match_tick(run->match) - first) / PLAYERS;
    close_run(run);
    return sum;
}

/* The tick comes a tick later with the next packet. In a match of so few one in six is sent twice.
 */
Test(send_rate, auto_sends_few_ticks_twice_where_some_packets_are_lost)
{
    ls_tick closed = 0;
    rates seen = measure_all_losing(50000, &closed);
    cr_assert_float_eq(seen.down, TICK_RATE_HZ + TICK_RATE_HZ / LS_SEND_SOME_TICKS, 3, "%f down",
                       seen.down);
    cr_assert_float_eq(closed, SECONDS * TICK_RATE_HZ, 1);
}

Test(send_rate, auto_sends_all_ticks_twice_where_packets_in_a_row_are_lost)
{
    ls_tick closed = 0;
    rates seen = measure_all_losing(150000, &closed);
    cr_assert_float_eq(seen.down, 2 * TICK_RATE_HZ, 2, "%f down", seen.down);
    cr_assert_float_eq(closed, SECONDS * TICK_RATE_HZ, 1);
}

/* A match of clients whose inputs are delayed, by which packets may wait. */
static virtual_match *start_saving(uint32_t input_delay_ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.send_rate = LS_SEND_SAVING;
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.match.input_delay_ticks = input_delay_ticks;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = match_at(&setup, 120);
    virtual_match_run(run, 4 * SECOND); /* until both directions are known to lose nothing */
    return run;
}

static void check_saving(uint32_t input_delay_ticks, double packets)
{
    virtual_match *run = start_saving(input_delay_ticks);
    uint64_t before = substituted(run);
    rates seen = measure(run->clients[1]);
    cr_assert_float_eq(seen.up, packets, 1, "%f up", seen.up);
    cr_assert_float_eq(seen.down, packets, 1, "%f down", seen.down);
    cr_assert_eq(substituted(run), before);
    close_run(run);
}

Test(send_rate, saving_sends_one_packet_for_the_ticks_that_inputs_are_delayed)
{
    check_saving(0, TICK_RATE_HZ);
    check_saving(1, TICK_RATE_HZ / 2.0);
    check_saving(3, TICK_RATE_HZ / 4.0);
    check_saving(20, TICK_RATE_HZ / 4.0); /* 67 ms */
}

Test(send_rate, saving_is_auto_while_packets_are_lost)
{
    virtual_match *run = start_saving(3);
    const ls_link_config lossy = {.delay_ns = 30 * MS, .loss_ppm = 20000};
    virtual_client_set_links(run->clients[1], &lossy);
    virtual_match_run(run, 20 * SECOND);
    rates seen = measure(run->clients[1]);
    cr_assert_geq(seen.up, 0.9 * TICK_RATE_HZ, "%f up", seen.up);
    cr_assert_geq(seen.down, 0.9 * TICK_RATE_HZ, "%f down", seen.down);
    virtual_client_set_links(run->clients[1], &run->setup.link);
    virtual_match_run(run, 20 * SECOND);
    seen = measure(run->clients[1]);
    cr_assert_float_eq(seen.up, TICK_RATE_HZ / 4.0, 1, "%f up after it", seen.up);
    cr_assert_float_eq(seen.down, TICK_RATE_HZ / 4.0, 1, "%f down after it", seen.down);
    close_run(run);
}

/* The way up becomes longer than the inputs are early. */
Test(send_rate, saving_ends_with_the_first_late_input)
{
    virtual_match *run = start_saving(3);
    const ls_link_config slow = {.delay_ns = 150 * MS};
    ls_memory_client_set_links(run->clients[1]->transport, &slow, &run->setup.link);
    virtual_match_run(run, 250 * MS); /* until they are missing, a way down, and the next input */
    ls_transport_traffic before = traffic_of(run->clients[1]);
    virtual_match_run(run, 500 * MS);
    ls_transport_traffic after = traffic_of(run->clients[1]);
    cr_assert_geq(after.packets_sent - before.packets_sent, TICK_RATE_HZ / 2 - 1);
    cr_assert_geq(after.packets_received - before.packets_received, TICK_RATE_HZ / 2 - 8);
    close_run(run);
}

/* Packets that arrive up, or leave down, in half a second, a round trip after the next packet
 * behind the first lost one has come. */
static rates measure_after_loss(const ls_link_config *up, const ls_link_config *down)
{
    enum {
        DELAY_MS = 30,
        PACKET_MS = 67,
    };
    virtual_match *run = start_saving(3);
    virtual_client *client = run->clients[1];
    ls_memory_client_set_links(client->transport, up, down);
    virtual_match_run(run, PACKET_MS * MS);
    virtual_client_set_links(client, &run->setup.link);
    virtual_match_run(run, (PACKET_MS + 2 * DELAY_MS + 17) * MS);
    ls_transport_traffic before = traffic_of(client);
    virtual_match_run(run, 500 * MS);
    ls_transport_traffic after = traffic_of(client);
    close_run(run);
    return (rates){.up = (double)(after.packets_received - before.packets_received),
                   .down = (double)(after.packets_sent - before.packets_sent)};
}

Test(send_rate, saving_ends_a_round_trip_after_the_first_lost_packet)
{
    const ls_link_config clean = {.delay_ns = 30 * MS};
    const ls_link_config cut = {.delay_ns = 30 * MS, .loss_ppm = 1000000};
    rates seen = measure_after_loss(&cut, &clean);
    cr_expect_geq(seen.up, TICK_RATE_HZ / 2 - 1, "%f up", seen.up);
    seen = measure_after_loss(&clean, &cut);
    cr_expect_geq(seen.down, TICK_RATE_HZ / 2 - 1, "%f down", seen.down);
}

/* Bots that press nothing, whose packets are lost on the way up: how many arrive. */
static double measure_unchanged(ls_late_rule rule, uint64_t *substituted)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.late_rule = rule;
    setup.match.sim.tick_rate_hz = TICK_RATE_HZ;
    setup.match.sim.params[TEST_PARAM_BYTES] = 0;
    setup.link.delay_ns = 30 * MS;
    virtual_match *run = match_at(&setup, 120);
    const ls_link_config clean = {.delay_ns = 30 * MS};
    const ls_link_config lossy = {.delay_ns = 30 * MS, .loss_ppm = 100000};
    ls_memory_client_set_links(run->clients[1]->transport, &lossy, &clean);
    virtual_match_run(run, 12 * SECOND); /* until the loss is reported, and the lead is known */
    rates seen = measure(run->clients[1]);
    ls_memory_client_set_links(run->clients[1]->transport, &clean, &clean);
    virtual_match_run(run, 1 * SECOND);
    *substituted = slot_of(run, report_of(run->clients[1]).slot).inputs_substituted;
    close_run(run);
    return seen.up;
}

Test(send_rate, auto_sends_once_what_is_replaced_with_itself)
{
    uint64_t substituted = 0;
    double up = measure_unchanged(LS_LATE_REPEAT, &substituted);
    cr_assert_float_eq(up, 0.9 * TICK_RATE_HZ, 3, "%f up", up);
    cr_assert_eq(substituted, 0);
}

Test(send_rate, auto_sends_all_twice_where_the_match_would_wait)
{
    uint64_t substituted = 0;
    double up = measure_unchanged(LS_LATE_WAIT, &substituted);
    cr_assert_float_eq(up, 0.9 * 2 * TICK_RATE_HZ, 6, "%f up", up);
}

Test(send_rate, every_rate_plays_the_same_match_on_any_network)
{
    static const ls_link_config links[] = {
        {.delay_ns = 0},
        {.delay_ns = 40 * MS, .jitter_ns = 30 * MS, .loss_ppm = 200000, .duplicate_ppm = 100000},
    };
    for (uint32_t i = 0; i < 2 * LS_SEND_RATE_COUNT * 2; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 301);
        setup.match.send_rate = (ls_send_rate)(i / 4);
        setup.match.late_rule = i & 1 ? LS_LATE_WAIT : LS_LATE_REPEAT;
        setup.link = links[i >> 1 & 1];
        virtual_match *run = checked_match_create(&setup);
        play_out(run);
    }
}
