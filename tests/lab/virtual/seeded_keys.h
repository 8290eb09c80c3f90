/* Seeded keys: makes every key and cookie of this process follow from a seed, so that a match over
 * sealed datagrams can be played again. Never in a program that serves anybody: its keys can be
 * known. Called by sealed_network. */
#ifndef LOCKSTEP_TESTS_LAB_VIRTUAL_SEEDED_KEYS_H
#define LOCKSTEP_TESTS_LAB_VIRTUAL_SEEDED_KEYS_H

#include <stdint.h>

void seeded_keys_begin(uint64_t seed);
/* From now on the system is asked again. */
void seeded_keys_end(void);

#endif
