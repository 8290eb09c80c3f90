/* Hostile hosts: datagrams from all over the world that come to the server of a virtual match:
 * junk, key exchanges that lead nowhere, and what clients have sent, again or altered, from other
 * addresses and from their own. Called by play. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_HOSTILE_HOSTS_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_HOSTILE_HOSTS_H

#include "lockstep/tests/lab/virtual/virtual_match.h"

/* So many come at once; the network is one of datagrams. */
void faultsim_hostile_hosts_flood(virtual_match *run, ls_rng *rng, uint32_t datagrams);

#endif
