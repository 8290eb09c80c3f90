/* Seat table: one seat at a server that closes ticks when the test says so, and what its player
 * sends. Every test has one of its own, `here`. Asserts by Criterion; for test_seat.c and
 * test_seat_ticks.c alone. */
#ifndef LOCKSTEP_TESTS_UNIT_SEAT_TABLE_H
#define LOCKSTEP_TESTS_UNIT_SEAT_TABLE_H

#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/seat.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    INPUT_BYTES = 4
};

#define DT_NS (20 * LS_NS_PER_MS)

/* One seat at a server that has closed `next_close` ticks, one every DT_NS. */
typedef struct seat_table {
    ls_seat seat;
    ls_downlink_clock clock;
    uint64_t closed_at_ns[LS_WINDOW_TICKS];
    ls_tick_cursor cursor;
    uint32_t sequence; /* of the next packet */
} seat_table;

typedef struct packet {
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size;
} packet;

extern seat_table here;

void open_table(void);
void close_table(void);

/* Closes ticks up to `tick`, each at its time; counts those with an input of this slot. */
uint32_t close_to(ls_tick tick);

/* The input that the player makes for a tick. */
ls_slot_input input_of(ls_tick tick, uint8_t bytes[INPUT_BYTES]);

/* INPUTS with the inputs of header.first and on. */
packet write_inputs(ls_inputs_header header, uint32_t count);

/* So many bytes of a packet reach the seat. */
ls_status receive(const packet *sent, size_t size);

/* The next packet of the player reaches it. */
ls_status take(ls_inputs_header header, uint32_t count);

#endif
