/* Steps: a built-in simulation with seeded bots for so many ticks: the same here and in a browser,
 * to be compared. */
#ifndef LOCKSTEP_TESTS_WEB_STEPS_H
#define LOCKSTEP_TESTS_WEB_STEPS_H

#include <stdint.h>

/* The chain of the state hashes after each hundredth tick and the last; 0: there is no such
 * simulation. */
uint64_t ls_web_steps(uint32_t builtin, uint32_t players, uint32_t ticks);

const char *ls_web_steps_name(uint32_t builtin); /* NULL beyond the last */

#endif
