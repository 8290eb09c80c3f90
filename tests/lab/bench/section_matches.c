#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a crowd of matches of the pad simulation, without sockets and sessions: what a server's core
 * takes when it advances them in turn, and finds none of a match in a cache. All of them are played
 * alike, by four players of a few bytes each, who send what a client of 67 ms round trip sends and
 * whose states agree ---- */

enum {
    CROWD_PLAYERS = 4, /* in a match */
    CROWD_STATE_BYTES = 256,
    MATCHES_MAX = 1024,
    TOGETHER = 32,   /* matches whose memory is asked for at once, as at one moment of a table */
    LEAD_TICKS = 2,  /* from the newest input to the tick that is closed next */
    WAY_TICKS = 4,   /* of 60 Hz: 67 ms, behind which a client acknowledges */
    REPEATED = 3,    /* inputs that go out once more with the newest one */
    HELD_TICKS = 16, /* of pads and chains; a power of two */
    HEALTH_TICKS = 60,
};

/* The packet of a client for one tick, the same to every match. */
typedef struct crowd_packet {
    size_t size;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} crowd_packet;

typedef struct crowd_player {
    bench_pad_player pad;
    uint8_t inputs[HELD_TICKS][BENCH_PAD_INPUT_BYTES]; /* by tick */
    ls_tick end;                                       /* behind the newest of them */
    uint32_t sequence;
    crowd_packet packet;
} crowd_player;

typedef struct match_crowd {
    uint32_t count;
    ls_match *matches[MATCHES_MAX];
    crowd_player players[CROWD_PLAYERS];
    uint32_t chains[HELD_TICKS]; /* low halves, by state */
    ls_tick tick;                /* that is closed next */
    uint64_t now_ns;
    uint64_t dt_ns;
    uint64_t sent_bytes;
} match_crowd;

/* ---- life ---- */

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    match_crowd *crowd = user;
    (void)peer;
    (void)channel;
    (void)bytes;
    crowd->sent_bytes += size;
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    (void)user;
    (void)peer;
}

static void crowd_destroy(match_crowd *crowd)
{
    for (uint32_t i = 0; crowd && i < crowd->count; i++) {
        ls_match_destroy(crowd->matches[i]);
    }
    free(crowd);
}

/* So many matches in which nobody is yet; 1 .. 1024. The allocator is that of the matches. */
static ls_status crowd_create(uint32_t matches, const ls_allocator *allocator, match_crowd **out,
                              ls_text *why)
{
    LS_ASSERT(matches >= 1 && matches <= MATCHES_MAX);
    match_crowd *crowd = calloc(1, sizeof *crowd);
    if (!crowd) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    ls_packet_sink sink = {on_send, on_disconnect, crowd};
    ls_match_config config = ls_match_config_default(bench_pad_simulation());
    config.sim = bench_pad_config(CROWD_STATE_BYTES, CROWD_PLAYERS);
    crowd->now_ns = LS_NS_PER_SECOND;
    crowd->dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&config.sim)).dt_ns;
    ls_status status = LS_OK;
    while (status == LS_OK && crowd->count < matches) {
        status = ls_match_create(&config, &sink, allocator, &crowd->matches[crowd->count], why);
        crowd->count += status == LS_OK ? 1 : 0;
    }
    if (status != LS_OK) {
        crowd_destroy(crowd);
        return status;
    }
    *out = crowd;
    return LS_OK;
}

/* ---- what the players send ---- */

static void send_message(match_crowd *crowd, ls_match *match, ls_peer_id peer,
                         const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    ls_match_receive(match, peer, LS_CHANNEL_RELIABLE, bytes, size, crowd->now_ns);
}

static void drop_events(ls_match *match)
{
    ls_match_event event;
    while (ls_match_next_event(match, &event)) {
    }
}

static void note_chain(match_crowd *crowd)
{
    ls_tick tick = 0;
    uint64_t chain = ls_match_hash_chain(crowd->matches[0], &tick);
    crowd->chains[tick % HELD_TICKS] = (uint32_t)chain;
}

/* The players come, and every match starts. */
static void crowd_start(match_crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->count; i++) {
        ls_match *match = crowd->matches[i];
        for (ls_peer_id peer = 1; peer <= CROWD_PLAYERS; peer++) {
            ls_message hello = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("pad")};
            ls_match_peer_connected(match, peer, crowd->now_ns);
            send_message(crowd, match, peer, &hello);
        }
        for (ls_peer_id peer = 1; peer <= CROWD_PLAYERS; peer++) {
            ls_message ready = {.kind = LS_MESSAGE_READY,
                                .body.ready = ls_ready_make(ls_match_instance(match))};
            send_message(crowd, match, peer, &ready);
        }
        drop_events(match);
    }
    for (uint32_t slot = 0; slot < CROWD_PLAYERS; slot++) {
        crowd->players[slot].pad = bench_pad_player_make(1, slot);
    }
    note_chain(crowd);
    while (ls_match_tick(crowd->matches[0]) == 0) {
        uint64_t next_ns = ls_match_next_ns(crowd->matches[0]);
        crowd->now_ns = LS_MAX(next_ns, crowd->now_ns);
        for (uint32_t i = 0; i < crowd->count; i++) {
            ls_match_advance(crowd->matches[i], crowd->now_ns);
        }
    }
    crowd->now_ns += crowd->dt_ns;
    note_chain(crowd);
}

static ls_slot_input input_of(const crowd_player *player, ls_tick tick)
{
    return (ls_slot_input){player->inputs[tick % HELD_TICKS], BENCH_PAD_INPUT_BYTES, 0};
}

static void write_packet(const match_crowd *crowd, crowd_player *player)
{
    ls_tick end = crowd->tick + LEAD_TICKS + 1;
    for (; player->end < end; player->end++) {
        bench_pad_player_input(&player->pad, player->inputs[player->end % HELD_TICKS]);
    }
    /* Once a second it says that nothing is lost. */
    ls_inputs_header header = {.sequence = player->sequence,
                               .has_health = player->sequence % HEALTH_TICKS == 0};
    player->sequence++;
    header.next = crowd->tick > WAY_TICKS ? crowd->tick - WAY_TICKS : 0;
    header.chain_tick = header.next;
    header.chain = crowd->chains[header.next % HELD_TICKS];
    header.first = end > REPEATED ? end - 1 - REPEATED : 0;
    header.has_base = header.first > 0;
    ls_slot_input before = {NULL, 0, 0};
    if (header.has_base) {
        before = input_of(player, header.first - 1);
    }
    ls_bit_stream stream = ls_bit_writer(player->packet.bytes, sizeof player->packet.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (ls_tick tick = header.first; tick < end; tick++) {
        ls_slot_input input = input_of(player, tick);
        bool is_written = ls_inputs_write_tick(&stream, &before, &input);
        LS_ASSERT(is_written);
        before = input;
    }
    ls_tick_packet_write_end(&stream);
    player->packet.size = ls_bits_size_bytes(&stream);
}

/* ---- ticks ---- */

static void advance_matches(match_crowd *crowd, uint32_t first, uint32_t end)
{
    void (*const steps[])(const ls_match *) = {ls_match_prefetch, ls_match_prefetch_more};
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        for (uint32_t i = first; i < end; i++) {
            steps[step](crowd->matches[i]);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        for (uint32_t slot = 0; slot < CROWD_PLAYERS; slot++) {
            const crowd_packet *packet = &crowd->players[slot].packet;
            ls_match_receive(crowd->matches[i], slot + 1, LS_CHANNEL_UNRELIABLE, packet->bytes,
                             packet->size, crowd->now_ns);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        ls_match_advance(crowd->matches[i], crowd->now_ns);
    }
}

/* Plays on for so many ticks of every match. Returns the time that the matches took for it. */
static uint64_t crowd_run(match_crowd *crowd, uint32_t ticks)
{
    uint64_t took_ns = 0;
    for (uint32_t i = 0; i < ticks; i++) {
        crowd->tick = ls_match_tick(crowd->matches[0]);
        for (uint32_t slot = 0; slot < CROWD_PLAYERS; slot++) {
            write_packet(crowd, &crowd->players[slot]);
        }
        uint64_t began_ns = bench_now_ns();
        for (uint32_t first = 0; first < crowd->count; first += TOGETHER) {
            uint32_t end = first + TOGETHER;
            advance_matches(crowd, first, LS_MIN(end, crowd->count));
        }
        took_ns += bench_now_ns() - began_ns - bench_clock_cost_ns();
        crowd->now_ns += crowd->dt_ns;
        note_chain(crowd);
    }
    return took_ns;
}

static ls_status check_match(const match_crowd *crowd, uint32_t index, ls_text *why)
{
    const ls_match *match = crowd->matches[index];
    for (uint32_t slot = 0; slot < CROWD_PLAYERS; slot++) {
        ls_match_slot report = ls_match_slot_of(match, slot);
        if (!report.is_playing || report.is_desynced || report.hashes_compared == 0) {
            return ls_fail(LS_DESYNCED, why,
                           "match %" PRIu32 ", slot %" PRIu32 ": %s, %" PRIu64 " states compared",
                           index, slot,
                           report.is_desynced ? "differs" : "does not play as it has to",
                           report.hashes_compared);
        }
    }
    return LS_OK;
}

/* DESYNCED when a player of the first or the last match has left or differs, or none of its states
 * was compared; `why` says it. */
static ls_status crowd_check(const match_crowd *crowd, ls_text *why)
{
    ls_status status = check_match(crowd, 0, why);
    return status == LS_OK ? check_match(crowd, crowd->count - 1, why) : status;
}

/* ---- memory that is counted ---- */

typedef struct counted_memory {
    ls_allocator allocator; /* what to pass on */
    uint64_t bytes;         /* that are held, without what the heap itself adds */
} counted_memory;

/* Stands before each block, padded to keep the block aligned for any type. */
typedef union block_head {
    size_t bytes;
    max_align_t alignment;
} block_head;

static void *allocate(void *user, size_t bytes)
{
    counted_memory *counted = user;
    block_head *head = calloc(1, sizeof *head + bytes);
    if (!head) {
        return NULL;
    }
    head->bytes = bytes;
    counted->bytes += bytes;
    return head + 1;
}

static void release(void *user, void *memory)
{
    counted_memory *counted = user;
    block_head *head = memory;
    if (memory) {
        counted->bytes -= head[-1].bytes;
        free(head - 1);
    }
}

/* In the caller's storage, which must not move afterwards. */
static void counted_memory_init(counted_memory *counted)
{
    *counted = (counted_memory){.allocator = {allocate, release, counted, NULL}};
}

enum {
    COLD_MATCHES = 512,
    SMOKE_MATCHES = 8,
    WARM_TICKS = 1100, /* every ring of a match has been written to once */
    SMOKE_TICKS = 20,
    HOT_ROUND_TICKS = 200,
    COLD_ROUND_TICKS = 2,
};

#define IDLE_BUDGET_BYTES (64 << 10)

/* ---- memory ---- */

static ls_status measure_bytes(const bench_plan *plan, bench_report *report, ls_text *why)
{
    counted_memory counted;
    match_crowd *crowd = NULL;
    counted_memory_init(&counted);
    ls_status status = crowd_create(1, &counted.allocator, &crowd, why);
    if (status != LS_OK) {
        return status;
    }
    bench_report_number(report, "4 players, 256 B: before anybody comes", "B",
                        (double)counted.bytes, BENCH_MOST(IDLE_BUDGET_BYTES));
    crowd_start(crowd);
    crowd_run(crowd, plan->is_smoke ? SMOKE_TICKS : WARM_TICKS);
    bench_report_number(report, "4 players, 256 B: while they play", "B", (double)counted.bytes,
                        BENCH_UNBUDGETED);
    status = crowd_check(crowd, why);
    crowd_destroy(crowd);
    return status;
}

/* The memory of so many rooms, without processes and sockets. */
static ls_status measure_rooms(uint32_t rooms, bench_report *report, ls_text *why)
{
    char name[LS_NAME_BYTES_MAX];
    counted_memory counted;
    match_crowd *crowd = NULL;
    counted_memory_init(&counted);
    ls_status status = crowd_create(rooms, &counted.allocator, &crowd, why);
    if (status != LS_OK) {
        return status;
    }
    snprintf(name, sizeof name, "%u rooms of 4: before anybody comes", rooms);
    bench_report_number(report, name, "MB", (double)counted.bytes / 1e6, BENCH_UNBUDGETED);
    crowd_start(crowd);
    crowd_run(crowd, SMOKE_TICKS);
    snprintf(name, sizeof name, "%u rooms of 4: while they play", rooms);
    bench_report_number(report, name, "MB", (double)counted.bytes / 1e6, BENCH_UNBUDGETED);
    crowd_destroy(crowd);
    return LS_OK;
}

/* ---- time ---- */

typedef struct crowds {
    match_crowd *hot;
    match_crowd *cold;
    uint32_t cold_matches;
} crowds;

static double client_tick_ns(match_crowd *crowd, uint32_t matches, uint32_t ticks)
{
    uint64_t took_ns = crowd_run(crowd, ticks);
    return (double)took_ns / ((double)matches * ticks * CROWD_PLAYERS);
}

static void report_rounds(const crowds *both, const bench_plan *plan, bench_report *report)
{
    bench_times hot = {{0}, {0}};
    bench_times cold = {{0}, {0}};
    bench_ratios ratios = {{0}, 0};
    uint32_t hot_ticks = plan->is_smoke ? SMOKE_TICKS : HOT_ROUND_TICKS;
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double slowdown = bench_slowdown();
        double hot_ns = client_tick_ns(both->hot, 1, hot_ticks);
        double cold_ns = client_tick_ns(both->cold, both->cold_matches, COLD_ROUND_TICKS);
        bench_times_add(&hot, hot_ns, slowdown);
        bench_times_add(&cold, cold_ns, slowdown);
        bench_series_add(&ratios.rounds, cold_ns / hot_ns);
    }
    ratios.of_bests = bench_series_min(&cold.ns) / bench_series_min(&hot.ns);
    bench_report_times(report, "one match: a client and tick", "ns", 1, &hot, BENCH_UNBUDGETED);
    bench_report_times(report, "512 matches in turn: a client and tick", "ns", 1, &cold,
                       BENCH_UNBUDGETED);
    bench_report_ratios(report, "the same, times that of one match", &ratios, BENCH_UNBUDGETED);
}

static ls_status begin_crowd(uint32_t matches, const bench_plan *plan, match_crowd **out,
                             ls_text *why)
{
    ls_status status = crowd_create(matches, ls_allocator_heap(), out, why);
    if (status == LS_OK) {
        crowd_start(*out);
        crowd_run(*out, plan->is_smoke ? SMOKE_TICKS : WARM_TICKS);
    }
    return status;
}

static ls_status measure_time(const bench_plan *plan, bench_report *report, ls_text *why)
{
    crowds both = {.cold_matches = plan->is_smoke ? SMOKE_MATCHES : COLD_MATCHES};
    ls_status status = begin_crowd(1, plan, &both.hot, why);
    if (status == LS_OK) {
        status = begin_crowd(both.cold_matches, plan, &both.cold, why);
    }
    if (status == LS_OK) {
        report_rounds(&both, plan, report);
        status = crowd_check(both.hot, why);
    }
    status = status == LS_OK ? crowd_check(both.cold, why) : status;
    crowd_destroy(both.cold);
    crowd_destroy(both.hot);
    return status;
}

ls_status bench_matches(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = measure_bytes(plan, report, why);
    for (uint32_t rooms = 1; status == LS_OK && rooms <= (plan->is_smoke ? 1 : 1000); rooms *= 10) {
        status = measure_rooms(rooms, report, why);
    }
    return status == LS_OK ? measure_time(plan, report, why) : status;
}
