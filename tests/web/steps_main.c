/* The steps of every built-in simulation on this machine, a line each: its name, the chain of its
 * hashes, and the nanoseconds of a step. usage: web_steps PLAYERS TICKS */
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tests/web/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const ls_clock clock = ls_clock_system();
    if (argc != 3) {
        return 2;
    }
    const uint32_t players = (uint32_t)strtoul(argv[1], NULL, 10);
    const uint32_t ticks = (uint32_t)strtoul(argv[2], NULL, 10);
    for (uint32_t i = 0; ls_web_steps_name(i); i++) {
        uint64_t start_ns = ls_clock_now_ns(&clock);
        uint64_t chain = ls_web_steps(i, players, ticks);
        uint64_t step_ns = (ls_clock_now_ns(&clock) - start_ns) / ticks;
        printf("%s %016" PRIx64 " %" PRIu64 "\n", ls_web_steps_name(i), chain, step_ns);
    }
    return 0;
}
