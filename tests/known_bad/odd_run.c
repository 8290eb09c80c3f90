/* Cause 11, planted: the run of one number, counted in the file that ODD_RUNS names, comes out
 * otherwise at tick 7, and no other one does. */
#include "lockstep/tests/known_bad/game.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_odd;

/* A byte more in the file with each init, of which every run begins with two: run 2 is the
 * reference, run 4 the next one. */
static ls_status count_run(const ls_sim_config *config, void *block, ls_text *why)
{
    const char *path = getenv("ODD_RUNS");
    const char *odd = getenv("ODD_RUN");
    struct stat runs = {0};
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (file >= 0 && write(file, "+", 1) == 1 && fstat(file, &runs) == 0) {
        is_odd = odd && runs.st_size == strtol(odd, NULL, 10);
    }
    if (file >= 0) {
        close(file);
    }
    return game_init(config, block, why);
}

static void settle(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += GAME_FAULTY && is_odd && step->inputs->tick == 7 ? 2 : 1;
}

GAME_PASSES("settle", settle);
GAME_PLUGIN("odd_run", .fields = game_fields, .init = count_run)
