/* Tally simulation: the cheapest simulation whose state depends on every byte of every input, for
 * whole matches: up to 32 players with inputs of up to 1,024 bytes, which bots draw anew every
 * tick. Counts events as well, so that a join or a leave that comes twice shows. Played by virtual
 * matches, nowhere else. */
#ifndef LOCKSTEP_TOOLS_FAULTSIM_TALLY_SIMULATION_H
#define LOCKSTEP_TOOLS_FAULTSIM_TALLY_SIMULATION_H

#include "lockstep/common/simulation/simulation.h"

/* The order of the parameters. */
enum {
    TALLY_PARAM_BYTES, /* of a bot's input */
    TALLY_PARAM_COUNT
};

typedef struct tally_slot {
    uint64_t sum; /* over all input bytes, order-sensitive */
    uint32_t joins;
    uint32_t leaves;
} tally_slot;

typedef struct tally_state {
    ls_rng rng;
    tally_slot slots[LS_PLAYERS_MAX];
} tally_state;

const ls_simulation *tally_simulation(void);

/* The same with inputs of at most TALLY_SMALL_BYTES: its rings fit into a cache. */
enum {
    TALLY_SMALL_BYTES = 8
};

const ls_simulation *tally_small_simulation(void);

#endif
