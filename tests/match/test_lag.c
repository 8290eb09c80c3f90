/* The lag report: a cause is planted at one player, and the match names that player and that
 * cause, and says of everybody else that all is well. The delay that it advises then really helps.
 */
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/match/match_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Lag plant: a cause of lag that is planted in a virtual match: computers or the server stand
 * still, a link becomes worse; and what each side has to say of it, at all times, and of nobody
 * else. Never judges lag itself. */

typedef enum lag_plant_kind {
    PLANT_NOTHING,
    PLANT_CPU,         /* the victims' computers stand still for burst_ns, every every_ns */
    PLANT_SERVER_CPU,  /* the server does */
    PLANT_FRAMES,      /* the victims draw at frame_hz only */
    PLANT_LATE_INPUTS, /* their inputs are made in frames, which last up to burst_ns longer */
    PLANT_UP,          /* their uplink becomes `link`, for burst_ns every every_ns (0: it stays) */
    PLANT_DOWN,        /* their downlink does */
    PLANT_KIND_COUNT,
} lag_plant_kind;

/* One trouble of some of the machines. */
typedef struct lag_trouble {
    lag_plant_kind kind;
    uint32_t victims; /* a bit for each client */
    uint64_t burst_ns;
    uint64_t every_ns;
    uint32_t frame_hz;
    ls_link_config link; /* its delay comes on top of the usual one */
} lag_trouble;

typedef struct lag_plant {
    const char *name;
    lag_trouble trouble;
    lag_trouble lesser;    /* at the same time, and less; it may be named for nobody else either */
    uint32_t players;      /* 0: 4 */
    uint32_t rtt_ms;       /* 0: 40 */
    uint32_t tick_rate_hz; /* 0: 60 */
    uint32_t turn_ms;      /* all programs are called this often alone: their machine is busy */
    bool is_waiting;       /* rule wait, else repeat */
    uint64_t seed;         /* 0: 1 */
} lag_plant;

enum {
    BEFORE_S = 6, /* everybody has found a pace, and nothing is said */
    PLANTED_S = 14,
    STEP_MS = 10,
};

typedef struct lag_play {
    const lag_plant *plant;
    virtual_match *run;
    uint32_t players;
    ls_link_config usual;
    uint32_t server_said[LS_PLAYERS_MAX]; /* of each client, a bit for each cause */
    uint32_t client_said[LS_PLAYERS_MAX];
    uint32_t steps[LS_PLAYERS_MAX][LS_LAG_CAUSE_COUNT]; /* in which the server said so */
    uint32_t whom[LS_PLAYERS_MAX];                      /* slots that it was said to wait for */
} lag_play;

/* ---- what is done ---- */

static virtual_match *begin(const lag_plant *plant, lag_play *play)
{
    play->players = plant->players > 0 ? plant->players : 4;
    play->usual = ls_link_config_default();
    play->usual.delay_ns = (plant->rtt_ms > 0 ? plant->rtt_ms : 40) * MS / 2;
    virtual_setup setup = virtual_setup_default(test_simulation(), play->players, 0);
    setup.seed = plant->seed > 0 ? plant->seed : 1;
    setup.clients = 0;
    setup.link = play->usual;
    setup.step_ns = plant->turn_ms * MS;
    setup.match.late_rule = plant->is_waiting ? LS_LATE_WAIT : LS_LATE_REPEAT;
    setup.match.wait_budget_ms = 0;
    if (plant->tick_rate_hz > 0) {
        setup.match.sim.tick_rate_hz = plant->tick_rate_hz;
    }
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < play->players; i++) {
        virtual_client_setup client = virtual_client_setup_default(run);
        bool is_victim = (plant->trouble.victims >> i & 1u) != 0;
        bool is_slow = is_victim && plant->trouble.kind == PLANT_LATE_INPUTS;
        client.session.makes_inputs_between_frames = !is_slow;
        client.session.reconnect_ms = 60000;
        virtual_match_add_client(run, &client);
    }
    return run;
}

static void set_link(const lag_play *play, uint32_t victims, bool is_up, const ls_link_config *link)
{
    for (uint32_t i = 0; i < play->players; i++) {
        virtual_client *client = play->run->clients[i];
        if (victims >> i & 1u && client->transport) {
            ls_link_config up = is_up ? *link : client->up;
            ls_link_config down = is_up ? client->down : *link;
            client->up = up;
            client->down = down;
            ls_memory_client_set_links(client->transport, &up, &down);
        }
    }
}

static void set_frames(const lag_play *play, const lag_trouble *trouble)
{
    for (uint32_t i = 0; i < play->players; i++) {
        virtual_client *client = play->run->clients[i];
        if ((trouble->victims >> i & 1u) == 0) {
            continue;
        }
        if (trouble->kind == PLANT_FRAMES) {
            client->frame_ns = SECOND / trouble->frame_hz;
        } else {
            client->frame_jitter_ns = trouble->burst_ns;
        }
    }
}

/* The trouble begins or ends. */
static void set_trouble(const lag_play *play, const lag_trouble *trouble, bool is_on)
{
    ls_link_config link = trouble->link;
    link.delay_ns += play->usual.delay_ns;
    switch (trouble->kind) {
    case PLANT_CPU:
        for (uint32_t i = 0; i < play->players; i++) {
            if (trouble->victims >> i & 1u) {
                play->run->clients[i]->is_paused = is_on;
            }
        }
        return;
    case PLANT_SERVER_CPU:
        if (is_on != play->run->is_server_paused) {
            (is_on ? virtual_match_pause_server : virtual_match_resume_server)(play->run);
        }
        return;
    case PLANT_FRAMES:
    case PLANT_LATE_INPUTS:
        set_frames(play, trouble);
        return;
    case PLANT_UP:
    case PLANT_DOWN:
        set_link(play, trouble->victims, trouble->kind == PLANT_UP, is_on ? &link : &play->usual);
        return;
    case PLANT_NOTHING:
    case PLANT_KIND_COUNT:
        return;
    }
}

static bool is_on_at(const lag_trouble *trouble, uint64_t since_ns)
{
    return trouble->every_ns == 0 || since_ns % trouble->every_ns < trouble->burst_ns;
}

/* ---- what is said ---- */

static void listen(lag_play *play)
{
    for (uint32_t i = 0; i < play->players; i++) {
        const virtual_client *client = play->run->clients[i];
        const ls_session_report report = report_of(client);
        ls_lag lag = slot_of(play->run, report.slot).lag;
        play->server_said[i] |= 1u << lag.cause;
        play->steps[i][lag.cause]++;
        play->client_said[i] |= 1u << report.lag.cause;
        play->whom[i] |= lag.cause == LS_LAG_PLAYER ? 1u << lag.whom : 0;
    }
}

static void run_for(lag_play *play, uint64_t seconds, bool is_planted)
{
    const lag_trouble *troubles[] = {&play->plant->trouble, &play->plant->lesser};
    bool was_on[2] = {false, false};
    for (uint64_t at_ns = 0; at_ns < seconds * SECOND; at_ns += STEP_MS * MS) {
        for (uint32_t i = 0; is_planted && i < 2; i++) {
            bool is_on = is_on_at(troubles[i], at_ns);
            if (is_on != was_on[i]) {
                set_trouble(play, troubles[i], is_on);
            }
            was_on[i] = is_on;
        }
        virtual_match_run(play->run, STEP_MS * MS);
        listen(play);
    }
    for (uint32_t i = 0; i < 2 && is_planted; i++) {
        bool goes_on = troubles[i]->every_ns == 0;
        set_trouble(play, troubles[i], goes_on);
    }
}

static ls_lag_cause cause_of(lag_plant_kind kind)
{
    static const ls_lag_cause causes[PLANT_KIND_COUNT] = {
        LS_LAG_FINE,     LS_LAG_COMPUTER, LS_LAG_SERVER,  LS_LAG_COMPUTER,
        LS_LAG_COMPUTER, LS_LAG_UPLINK,   LS_LAG_DOWNLINK};
    return causes[kind];
}

static void add_causes(ls_text *text, uint32_t mask)
{
    for (uint32_t cause = 0; cause < LS_LAG_CAUSE_COUNT; cause++) {
        if (mask >> cause & 1u) {
            ls_text_add(text, " %s", ls_lag_cause_name((ls_lag_cause)cause));
        }
    }
}

static void expect(const lag_play *play, uint32_t client, ls_lag_cause cause, uint32_t allowed,
                   ls_text *faults)
{
    uint32_t both[] = {play->server_said[client], play->client_said[client]};
    allowed |= 1u << cause | 1u << LS_LAG_FINE;
    for (uint32_t i = 0; i < 2; i++) {
        if ((both[i] >> cause & 1u) == 0 || (both[i] & ~allowed) != 0) {
            ls_text_add(faults, "%s: %s says of client %" PRIu32 ":", play->plant->name,
                        i == 0 ? "server" : "client", client);
            add_causes(faults, both[i]);
            ls_text_add(faults, ", not %s. ", ls_lag_cause_name(cause));
        }
    }
}

static bool is_victim(const lag_trouble *trouble, uint32_t client)
{
    return trouble->kind != PLANT_NOTHING &&
           (trouble->kind == PLANT_SERVER_CPU || (trouble->victims >> client & 1u) != 0);
}

/* Nothing comes from a victim that stands still for long; before it is back nobody knows why. */
static uint32_t provisional(const lag_trouble *trouble)
{
    bool is_long = trouble->burst_ns >= 1500 * MS && trouble->kind == PLANT_CPU;
    return is_long ? 1u << LS_LAG_SILENT : 0;
}

/* Of two troubles of one player the greater one is said longest. */
static void check_longest(const lag_play *play, uint32_t client, ls_text *faults)
{
    ls_lag_cause cause = cause_of(play->plant->trouble.kind);
    for (uint32_t other = LS_LAG_FINE + 1; other < LS_LAG_CAUSE_COUNT; other++) {
        if (play->steps[client][other] > play->steps[client][cause]) {
            ls_text_add(faults, "%s: client %" PRIu32 " is longer %s than %s. ", play->plant->name,
                        client, ls_lag_cause_name((ls_lag_cause)other), ls_lag_cause_name(cause));
        }
    }
}

/* The server's verdict on the match as a whole. */
static void check_total(const lag_play *play, uint32_t client, ls_lag_cause cause, uint32_t allowed,
                        ls_text *faults)
{
    ls_lag lag = ls_match_lag_of(play->run->match, report_of(play->run->clients[client]).slot);
    bool is_waited_for = cause == LS_LAG_FINE || cause == LS_LAG_SERVER;
    bool is_other = lag.cause == LS_LAG_PLAYER && play->plant->is_waiting && !is_waited_for;
    if (lag.cause != cause && (allowed >> lag.cause & 1u) == 0 && !is_other) {
        ls_text_add(faults, "%s: in the end client %" PRIu32 " is %s, not %s. ", play->plant->name,
                    client, ls_lag_cause_name(lag.cause), ls_lag_cause_name(cause));
    }
}

static void check(const lag_play *play, ls_text *faults)
{
    const lag_plant *plant = play->plant;
    for (uint32_t i = 0; i < play->players; i++) {
        bool is_harmed = is_victim(&plant->trouble, i);
        bool is_less = is_victim(&plant->lesser, i) && !is_harmed;
        const lag_trouble *own = is_harmed ? &plant->trouble : &plant->lesser;
        bool waits = plant->is_waiting && plant->trouble.kind != PLANT_FRAMES;
        uint32_t allowed = is_harmed || is_less ? provisional(own) : 0;
        if (is_harmed && is_victim(&plant->lesser, i)) {
            allowed |= 1u << cause_of(plant->lesser.kind);
            check_longest(play, i, faults);
        }
        if (is_harmed || is_less) {
            allowed |= waits ? 1u << LS_LAG_PLAYER : 0;
            expect(play, i, cause_of(own->kind), allowed, faults);
            check_total(play, i, cause_of(own->kind), 0, faults);
        } else {
            check_total(play, i, LS_LAG_FINE, waits ? 1u << LS_LAG_PLAYER : 0, faults);
            expect(play, i, LS_LAG_FINE, waits ? 1u << LS_LAG_PLAYER : 0, faults);
        }
        for (uint32_t slot = 0; slot < play->players; slot++) {
            if (play->whom[i] >> slot & 1u && !is_victim(&plant->trouble, slot) &&
                !is_victim(&plant->lesser, slot)) {
                ls_text_add(faults, "%s: client %" PRIu32 " is told of slot %" PRIu32 ". ",
                            plant->name, i, slot);
            }
        }
    }
}

/* Plays a match with it; adds to `faults` what was said wrongly, by the server in its verdicts and
 * by each client. */
static void lag_plant_play(const lag_plant *plant, ls_text *faults)
{
    lag_play play = {.plant = plant};
    play.run = begin(plant, &play);
    virtual_match_run_to_tick(play.run, 1);
    run_for(&play, BEFORE_S, false);
    run_for(&play, LS_MAX(PLANTED_S, plant->trouble.burst_ns / SECOND + 6), true);
    run_for(&play, 6, false);
    check(&play, faults);
    virtual_match_destroy(play.run);
}

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

/* A lost input that has not changed is replaced with itself, and comes late with the next one. */
Test(lag, lost_packets_of_a_player_that_holds_still_cost_nothing)
{
    const ls_link_config lossy = {.delay_ns = 50 * MS, .loss_ppm = 60000};
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.match.sim.params[TEST_PARAM_BYTES] = 0;
    setup.link = (ls_link_config){.delay_ns = 50 * MS};
    virtual_match *run = match_at(&setup, 60);
    ls_memory_client_set_links(run->clients[PLANTED]->transport, &lossy, &setup.link);
    virtual_match_run(run, SECONDS * SECOND);
    ls_lag lag = ls_match_lag_of(run->match, report_of(run->clients[PLANTED]).slot);
    cr_expect_geq(lag.uplink_loss_ppm, 40000);
    cr_expect_leq(lag.late_ppm, 1000, "%u late of a million", lag.late_ppm);
    close_run(run);
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
