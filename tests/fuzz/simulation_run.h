/* Simulation run: drives one simulation with arbitrary inputs for some ticks, twice: from the start
 * and again from a save in the middle. Padding must stay zero and both runs must agree. Called by
 * the fuzz targets of the built-in simulations. */
#ifndef LOCKSTEP_TESTS_FUZZ_SIMULATION_RUN_H
#define LOCKSTEP_TESTS_FUZZ_SIMULATION_RUN_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

/* For each tick: u8 slots, bit s % 8 set when slot s does something; for each that does: u8 events
 * (lowest two bits), u8 and with bit 2 of events one more u8 for the high part of the size; then
 * the input's bytes. Everybody joins at tick 0. The config is checked; one that is refused ends the
 * run. */
void simulation_run(const ls_simulation *simulation, const ls_sim_config *config,
                    fuzz_input *input);

#endif
