/* Service stage: lockstep-server --config as an operator runs it, in a folder of its own, with
 * rooms of the arena that are full of players, and what its metrics say. Players may give way to
 * the service wherever both want a processor, as they would on machines of their own.
 * Called by section_service. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_SERVICE_STAGE_H
#define LOCKSTEP_TESTS_LAB_BENCH_SERVICE_STAGE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define BENCH_ROOM_PLAYERS 4u
#define BENCH_LATENESS_BINS_MAX 32u

typedef struct bench_service_plan {
    uint32_t workers;
    uint32_t rooms; /* each with BENCH_ROOM_PLAYERS */
    bool gives_way; /* players run while nobody else wants the processor */
} bench_service_plan;

/* From the start of the service on. */
typedef struct bench_service_figures {
    uint64_t taken_ns;
    uint64_t players;
    uint64_t ticks; /* of all rooms */
    double cpu_s;   /* of all workers */
    uint32_t bins;  /* of how late ticks were closed */
    double edges_ms[BENCH_LATENESS_BINS_MAX];
    uint64_t counts[BENCH_LATENESS_BINS_MAX]; /* of ticks no later than the edge */
} bench_service_figures;

typedef struct bench_service_stage bench_service_stage;

/* Returns when everybody plays. IO when a program does not start, or a file cannot be written;
 * TIMED_OUT; DISCONNECTED and what else the metrics' request gives. */
ls_status bench_service_stage_start(const bench_service_plan *plan, bench_service_stage **out,
                                    ls_text *why);

ls_status bench_service_stage_read(const bench_service_stage *stage, bench_service_figures *out,
                                   ls_text *why);

/* Ends the programs and removes the folder. NULL is allowed. */
void bench_service_stage_stop(bench_service_stage *stage);

/* Between two readings: so many milliseconds or less is how late that share of the ticks was
 * closed; within a bin it is taken to grow evenly. */
double bench_service_lateness_ms(const bench_service_figures *before,
                                 const bench_service_figures *after, double share);

#endif
