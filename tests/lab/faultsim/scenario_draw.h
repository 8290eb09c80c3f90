/* Scenario draw: what the files that draw a scenario share: the stream, and how to draw from it.
 * Never called by anybody else. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SCENARIO_DRAW_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SCENARIO_DRAW_H

#include "lockstep/tests/lab/faultsim/scenario.h"

#define MS LS_NS_PER_MS
#define PPM_OF_PERCENT 10000u

/* The state of the drawing of a scenario. */
typedef struct faultsim_draw {
    faultsim_scenario *scenario;
    const faultsim_scenario_options *options;
    ls_rng rng;
    uint64_t baseline_ns; /* no fault lasts longer */
    uint64_t silence_ns;  /* no client is cut off for longer */
} faultsim_draw;

bool faultsim_draw_one_in(faultsim_draw *here, uint32_t count);
uint32_t faultsim_draw_between(faultsim_draw *here, uint32_t low, uint32_t high);
uint64_t faultsim_draw_ns_between(faultsim_draw *here, uint64_t low_ns, uint64_t high_ns);
uint32_t faultsim_draw_pick(faultsim_draw *here, const uint32_t *values, uint32_t count);

/* Draws in any case, so that leaving out one class changes no other. */
bool faultsim_draw_happens(faultsim_draw *here, faultsim_fault_class fault, uint32_t one_in_count);

faultsim_action *faultsim_draw_add_action(faultsim_draw *here, uint64_t at_ns,
                                          faultsim_action_kind kind, uint32_t client);
void faultsim_draw_add_links(faultsim_draw *here, uint64_t at_ns, faultsim_action_kind kind,
                             uint32_t client, const ls_link_config *up, const ls_link_config *down);

/* A client's link for good; what goes wrong on it; its computer. */
ls_link_config faultsim_draw_baseline_link(faultsim_draw *here);
ls_link_config faultsim_draw_impairments(faultsim_draw *here, const ls_link_config *baseline);
void faultsim_draw_computer(faultsim_draw *here, uint32_t index);

/* scenario_return.c: crashes of the server, its disk, players who come late, lost links, those who
 * watch. After everything else is drawn. */
void faultsim_draw_reconnects(faultsim_draw *here);

/* scenario_visit.c: those who are let in again and again, and newcomers who come in beside them.
 * Last of all: it makes room for them. */
void faultsim_draw_visitors(faultsim_draw *here);

#endif
