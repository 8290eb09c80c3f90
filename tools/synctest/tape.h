/* Tape: the reference run of a match: the inputs of every tick and the state hash of every state,
 * in one file of memory. One process records it, all others read it. Never looks into a state. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_TAPE_H
#define LOCKSTEP_TOOLS_SYNCTEST_TAPE_H

#include "lockstep/common/simulation/simulation.h"

/* The file: state hashes u64[ticks+1], starts u64[ticks+1], then for each tick and slot: events u8,
 * size u16, bytes. In this machine's byte order: it never leaves the machine. */
typedef struct synctest_tape {
    int file;
    uint32_t ticks;
    uint32_t players;
    uint8_t *bytes; /* the file in memory: whole for a reader, up to the inputs for a recorder */
    size_t byte_count;
    uint64_t end; /* where a recorder goes on */
} synctest_tape;

/* Makes the file a tape without inputs. IO. */
ls_status synctest_tape_create(int file, uint32_t ticks, uint32_t players, synctest_tape *out);

/* Adds tick `tick`: every one, in order from 0. IO. */
ls_status synctest_tape_add(synctest_tape *tape, ls_tick tick, const ls_slot_input *slots);
void synctest_tape_set_hash(synctest_tape *tape, ls_tick tick, uint64_t state_hash);

/* A recorded tape, for reading. IO. */
ls_status synctest_tape_open(int file, uint32_t ticks, uint32_t players, synctest_tape *out);

/* The inputs of a tick below `ticks`; the bytes are borrowed until the process ends. */
void synctest_tape_inputs(const synctest_tape *tape, ls_tick tick,
                          ls_slot_input slots[LS_PLAYERS_MAX]);
uint64_t synctest_tape_hash(const synctest_tape *tape, ls_tick tick); /* 0 .. ticks */

#endif
