/* Test simulation: the cheapest simulation whose state depends on every byte of every input, for
 * whole matches: up to 32 players with inputs of up to 1,024 bytes, which bots draw anew every
 * tick. Counts events as well, so that a join or a leave that comes twice shows. Played by virtual
 * matches, nowhere else. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_TEST_SIMULATION_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_TEST_SIMULATION_H

#include "lockstep/common/simulation/simulation.h"

/* The order of the parameters. */
enum {
    TEST_PARAM_BYTES, /* of a bot's input */
    TEST_PARAM_COUNT
};

typedef struct test_simulation_slot {
    uint64_t sum; /* over all input bytes, order-sensitive */
    uint32_t joins;
    uint32_t leaves;
} test_simulation_slot;

enum {
    TEST_PLAYERS_MAX = 32 /* each with as many bytes as an input may have */
};

typedef struct test_simulation_state {
    ls_rng rng;
    test_simulation_slot slots[TEST_PLAYERS_MAX];
} test_simulation_state;

const ls_simulation *test_simulation(void);

/* The same with inputs of at most TEST_SMALL_BYTES: its rings fit into a cache. */
enum {
    TEST_SMALL_BYTES = 8
};

const ls_simulation *test_small_simulation(void);

#endif
