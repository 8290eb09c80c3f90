/* Cause 8: what the C language leaves to its library decides. The one fault is a memcpy of memory
 * that overlaps; with GAME_SIZE how much memcmp returns, with GAME_LEFTOVER what earlier code left
 * in errno. */
#include "lockstep/tests/known_bad/game.h"

#include <errno.h>
#include <stdlib.h>

#if GAME_FAULTY && !defined(GAME_SIZE) && !defined(GAME_LEFTOVER)
#define MOVE memcpy
#else
#define MOVE memmove
#endif

static volatile size_t one = 1; /* so that no compiler lays the call out by itself */

/* Everybody moves up by one place. */
static void queue_up(game_state *state)
{
    uint32_t queue[GAME_UNITS];
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        queue[i] = state->units[i].order + i * state->inputs;
    }
    MOVE(queue, queue + one, (GAME_UNITS - one) * sizeof queue[0]);
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[i].order = queue[i];
    }
}

static uint32_t order_of_words(const game_state *state)
{
    uint8_t a[8] = {0}, b[8] = {0};
    a[3] = (uint8_t)(state->inputs % 7);
    b[3] = (uint8_t)(state->inputs % 5);
    int way = memcmp(a, b, one * sizeof a);
#if defined(GAME_SIZE)
    return (uint32_t)way;
#else
    return (uint32_t)((way > 0) - (way < 0));
#endif
}

static uint32_t number_of(const game_state *state)
{
    const char *text = state->inputs % 3 == 0 ? "12" : "99999999999999999999999";
#if !defined(GAME_LEFTOVER)
    errno = 0;
#endif
    unsigned long number = strtoul(text, NULL, 10);
    return errno == 0 ? (uint32_t)number : 7;
}

static void visit(const ls_step *step)
{
    game_state *state = step->state;
    queue_up(state);
    state->bonus += order_of_words(state) + number_of(state);
}

GAME_PASSES("visit", visit);
GAME_PLUGIN("open_in_c", .fields = game_fields, .init = game_init)
