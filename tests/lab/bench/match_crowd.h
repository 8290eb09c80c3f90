/* Match crowd: many matches of the pad simulation in one process, without sockets and sessions:
 * what a server's core takes when it advances them in turn, and finds none of a match in a cache.
 * All matches are played alike, by four players of a few bytes each, who send what a client of 67
 * ms round trip sends and whose states agree. Called by section_matches. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_MATCH_CROWD_H
#define LOCKSTEP_TESTS_LAB_BENCH_MATCH_CROWD_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

#define BENCH_CROWD_PLAYERS 4u /* in a match */
#define BENCH_CROWD_STATE_BYTES 256u

typedef struct bench_match_crowd bench_match_crowd;

/* So many matches in which nobody is yet; 1 .. 1024. The allocator is that of the matches. */
ls_status bench_match_crowd_create(uint32_t matches, const ls_allocator *allocator,
                                   bench_match_crowd **out, ls_text *why);
void bench_match_crowd_destroy(bench_match_crowd *crowd);

/* The players come, and every match starts. */
void bench_match_crowd_start(bench_match_crowd *crowd);

/* Plays on for so many ticks of every match. Returns the time that the matches took for it. */
uint64_t bench_match_crowd_run(bench_match_crowd *crowd, uint32_t ticks);

/* DESYNCED when a player of the first or the last match has left or differs, or none of its states
 * was compared; `why` says it. */
ls_status bench_match_crowd_check(const bench_match_crowd *crowd, ls_text *why);

#endif
