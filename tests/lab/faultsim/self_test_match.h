/* Self-test match: plays one match of the self-test, and says what came of each flip in it. Uses
 * the same memory for one match after another. Reads no clock. Called by the self-test's
 * processes. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_MATCH_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_SELF_TEST_MATCH_H

#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/tests/lab/faultsim/match_memory.h"

enum {
    FAULTSIM_SELF_TEST_PLAYERS = 4, /* each flips one bit in a match, at a tick of its own */
    FAULTSIM_SELF_TEST_CLEAN_TICKS = 2000,
    FAULTSIM_SELF_TEST_RTT_MS = 67,
};

/* The outcome of one flip: all false for one that was never made. */
typedef struct faultsim_self_test_flip {
    bool is_made; /* in this very bit, and the state hash depends on it */
    bool is_padding;
    bool is_caught;
    bool is_tick_right;
    bool is_field_right; /* this element and no other is named */
    bool are_values_right;
    bool is_class_right; /* a one-off of the client */
    uint64_t seed;
    uint64_t caught_ns;    /* from the flip to DESYNC ... */
    uint64_t named_ns;     /* ... and to its full cause */
    uint32_t caught_ticks; /* likewise, in ticks that the server closed meanwhile */
    uint32_t named_ticks;
    ls_difference_text planted; /* a: before, b: after */
    ls_difference_text found;
} faultsim_self_test_flip;

/* Sums over matches. */
typedef struct faultsim_self_test_counts {
    uint64_t matches;
    uint64_t clean_ticks;  /* of which every player's hash was compared */
    uint64_t false_alarms; /* desyncs that nobody planted */
    uint64_t unsound;      /* matches in which an invariant broke */
} faultsim_self_test_counts;

/* Small, so that every bit can be flipped. Bytes of its state. */
ls_sim_config faultsim_self_test_sim_config(const ls_simulation *simulation, uint64_t seed);
size_t faultsim_self_test_state_bytes(const ls_simulation *simulation);

/* Player i flips bit first_bit + i * every, as long as it is below bit_end; what came of it is
 * written to out[i]. */
void faultsim_self_test_play_flips(ls_match_memory *memory, const ls_simulation *simulation,
                                   uint64_t seed, size_t first_bit, uint32_t every, size_t bit_end,
                                   faultsim_self_test_flip *out, faultsim_self_test_counts *counts);

/* Nothing is flipped; every second match loses packets. */
void faultsim_self_test_play_clean(ls_match_memory *memory, const ls_simulation *simulation,
                                   uint64_t seed, faultsim_self_test_counts *counts);

#endif
