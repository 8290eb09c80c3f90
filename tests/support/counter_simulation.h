/* Counter simulation: a small simulation that uses every part of the contract which hosts care
 * about: parameters with a check, an array of structs, declared padding, scratch, a random stream,
 * two passes and events. Its step is simple enough to be worked out by hand. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_COUNTER_SIMULATION_H
#define LOCKSTEP_TESTS_SUPPORT_COUNTER_SIMULATION_H

#include "lockstep/common/simulation/simulation.h"

#define COUNTER_PLAYERS_MAX 8u
#define COUNTER_INPUT_BYTES_MAX 16u
#define COUNTER_CELLS_MAX 20000u

/* The order of the parameters. */
enum {
    COUNTER_PARAM_CELLS,
    COUNTER_PARAM_SPEED,
    COUNTER_PARAM_COUNT
};

typedef struct counter_cell {
    ls_fixed position;
    ls_fixed speed;
    ls_angle heading;
    uint16_t hits;
    uint8_t owner; /* 1 + the slot that hit it last, 0 for nobody */
    uint8_t padding;
} counter_cell;

typedef struct counter_state {
    uint64_t total; /* sum of all input bytes */
    ls_rng rng;
    uint32_t steps;
    uint32_t present; /* bit s: slot s has a player */
    uint32_t joins;
    uint32_t leaves;
    int32_t last[COUNTER_PLAYERS_MAX]; /* size of each slot's last input */
    counter_cell cells[];              /* as many as the parameter says */
} counter_state;

/* Pass "apply": each event is counted; each input byte adds to the total and hits the cell that it
 * numbers, modulo the count. Pass "move": each cell moves by its speed, turns by as much as it was
 * hit, and one cell drawn at random is pushed. */
const ls_simulation *counter_simulation(void);

#endif
