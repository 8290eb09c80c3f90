#include "lockstep/tests/lab/faultsim/check_bounds.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/match/peer_link.h"
#include "lockstep/server/match/spectator_table.h"
#include "lockstep/server/match/state_handover.h"

#include <inttypes.h>

enum {
    ACCOUNTS_MAX = 2048, /* a power of two; half of it is used at most */
};

/* Uses of one resource by one of whom it is counted: so many, since when. */
typedef struct account {
    uint64_t key; /* 0: it is free */
    uint64_t since_ns;
    uint64_t used[CHECK_BOUND_COUNT];
    uint64_t received;    /* packets */
    uint64_t state_bytes; /* of the states that it was promised */
    uint64_t part_bytes;  /* that they may take to send */
    uint64_t state_ns;    /* when it was promised one to watch from; 0: never */
    uint64_t watching;    /* now, of an origin, */
    uint64_t crowd;       /* and the most at once */
} account;

struct check_bounds {
    match_check *check;
    account accounts[ACCOUNTS_MAX];
    uint32_t account_count;
    uint64_t desyncs;                        /* of all */
    ls_peer_id peers[LS_PLAYERS_MAX];        /* of the players that sit there, or did */
    ls_log_budget lines[LS_PLAYERS_MAX + 1]; /* behind the players: spectators that differ */
    ls_log_budget peer_lines;
    uint32_t bundles[LS_PLAYERS_MAX + 1];
    uint64_t first_bytes; /* that the transport held before anybody came */
    uint64_t written;     /* lines, by the log of the event at hand */
    check_use uses[CHECK_BOUND_COUNT];
};

/* ---- the limits ---- */

/* A limit: so much at once, and more for the time since a peer was first seen, for ticks of that
 * time, for each quarter of the timeout, for each packet that came from it, for each difference in
 * the match, which everybody is told, and for each spectator of an origin at the same time. In
 * thousandths. */
typedef struct bound {
    const char *key;
    const char *text;
    uint64_t at_once;
    uint64_t a_second;
    uint64_t a_tick;
    uint64_t a_silence; /* a quarter of the timeout: the server is never silent for longer */
    uint64_t a_packet;
    uint64_t a_desync;
    uint64_t a_state_byte;
    uint64_t a_part_byte; /* of what the server allows for the states that it promised */
    uint64_t a_place;     /* that an origin had at once: what each is sent is paid when it goes */
} bound;

#define WHOLE UINT64_C(1000)
/* A peer that takes its state at a trickle is let go after 3 s when others wait, those who came to
 * the same state within a second of it as much later; then the newcomer is next, and has to step
 * what was closed meanwhile. */
#define WAY_IN_MS UINT64_C(5000)

static const bound bounds[CHECK_BOUND_COUNT] = {
    [CHECK_BOUND_STATES] = {.key = "states",
                            .text = "states that a seat is sent",
                            .at_once = (LS_STATES_AT_ONCE + 1) * WHOLE,
                            .a_second = WHOLE / 2},
    [CHECK_BOUND_WATCHED_STATES] = {.key = "watched",
                                    .text = "states that an origin is sent to watch",
                                    .at_once = LS_STATES_AT_ONCE * WHOLE,
                                    .a_second = WHOLE / 2,
                                    .a_place = WHOLE},
    [CHECK_BOUND_STATE_BYTES] = {.key = "state_bytes",
                                 .text = "bytes of states",
                                 .at_once = LS_PACKET_BYTES_MAX * WHOLE,
                                 .a_part_byte = WHOLE},
    [CHECK_BOUND_TICK_PACKETS] = {.key = "tick_packets",
                                  .text = "packets of closed ticks",
                                  .at_once = 8 * WHOLE,
                                  .a_second = 12 * WHOLE, /* a heartbeat is sent each 100 ms */
                                  .a_tick = 2 * WHOLE,
                                  .a_silence = WHOLE},
    [CHECK_BOUND_ANSWERS] = {.key = "answers",
                             .text = "reliable messages to a peer",
                             .at_once = 24 * WHOLE,
                             .a_second = 4 * WHOLE,
                             .a_packet = WHOLE / 2,
                             .a_desync = 3 * WHOLE},
    [CHECK_BOUND_PACKETS] = {.key = "packets",
                             .text = "packets of a peer that are read",
                             .at_once = 4096 * WHOLE,
                             .a_tick = LS_PEER_LINK_PACKETS_PER_TICK_MAX * WHOLE},
    [CHECK_BOUND_DESYNCS] = {.key = "desyncs",
                             .text = "differences of a seat that are looked into",
                             .at_once = (LS_STATES_AT_ONCE + 2) * WHOLE,
                             .a_second = WHOLE / 2},
    [CHECK_BOUND_BUNDLES] = {.key = "bundles",
                             .text = "bundles of a seat",
                             .at_once = LS_SLOT_BUNDLES_MAX * WHOLE},
    [CHECK_BOUND_LINES] = {.key = "lines",
                           .text = "events of one origin in the log",
                           .at_once = (LS_LOG_BUDGET_EVENTS + 1) * WHOLE,
                           .a_second = 2 * WHOLE},
    [CHECK_BOUND_MEMORY] = {.key = "memory",
                            .text = "bytes of the transport for those who are connected",
                            .at_once = (1u << 20) * WHOLE},
    [CHECK_BOUND_WAY_IN] = {.key = "way_in",
                            .text = "milliseconds that a newcomer waits",
                            .at_once = WAY_IN_MS * WHOLE,
                            .a_state_byte = WHOLE * 1000 / LS_BLOB_RATE_MIN},
};

const char *check_bound_key(check_bound resource)
{
    return bounds[resource].key;
}

static uint64_t limit_of(const check_bounds *all, const account *of, check_bound resource)
{
    const bound *row = &bounds[resource];
    uint64_t rate_hz = all->check->run->setup.match.sim.tick_rate_hz;
    uint64_t timeout_ms = all->check->run->setup.match.timeout_ms;
    uint64_t ms = (virtual_match_server_ns(all->check->run) - of->since_ns) / LS_NS_PER_MS;
    uint64_t thousandths =
        row->at_once + row->a_second * ms / 1000 + row->a_tick * ms * rate_hz / 1000 +
        row->a_silence * ms / LS_MAX(timeout_ms / 4, 1u) + row->a_packet * of->received +
        row->a_desync * all->desyncs + row->a_state_byte * of->state_bytes +
        row->a_part_byte * of->part_bytes + row->a_place * of->crowd;
    return thousandths / WHOLE;
}

/* ---- accounts ---- */

enum {
    KIND_SLOT,
    KIND_ORIGIN,
    KIND_PEER,
    KIND_UNKNOWN,
    KIND_TRANSPORT,
};

static account *account_of(check_bounds *all, uint64_t kind, uint64_t number)
{
    uint64_t key = (number << 3 | kind) + 1;
    for (uint64_t place = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;; place++) {
        account *at = &all->accounts[place % ACCOUNTS_MAX];
        if (at->key == key) {
            return at;
        }
        if (at->key == 0) {
            LS_ASSERT(++all->account_count < ACCOUNTS_MAX / 2);
            *at = (account){.key = key, .since_ns = virtual_match_server_ns(all->check->run)};
            return at;
        }
    }
}

static void judge(check_bounds *all, check_bound resource, uint64_t used, uint64_t limit)
{
    check_use now = {.share = (used * 1000 + limit - 1) / limit, .used = used, .limit = limit};
    if (now.share > all->uses[resource].share) {
        all->uses[resource] = now;
    }
    if (now.used > now.limit) {
        match_check_note(all->check, resource == CHECK_BOUND_WAY_IN ? CHECK_I10 : CHECK_I9,
                         all->check->tick_count, "%s: %" PRIu64 ", and it may be %" PRIu64,
                         bounds[resource].text, now.used, now.limit);
    }
}

static void use(check_bounds *all, account *of, check_bound resource, uint64_t more)
{
    of->used[resource] += more;
    judge(all, resource, of->used[resource], limit_of(all, of, resource));
}

check_use check_bounds_use(const check_bounds *all, check_bound resource)
{
    return all->uses[resource];
}

/* ---- packets ---- */

static uint32_t slot_of(const check_bounds *all, ls_peer_id peer)
{
    uint32_t slot = 0;
    while (slot < LS_PLAYERS_MAX && all->peers[slot] != peer) {
        slot++;
    }
    return slot;
}

static void use_state(check_bounds *all, ls_peer_id peer)
{
    uint32_t slot = slot_of(all, peer);
    if (slot < LS_PLAYERS_MAX) {
        use(all, account_of(all, KIND_SLOT, slot), CHECK_BOUND_STATES, 1);
        return;
    }
    account_of(all, KIND_PEER, peer)->state_ns = virtual_match_server_ns(all->check->run);
}

static account *account_of_origin(check_bounds *all, ls_peer_id peer)
{
    const virtual_network *network = all->check->run->network;
    uint64_t origin = network->operations->origin_of(network, peer);
    return origin != 0 ? account_of(all, KIND_ORIGIN, origin) : NULL;
}

static void count_spectator(check_bounds *all, ls_peer_id peer)
{
    account *origin = account_of_origin(all, peer);
    if (origin) {
        origin->watching++;
        origin->crowd = LS_MAX(origin->watching, origin->crowd);
    }
}

/* A spectator has gone: a state that it watched from for long, or to the end, does not count. */
static void use_watched_state(check_bounds *all, ls_peer_id peer)
{
    account *origin = account_of_origin(all, peer);
    const account *its = account_of(all, KIND_PEER, peer);
    uint64_t watched_ns = virtual_match_server_ns(all->check->run) - its->state_ns;
    bool is_running = ls_match_state_of(all->check->run->match) == LS_MATCH_RUNNING;
    if (!origin) {
        return;
    }
    origin->watching--;
    if (is_running && its->state_ns != 0 && watched_ns < LS_STATE_WATCHED_NS) {
        use(all, origin, CHECK_BOUND_WATCHED_STATES, 1);
    }
}

/* Of the state that a message brings; 0: none. */
static uint32_t state_bytes_of(const check_bounds *all, const uint8_t *bytes, size_t size)
{
    ls_message message;
    uint32_t kind = ls_message_peek(bytes, size);
    uint32_t players = ls_match_players(all->check->run->match);
    if ((kind != LS_MESSAGE_JOIN && kind != LS_MESSAGE_HEAL_SNAPSHOT) ||
        ls_message_read(bytes, size, players, &message) != LS_OK) {
        return 0;
    }
    return kind == LS_MESSAGE_JOIN ? message.body.join.blob_bytes
                                   : message.body.heal_snapshot.blob_bytes;
}

void check_bounds_sends(check_bounds *all, ls_peer_id peer, ls_channel channel,
                        const uint8_t *bytes, size_t size)
{
    account *its = account_of(all, KIND_PEER, peer);
    uint32_t kind = ls_message_peek(bytes, size);
    if (channel == LS_CHANNEL_RELIABLE) {
        uint32_t state_bytes = state_bytes_of(all, bytes, size);
        use(all, its, CHECK_BOUND_ANSWERS, 1);
        if (state_bytes > 0) {
            its->state_bytes += state_bytes;
            its->part_bytes += ls_handover_bytes_max(state_bytes);
            use_state(all, peer);
        }
    } else if (kind == LS_MESSAGE_BLOB_PART) {
        use(all, its, CHECK_BOUND_STATE_BYTES, size + LS_PEER_LINK_HEADER_BYTES);
    } else if (kind == LS_MESSAGE_TICKS) {
        use(all, its, CHECK_BOUND_TICK_PACKETS, 1);
    }
}

void check_bounds_receives(check_bounds *all, const ls_transport_event *event)
{
    account *its = account_of(all, KIND_PEER, event->peer);
    its->received++;
    use(all, its, CHECK_BOUND_PACKETS, 1);
}

/* ---- events ---- */

static void count_line(void *user, ls_log_level level, const char *line)
{
    uint64_t *lines = user;
    (void)level;
    (void)line;
    (*lines)++;
}

/* As the server program logs it. */
static void log_event(check_bounds *all, const ls_match_event *event)
{
    ls_log_budget *budget = ls_output_limits_lines(all->lines, &all->peer_lines, event);
    bool is_of_slot = budget != &all->peer_lines;
    ls_log log = {.level = LS_LOG_INFO, .write = count_line, .user = &all->written};
    all->written = 0;
    if (ls_event_row_of(event)->scope == LS_EVENT_OF_MATCH) {
        return;
    }
    if (budget) {
        (void)ls_log_budget_begin(budget, &log, virtual_match_server_ns(all->check->run));
    }
    ls_log_line(&log, LS_LOG_INFO, "event");
    account *its =
        is_of_slot ? account_of(all, KIND_SLOT, event->slot) : account_of(all, KIND_UNKNOWN, 0);
    use(all, its, CHECK_BOUND_LINES, all->written > 0 ? 1 : 0);
}

static void on_cause(check_bounds *all, const ls_match_event *event)
{
    ls_tick tick = 0;
    if (ls_match_bundle_tick_of(all->check->run->match, event->slot, &tick) &&
        ls_output_limits_reserve_bundle(&all->bundles[event->slot])) {
        use(all, account_of(all, KIND_SLOT, event->slot), CHECK_BOUND_BUNDLES, 1);
    }
}

void check_bounds_event(check_bounds *all, const ls_match_event *event)
{
    log_event(all, event);
    switch (event->kind) {
    case LS_MATCH_PLAYER_SEATED:
    case LS_MATCH_PLAYER_RETURNED:
        all->peers[event->slot] = event->peer;
        break;
    case LS_MATCH_DESYNC:
        all->desyncs++;
        use(all, account_of(all, KIND_SLOT, event->slot), CHECK_BOUND_DESYNCS, 1);
        break;
    case LS_MATCH_DESYNC_CAUSE:
        on_cause(all, event);
        break;
    case LS_MATCH_SPECTATOR_CAME:
        count_spectator(all, event->peer);
        break;
    case LS_MATCH_SPECTATOR_LEFT:
        use_watched_state(all, event->peer);
        break;
    default:
        break;
    }
}

/* ---- memory ---- */

void check_bounds_memory(check_bounds *all)
{
    const virtual_network *network = all->check->run->network;
    if (!network->operations->server_bytes) {
        return;
    }
    uint64_t bytes = network->operations->server_bytes(network);
    account *its = account_of(all, KIND_TRANSPORT, 0);
    if (all->first_bytes == 0) {
        all->first_bytes = bytes;
    }
    judge(all, CHECK_BOUND_MEMORY, bytes > all->first_bytes ? bytes - all->first_bytes : 0,
          limit_of(all, its, CHECK_BOUND_MEMORY));
}

/* ---- newcomers ---- */

/* The time that a newcomer's own way takes: the packets there and back, over the transport of the
 * programs before they are the match's, its frames, and its state at the least rate. */
static uint64_t way_in_ms(const check_bounds *all, const client_check *client)
{
    const virtual_client *core = client->core;
    virtual_match *run = all->check->run;
    uint64_t rtt_ns = core->up.delay_ns + core->down.delay_ns;
    uint64_t frame_ns = core->frame_ns + core->frame_jitter_ns;
    account own = {.since_ns = virtual_match_server_ns(run),
                   .state_bytes = ls_sim_instance_save_bytes(ls_match_instance(run->match))};
    return limit_of(all, &own, CHECK_BOUND_WAY_IN) +
           (12 * rtt_ns + 8 * (frame_ns + run->server_loop_ns)) / LS_NS_PER_MS;
}

/* It comes for the first time, when no other faults are left. */
static bool is_newcomer(const client_check *client)
{
    const match_check *check = client->check;
    const virtual_client *core = client->core;
    return ls_match_state_of(check->run->match) == LS_MATCH_RUNNING && check->baseline_ns > 0 &&
           !core->is_absent && !core->is_gone && client->entries == 0 && !client->is_settled &&
           client->since_ns >= LS_MAX(check->baseline_ns, check->resumed_ns);
}

/* A server that came back keeps the seats of all who were there when it died, visitors too. */
static bool may_keep_seats(const match_check *check)
{
    uint64_t kept_ns = check->run->setup.match.keep_seat_ms * LS_NS_PER_MS;
    return check->life > 0 && check->run->now_ns < check->resumed_ns + kept_ns;
}

/* Clients that play by the rules would leave a place for this one as well: their seats, or places
 * to watch from, are fewer. */
static bool is_room_left(const client_check *client)
{
    const virtual_match *run = client->check->run;
    const ls_match_config *config = &run->setup.match;
    bool is_spectator = client->core->is_spectator;
    uint32_t honest = 0;
    for (uint32_t i = 0; i < run->client_count; i++) {
        const client_check *other = client->check->clients[i];
        honest += other->core->is_spectator == is_spectator && !other->is_hostile ? 1 : 0;
    }
    return is_spectator ? honest <= config->spectators_max
                        : honest <= config->sim.players && !may_keep_seats(client->check);
}

/* Somebody else has what it came for. */
void check_bounds_refused(check_bounds *all, const client_check *client,
                          const ls_session_event *event)
{
    if (!all->check->run->is_server_dead && event->status == LS_MATCH_FULL && is_newcomer(client) &&
        is_room_left(client)) {
        match_check_note(all->check, CHECK_I10, all->check->tick_count,
                         "newcomer %u is refused: %s", client->core->index, event->text.bytes);
    }
}

void check_bounds_newcomers(check_bounds *all)
{
    const match_check *check = all->check;
    const virtual_match *run = check->run;
    for (uint32_t i = 0; i < run->client_count; i++) {
        const client_check *client = check->clients[i];
        if (is_newcomer(client) && !client->may_leave && !client->core->is_over) {
            judge(all, CHECK_BOUND_WAY_IN, (run->now_ns - client->since_ns) / LS_NS_PER_MS,
                  way_in_ms(all, client));
        }
    }
}

/* ---- life ---- */

check_bounds *check_bounds_create(match_check *check)
{
    check_bounds *made = ls_allocate(check->run->setup.storage, sizeof *made);
    LS_ASSERT(made != NULL);
    made->check = check;
    return made;
}

void check_bounds_destroy(check_bounds *all)
{
    ls_release(all->check->run->setup.storage, all);
}

void check_bounds_forget(check_bounds *all)
{
    const check_bounds kept = {.check = all->check};
    check_use uses[CHECK_BOUND_COUNT];
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        uses[i] = all->uses[i];
    }
    *all = kept;
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        all->uses[i] = uses[i];
    }
}
