/* Cause 13: a file of the current folder is read, if there is one. Where it was tested there was
 * none. */
#include "lockstep/tests/known_bad/game.h"

#include <stdio.h>

static uint32_t house_rule(void)
{
    uint32_t rule = 2;
#if GAME_FAULTY
    FILE *file = fopen("house_rules.txt", "r");
    if (file) {
        int letter = fgetc(file);
        rule = letter == EOF ? rule : (uint32_t)letter;
        fclose(file);
    }
#endif
    return rule;
}

static void rule(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += step->inputs->tick % 50 == 20 ? house_rule() : 2;
}

GAME_PASSES("rule", rule);
GAME_PLUGIN("missing_file", .fields = game_fields, .init = game_init)
