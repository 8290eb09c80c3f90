/* Player link fixture: one player link at a server that closes ticks when the test says so, and
 * what its player sends. Every test has one of its own, `here`. Asserts by Criterion; for
 * test_player_link.c alone. */
#ifndef LOCKSTEP_TESTS_UNIT_PLAYER_LINK_FIXTURE_H
#define LOCKSTEP_TESTS_UNIT_PLAYER_LINK_FIXTURE_H

#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/player_link.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    INPUT_BYTES = 4
};

#define DT_NS (20 * LS_NS_PER_MS)

/* One player link at a server that has closed `log.next` ticks, one every DT_NS. */
typedef struct player_link_fixture {
    ls_player_link link;
    ls_match match; /* of which a link needs the clock and the log */
    ls_tick_log log;
    ls_closed_tick ticks[LS_WINDOW_TICKS]; /* of the log */
    ls_coded_tick coded[LS_WINDOW_TICKS];  /* likewise */
    uint8_t large[LS_TICK_BYTES_MAX];      /* likewise */
    ls_tick_cursor cursor;
    uint32_t sequence;  /* of the next packet */
    ls_slot_input held; /* in place of every missing input */
} player_link_fixture;

typedef struct packet {
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size;
} packet;

static player_link_fixture here;

static inline void open_table(void)
{
    memset(&here, 0, sizeof here);
    ls_player_link_init(&here.link, 0, INPUT_BYTES);
    cr_assert_eq(ls_player_link_open(&here.link, ls_allocator_heap()), LS_OK);
    ls_lag_meter_init(&here.link.figures.lag.meter, DT_NS);
    here.match.now_ns = LS_NS_PER_SECOND;
    here.match.dt_ns = DT_NS;
    here.match.log = &here.log;
    here.log.ticks = here.ticks;
    here.log.coded = here.coded;
    here.log.coded_count = LS_WINDOW_TICKS;
    here.log.large = here.large;
    const ls_input_buffer_config closed = {
        .slots = 1, .input_bytes_max = INPUT_BYTES, .window_ticks = LS_WINDOW_TICKS};
    cr_assert_eq(ls_input_buffer_create(&closed, ls_allocator_heap(), &here.log.closed), LS_OK);
    here.log.next_due_ns = LS_NS_PER_SECOND + DT_NS;
}

static inline void close_table(void)
{
    ls_player_link_close(&here.link);
    ls_input_buffer_destroy(here.log.closed);
}

/* Closes ticks up to `tick`, each at its time; counts those with an input of this slot. */
static inline uint32_t close_to(ls_tick tick)
{
    uint32_t on_time = 0;
    while (here.log.next < tick) {
        bool is_on_time = false;
        here.match.now_ns = here.log.next_due_ns;
        here.ticks[here.log.next % LS_WINDOW_TICKS].closed_ns = here.match.now_ns;
        ls_slot_input used =
            ls_player_link_close_input(&here.link, here.log.next, &here.held, &is_on_time);
        if (here.log.next >= LS_WINDOW_TICKS) {
            ls_input_buffer_forget_before(here.log.closed, here.log.next + 1 - LS_WINDOW_TICKS);
        }
        ls_input_buffer_put(here.log.closed, here.log.next, 0, used.bytes, used.size, 0);
        on_time += is_on_time;
        here.log.next++;
        here.log.next_due_ns += DT_NS;
    }
    return on_time;
}

/* The input that the player makes for a tick. */
static inline ls_slot_input input_of(ls_tick tick, uint8_t bytes[INPUT_BYTES])
{
    for (uint32_t i = 0; i < INPUT_BYTES; i++) {
        bytes[i] = (uint8_t)(tick * (i + 3));
    }
    return (ls_slot_input){bytes, tick % (INPUT_BYTES + 1), 0};
}

/* INPUTS with the inputs of header.first and on. */
static inline packet write_inputs(ls_inputs_header header, uint32_t count)
{
    packet made = {.size = 0};
    uint8_t bytes[2][INPUT_BYTES];
    ls_slot_input before = {NULL, 0, 0};
    if (header.has_base) {
        before = input_of(header.first - header.base_gap - 1, bytes[1]);
    }
    ls_bit_stream stream = ls_bit_writer(made.bytes, sizeof made.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (uint32_t i = 0; i < count; i++) {
        ls_slot_input input = input_of(header.first + i, bytes[i % 2]);
        cr_assert(ls_inputs_write_tick(&stream, &before, &input));
        before = input;
    }
    ls_tick_packet_write_end(&stream);
    made.size = ls_bits_size_bytes(&stream);
    return made;
}

/* So many bytes of a packet reach the link. */
static inline ls_status receive(const packet *sent, size_t size)
{
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(sent->bytes, size);
    ls_inputs_header_bits(&stream, &header, here.link.peer.downlink.next);
    if (stream.is_failed) {
        return LS_MALFORMED; /* as the match does before it asks the seat */
    }
    here.match.arrived_ns = here.match.now_ns;
    return ls_player_link_read_inputs(&here.link, &here.match, &header, &stream, &here.cursor);
}

/* The next packet of the player reaches it. */
static inline ls_status deliver(ls_inputs_header header, uint32_t count)
{
    header.sequence = here.sequence++;
    packet sent = write_inputs(header, count);
    return receive(&sent, sent.size);
}

#endif
