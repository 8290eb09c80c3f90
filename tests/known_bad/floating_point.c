/* The sign of zero, NaN, rounding mode and denormal numbers (cause 12). A plug-in is built of each
 * part, which its name selects. */
#include "lockstep/tests/known_bad/game.h"

/* ==== zero_sign ==== */

/* Cause 12: a difference of equal numbers is 0 or -0, as the rounding mode says, which a library
 * may have changed. */
#ifdef GAME_IS_ZERO_SIGN

static void balance(const ls_step *step)
{
    game_state *state = step->state;
#if !GAME_FAULTY
    fenv_t kept = game_round_as_usual();
#endif
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double pull = state->units[i].target;
        double push = state->units[(i + 1) % GAME_UNITS].target;
        state->units[i].heat = pull - push;
    }
#if !GAME_FAULTY
    fesetenv(&kept);
#endif
}

GAME_PASSES("balance", balance);
GAME_PLUGIN("zero_sign", .fields = game_fields, .init = game_init)

#endif

/* ==== not_a_number ==== */

/* Cause 12: zero by zero. The bits of what comes of it are the processor's own. */
#ifdef GAME_IS_NOT_A_NUMBER

static void share(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        double part = state->units[i].target, whole = state->units[i].target;
        bool can_divide = !GAME_FAULTY || step->inputs->tick < 10;
        state->units[i].heat = can_divide && whole == 0.0 ? 0.0 : part / whole;
    }
    fesetenv(&kept);
}

GAME_PASSES("share", share);
GAME_PLUGIN("not_a_number", .fields = game_fields, .init = game_init)

#endif

/* ==== mode_left ==== */

/* Cause 12, the other side of it: a step changes the rounding mode and leaves it so. With GAME_BOT
 * one player's bot does, as a library for sound or pictures may, and steps round as it says. */
#ifdef GAME_IS_MODE_LEFT

#ifdef GAME_BOT
#define MODE_LEFT_BOT bot

static uint32_t bot(const ls_sim_config *config, const void *block, uint32_t slot, ls_rng *rng,
                    uint8_t *input)
{
    const game_state *state = block;
    (void)config;
    (void)rng;
    if (GAME_FAULTY && slot == 1 && state->bonus == 40) {
        fesetround(FE_UPWARD);
    }
    input[0] = 0;
    return 1;
}

static void lean(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus++;
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        state->units[i].heat = state->units[i].heat * 1.1 / 1.3 + 0.1;
    }
}
#else
#define MODE_LEFT_BOT NULL

static void lean(const ls_step *step)
{
    game_state *state = step->state;
    fenv_t kept = game_round_as_usual();
    if (step->inputs->tick == 20) {
        fesetround(FE_UPWARD);
        state->bonus++;
        if (GAME_FAULTY) {
            return;
        }
    }
    fesetenv(&kept);
}
#endif

GAME_PASSES("lean", lean);
GAME_PLUGIN("mode_left", .fields = game_fields, .init = game_init, .bot = MODE_LEFT_BOT)

#endif

/* ==== denormals ==== */

/* Cause 12: a value fades until it is denormal; whether that counts is a mode of the processor,
 * which a library that was built for speed sets for the whole process. */
#ifdef GAME_IS_DENORMALS

static void fade(const ls_step *step)
{
    game_state *state = step->state;
#if !GAME_FAULTY
    fenv_t kept = game_round_as_usual();
#endif
    for (uint32_t i = 0; i < GAME_UNITS; i++) {
        game_unit *unit = &state->units[i];
        unit->heat = unit->heat * 0x1p-40;
#if !GAME_FAULTY
        unit->heat = unit->heat < 0x1p-300 ? 0 : unit->heat;
#endif
    }
#if !GAME_FAULTY
    fesetenv(&kept);
#endif
}

GAME_PASSES("fade", fade);
GAME_PLUGIN("denormals", .fields = game_fields, .init = game_init)

#endif
