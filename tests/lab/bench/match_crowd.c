#include "lockstep/tests/lab/bench/match_crowd.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
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

struct bench_match_crowd {
    uint32_t count;
    ls_match *matches[MATCHES_MAX];
    crowd_player players[BENCH_CROWD_PLAYERS];
    uint32_t chains[HELD_TICKS]; /* low halves, by state */
    ls_tick tick;                /* that is closed next */
    uint64_t now_ns;
    uint64_t dt_ns;
    uint64_t sent_bytes;
};

/* ---- life ---- */

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    bench_match_crowd *crowd = user;
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

ls_status bench_match_crowd_create(uint32_t matches, const ls_allocator *allocator,
                                   bench_match_crowd **out, ls_text *why)
{
    LS_ASSERT(matches >= 1 && matches <= MATCHES_MAX);
    bench_match_crowd *crowd = calloc(1, sizeof *crowd);
    if (!crowd) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    ls_packet_sink sink = {on_send, on_disconnect, crowd};
    ls_match_config config = ls_match_config_default(bench_pad_simulation());
    config.sim = bench_pad_config(BENCH_CROWD_STATE_BYTES, BENCH_CROWD_PLAYERS);
    crowd->now_ns = LS_NS_PER_SECOND;
    crowd->dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&config.sim)).dt_ns;
    ls_status status = LS_OK;
    while (status == LS_OK && crowd->count < matches) {
        status = ls_match_create(&config, &sink, allocator, &crowd->matches[crowd->count], why);
        crowd->count += status == LS_OK ? 1 : 0;
    }
    if (status != LS_OK) {
        bench_match_crowd_destroy(crowd);
        return status;
    }
    *out = crowd;
    return LS_OK;
}

void bench_match_crowd_destroy(bench_match_crowd *crowd)
{
    for (uint32_t i = 0; crowd && i < crowd->count; i++) {
        ls_match_destroy(crowd->matches[i]);
    }
    free(crowd);
}

/* ---- what the players send ---- */

static void send_message(bench_match_crowd *crowd, ls_match *match, ls_peer_id peer,
                         const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    ls_match_receive(match, peer, LS_CHANNEL_RELIABLE, bytes, size, crowd->now_ns);
}

static void take_events(ls_match *match)
{
    ls_match_event event;
    while (ls_match_next_event(match, &event)) {
    }
}

static void note_chain(bench_match_crowd *crowd)
{
    ls_tick tick = 0;
    uint64_t chain = ls_match_hash_chain(crowd->matches[0], &tick);
    crowd->chains[tick % HELD_TICKS] = (uint32_t)chain;
}

void bench_match_crowd_start(bench_match_crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->count; i++) {
        ls_match *match = crowd->matches[i];
        for (ls_peer_id peer = 1; peer <= BENCH_CROWD_PLAYERS; peer++) {
            ls_message hello = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("pad")};
            ls_match_peer_connected(match, peer, crowd->now_ns);
            send_message(crowd, match, peer, &hello);
        }
        for (ls_peer_id peer = 1; peer <= BENCH_CROWD_PLAYERS; peer++) {
            ls_message ready = {.kind = LS_MESSAGE_READY,
                                .body.ready = ls_ready_make(ls_match_instance(match))};
            send_message(crowd, match, peer, &ready);
        }
        take_events(match);
    }
    for (uint32_t slot = 0; slot < BENCH_CROWD_PLAYERS; slot++) {
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

static void write_packet(const bench_match_crowd *crowd, crowd_player *player)
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

static void advance_matches(bench_match_crowd *crowd, uint32_t first, uint32_t end)
{
    void (*const steps[])(const ls_match *) = {ls_match_prefetch, ls_match_prefetch_more};
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        for (uint32_t i = first; i < end; i++) {
            steps[step](crowd->matches[i]);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        for (uint32_t slot = 0; slot < BENCH_CROWD_PLAYERS; slot++) {
            const crowd_packet *packet = &crowd->players[slot].packet;
            ls_match_receive(crowd->matches[i], slot + 1, LS_CHANNEL_UNRELIABLE, packet->bytes,
                             packet->size, crowd->now_ns);
        }
    }
    for (uint32_t i = first; i < end; i++) {
        ls_match_advance(crowd->matches[i], crowd->now_ns);
    }
}

uint64_t bench_match_crowd_run(bench_match_crowd *crowd, uint32_t ticks)
{
    uint64_t took_ns = 0;
    for (uint32_t i = 0; i < ticks; i++) {
        crowd->tick = ls_match_tick(crowd->matches[0]);
        for (uint32_t slot = 0; slot < BENCH_CROWD_PLAYERS; slot++) {
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

static ls_status check_match(const bench_match_crowd *crowd, uint32_t index, ls_text *why)
{
    const ls_match *match = crowd->matches[index];
    for (uint32_t slot = 0; slot < BENCH_CROWD_PLAYERS; slot++) {
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

ls_status bench_match_crowd_check(const bench_match_crowd *crowd, ls_text *why)
{
    ls_status status = check_match(crowd, 0, why);
    return status == LS_OK ? check_match(crowd, crowd->count - 1, why) : status;
}
