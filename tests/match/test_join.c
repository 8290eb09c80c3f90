/* Players who come into a match that runs. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

#include <stdio.h>

#define KIB (UINT32_C(1) << 10)

/* ---- a state of any size ---- */

/* Half or all of it noise that no compressor makes smaller, a word of which changes with each tick.
 */
typedef struct ballast_state {
    ls_rng rng;
    uint64_t total;
    uint32_t words[];
} ballast_state;

enum {
    PARAM_KIB,
    PARAM_NOISE,
};

static const ls_param ballast_params[] = {
    [PARAM_KIB] = LS_PARAM_INTEGER_OF("size", "KiB", "size of the state", 64, 1, 65536),
    [PARAM_NOISE] = LS_PARAM_INTEGER_OF("noise", "", "1: all of it is noise", 0, 0, 1),
};

static uint32_t word_count(const ls_sim_config *config)
{
    return (uint32_t)config->params[PARAM_KIB] * KIB / sizeof(uint32_t);
}

static size_t ballast_bytes(const ls_sim_config *config)
{
    return sizeof(ballast_state) + word_count(config) * sizeof(uint32_t);
}

static uint32_t ballast_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    const ls_field list[] = {
        LS_FIELD_OF(ballast_state, rng.state, LS_FIELD_U64, ""),
        LS_FIELD_OF(ballast_state, rng.increment, LS_FIELD_U64, ""),
        LS_FIELD_OF(ballast_state, total, LS_FIELD_U64, ""),
        {"words", "", LS_FIELD_U32, 1, word_count(config), sizeof(ballast_state), 4},
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status ballast_init(const ls_sim_config *config, void *block, ls_text *why)
{
    (void)why;
    ballast_state *state = block;
    state->rng = ls_rng_make(config->seed, 4);
    for (uint32_t i = 0; i < word_count(config); i += config->params[PARAM_NOISE] ? 1 : 2) {
        state->words[i] = ls_rng_next(&state->rng);
    }
    return LS_OK;
}

static void ballast_run(const ls_step *step)
{
    ballast_state *state = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        for (uint32_t i = 0; i < input->size; i++) {
            state->total += input->bytes[i] + slot;
        }
    }
    state->words[step->inputs->tick % word_count(step->config)] = ls_rng_next(&state->rng);
}

static const ls_pass ballast_passes[] = {{"run", ballast_run}};

static const ls_simulation ballast = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .name = "ballast",
    .version = 1,
    .summary = "a state of any size",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = 5,
    .input_bytes_max = 4,
    .params = ballast_params,
    .param_count = sizeof ballast_params / sizeof ballast_params[0],
    .state_bytes = ballast_bytes,
    .fields = ballast_fields,
    .init = ballast_init,
    .passes = ballast_passes,
    .pass_count = 1,
};

static uint64_t ballast_hash(const ls_sim_config *config, const void *state)
{
    return ls_hash_bytes(state, ballast_bytes(config), 0);
}

/* The same as an engine that tells its state hash and cannot be saved. */
static ls_simulation closed_ballast(void)
{
    ls_simulation simulation = ballast;
    simulation.fields = NULL;
    simulation.hash = ballast_hash;
    return simulation;
}

/* ---- the match ---- */

static const ls_link_config far = {.delay_ns = 50 * MS, .jitter_ns = 4 * MS};

static ls_match_config match_of(const ls_simulation *simulation, uint32_t seats)
{
    ls_match_config config = ls_match_config_default(simulation);
    config.sim.players = seats;
    config.start_players = 2;
    config.finds_causes = false;
    return config;
}

static ls_session_config player(void)
{
    ls_session_config config = ls_session_config_default();
    config.finds_causes = false;
    config.reconnect_ms = 60000;
    return config;
}

static void play_on(virtual_match *run, const ls_link_config *link)
{
    ls_session_config session = player();
    for (uint32_t i = 0; i < run->setup.match.start_players; i++) {
        add_client_session(run, &session, link);
    }
    virtual_match_run(run, 5 * SECOND);
    cr_assert_gt(ls_match_tick(run->match), 60);
}

static virtual_match *start(const ls_match_config *config, const ls_link_config *link)
{
    virtual_match *run = open_match(config, 7);
    play_on(run, link);
    return run;
}

/* Everybody plays to the last. */
static void close_playing(virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        check_plays(run->clients[i]);
    }
    close_match(run);
}

Test(join, a_late_player_plays_with_the_others)
{
    ls_match_config config = match_of(ls_builtin_simulation_named("arena"), 3);
    ls_session_config session = player();
    virtual_match *run = start(&config, &far);
    virtual_client *late = add_client_session(run, &session, &far);
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_PLAYING, 5 * SECOND));
    cr_assert_eq(newest_join(late).source, LS_JOIN_SNAPSHOT);
    virtual_match_run(run, 5 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        check_plays(run->clients[i]);
    }
    ls_match_slot slot = seat_of(late);
    cr_assert_gt(slot.inputs_on_time, 200);
    cr_assert_gt(slot.hashes_compared, 200);
    cr_assert_leq(slot.inputs_substituted, 30, "%u", (unsigned)slot.inputs_substituted);
    close_match(run);
}

Test(join, many_join_at_once)
{
    ls_match_config config = match_of(ls_builtin_simulation_named("units"), 6);
    ls_session_config session = player();
    ls_link_config lossy = far;
    lossy.loss_ppm = 50000;
    virtual_match *run = start(&config, &lossy);
    for (uint32_t i = 0; i < 4; i++) {
        add_client_session(run, &session, &lossy);
        virtual_match_run(run, SECOND / 3);
    }
    virtual_match_run(run, 15 * SECOND);
    close_playing(run);
}

Test(join, a_player_that_predicts_joins_as_well)
{
    ls_match_config config = match_of(ls_builtin_simulation_named("arena"), 3);
    ls_session_config session = player();
    session.predict_ticks = 12;
    virtual_match *run = start(&config, &far);
    virtual_client *late = add_client_session(run, &session, &far);
    virtual_match_run(run, 8 * SECOND);
    ls_session_report report = report_of(late);
    cr_assert_eq(report.state, LS_SESSION_PLAYING);
    cr_assert_gt(report.shown_tick, report.tick);
    ls_match_slot slot = ls_match_slot_of(run->match, report.slot);
    cr_assert_gt(slot.hashes_compared, 200);
    close_match(run);
}

Test(join, a_match_that_ends_while_somebody_joins_ends_for_all)
{
    ls_match_config config = match_of(&ballast, 3);
    ls_session_config session = player();
    config.sim.params[PARAM_KIB] = 2048;
    config.ticks = 420;
    virtual_match *run = start(&config, &far);
    add_client_session(run, &session, &far);
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(report_of(run->clients[i]).status, LS_OK);
        cr_assert_eq(report_of(run->clients[i]).tick, 420);
    }
    close_match(run);
}

Test(join, a_simulation_that_cannot_save_is_joined_by_its_history)
{
    ls_simulation simulation = closed_ballast();
    ls_match_config config = match_of(&simulation, 4);
    ls_session_config session = player();
    ls_link_config lossy = far;
    lossy.loss_ppm = 50000;
    virtual_match *run = start(&config, &lossy);
    virtual_client *first = add_client_session(run, &session, &lossy);
    cr_assert(virtual_client_run_to_state(first, LS_SESSION_PLAYING, 10 * SECOND));
    cr_assert_eq(newest_join(first).source, LS_JOIN_HISTORY);
    virtual_match_run(run, 20 * SECOND);
    virtual_client *second = add_client_session(run, &session, &lossy);
    cr_assert(virtual_client_run_to_state(second, LS_SESSION_PLAYING, 10 * SECOND));
    cr_assert_eq(newest_join(second).source, LS_JOIN_HISTORY);
    cr_assert_geq(report_of(second).steps, 20 * 60, "from the start");

    /* A client that was away for long begins at the start again. */
    cut_link(first, true);
    virtual_match_run(run, 25 * SECOND);
    cut_link(first, false);
    virtual_match_run(run, 10 * SECOND);
    cr_assert_eq(newest_join(first).source, LS_JOIN_HISTORY);
    cr_assert_eq(report_of(first).rejoins, 1);
    close_playing(run);
}

Test(join, a_player_that_joins_as_the_match_ends_gets_to_the_final_state)
{
    ls_match_config config = match_of(ls_builtin_simulation_named("arena"), 3);
    ls_session_config session = player();
    virtual_match *run = start(&config, &far);
    virtual_client *late = add_client_session(run, &session, &far);
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_JOINING, SECOND));
    ls_match_stop(run->match, virtual_match_server_ns(run));
    ls_tick last = ls_match_tick(run->match);
    virtual_match_run_to_end(run);
    cr_assert_eq(report_of(late).status, LS_OK);
    cr_assert_eq(report_of(late).tick, last);
    cr_assert(seat_of(late).has_finished);
    close_match(run);
}

/* ---- how long it takes, and what it costs the others ---- */

typedef struct size_case {
    uint32_t kib;
    uint32_t loss_ppm;
    uint64_t join_max_ns; /* from connecting to playing */
    bool is_noise;
} size_case;

/* Without the check: it hashes every state, and these are large. The server compares some. */
static virtual_match *start_large(const ls_match_config *config, const ls_link_config *link)
{
    virtual_setup setup = setup_for(config, 7);
    virtual_match *run = virtual_match_create(&setup);
    play_on(run, link);
    return run;
}

static void close_large(virtual_match *run)
{
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 0);
    for (uint32_t i = 0; i < run->client_count; i++) {
        cr_assert_gt(seat_of(run->clients[i]).hashes_compared, 0);
    }
    virtual_match_destroy(run);
}

/* The same match once more, into which no client comes late. */
static uint64_t p99_without(const ls_match_config *config, const ls_link_config *link, uint64_t ns)
{
    virtual_match *run = start_large(config, link);
    virtual_match_run(run, ns);
    uint64_t p99_ns = report_of(run->clients[0]).confirm_latency_p99_ns;
    close_large(run);
    return p99_ns;
}

static void join_of_size(const size_case *given)
{
    ls_match_config config = match_of(&ballast, 3);
    ls_session_config session = player();
    ls_link_config link = far;
    config.sim.params[PARAM_KIB] = given->kib;
    config.sim.params[PARAM_NOISE] = given->is_noise;
    config.hash_interval_ticks = 60; /* large states are slow to hash */
    link.loss_ppm = given->loss_ppm;
    virtual_match *run = start_large(&config, &link);
    uint64_t begun_ns = run->now_ns;
    virtual_client *late = add_client_session(run, &session, &link);
    bool has_joined = virtual_client_run_to_state(late, LS_SESSION_PLAYING, given->join_max_ns);
    cr_assert(has_joined, "%u KiB, %u ppm: %u bytes after %.1f s", given->kib, given->loss_ppm,
              report_of(late).transferred_bytes, (double)given->join_max_ns / 1e9);
    uint64_t took_ns = run->now_ns - begun_ns;
    virtual_match_run(run, 2 * SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(report_of(run->clients[i]).state, LS_SESSION_PLAYING);
    }
    uint64_t with_ns = report_of(run->clients[0]).confirm_latency_p99_ns;
    uint64_t without_ns = p99_without(&config, &link, took_ns + 2 * SECOND);
    fprintf(stderr,
            "%5u KiB, loss %4.1f %%: joined after %.2f s, others' p99 %.1f ms, %.1f ms without\n",
            given->kib, given->loss_ppm / 1e4, (double)took_ns / 1e9, (double)with_ns / 1e6,
            (double)without_ns / 1e6);
    cr_assert_leq(with_ns, without_ns + 20 * MS);
    close_large(run);
}

/* The highest rate is 1 MiB/s. */
Test(join, one_and_sixteen_mebibytes_join_and_nobody_notices)
{
    static const size_case cases[] = {
        {1024, 0, 1600 * MS, true},         {1024, 0, 1200 * MS, false},
        {1024, 50000, 2 * SECOND, false},   {16384, 0, 12 * SECOND, false},
        {16384, 50000, 12 * SECOND, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        join_of_size(&cases[i]);
    }
}

/* ---- slow links ---- */

/* The newcomer's link carries so much, and what waits for it stands in a queue of 64 KiB. */
static ls_link_config slow_link(uint32_t kbit_per_s, uint32_t loss_ppm)
{
    return (ls_link_config){.delay_ns = 50 * MS,
                            .keeps_order = true,
                            .loss_ppm = loss_ppm,
                            .rate_bps = kbit_per_s * UINT64_C(1000),
                            .bucket_bytes = 1536,
                            .queue_bytes = 65536};
}

/* Half of the state compresses. The ticks travel beside it. */
static void join_slowly(uint32_t kbit_per_s, uint32_t loss_ppm, double time_max, double bytes_max)
{
    enum {
        COMPRESSED_KIB = 703,
        TICK_BYTES_PER_S = 4500,
    };
    ls_match_config config = match_of(&ballast, 3);
    ls_session_config session = player();
    ls_link_config slow = slow_link(kbit_per_s, loss_ppm);
    config.sim.params[PARAM_KIB] = 2 * COMPRESSED_KIB;
    config.hash_interval_ticks = 60;
    virtual_match *run = start_large(&config, &far);
    uint64_t begun_ns = run->now_ns;
    virtual_client *late = add_client_session(run, &session, &slow);
    bool has_joined = virtual_client_run_to_state(late, LS_SESSION_PLAYING, 300 * SECOND);
    cr_assert(has_joined, "%u bytes have come", report_of(late).transferred_bytes);
    double took = (double)(run->now_ns - begun_ns) / SECOND;
    ls_transport_traffic traffic = ls_transport_traffic_of(run->network->server, late->server);
    double least = COMPRESSED_KIB * 1024.0 / (kbit_per_s * 125.0 - TICK_BYTES_PER_S);
    fprintf(stderr, "%u kbit/s, loss %u %%: joined after %.1f s, %.2f of the least, %u bytes\n",
            kbit_per_s, loss_ppm / 10000, took, took / least, (unsigned)traffic.bytes_sent);
    cr_expect_leq(took, time_max * least);
    cr_expect_leq((double)traffic.bytes_sent,
                  bytes_max * COMPRESSED_KIB * 1024 + TICK_BYTES_PER_S * took);
    cr_expect_eq(report_of(late).rejoins, 0);
    virtual_match_run(run, 2 * SECOND);
    cr_expect_eq(report_of(late).state, LS_SESSION_PLAYING);
    close_large(run);
}

Test(join, a_player_behind_96_kbit_joins_a_state_of_703_kib)
{
    join_slowly(96, 0, 1.3, 1.15);
    join_slowly(96, 200000, 1.7, 1.45);
}

/* One who comes while a state is on its way behind 96 kbit/s gets another one. */
Test(join, a_player_behind_96_kbit_and_those_who_come_later_join_beside_each_other)
{
    ls_match_config config = match_of(&ballast, 5);
    ls_session_config session = player();
    ls_link_config slow = slow_link(96, 0);
    config.sim.params[PARAM_KIB] = 512;
    config.hash_interval_ticks = 60;
    virtual_match *run = start_large(&config, &far);
    virtual_client *late = add_client_session(run, &session, &slow);
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_JOINING, SECOND));
    for (uint32_t i = 0; i < 2; i++) {
        virtual_match_run(run, 5 * SECOND);
        virtual_client *next = add_client_session(run, &session, &far);
        cr_assert(virtual_client_run_to_state(next, LS_SESSION_PLAYING, 2 * SECOND));
        cr_assert_eq(report_of(late).state, LS_SESSION_JOINING);
    }
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_PLAYING, 40 * SECOND));
    cr_expect_eq(report_of(late).rejoins, 0);
    cr_expect_eq(late->connections, 1);
    virtual_match_run(run, 2 * SECOND);
    close_large(run);
}

/* ---- fast links ---- */

enum {
    FRAMES = 1, /* a client looks at the state that has come when it draws */
};

typedef struct speed_case {
    uint32_t kib;
    uint32_t mbit_per_s;
    uint32_t rtt_ms;
    uint32_t queue_kib;
    uint32_t round_trips_max; /* beyond 1.2 times what the link takes for the bytes */
} speed_case;

static void join_at_speed(const speed_case *given)
{
    ls_match_config config = match_of(&ballast, 3);
    ls_session_config session = player();
    ls_link_config link = {.delay_ns = given->rtt_ms * MS / 2,
                           .keeps_order = true,
                           .rate_bps = given->mbit_per_s * UINT64_C(1000000),
                           .bucket_bytes = 1536,
                           .queue_bytes = given->queue_kib * KIB};
    config.sim.params[PARAM_KIB] = given->kib;
    config.sim.params[PARAM_NOISE] = 1;
    config.hash_interval_ticks = 60;
    config.join_bytes_per_s = LS_BLOB_RATE_MAX;
    virtual_match *run = start_large(&config, &far);
    uint64_t begun_ns = run->now_ns;
    virtual_client *late = add_client_session(run, &session, &link);
    bool has_joined = virtual_client_run_to_state(late, LS_SESSION_PLAYING, 60 * SECOND);
    cr_assert(has_joined, "%u bytes have come", report_of(late).transferred_bytes);
    double took = (double)(run->now_ns - begun_ns) / SECOND;
    ls_transport_traffic traffic = ls_transport_traffic_of(run->network->server, late->server);
    double goal = 1.2 * given->kib * KIB / (given->mbit_per_s * 125e3) +
                  given->round_trips_max * given->rtt_ms / 1e3 + FRAMES * (double)DT_NS / SECOND;
    virtual_match_run(run, 2 * SECOND);
    fprintf(stderr,
            "%5u KiB, %4u Mbit/s, RTT %3u ms: joined after %.3f s, goal %.3f, %.2f of the bytes, "
            "others' p99 %.1f ms, its own %.1f ms\n",
            given->kib, given->mbit_per_s, given->rtt_ms, took, goal,
            (double)traffic.bytes_sent / KIB / given->kib,
            (double)report_of(run->clients[0]).confirm_latency_p99_ns / 1e6,
            (double)report_of(late).confirm_latency_p99_ns / 1e6);
    cr_expect_leq(took, goal);
    cr_expect_leq((double)traffic.bytes_sent, 1.15 * given->kib * KIB + 4500 * (took + 2));
    cr_expect_eq(report_of(late).state, LS_SESSION_PLAYING);
    close_large(run);
}

/* All of the state is noise, and the server may send as fast as it can. Two of the four round trips
 * are the handshake's. Trains of 10, 160 and 2,500 packets take one more where 11,000 are on their
 * way. */
Test(join, a_player_joins_at_the_speed_of_its_link)
{
    static const speed_case cases[] = {
        {1024, 8, 20, 256, 4},       {1024, 8, 100, 256, 4},     {1024, 100, 20, 1024, 4},
        {1024, 100, 100, 1024, 4},   {1024, 1000, 20, 4096, 4},  {1024, 1000, 100, 4096, 4},
        {16384, 100, 20, 1024, 4},   {16384, 100, 100, 1024, 4}, {16384, 1000, 20, 4096, 4},
        {16384, 1000, 100, 4096, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        join_at_speed(&cases[i]);
    }
}

/* The link is gone for `away_ns` when a good part of the state has come. */
static void check_goes_on(uint64_t away_ns)
{
    ls_match_config config = match_of(&ballast, 3);
    ls_session_config session = player();
    ls_link_config slow = slow_link(400, 0);
    config.sim.params[PARAM_KIB] = 1406;
    config.hash_interval_ticks = 60;
    virtual_match *run = start_large(&config, &far);
    virtual_client *late = add_client_session(run, &session, &slow);
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_JOINING, SECOND));
    virtual_match_run(run, 11 * SECOND);
    uint32_t had = report_of(late).transferred_bytes;
    cr_assert_gt(had, report_of(late).transfer_bytes / 2);
    ls_link_config cut = slow;
    cut.is_cut = true;
    virtual_client_set_links(late, &cut);
    virtual_match_run(run, away_ns);
    virtual_client_set_links(late, &slow);
    uint64_t back_ns = run->now_ns;
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_JOINING, 5 * SECOND));
    cr_expect_geq(report_of(late).transferred_bytes, had, "it began again");
    cr_assert(virtual_client_run_to_state(late, LS_SESSION_PLAYING, 12 * SECOND));
    cr_expect_gt(late->connections, 1, "the link was not lost");
    fprintf(stderr, "away for %.0f s: plays %.1f s after the link was back\n",
            (double)away_ns / SECOND, (double)(run->now_ns - back_ns) / SECOND);
    virtual_match_run(run, 2 * SECOND);
    cr_expect_eq(report_of(late).state, LS_SESSION_PLAYING);
    close_large(run);
}

Test(join, a_player_whose_link_was_lost_on_the_way_is_sent_the_rest)
{
    check_goes_on(6 * SECOND);
    check_goes_on(11 * SECOND);
}

/* ---- places to join ---- */

/* Many who join at a time: so many are sent the state, and the others wait for theirs; those who
 * hold a seat and are never ready keep no other from joining. */

enum {
    HONEST = 2,
    SEATS = 6, /* that are free */
    PEERS = 16,
};

typedef struct stage {
    virtual_match *run;
    raw_peer *peers[PEERS];
    uint32_t peer_count;
} stage;

/* Two play in a match with seats for six more. */
static stage open_stage(uint32_t joiners_max)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, 1200);
    setup.match.sim.players = HONEST + SEATS;
    setup.match.start_players = HONEST;
    setup.match.timeout_ms = 2000;
    setup.match.joiners_max = joiners_max;
    stage here = {.run = checked_match_create(&setup)};
    virtual_match_run_to_tick(here.run, 100);
    return here;
}

static raw_peer *come_from(stage *here, uint64_t origin)
{
    const ls_link_config link = {.delay_ns = 1 * MS};
    const raw_peer_owner owner = {.origin = origin};
    raw_peer *peer = raw_peer_create_for(here->run, &link, &owner);
    here->peers[here->peer_count++] = peer;
    peer->takes_no_parts = true;
    virtual_match_run(here->run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

static raw_peer *come(stage *here)
{
    return come_from(here, 0);
}

static raw_peer *come_ready(stage *here)
{
    raw_peer *peer = come(here);
    raw_peer_say_ready(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

static uint32_t count_joining(const stage *here)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < here->peer_count; i++) {
        count += here->peers[i]->heard[LS_MESSAGE_JOIN];
    }
    return count;
}

/* All that are still there give signs of life. */
static void stay(const stage *here, uint64_t ns)
{
    uint64_t end_ns = here->run->now_ns + ns;
    while (here->run->now_ns < end_ns) {
        for (uint32_t i = 0; i < here->peer_count; i++) {
            if (!here->peers[i]->is_closed) {
                ls_inputs_header header = raw_peer_inputs_header(here->peers[i]);
                raw_peer_send_inputs(here->peers[i], &header, 0);
            }
        }
        virtual_match_run(here->run, 100 * MS);
    }
}

static void close_stage(const stage *here)
{
    virtual_match_run_to_end(here->run);
    for (uint32_t i = 0; i < HONEST; i++) {
        check_played_to_the_end(here->run, here->run->clients[i]);
    }
    close_run(here->run);
    for (uint32_t i = 0; i < here->peer_count; i++) {
        raw_peer_destroy(here->peers[i]);
    }
}

Test(join, no_more_are_sent_the_state_at_a_time_than_allowed_and_others_wait)
{
    stage here = open_stage(3);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(come_ready(&here)->heard[LS_MESSAGE_REFUSE], 0);
    }
    cr_assert_eq(count_joining(&here), 3);
    stay(&here, 5 * SECOND); /* the first get no further, and make room */
    cr_assert_eq(count_joining(&here), 5);
    close_stage(&here);
}

Test(join, newcomers_that_are_never_ready_keep_no_other_from_joining)
{
    stage here = open_stage(3);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(come(&here)->heard[LS_MESSAGE_OFFER], 1);
    }
    cr_assert_eq(come_ready(&here)->heard[LS_MESSAGE_JOIN], 1);
    close_stage(&here);
}

/* READY, and then they take nothing of their states. */
static void fill_with_idlers(stage *here, uint64_t first_origin, bool is_one)
{
    for (uint32_t i = 0; i < SEATS; i++) {
        raw_peer *idler = come_from(here, is_one ? first_origin : first_origin + i);
        raw_peer_say_ready(idler);
        virtual_match_run(here->run, 5 * MS);
    }
}

Test(join, those_who_take_nothing_of_their_state_keep_no_other_from_joining)
{
    for (int i = 0; i < 4; i++) {
        stage here = open_stage(i / 2 == 0 ? 4 : SEATS);
        fill_with_idlers(&here, 70, i % 2 != 0);
        cr_assert_eq(come_from(&here, 50)->heard[LS_MESSAGE_REFUSE], 1, "all had their time yet");
        stay(&here, 4 * SECOND);
        for (uint64_t origin = 51; origin < 55; origin++) {
            raw_peer *newcomer = come_from(&here, origin);
            cr_assert_eq(newcomer->heard[LS_MESSAGE_OFFER], 1, "origin %lu", (unsigned long)origin);
            raw_peer_say_ready(newcomer);
            newcomer->takes_no_parts = false;
            stay(&here, 4 * SECOND); /* those who are sent an older state have their time */
            cr_assert_eq(newcomer->heard[LS_MESSAGE_JOIN], 1, "origin %lu", (unsigned long)origin);
        }
        close_stage(&here);
    }
}

/* They leave, and come again at once. */
Test(join, an_origin_that_let_a_state_go_makes_room_at_once)
{
    stage here = open_stage(4);
    raw_peer *first = come_from(&here, 70);
    raw_peer_say_ready(first);
    stay(&here, 4 * SECOND);
    raw_peer_send_kind(first, LS_MESSAGE_GOODBYE);
    virtual_match_run(here.run, 5 * MS);
    fill_with_idlers(&here, 70, true);
    cr_assert_eq(come_from(&here, 51)->heard[LS_MESSAGE_OFFER], 1);
    close_stage(&here);
}

Test(join, no_newcomer_joins_a_match_that_takes_none)
{
    stage here = open_stage(0);
    cr_assert_eq(come(&here)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    close_stage(&here);
}
