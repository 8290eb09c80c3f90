/* Player link fixture: one player link at a server that closes ticks when the test says so, and
 * what its player sends. Every test has one of its own, `here`. Asserts by Criterion; for
 * test_player_link.c and test_player_link_ticks.c alone. */
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

extern player_link_fixture here;

void open_table(void);
void close_table(void);

/* Closes ticks up to `tick`, each at its time; counts those with an input of this slot. */
uint32_t close_to(ls_tick tick);

/* The input that the player makes for a tick. */
ls_slot_input input_of(ls_tick tick, uint8_t bytes[INPUT_BYTES]);

/* INPUTS with the inputs of header.first and on. */
packet write_inputs(ls_inputs_header header, uint32_t count);

/* So many bytes of a packet reach the link. */
ls_status receive(const packet *sent, size_t size);

/* The next packet of the player reaches it. */
ls_status deliver(ls_inputs_header header, uint32_t count);

#endif
