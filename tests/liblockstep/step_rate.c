/* How fast C steps simulations by lockstep.h, to compare other languages with.
 * usage: step_rate NAME|FILE.so STEPS; prints nanoseconds a step. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    static unsigned char inputs[LOCKSTEP_PLAYERS_MAX * LOCKSTEP_INPUT_BYTES_MAX];
    lockstep *sim = lockstep_create(LOCKSTEP_SIM, NULL);
    if (argc < 3 || lockstep_set(sim, "sim", argv[1]) < 0 || lockstep_start(sim) < 0) {
        fprintf(stderr, "step_rate: %s\n", lockstep_error(sim));
        return 1;
    }
    long steps = strtol(argv[2], NULL, 10);
    double start_ns = now_ns();
    for (long i = 0; i < steps; i++) {
        inputs[0] = (unsigned char)(i & 3);
        lockstep_step(&sim, 1, inputs, NULL);
    }
    printf("%.1f ns a step, hash %016llx\n", (now_ns() - start_ns) / (double)steps,
           (unsigned long long)lockstep_hash(sim));
    lockstep_close(sim);
    return 0;
}
