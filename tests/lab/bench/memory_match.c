#include "lockstep/tests/lab/bench/memory_match.h"

#include "lockstep/client/bots.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <string.h>

enum {
    POST_ITEMS_MAX = 1024
};

/* One event or packet between the network and a core. */
typedef struct post_item {
    ls_transport_event_kind kind; /* a core's DISCONNECTED asks for the end of a connection */
    ls_status reason;
    ls_transport *transport; /* of a core that sends */
    ls_peer_id peer;
    ls_channel channel;
    uint32_t client; /* index of the client whose event it is; unused when sent */
    uint32_t size;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} post_item;

typedef struct post {
    uint32_t count;
    post_item items[POST_ITEMS_MAX];
} post;

/* The user of a core's sink. */
typedef struct sender {
    ls_memory_match *match;
    ls_transport *transport;
} sender;

typedef struct member {
    sender out;
    ls_session *session;
    ls_transport *transport;
    bench_pad_player pad;
    ls_bot bot;
    ls_tick confirmed;
    uint64_t made_ns[LS_WINDOW_TICKS];
} member;

struct ls_memory_match {
    bench_memory_match_config config;
    ls_memory_network *network;
    ls_transport *transport;
    sender out;
    ls_match *match;
    member members[LS_PLAYERS_MAX];
    uint32_t member_count; /* that were let in */
    uint32_t watched;      /* the first so many, whose latency counts */
    uint64_t now_ns;
    uint64_t step_ns;
    uint64_t steps;
    uint64_t clock_cost_ns;
    uint64_t server_ns;
    uint64_t sessions_ns;
    ls_tick confirmed_by_all;
    bench_memory_match_latency latency;
    post inbox;
    post outbox;
};

/* ---- what the cores call ---- */

static const ls_simulation *simulation_of(const ls_memory_match *match)
{
    return match->config.simulation ? match->config.simulation : bench_pad_simulation();
}

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const member *player = user;
    const ls_simulation *simulation = simulation_of(player->out.match);
    return strcmp(name, simulation->name) == 0 ? simulation : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    member *player = user;
    player->made_ns[tick % LS_WINDOW_TICKS] = player->out.match->now_ns;
    return player->out.match->config.simulation ? ls_bot_input(&player->bot, instance, slot, bytes)
                                                : bench_pad_player_input(&player->pad, bytes);
}

static post_item *add_item(post *box)
{
    LS_ASSERT(box->count < POST_ITEMS_MAX);
    return &box->items[box->count++];
}

static void post_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                      size_t size)
{
    sender *from = user;
    post_item *item = add_item(&from->match->outbox);
    item->kind = LS_TRANSPORT_RECEIVED;
    item->transport = from->transport;
    item->peer = peer;
    item->channel = channel;
    item->size = (uint32_t)size;
    memcpy(item->bytes, bytes, size);
}

static void post_disconnect(void *user, ls_peer_id peer)
{
    sender *from = user;
    post_item *item = add_item(&from->match->outbox);
    item->kind = LS_TRANSPORT_DISCONNECTED;
    item->transport = from->transport;
    item->peer = peer;
}

/* ---- the network's side ---- */

static void collect(ls_memory_match *match, ls_transport *transport, uint32_t client)
{
    ls_transport_event event;
    while (ls_transport_next_event(transport, &event)) {
        post_item *item = add_item(&match->inbox);
        item->kind = event.kind;
        item->reason = event.reason;
        item->peer = event.peer;
        item->channel = event.channel;
        item->client = client;
        item->size = (uint32_t)event.size;
        if (event.size > 0) {
            memcpy(item->bytes, event.bytes, event.size);
        }
    }
}

static void post_out(ls_memory_match *match)
{
    for (uint32_t i = 0; i < match->outbox.count; i++) {
        const post_item *item = &match->outbox.items[i];
        if (item->kind == LS_TRANSPORT_DISCONNECTED) {
            ls_transport_disconnect(item->transport, item->peer);
        } else {
            ls_transport_send(item->transport, item->peer, item->channel, item->bytes, item->size);
        }
    }
    match->outbox.count = 0;
}

/* ---- the cores' side, timed ---- */

/* Made when the item is handed to a core: a whole event in each item costs a match several per
 * cent.
 */
static ls_transport_event event_of(const ls_memory_match *match, const post_item *item)
{
    return (ls_transport_event){.kind = item->kind,
                                .peer = item->peer,
                                .channel = item->channel,
                                .bytes = item->bytes,
                                .size = item->size,
                                .arrived_ns = match->now_ns,
                                .reason = item->reason};
}

static uint64_t lap(const ls_memory_match *match, uint64_t start_ns)
{
    uint64_t taken_ns = bench_now_ns() - start_ns;
    return taken_ns > match->clock_cost_ns ? taken_ns - match->clock_cost_ns : 0;
}

static void run_server(ls_memory_match *match)
{
    match->inbox.count = 0;
    collect(match, match->transport, 0);
    uint64_t start_ns = bench_now_ns();
    for (uint32_t i = 0; i < match->inbox.count; i++) {
        ls_transport_event event = event_of(match, &match->inbox.items[i]);
        ls_match_receive_event(match->match, &event, match->now_ns);
    }
    ls_match_advance(match->match, match->now_ns);
    match->server_ns += lap(match, start_ns);
    post_out(match);
    if (match->config.after_server) {
        match->config.after_server(match->config.user, match->match, match->now_ns);
    }
}

/* Clients draw one frame a tick, each at its own time within the tick. */
static bool is_frame_due(const ls_memory_match *match, uint32_t client)
{
    uint32_t phase = client * match->config.steps_per_tick / match->config.players;
    return (match->steps + phase) % match->config.steps_per_tick == 0;
}

static void run_sessions(ls_memory_match *match)
{
    match->inbox.count = 0;
    for (uint32_t i = 0; i < match->member_count; i++) {
        collect(match, match->members[i].transport, i);
    }
    uint64_t start_ns = bench_now_ns();
    for (uint32_t i = 0; i < match->inbox.count; i++) {
        const post_item *item = &match->inbox.items[i];
        ls_transport_event event = event_of(match, item);
        ls_session_receive_event(match->members[item->client].session, &event, match->now_ns);
    }
    for (uint32_t i = 0; i < match->member_count; i++) {
        ls_session *session = match->members[i].session;
        if (is_frame_due(match, i)) {
            ls_session_frame(session, match->now_ns);
        }
        if (match->now_ns >= ls_session_next_ns(session)) {
            ls_session_update(session, match->now_ns);
        }
    }
    match->sessions_ns += lap(match, start_ns);
    post_out(match);
}

/* ---- latency ---- */

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
        ls_histogram_add(latency, match->now_ns - made_ns);
    }
}

static void watch_member(ls_memory_match *match, member *player)
{
    ls_tick confirmed = ls_session_report_of(player->session).confirmed;
    for (; player->confirmed < confirmed; player->confirmed++) {
        add_latency(&match->latency.own, match, player, player->confirmed);
    }
}

/* A client that had a packet may have had ticks confirmed. */
static void watch_latency(ls_memory_match *match)
{
    for (uint32_t i = 0; i < match->inbox.count; i++) {
        if (match->inbox.items[i].client < match->watched) {
            watch_member(match, &match->members[match->inbox.items[i].client]);
        }
    }
    ls_tick confirmed = least_confirmed(match);
    for (; match->confirmed_by_all < confirmed; match->confirmed_by_all++) {
        for (uint32_t i = 0; i < match->watched; i++) {
            member *player = &match->members[i];
            add_latency(&match->latency.all, match, player, match->confirmed_by_all);
            player->made_ns[match->confirmed_by_all % LS_WINDOW_TICKS] = 0;
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
    for (uint32_t i = match->watched; i < match->member_count; i++) {
        match->members[i].confirmed = ls_session_report_of(match->members[i].session).confirmed;
    }
    match->watched = match->member_count;
}

/* ---- life ---- */

static ls_status create_member(ls_memory_match *match, uint32_t index, ls_text *why)
{
    member *player = &match->members[index];
    player->pad = bench_pad_player_make(match->config.seed, index + 1);
    player->bot = ls_bot_make(match->config.seed + index);
    ls_status status =
        ls_memory_client_create(match->network, match->transport, &player->transport);
    if (status != LS_OK) {
        ls_text_set(why, "%s", ls_status_text(status));
        return status;
    }
    ls_link_config link = {.delay_ns = match->config.delay_ns, .loss_ppm = match->config.loss_ppm};
    ls_memory_client_set_links(player->transport, &link, &link);
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.predict_ticks = match->config.predict_ticks;
    config.user = player;
    config.makes_inputs_between_frames = true;
    config.finds_causes = config.finds_causes && !match->config.finds_no_causes;
    player->out = (sender){match, player->transport};
    ls_packet_sink sink = {post_send, post_disconnect, &player->out};
    return ls_session_create(&config, &sink, ls_allocator_heap(), &player->session, why);
}

ls_status bench_memory_match_let_in(ls_memory_match *match, ls_text *why)
{
    LS_ASSERT(match->member_count < match->config.players);
    return create_member(match, match->member_count++, why);
}

static ls_match_config host_config(const ls_memory_match *match)
{
    const bench_memory_match_config *config = &match->config;
    ls_match_config host = ls_match_config_default(simulation_of(match));
    if (config->simulation) {
        host.sim.players = config->players;
    } else {
        host.sim = bench_pad_config(config->state_bytes, config->players);
    }
    host.start_players = config->players - config->late_players;
    host.finds_causes = host.finds_causes && !config->finds_no_causes;
    if (config->hash_interval_ticks > 0) {
        host.hash_interval_ticks = config->hash_interval_ticks;
    }
    return host;
}

static ls_status create_parts(ls_memory_match *match, ls_text *why)
{
    const bench_memory_match_config *config = &match->config;
    const ls_allocator *heap = ls_allocator_heap();
    ls_status status = ls_memory_network_create(config->seed, heap, &match->network);
    if (status == LS_OK) {
        status = ls_memory_server_create(match->network, &match->transport);
    }
    if (status != LS_OK) {
        ls_text_set(why, "%s", ls_status_text(status));
        return status;
    }
    ls_match_config host = host_config(match);
    match->out = (sender){match, match->transport};
    ls_packet_sink sink = {post_send, post_disconnect, &match->out};
    status = ls_match_create(&host, &sink, heap, &match->match, why);
    for (uint32_t i = config->late_players; status == LS_OK && i < config->players; i++) {
        status = bench_memory_match_let_in(match, why);
    }
    match->watched = match->member_count;
    match->step_ns = LS_NS_PER_SECOND / (host.sim.tick_rate_hz * config->steps_per_tick);
    return status;
}

ls_status bench_memory_match_create(const bench_memory_match_config *config, ls_memory_match **out,
                                    ls_text *why)
{
    LS_ASSERT(config->steps_per_tick >= 1 && config->players <= LS_PLAYERS_MAX);
    ls_memory_match *match = ls_allocate(ls_allocator_heap(), sizeof *match);
    if (!match) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    match->config = *config;
    match->clock_cost_ns = bench_clock_cost_ns();
    ls_status status = create_parts(match, why);
    if (status != LS_OK) {
        bench_memory_match_destroy(match);
        return status;
    }
    *out = match;
    return LS_OK;
}

void bench_memory_match_destroy(ls_memory_match *match)
{
    if (!match) {
        return;
    }
    for (uint32_t i = 0; i < match->member_count; i++) {
        ls_session_destroy(match->members[i].session);
    }
    ls_match_destroy(match->match);
    ls_memory_network_destroy(match->network);
    ls_release(ls_allocator_heap(), match);
}

void bench_memory_match_run(ls_memory_match *match, uint32_t ticks)
{
    ls_tick end = ls_match_tick(match->match) + ticks;
    while (ls_match_tick(match->match) < end && ls_match_state_of(match->match) < LS_MATCH_ENDING) {
        match->now_ns += match->step_ns;
        match->steps++;
        ls_memory_network_set_time(match->network, match->now_ns);
        run_server(match);
        run_sessions(match);
        if (match->config.watches_latency) {
            watch_latency(match);
        }
    }
}

/* ---- what came of it ---- */

bool bench_memory_match_all_play(const ls_memory_match *match)
{
    const ls_session *newest = match->members[match->member_count - 1].session;
    return ls_session_report_of(newest).state == LS_SESSION_PLAYING;
}

uint64_t bench_memory_match_now_ns(const ls_memory_match *match)
{
    return match->now_ns;
}

ls_match *bench_memory_match_host(ls_memory_match *match)
{
    return match->match;
}

bench_memory_match_totals bench_memory_match_totals_of(const ls_memory_match *match)
{
    bench_memory_match_totals totals = {.ticks = ls_match_tick(match->match),
                                        .server_ns = match->server_ns,
                                        .sessions_ns = match->sessions_ns};
    for (uint32_t i = 0; i < match->member_count; i++) {
        ls_match_slot slot = ls_match_slot_of(match->match, i);
        totals.hashes_compared += slot.hashes_compared;
        totals.inputs_substituted += slot.inputs_substituted;
        ls_session_report report = ls_session_report_of(match->members[i].session);
        totals.steps += report.steps;
        totals.rollbacks += report.rollbacks;
        ls_peer_id peer = i + 1;
        ls_transport_traffic up = ls_transport_traffic_of(match->members[i].transport, peer);
        ls_transport_traffic down = ls_transport_traffic_of(match->transport, peer);
        totals.bytes_up += up.bytes_sent;
        totals.bytes_down += down.bytes_sent;
        totals.packets_up += up.packets_sent;
        totals.packets_down += down.packets_sent;
    }
    return totals;
}

ls_status bench_memory_match_check(const ls_memory_match *match, ls_text *why)
{
    for (uint32_t i = 0; i < match->member_count; i++) {
        ls_match_slot slot = ls_match_slot_of(match->match, i);
        ls_session_report report = ls_session_report_of(match->members[i].session);
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
