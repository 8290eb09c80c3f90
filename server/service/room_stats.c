#include "lockstep/server/service/room_stats.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/rate.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/server/investigation/desync_finding.h"

#include <string.h>

/* ---- counting ---- */

static const double edges_ms[] = {
#define EDGE(ms) ms,
    LS_ROOM_BINS_MAP(EDGE)
#undef EDGE
};

_Static_assert(sizeof edges_ms / sizeof edges_ms[0] + 1 == LS_ROOM_BIN_COUNT,
               "one bin more than edges");

static void add_sample(ls_room_histogram *histogram, double ms)
{
    uint32_t bin = 0;
    while (bin + 1 < LS_ROOM_BIN_COUNT && ms > edges_ms[bin]) {
        bin++;
    }
    histogram->bins[bin]++;
    histogram->count++;
    histogram->sum_ms += ms;
}

static void count_class(ls_room_stats *stats, const ls_match *match, uint32_t slot)
{
    const ls_desync_finding *finding = ls_match_desync_of(match, slot);
    ls_desync_class kind = finding ? finding->verdict.kind : LS_DESYNC_CLASS_UNKNOWN;
    stats->counters.desyncs[kind]++;
}

/* Where a client that was refused with this status is counted. */
static uint64_t *refused_by(ls_room_counters *counters, ls_status status)
{
    switch (status) {
    case LS_FULL:
    case LS_MATCH_FULL:
    case LS_FELL_BEHIND:
        return &counters->refused_full;
    case LS_ALREADY_OVER:
    case LS_ALREADY_STARTED:
    case LS_NOT_FOUND:
    case LS_SAVED:
        return &counters->refused_over;
    case LS_PROTOCOL_MISMATCH:
    case LS_ARITHMETIC_MISMATCH:
    case LS_SIMULATION_MISMATCH:
    case LS_SIMULATION_VERSION_MISMATCH:
    case LS_PARAMETER_MISMATCH:
    case LS_SCHEMA_MISMATCH:
    case LS_CONTENT_MISMATCH:
    case LS_INITIAL_STATE_MISMATCH:
        return &counters->refused_version;
    case LS_NOT_ADMITTED:
    case LS_KICKED:
        return &counters->refused_not_admitted;
    case LS_TIMED_OUT:
    case LS_DISCONNECTED:
        return &counters->refused_silent;
    case LS_MALFORMED:
    case LS_MISBEHAVED:
        return &counters->refused_malformed;
    default:
        return &counters->refused_other;
    }
}

/* One whose link was lost has been counted then. */
static void on_left(ls_room_stats *stats, const ls_match_event *event)
{
    ls_room_counters *counters = &stats->counters;
    bool was_lost = ls_slot_set_has(&stats->lost, event->slot);
    if (event->was_coming) {
        (*refused_by(counters, event->status))++;
        return;
    }
    ls_slot_set_remove(&stats->lost, event->slot);
    if (event->status == LS_DISCONNECTED) {
        counters->players_left++;
    } else if (!was_lost) {
        counters->players_lost++;
    }
}

void ls_room_stats_receive_event(ls_room_stats *stats, const ls_match *match,
                                 const ls_match_event *event)
{
    ls_room_counters *counters = &stats->counters;
    switch (event->kind) {
    case LS_MATCH_PLAYER_READY:
        counters->players_joined += event->was_coming ? 1 : 0;
        break;
    case LS_MATCH_PLAYER_RETURNED:
        counters->players_returned++;
        ls_slot_set_remove(&stats->lost, event->slot);
        break;
    case LS_MATCH_PLAYER_LOST:
        counters->players_lost++;
        ls_slot_set_add(&stats->lost, event->slot);
        break;
    case LS_MATCH_PLAYER_LEFT:
        on_left(stats, event);
        break;
    case LS_MATCH_PEER_REFUSED:
        (*refused_by(counters, event->status))++;
        break;
    case LS_MATCH_DESYNC_CAUSE:
        count_class(stats, match, event->slot);
        break;
    case LS_MATCH_HEALED:
        counters->heals++;
        break;
    default:
        break;
    }
}

void ls_room_stats_begin(ls_room_stats *stats, const ls_match *match)
{
    stats->tick = ls_match_tick(match);
}

void ls_room_stats_advanced(ls_room_stats *stats, const ls_match *match, uint64_t due_ns,
                            uint64_t now_ns)
{
    ls_tick tick = ls_match_tick(match);
    if (tick > stats->tick) {
        /* A match that goes on after a restart has been due for something since long before. */
        uint64_t since_ns = LS_MAX(due_ns, stats->advanced_ns);
        uint64_t late_ns = stats->advanced_ns > 0 && now_ns > since_ns ? now_ns - since_ns : 0;
        add_sample(&stats->counters.lateness, (double)late_ns / 1e6);
        stats->counters.ticks += tick - stats->tick;
    }
    stats->tick = tick;
    stats->advanced_ns = now_ns;
}

/* ---- reporting ---- */

static uint32_t state_of(const ls_match *match)
{
    static const uint32_t states[] = {
        [LS_MATCH_LOBBY] = LS_ROOM_WAITING,   [LS_MATCH_RESUMING] = LS_ROOM_RESUMING,
        [LS_MATCH_RUNNING] = LS_ROOM_RUNNING, [LS_MATCH_ENDING] = LS_ROOM_ENDING,
        [LS_MATCH_OVER] = LS_ROOM_OVER,
    };
    ls_match_state state = ls_match_state_of(match);
    return state == LS_MATCH_RUNNING && ls_match_is_paused(match) ? LS_ROOM_PAUSED : states[state];
}

static void report_player(const ls_match_slot *slot, const ls_transport *transport,
                          const ls_transport_traffic *traffic, ls_room_player *out)
{
    memcpy(out->name, slot->name, sizeof out->name);
    out->is_here = slot->peer != 0;
    out->is_desynced = slot->is_desynced;
    out->rtt_ms = (double)slot->rtt_ns / 1e6;
    out->slack_ms = (double)slot->slack_ns / 1e6;
    out->ticks_behind = slot->ticks_behind;
    out->inputs_late = slot->inputs_late;
    out->inputs_substituted = slot->inputs_substituted;
    out->lag = slot->lag.cause;
    out->bytes_up = traffic->bytes_received;
    out->bytes_down = traffic->bytes_sent;
    char address[LS_TRANSPORT_UDP_ADDRESS_BYTES];
    if (out->is_here && ls_transport_udp_address(transport, slot->peer, address) == LS_OK) {
        memcpy(out->address, address, sizeof address);
    }
}

/* An input waits for its closing as long as it came early, and both ways are a round trip. */
static void sample_confirm(ls_room_stats *stats, const ls_match_slot *slot)
{
    if (slot->peer != 0 && slot->is_playing && slot->rtt_ns > 0) {
        double slack_ms = slot->slack_ns > 0 ? (double)slot->slack_ns / 1e6 : 0;
        add_sample(&stats->counters.confirm, (double)slot->rtt_ns / 1e6 + slack_ms);
    }
}

/* Inputs that were made in a pause wait for its end, and show for a second afterwards. */
static bool is_sampled(ls_room_stats *stats, const ls_match *match)
{
    if (ls_match_is_paused(match)) {
        stats->sampled_from = ls_match_tick(match) + ls_match_config_of(match)->sim.tick_rate_hz;
    }
    return ls_match_tick(match) >= stats->sampled_from;
}

static void report_players(ls_room_stats *stats, const ls_room *room, const ls_transport *transport,
                           ls_room_report *report)
{
    const ls_match *match = ls_room_match(room);
    bool are_sampled = is_sampled(stats, match);
    ls_room_counters *sums = &report->counters;
    for (uint32_t slot = 0; slot < ls_match_players(match); slot++) {
        const ls_match_slot seat = ls_match_slot_of(match, slot);
        const ls_transport_traffic traffic = ls_room_traffic(room, slot);
        sums->inputs_on_time += seat.inputs_on_time;
        sums->inputs_late += seat.inputs_late;
        sums->inputs_substituted += seat.inputs_substituted;
        sums->hashes_compared += seat.hashes_compared;
        sums->bytes_up += traffic.bytes_received;
        sums->bytes_down += traffic.bytes_sent;
        if (are_sampled) {
            sample_confirm(stats, &seat);
        }
        bool has_been = seat.peer != 0 || seat.has_played;
        if (has_been && !report->players) { /* an empty room holds none */
            report->players = ls_allocate_array(ls_allocator_heap(), ls_match_players(match),
                                                sizeof *report->players);
        }
        if (has_been && report->players) {
            ls_room_player *player = &report->players[report->player_count++];
            player->slot = slot;
            report_player(&seat, transport, &traffic, player);
        }
    }
}

static void report_journal(const ls_room *room, ls_room_report *report)
{
    const ls_room_journal *journal = ls_room_journal_of(room);
    ls_summary_journal figures;
    if (journal) {
        ls_room_journal_summarize(journal, &figures);
        report->counters.journal_bytes = figures.bytes;
        report->counters.journal_failures = figures.failures;
        report->counters.journal_ticks_missing = ls_room_journal_ticks_missing(journal);
        report->journal_backlog_ticks = ls_room_journal_backlog(journal);
    }
}

void ls_room_stats_report(ls_room_stats *stats, const ls_room *room, const ls_transport *transport,
                          ls_room_report *report)
{
    const ls_match *match = ls_room_match(room);
    const ls_match_config *config = ls_match_config_of(match);
    ls_match_spectating spectating = ls_match_spectating_of(match);
    report->state = state_of(match);
    ls_name_copy(report->simulation, sizeof report->simulation, config->simulation->name);
    report->seats = config->sim.players;
    report->seats_open = ls_match_seats_open(match);
    report->spectator_places = config->spectators_max;
    report->spectators = spectating.now;
    report->tick_rate_hz = ls_rate_hz(ls_sim_config_rate(&config->sim));
    report->match_id = config->match_id;
    report->tick = ls_match_tick(match);
    report->counters = stats->counters;
    report->counters.packets_rejected = ls_match_packets_rejected(match);
    report->player_count = 0;
    report_players(stats, room, transport, report);
    report->counters.confirm = stats->counters.confirm;
    report_journal(room, report);
}
