#include "lockstep/tests/lab/bench/memory_match.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <string.h>

/* Of the queue before a slow link: at least so many, and what the link takes in 32 ms. */
#define QUEUE_BYTES_MIN ((uint64_t)256 << 10)

typedef struct member {
    ls_memory_match *match;
    virtual_client *client;
    bench_pad_player pad;
    bool is_still;
    ls_bot bot;
    bool has_received; /* in this turn: ticks may have been confirmed */
    ls_tick confirmed;
    uint64_t made_ns[LS_WINDOW_TICKS];
} member;

struct ls_memory_match {
    bench_memory_match_config config;
    virtual_match *run;
    member members[LS_PLAYERS_MAX];
    uint32_t watched; /* the first so many, whose latency counts */
    uint64_t clock_cost_ns;
    bool is_server_at_work;
    uint64_t since_ns; /* when a core was called */
    uint64_t server_ns;
    uint64_t sessions_ns;
    ls_tick confirmed_by_all;
    bench_memory_match_latency latency;
};

/* ---- what the run calls ---- */

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot,
                           uint8_t *bytes)
{
    member *player = user;
    if (player->is_still) {
        memset(bytes, 0, BENCH_PAD_INPUT_BYTES);
        return BENCH_PAD_INPUT_BYTES;
    }
    return player->match->config.simulation ? ls_bot_input(&player->bot, instance, slot, bytes)
                                            : bench_pad_player_input(&player->pad, bytes);
}

static void on_work(void *user, virtual_work work)
{
    ls_memory_match *match = user;
    uint64_t now_ns = match->config.counts_processor_time ? bench_processor_ns() : bench_now_ns();
    if (work == VIRTUAL_WORK_AROUND) {
        uint64_t taken_ns = now_ns - match->since_ns;
        taken_ns = taken_ns > match->clock_cost_ns ? taken_ns - match->clock_cost_ns : 0;
        *(match->is_server_at_work ? &match->server_ns : &match->sessions_ns) += taken_ns;
    }
    match->is_server_at_work = work == VIRTUAL_WORK_MATCH;
    match->since_ns = now_ns;
}

static void server_turned(void *user, virtual_match *run)
{
    const ls_memory_match *match = user;
    match->config.after_server(match->config.user, run->match, virtual_match_server_ns(run));
}

static void match_event(void *user, const ls_match_event *event)
{
    const ls_memory_match *match = user;
    match->config.on_event(match->config.user, event);
}

/* ---- latency ---- */

static void input_made(void *user, virtual_client *client, ls_tick tick, const uint8_t *bytes,
                       uint32_t size)
{
    ls_memory_match *match = user;
    (void)bytes;
    (void)size;
    match->members[client->index].made_ns[tick % LS_WINDOW_TICKS] = match->run->now_ns;
}

static ls_tick least_confirmed(const ls_memory_match *match)
{
    ls_tick least = UINT32_MAX;
    for (uint32_t i = 0; i < match->watched; i++) {
        ls_tick confirmed = match->members[i].confirmed;
        least = confirmed < least ? confirmed : least;
    }
    return least;
}

static void add_latency(ls_histogram *latency, const ls_memory_match *match, const member *player,
                        ls_tick tick)
{
    uint64_t made_ns = player->made_ns[tick % LS_WINDOW_TICKS];
    if (made_ns != 0) {
        ls_histogram_add(latency, match->run->now_ns - made_ns);
    }
}

static void watch_member(ls_memory_match *match, member *player)
{
    ls_tick confirmed = ls_session_report_of(player->client->session).confirmed;
    for (; player->confirmed < confirmed; player->confirmed++) {
        add_latency(&match->latency.own, match, player, player->confirmed);
    }
}

static void session_received(void *user, virtual_client *client, const ls_transport_event *event)
{
    ls_memory_match *match = user;
    (void)event;
    match->members[client->index].has_received = true;
}

static void client_turned(void *user, virtual_client *client)
{
    ls_memory_match *match = user;
    member *player = &match->members[client->index];
    if (!player->has_received || client->index >= match->watched) {
        return;
    }
    player->has_received = false;
    watch_member(match, player);
    ls_tick confirmed = least_confirmed(match);
    for (; match->confirmed_by_all < confirmed; match->confirmed_by_all++) {
        for (uint32_t i = 0; i < match->watched; i++) {
            add_latency(&match->latency.all, match, &match->members[i], match->confirmed_by_all);
            match->members[i].made_ns[match->confirmed_by_all % LS_WINDOW_TICKS] = 0;
        }
    }
}

const bench_memory_match_latency *bench_memory_match_latency_of(const ls_memory_match *match)
{
    return &match->latency;
}

void bench_memory_match_forget_latency(ls_memory_match *match)
{
    memset(&match->latency, 0, sizeof match->latency);
    for (uint32_t i = match->watched; i < match->run->client_count; i++) {
        match->members[i].confirmed =
            ls_session_report_of(match->members[i].client->session).confirmed;
    }
    match->watched = match->run->client_count;
}

/* ---- life ---- */

void bench_memory_match_let_in(ls_memory_match *match)
{
    const bench_memory_match_config *config = &match->config;
    uint32_t index = match->run->client_count;
    LS_ASSERT(index < config->players);
    member *player = &match->members[index];
    *player = (member){.match = match,
                       .is_still = index < config->still_players,
                       .pad = bench_pad_player_make(config->seed, index + 1),
                       .bot = ls_bot_make(config->seed + index)};
    virtual_client_setup setup = virtual_client_setup_default(match->run);
    setup.make_input = make_input;
    setup.player = player;
    setup.frame_hz = match->run->setup.match.sim.tick_rate_hz;
    if (config->late_mbit_per_s > 0 && index >= config->players - config->late_players) {
        setup.down.keeps_order = true;
        setup.down.rate_bps = config->late_mbit_per_s * UINT64_C(1000000);
        setup.down.bucket_bytes = 1536;
        setup.down.queue_bytes = LS_MAX(setup.down.rate_bps / 256, QUEUE_BYTES_MIN);
    }
    setup.session.finds_causes = setup.session.finds_causes && !config->finds_no_causes;
    player->client = virtual_match_add_client(match->run, &setup);
}

static const ls_simulation *simulation_of(const bench_memory_match_config *config)
{
    return config->simulation ? config->simulation : bench_pad_simulation();
}

static ls_match_config host_config(const bench_memory_match_config *config)
{
    ls_match_config host = ls_match_config_default(simulation_of(config));
    if (config->simulation) {
        host.sim.players = config->players;
    } else {
        host.sim = bench_pad_config(config->state_bytes, config->players);
        host.sim.params[BENCH_PAD_CHANGED_WORDS] = config->changed_words;
        host.sim.params[1] = config->is_noise;
    }
    host.send_rate = config->send_rate;
    host.input_delay_ticks = config->input_delay_ticks;
    if (config->tick_rate_hz > 0) {
        host.sim.tick_rate_hz = config->tick_rate_hz;
    }
    host.start_players = config->players - config->late_players;
    host.finds_causes = host.finds_causes && !config->finds_no_causes;
    host.spectators_max = config->has_no_spectators ? 0 : host.spectators_max;
    if (config->late_mbit_per_s > 0) {
        host.join_bytes_per_s = LS_BLOB_RATE_MAX;
    }
    if (config->hash_interval_ticks > 0) {
        host.hash_interval_ticks = config->hash_interval_ticks;
    }
    return host;
}

ls_memory_match *bench_memory_match_create(const bench_memory_match_config *config)
{
    LS_ASSERT(config->steps_per_tick >= 1 && config->players <= LS_PLAYERS_MAX);
    ls_memory_match *match = ls_allocate(ls_allocator_heap(), sizeof *match);
    LS_ASSERT(match != NULL);
    match->config = *config;
    match->clock_cost_ns = bench_clock_cost_ns();
    virtual_setup setup = virtual_setup_default(simulation_of(config), config->players, 0);
    setup.match = host_config(config);
    setup.allocator = ls_allocator_paired(); /* as the programs do */
    setup.clients = 0;
    setup.predict_ticks = config->predict_ticks;
    setup.seed = config->seed;
    setup.link = (ls_link_config){.delay_ns = config->delay_ns, .loss_ppm = config->loss_ppm};
    setup.step_ns = LS_NS_PER_SECOND / (setup.match.sim.tick_rate_hz * config->steps_per_tick);
    setup.runs_nothing_again = true;
    setup.keeps_no_events = true;
    setup.on_work = config->on_work ? config->on_work : on_work;
    setup.work_user = match;
    setup.observer =
        (virtual_observer){.user = match,
                           .server_turned = config->after_server ? server_turned : NULL,
                           .match_event = config->on_event ? match_event : NULL};
    if (config->watches_latency) {
        setup.observer.input_made = input_made;
        setup.observer.session_received = session_received;
        setup.observer.client_turned = client_turned;
    }
    match->run = virtual_match_create(&setup);
    for (uint32_t i = config->late_players; i < config->players; i++) {
        bench_memory_match_let_in(match);
    }
    match->watched = match->run->client_count;
    return match;
}

void bench_memory_match_destroy(ls_memory_match *match)
{
    if (match) {
        virtual_match_destroy(match->run);
        ls_release(ls_allocator_heap(), match);
    }
}

void bench_memory_match_run(ls_memory_match *match, uint32_t ticks)
{
    ls_tick end = ls_match_tick(match->run->match) + ticks;
    while (ls_match_tick(match->run->match) < end && !virtual_match_is_over(match->run)) {
        virtual_match_run_to_tick(match->run, end);
    }
}

/* ---- what came of it ---- */

bool bench_memory_match_all_play(const ls_memory_match *match)
{
    const ls_session *newest = match->members[match->run->client_count - 1].client->session;
    return ls_session_report_of(newest).state == LS_SESSION_PLAYING;
}

uint64_t bench_memory_match_now_ns(const ls_memory_match *match)
{
    return match->run->now_ns;
}

ls_match *bench_memory_match_host(ls_memory_match *match)
{
    return match->run->match;
}

bench_memory_match_totals bench_memory_match_totals_of(const ls_memory_match *match)
{
    bench_memory_match_totals totals = {.ticks = ls_match_tick(match->run->match),
                                        .server_ns = match->server_ns,
                                        .sessions_ns = match->sessions_ns};
    for (uint32_t i = 0; i < match->run->client_count; i++) {
        ls_match_slot slot = ls_match_slot_of(match->run->match, i);
        totals.hashes_compared += slot.hashes_compared;
        totals.inputs_substituted += slot.inputs_substituted;
        ls_session_report report = ls_session_report_of(match->members[i].client->session);
        totals.steps += report.steps;
        totals.rollbacks += report.rollbacks;
        ls_peer_id peer = i + 1;
        ls_transport_traffic up =
            ls_transport_traffic_of(match->members[i].client->transport, peer);
        ls_transport_traffic down = ls_transport_traffic_of(match->run->network->server, peer);
        totals.bytes_up += up.bytes_sent;
        totals.bytes_down += down.bytes_sent;
        totals.packets_up += up.packets_sent;
        totals.packets_down += down.packets_sent;
    }
    return totals;
}

ls_status bench_memory_match_check(const ls_memory_match *match, ls_text *why)
{
    for (uint32_t i = 0; i < match->run->client_count; i++) {
        ls_match_slot slot = ls_match_slot_of(match->run->match, i);
        ls_session_report report = ls_session_report_of(match->members[i].client->session);
        if (slot.is_desynced) {
            ls_text_set(why, "slot %u differs from tick %u on", i, slot.desync_tick);
            return LS_DESYNCED;
        }
        if (slot.hashes_compared == 0) {
            ls_text_set(why, "no state of slot %u has been compared", i);
            return LS_DESYNCED;
        }
        if (report.state != LS_SESSION_PLAYING) {
            ls_text_set(why, "client %u no longer plays: %s", i, ls_status_text(report.status));
            return report.status == LS_OK ? LS_DISCONNECTED : report.status;
        }
    }
    return LS_OK;
}
