/* A plug-in that names an environment variable and a data file, which its fingerprint tells. */
#include "lockstep/tests/plugins/minimal.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t content_digest(const ls_sim_config *config)
{
    FILE *rules = fopen("lockstep_reader.rules", "rb");
    const char *difficulty = getenv("LOCKSTEP_READER_DIFFICULTY");
    uint64_t digest = config->seed + (difficulty != NULL);
    if (rules) {
        digest += (uint64_t)fgetc(rules);
        fclose(rules);
    }
    return digest;
}

const ls_simulation *lockstep_simulation(void)
{
    static ls_simulation simulation;
    simulation = minimal_simulation("reader", minimal_fields);
    simulation.content_digest = content_digest;
    return &simulation;
}
