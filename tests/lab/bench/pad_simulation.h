/* Pad simulation: the smallest thing that can be hosted: a block of numbers, as large as the
 * parameter says, to which every slot's four bytes are added. Its step costs next to nothing, so
 * that what is measured is the match around it. Called by the benchmarks alone. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_PAD_SIMULATION_H
#define LOCKSTEP_TESTS_LAB_BENCH_PAD_SIMULATION_H

#include "lockstep/common/simulation/simulation.h"

#define BENCH_PAD_INPUT_BYTES 4u
#define BENCH_PAD_STATE_BYTES_MIN 64

/* Its first parameter is "bytes", the size of the state; a multiple of 8. It names what it writes,
 * and by another parameter changes so many words more in each step, far apart. */
#define BENCH_PAD_CHANGED_WORDS 2u
const ls_simulation *bench_pad_simulation(void);

/* A config of so many bytes and players. */
ls_sim_config bench_pad_config(uint32_t state_bytes, uint32_t players);

/* A player whose pad has 32 buttons, of which one changes with a chance of 1/8 a tick. */
typedef struct bench_pad_player {
    ls_rng rng;
    uint32_t pad;
} bench_pad_player;

bench_pad_player bench_pad_player_make(uint64_t seed, uint64_t stream);

/* The next tick's input: writes BENCH_PAD_INPUT_BYTES and returns that. */
uint32_t bench_pad_player_input(bench_pad_player *player, uint8_t *bytes);

#endif
