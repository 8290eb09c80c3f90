/* Cause 13: a number is written as text and the text is counted, as the machine's language has it.
 */
#include "lockstep/tests/known_bad/game.h"

#include <stdio.h>

static void print_price(const ls_step *step)
{
    game_state *state = step->state;
    char text[32];
    uint32_t price = 100 + state->inputs;
#if GAME_FAULTY
    snprintf(text, sizeof text, "%.2f", price / 100.0);
#else
    snprintf(text, sizeof text, "%u.%02u", price / 100, price % 100);
#endif
    for (const char *letter = text; *letter; letter++) {
        state->bonus = state->bonus * 31 + (uint8_t)*letter;
    }
}

GAME_PASSES("print", print_price);
GAME_PLUGIN("decimal_comma", .fields = game_fields, .init = game_init)
