#include "lockstep/tests/match/lag_plant.h"

#include <inttypes.h>

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

void lag_plant_play(const lag_plant *plant, ls_text *faults)
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
