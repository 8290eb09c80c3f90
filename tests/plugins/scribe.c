/* Scribe: writes to files of the folder SCRIBE_FOLDER: its pass opens one at each tick, and its bot
 * has one that stays open. */
#include "lockstep/tests/plugins/minimal.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *open_file(const char *name)
{
    char path[512];
    const char *folder = getenv("SCRIBE_FOLDER");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", name);
    return fopen(path, "a");
}

static void note(const ls_step *step)
{
    FILE *file = open_file("notes.log");
    if (file) {
        fprintf(file, "tick %u\n", step->inputs->tick);
        fclose(file);
    }
    minimal_run(step);
}

static uint32_t send_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                             ls_rng *rng, uint8_t *bytes)
{
    static FILE *file;
    (void)config;
    (void)state;
    (void)rng;
    (void)bytes;
    file = file ? file : open_file("bot.log");
    if (file) {
        fprintf(file, "slot %u\n", slot);
    }
    return 0;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"note", note}};
    static ls_simulation simulation;
    simulation = minimal_simulation("scribe", minimal_fields);
    simulation.passes = passes;
    simulation.pass_count = 1;
    simulation.bot = send_nothing;
    return &simulation;
}
