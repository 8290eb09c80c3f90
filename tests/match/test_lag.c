/* The lag report: a cause is planted at one player, and the match names that player and that
 * cause, and says of everybody else that all is well. The delay that it advises then really helps.
 */
#include "lockstep/tests/match/lag_plant.h"

#include "lockstep/common/maths/rng.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PLAYERS = 4,
    PLANTED = 2, /* the client that is not well */
    SECONDS = 20,
    SEEDS = 3,
};

/* The trouble of one player. */
typedef struct plant {
    ls_lag_cause cause;
    ls_link_config up;
    ls_link_config down;
    uint32_t frame_hz; /* 0: 60 */
    uint64_t pause_ns; /* stands still for so long once a second */
} plant;

#define WELL                                                                                       \
    {                                                                                              \
        .delay_ns = 20 * MS                                                                        \
    }

static virtual_match *start(const plant *planted, uint64_t seed, uint32_t delay_ticks)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.seed = seed;
    setup.clients = 0;
    setup.match.input_delay_ticks = delay_ticks;
    setup.link = (ls_link_config)WELL;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        if (i == PLANTED && planted->frame_hz > 0) {
            client.frame_hz = planted->frame_hz;
        }
        virtual_match_add_client(run, &client);
    }
    virtual_match_run_to_tick(run, 60);
    ls_memory_client_set_links(run->clients[PLANTED]->transport, &planted->up, &planted->down);
    return run;
}

static void play(virtual_match *run, const plant *planted)
{
    for (uint32_t second = 0; second < SECONDS; second++) {
        run->clients[PLANTED]->is_paused = planted->pause_ns > 0;
        virtual_match_run(run, planted->pause_ns);
        run->clients[PLANTED]->is_paused = false;
        virtual_match_run(run, SECOND - planted->pause_ns);
    }
}

static void check_lag(const virtual_match *run, uint32_t client, ls_lag_cause cause, uint64_t seed)
{
    uint32_t slot = report_of(run->clients[client]).slot;
    ls_lag lags[] = {slot_of(run, slot).lag, ls_match_lag_of(run->match, slot)};
    for (uint32_t i = 0; i < 2; i++) {
        ls_text text = {{0}};
        ls_match_lag_text(run->match, &lags[i], &text);
        cr_expect_eq(lags[i].cause, cause, "seed %lu, client %u is %s, not %s: %s",
                     (unsigned long)seed, client, ls_lag_cause_name(lags[i].cause),
                     ls_lag_cause_name(cause), text.bytes);
    }
}

static void plant_and_check(const plant *planted)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        virtual_match *run = start(planted, seed, 0);
        play(run, planted);
        for (uint32_t i = 0; i < PLAYERS; i++) {
            check_lag(run, i, i == PLANTED ? planted->cause : LS_LAG_FINE, seed);
        }
        close_run(run);
    }
}

#define LOSSY(ppm)                                                                                 \
    {                                                                                              \
        .delay_ns = 20 * MS, .loss_ppm = (ppm)                                                     \
    }
#define UNEVEN(ms)                                                                                 \
    {                                                                                              \
        .delay_ns = 20 * MS, .jitter_ns = (ms)*MS                                                  \
    }

Test(lag, a_planted_cause_is_named_and_everybody_else_is_fine)
{
    static const plant plants[] = {
        {.cause = LS_LAG_FINE, .up = WELL, .down = WELL},
        {.cause = LS_LAG_COMPUTER, .up = WELL, .down = WELL, .frame_hz = 8},
        {.cause = LS_LAG_COMPUTER, .up = WELL, .down = WELL, .pause_ns = 250 * MS},
        {.cause = LS_LAG_UPLINK, .up = LOSSY(60000), .down = WELL},
        {.cause = LS_LAG_DOWNLINK, .up = WELL, .down = LOSSY(60000)},
        {.cause = LS_LAG_UPLINK, .up = UNEVEN(50), .down = WELL},
        {.cause = LS_LAG_DOWNLINK, .up = WELL, .down = UNEVEN(50)},
    };
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        plant_and_check(&plants[i]);
    }
}

Test(lag, a_player_that_is_cut_off_is_silent)
{
    plant planted = {.cause = LS_LAG_SILENT, .up = {.is_cut = true}, .down = {.is_cut = true}};
    virtual_match *run = start(&planted, 1, 0);
    virtual_match_run(run, 9 * SECOND);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        check_lag(run, i, i == PLANTED ? LS_LAG_SILENT : LS_LAG_FINE, 1);
    }
    virtual_match_destroy(run);
}

/* Under the rule `wait` everybody stands still with the one who is waited for, and hears who it is.
 */
Test(lag, a_wait_is_held_against_the_one_who_is_waited_for)
{
    static const uint64_t pauses_ms[] = {1000, 3000}; /* waited for, and dropped */
    for (size_t i = 0; i < sizeof pauses_ms / sizeof pauses_ms[0]; i++) {
        virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
        setup.match.late_rule = LS_LATE_WAIT;
        setup.match.wait_limit_ms = 1500;
        virtual_match *run = checked_match_create(&setup);
        virtual_match_run(run, 5 * SECOND);
        run->clients[PLANTED]->is_paused = true;
        virtual_match_run(run, pauses_ms[i] * MS);
        run->clients[PLANTED]->is_paused = false;
        virtual_match_run(run, 4 * SECOND);
        for (uint32_t client = 0; client < PLAYERS; client++) {
            ls_lag lag = slot_of(run, report_of(run->clients[client]).slot).lag;
            if (client != PLANTED) {
                check_lag(run, client, LS_LAG_PLAYER, i);
                cr_expect_eq(lag.whom, PLANTED);
            }
        }
        virtual_match_run(run, 10 * SECOND);
        for (uint32_t client = 0; client < PLAYERS; client++) {
            ls_lag lag = slot_of(run, report_of(run->clients[client]).slot).lag;
            cr_expect(client == PLANTED || lag.cause == LS_LAG_FINE, "client %u", client);
        }
        close_run(run);
    }
}

/* The fault lies with none of the players. */
Test(lag, a_server_that_stands_still_is_the_cause)
{
    plant planted = {.up = WELL, .down = WELL};
    virtual_match *run = start(&planted, 1, 0);
    for (uint32_t i = 0; i < 30; i++) {
        run->is_server_paused = true;
        virtual_match_run(run, 80 * MS);
        run->is_server_paused = false;
        virtual_match_run(run, 620 * MS);
    }
    for (uint32_t i = 0; i < PLAYERS; i++) {
        check_lag(run, i, LS_LAG_SERVER, 1);
    }
    virtual_match_destroy(run);
}

Test(lag, of_two_causes_the_worse_is_named)
{
    static const plant plants[] = {
        {.cause = LS_LAG_UPLINK, .up = LOSSY(200000), .down = LOSSY(30000)},
        {.cause = LS_LAG_UPLINK,
         .up = {.delay_ns = 20 * MS, .jitter_ns = 150 * MS, .loss_ppm = 25000},
         .down = WELL},
        {.cause = LS_LAG_DOWNLINK,
         .up = LOSSY(25000),
         .down = {.delay_ns = 20 * MS, .jitter_ns = 30 * MS, .loss_ppm = 250000}},
        {.cause = LS_LAG_COMPUTER, .up = LOSSY(30000), .down = WELL, .pause_ns = 250 * MS},
    };
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        plant_and_check(&plants[i]);
    }
}

/* The way up takes 100 ms longer for a second, then no longer, again and again: nothing is lost. */
Test(lag, a_way_that_becomes_longer_is_that_link)
{
    plant planted = {.cause = LS_LAG_UPLINK, .up = WELL, .down = WELL};
    ls_link_config longer = {.delay_ns = 120 * MS};
    virtual_match *run = start(&planted, 1, 0);
    for (uint32_t i = 0; i < 5; i++) {
        virtual_match_run(run, 3 * SECOND);
        ls_memory_client_set_links(run->clients[PLANTED]->transport, &longer, &planted.down);
        virtual_match_run(run, SECOND);
        ls_memory_client_set_links(run->clients[PLANTED]->transport, &planted.up, &planted.down);
    }
    for (uint32_t i = 0; i < PLAYERS; i++) {
        check_lag(run, i, i == PLANTED ? LS_LAG_UPLINK : LS_LAG_FINE, 1);
    }
    virtual_match_destroy(run);
}

/* ---- the cure ---- */

static ls_lag lag_with(const plant *planted, uint64_t seed, uint32_t delay_ticks)
{
    virtual_match *run = start(planted, seed, delay_ticks);
    play(run, planted);
    ls_lag lag = ls_match_lag_of(run->match, report_of(run->clients[PLANTED]).slot);
    virtual_match_destroy(run);
    return lag;
}

Test(lag, the_delay_that_is_advised_mends_late_inputs)
{
    static const ls_link_config links[] = {
        {.delay_ns = 20 * MS, .loss_ppm = 200000},
        {.delay_ns = 20 * MS, .loss_ppm = 350000},
        {.delay_ns = 20 * MS, .jitter_ns = 120 * MS, .loss_ppm = 100000},
        {.delay_ns = 20 * MS, .loss_ppm = 400000, .jitter_ns = 20 * MS},
    };
    uint32_t advised = 0;
    for (uint64_t i = 0; i < sizeof links / sizeof links[0] * SEEDS; i++) {
        plant planted = {.up = links[i / SEEDS], .down = WELL};
        ls_lag lag = lag_with(&planted, i + 1, 0);
        if (lag.suggested_input_delay_ticks == 0) {
            cr_expect_lt(lag.late_ppm, LS_LAG_LATE_PPM);
            continue;
        }
        advised++;
        uint32_t late_ppm = lag_with(&planted, i + 1, lag.suggested_input_delay_ticks).late_ppm;
        cr_expect_lt(late_ppm, LS_LAG_LATE_PPM, "link %lu: %u instead of %u with a delay of %u",
                     (unsigned long)(i / SEEDS), late_ppm, lag.late_ppm,
                     lag.suggested_input_delay_ticks);
    }
    cr_assert_gt(advised, 2 * SEEDS, "only %u were advised anything", advised);
}

Test(lag, the_delay_follows_each_players_own_link)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.adapts_input_delay = true;
    setup.link = (ls_link_config)WELL;
    virtual_match *run = match_at(&setup, 60);
    ls_link_config bad = {.delay_ns = 20 * MS, .loss_ppm = 400000};
    ls_memory_client_set_links(run->clients[PLANTED]->transport, &bad, &setup.link);
    virtual_match_run(run, 30 * SECOND);
    uint32_t slot = report_of(run->clients[PLANTED]).slot;
    cr_assert_gt(slot_of(run, slot).input_delay_ticks, 0);
    uint64_t late = slot_of(run, slot).inputs_substituted;
    virtual_match_run(run, 20 * SECOND);
    late = slot_of(run, slot).inputs_substituted - late;
    cr_assert_lt(late, 20 * 60 / 100, "%lu of 1,200", (unsigned long)late);
    cr_assert_eq(report_of(run->clients[PLANTED]).input_delay_ticks,
                 slot_of(run, slot).input_delay_ticks);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        cr_assert(i == slot || slot_of(run, i).input_delay_ticks == 0);
    }
    /* Once the link is well, it is taken off again, tick by tick. */
    virtual_client_set_links(run->clients[PLANTED], &setup.link);
    virtual_match_run(run, 100 * SECOND);
    cr_assert_eq(slot_of(run, slot).input_delay_ticks, 0, "still %u",
                 slot_of(run, slot).input_delay_ticks);
    close_run(run);
}

Test(lag, a_delay_that_is_set_in_mid_match_costs_no_input_and_concerns_one_player)
{
    plant planted = {.up = WELL, .down = WELL};
    virtual_match *run = start(&planted, 1, 0);
    virtual_match_run(run, 10 * SECOND);
    uint32_t slot = report_of(run->clients[PLANTED]).slot;
    uint64_t substituted = slot_of(run, slot).inputs_substituted;
    int64_t slack_ns = slot_of(run, slot).slack_ns;
    ls_match_set_input_delay(run->match, slot, 5);
    virtual_match_run(run, 5 * SECOND);
    int64_t more_ns = slot_of(run, slot).slack_ns - slack_ns;
    int64_t expected_ns = 5 * (int64_t)SECOND / 60;
    cr_assert(more_ns > expected_ns - 4 * (int64_t)MS && more_ns < expected_ns + 4 * (int64_t)MS,
              "%ld us", (long)(more_ns / 1000));
    cr_assert_eq(slot_of(run, slot).input_delay_ticks, 5);
    ls_match_set_input_delay(run->match, slot, 0);
    virtual_match_run(run, 5 * SECOND);
    cr_assert_lt(slot_of(run, slot).slack_ns, slack_ns + 4 * (int64_t)MS);
    cr_assert_eq(slot_of(run, slot).inputs_substituted, substituted);
    cr_assert_eq(report_of(run->clients[PLANTED]).inputs_skipped, 0);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        cr_assert_eq(report_of(run->clients[i]).input_delay_ticks, 0);
    }
    close_run(run);
}

Test(lag, there_is_an_event_when_a_cause_comes_and_when_it_goes)
{
    plant planted = {.up = WELL, .down = WELL};
    virtual_match *run = start(&planted, 1, 0);
    uint32_t slot = report_of(run->clients[PLANTED]).slot;
    virtual_match_run(run, 10 * SECOND);
    cr_assert_null(virtual_match_find(run, LS_MATCH_LAG));
    ls_link_config bad = {.delay_ns = 20 * MS, .loss_ppm = 100000};
    ls_memory_client_set_links(run->clients[PLANTED]->transport, &bad, &planted.down);
    virtual_match_run(run, 20 * SECOND);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_LAG, slot), 1);
    const char *text = virtual_match_find(run, LS_MATCH_LAG)->event.text.bytes;
    cr_assert(strstr(text, "% of uplink packets lost"), "%s", text);
    virtual_client_set_links(run->clients[PLANTED], &planted.up);
    virtual_match_run(run, 20 * SECOND);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_LAG, slot), 2);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_LAG, LS_PLAYERS_MAX), 2, "of nobody else");
    virtual_match_destroy(run);
}

/* ---- planted causes ---- */

#define VICTIM (1u << 1)
#define TWO (1u << 1 | 1u << 2)
#define ALL 0xfu
#define CPU(burst, every, who)                                                                     \
    {                                                                                              \
        .kind = PLANT_CPU, .victims = (who), .burst_ns = (burst)*MS, .every_ns = (every)*MS        \
    }
#define SERVER_CPU(burst, every)                                                                   \
    {                                                                                              \
        .kind = PLANT_SERVER_CPU, .burst_ns = (burst)*MS, .every_ns = (every)*MS                   \
    }

static const lag_plant plants[] = {
    {.name = "quiet"},
    {.name = "quiet, waiting", .is_waiting = true},
    {.name = "cpu of A", .trouble = CPU(120, 900, 1u << 0)},
    {.name = "cpu of B, long", .trouble = CPU(1500, 6000, 1u << 1)},
    {.name = "cpu of B, very long", .trouble = CPU(6000, 20000, 1u << 1)},
    {.name = "cpu of B, waiting", .trouble = CPU(250, 1500, 1u << 1), .is_waiting = true},
    {.name = "cpu of the server", .trouble = SERVER_CPU(90, 800)},
    {.name = "cpu of the server, long", .trouble = SERVER_CPU(3000, 20000)},
    {.name = "cpu of the server, waiting", .trouble = SERVER_CPU(150, 1100), .is_waiting = true},
    {.name = "slow frames", .trouble = {.kind = PLANT_FRAMES, .victims = VICTIM, .frame_hz = 8}},
    {.name = "late inputs",
     .trouble = {.kind = PLANT_LATE_INPUTS, .victims = VICTIM, .burst_ns = 90 * MS}},
    {.name = "step up", .trouble = {.kind = PLANT_UP, .victims = VICTIM, .link.delay_ns = 90 * MS}},
    {.name = "step up, waiting",
     .trouble = {.kind = PLANT_UP, .victims = VICTIM, .link.delay_ns = 200 * MS},
     .is_waiting = true},
    {.name = "step down",
     .trouble = {.kind = PLANT_DOWN, .victims = VICTIM, .link.delay_ns = 120 * MS}},
    {.name = "loss up", .trouble = {.kind = PLANT_UP, .victims = VICTIM, .link.loss_ppm = 80000}},
    {.name = "loss down",
     .trouble = {.kind = PLANT_DOWN, .victims = VICTIM, .link.loss_ppm = 80000}},
    {.name = "loss up of all",
     .trouble = {.kind = PLANT_UP, .victims = ALL, .link.loss_ppm = 100000}},
    {.name = "jitter up", .trouble = {.kind = PLANT_UP, .victims = TWO, .link.jitter_ns = 60 * MS}},
    {.name = "jitter down",
     .trouble = {.kind = PLANT_DOWN, .victims = TWO, .link.jitter_ns = 60 * MS}},
    {.name = "jitter down of all",
     .trouble = {.kind = PLANT_DOWN, .victims = ALL, .link.jitter_ns = 60 * MS}},
    {.name = "rate up",
     .trouble = {.kind = PLANT_UP,
                 .victims = VICTIM,
                 .link = {.rate_bps = 20000, .bucket_bytes = 3000, .queue_bytes = 6000}}},
    {.name = "rate down",
     .trouble = {.kind = PLANT_DOWN,
                 .victims = VICTIM,
                 .link = {.rate_bps = 20000, .bucket_bytes = 3000, .queue_bytes = 6000}}},
    {.name = "cpu of A and a little loss",
     .trouble = CPU(250, 1000, 1u << 0),
     .lesser = {.kind = PLANT_UP, .victims = 1u << 0, .link.loss_ppm = 30000}},
    {.name = "server and a slow player",
     .trouble = SERVER_CPU(200, 900),
     .lesser = CPU(60, 2000, 1u << 2)},
};

Test(lag, each_side_names_the_cause_that_was_planted_and_nobody_else)
{
    ls_text faults = {{0}};
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        faults.bytes[0] = 0;
        lag_plant_play(&plants[i], &faults);
        cr_expect_str_empty(faults.bytes, "%s", faults.bytes);
    }
}

#define UP(...)                                                                                    \
    {                                                                                              \
        .kind = PLANT_UP, .victims = VICTIM, .link = { __VA_ARGS__ }                               \
    }
#define SLOW_LINK .rate_bps = 20000, .bucket_bytes = 3000, .queue_bytes = 6000

/* Each program is called some milliseconds late. The computer is no cause of what a link loses or
 * delays by more; nor is anything wrong where that is all. */
Test(lag, a_busy_machine_is_not_blamed_for_what_a_link_does)
{
    static const lag_plant busy[] = {
        {.name = "4 ms", .turn_ms = 4},
        {.name = "6 ms", .turn_ms = 6},
        {.name = "4 ms, rate", .trouble = UP(SLOW_LINK), .turn_ms = 4},
        {.name = "5 ms, rate", .trouble = UP(SLOW_LINK), .turn_ms = 5},
        {.name = "5 ms, a little loss", .trouble = UP(.loss_ppm = 80000), .turn_ms = 5},
        {.name = "5 ms, loss", .trouble = UP(.loss_ppm = 250000), .turn_ms = 5},
        {.name = "5 ms, much loss", .trouble = UP(.loss_ppm = 390000), .turn_ms = 5},
        {.name = "6 ms, jitter", .trouble = UP(.jitter_ns = 60 * MS), .turn_ms = 6},
        {.name = "5 ms, cpu", .trouble = CPU(120, 900, VICTIM), .turn_ms = 5},
    };
    for (size_t i = 0; i < sizeof busy / sizeof busy[0]; i++) {
        ls_text faults = {{0}};
        lag_plant_play(&busy[i], &faults);
        cr_expect_str_empty(faults.bytes, "%s", faults.bytes);
    }
}

/* ---- drawn at random ---- */

/* Between two times, each scale as likely as another. */
static uint64_t draw_ns(ls_rng *rng, uint64_t least_ns, uint64_t most_ns)
{
    while (most_ns > least_ns && most_ns > 2 * least_ns && ls_rng_below(rng, 2) == 0) {
        least_ns *= 2;
    }
    uint64_t span_ms = (LS_MIN(most_ns, 2 * least_ns) - least_ns) / MS;
    return least_ns + ls_rng_below(rng, (uint32_t)span_ms + 1) * MS;
}

static ls_link_config draw_link(ls_rng *rng, uint64_t dt_ns)
{
    ls_link_config link = {0};
    switch (ls_rng_below(rng, 4)) {
    case 0:
        link.delay_ns = draw_ns(rng, LS_MAX(60 * MS, 3 * dt_ns), 400 * MS);
        break;
    case 1:
        link.loss_ppm = 50000 + ls_rng_below(rng, 250000);
        break;
    case 2:
        link.jitter_ns = draw_ns(rng, LS_MAX(40 * MS, 2 * dt_ns), 200 * MS);
        break;
    default:
        link.rate_bps = 300 * (LS_NS_PER_SECOND / dt_ns);
        link.bucket_bytes = 2000;
        link.queue_bytes = 4000;
        break;
    }
    return link;
}

static lag_plant draw_plant(uint64_t seed)
{
    ls_rng rng = ls_rng_make(seed, 77);
    lag_plant drawn = {.seed = seed, .players = 2 + ls_rng_below(&rng, 3)};
    drawn.rtt_ms = 10 + ls_rng_below(&rng, 241);
    drawn.tick_rate_hz = 20 + ls_rng_below(&rng, 101);
    drawn.is_waiting = ls_rng_below(&rng, 2) == 0;
    uint64_t dt_ns = SECOND / drawn.tick_rate_hz;
    lag_trouble *trouble = &drawn.trouble;
    trouble->kind = (lag_plant_kind)ls_rng_below(&rng, PLANT_KIND_COUNT);
    trouble->victims = 1 + ls_rng_below(&rng, (1u << drawn.players) - 1);
    trouble->burst_ns = draw_ns(&rng, LS_MAX(40 * MS, 5 * dt_ns / 2), 20 * SECOND);
    if (trouble->victims == (1u << drawn.players) - 1) {
        trouble->burst_ns = LS_MIN(trouble->burst_ns, 5 * SECOND); /* or the match is over */
    }
    trouble->every_ns = trouble->burst_ns * 3 + ls_rng_below(&rng, 2000) * MS;
    if (trouble->kind == PLANT_LATE_INPUTS) {
        trouble->burst_ns = draw_ns(&rng, LS_MAX(80 * MS, 3 * dt_ns), 300 * MS);
        trouble->every_ns = 0;
    } else if (trouble->kind == PLANT_FRAMES) {
        trouble->every_ns = 0;
        trouble->frame_hz = 4 + ls_rng_below(&rng, LS_MIN(drawn.tick_rate_hz / 3, 14) - 3);
    } else if (trouble->kind == PLANT_UP || trouble->kind == PLANT_DOWN) {
        trouble->every_ns = 0;
        trouble->link = draw_link(&rng, dt_ns);
    }
    return drawn;
}

static void name_plant(lag_plant *drawn, char *name, size_t size)
{
    static const char *const kinds[PLANT_KIND_COUNT] = {
        "quiet", "cpu", "server cpu", "slow frames", "late inputs", "up", "down"};
    const lag_trouble *trouble = &drawn->trouble;
    const ls_link_config *link = &trouble->link;
    snprintf(name, size,
             "seed %lu: %s of %x, %u players, rtt %u ms, %u Hz, %s, %lu of %lu ms, %u fps, delay "
             "%lu, loss %u, jitter %lu, rate %lu",
             (unsigned long)drawn->seed, kinds[trouble->kind], trouble->victims, drawn->players,
             drawn->rtt_ms, drawn->tick_rate_hz, drawn->is_waiting ? "wait" : "repeat",
             (unsigned long)(trouble->burst_ns / MS), (unsigned long)(trouble->every_ns / MS),
             trouble->frame_hz, (unsigned long)(link->delay_ns / MS), link->loss_ppm,
             (unsigned long)(link->jitter_ns / MS), (unsigned long)link->rate_bps);
    drawn->name = name;
}

Test(lag, each_side_names_causes_drawn_at_random)
{
    const char *more = getenv("LS_LAG_SEEDS");
    uint64_t seeds = more ? strtoull(more, NULL, 10) : 25;
    const char *from = getenv("LS_LAG_FROM");
    for (uint64_t seed = from ? strtoull(from, NULL, 10) : 1; seed <= seeds; seed++) {
        char name[256];
        ls_text faults = {{0}};
        lag_plant drawn = draw_plant(seed);
        name_plant(&drawn, name, sizeof name);
        lag_plant_play(&drawn, &faults);
        cr_expect_str_empty(faults.bytes, "%s", faults.bytes);
    }
}
