/* Faults: the sentences of liblockstep for a handle that is set, or a game that is made, badly. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <criterion/criterion.h>
#include <string.h>

static void step_nothing(void *user, void *state, const lockstep_inputs *inputs)
{
    (void)user;
    (void)state;
    (void)inputs;
}

static const lockstep_game small = {.size = sizeof small,
                                    .name = "small",
                                    .version = 1,
                                    .tick_rate_hz = 30,
                                    .players_max = 2,
                                    .input_bytes = 1,
                                    .state_bytes = 8,
                                    .step = step_nothing};

Test(liblockstep_faults, wrong_settings_are_named_with_what_would_be_right)
{
    lockstep *host = lockstep_create(LOCKSTEP_HOST, NULL);
    cr_assert_eq(lockstep_set(host, "players", "999"), LOCKSTEP_BAD_ARGUMENT);
    cr_assert(strstr(lockstep_error(host), "players") && strstr(lockstep_error(host), "128"), "%s",
              lockstep_error(host));
    cr_assert_eq(lockstep_set(host, "playes", "2"), LOCKSTEP_NOT_FOUND);
    cr_assert(strstr(lockstep_error(host), "playes"), "%s", lockstep_error(host));
    cr_assert_eq(lockstep_set(host, "predict", "on"), LOCKSTEP_NOT_FOUND);
    cr_assert_str_eq(lockstep_error(host),
                     "a host has no setting 'predict'; a client has 'predict'");
    cr_assert_eq(lockstep_set(host, "--players", "2"), LOCKSTEP_NOT_FOUND);
    cr_assert_str_eq(lockstep_error(host),
                     "a host has no setting '--players'; a host has 'players'");
    cr_assert_eq(lockstep_set(host, NULL, "2"), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_set(host, "players", NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_start(host), LOCKSTEP_BAD_ARGUMENT);
    cr_assert(strstr(lockstep_error(host), "set \"sim\""), "%s", lockstep_error(host));
    cr_assert_eq(lockstep_set(host, "sim", "no-such"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_start(host), LOCKSTEP_NOT_FOUND);
    cr_assert(strstr(lockstep_error(host), "arena"), "%s", lockstep_error(host));
    cr_assert_eq(lockstep_set(host, "sim", "arena"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_start(host), LOCKSTEP_OK, "%s", lockstep_error(host));
    lockstep_close(host);
}

Test(liblockstep_faults, numbers_that_no_game_has_are_named_as_in_its_struct)
{
    lockstep_game games[] = {small, small, small};
    static const char *const faults[] = {"lockstep_game.tick_rate_hz takes 1..1000, not 0",
                                         "lockstep_game.players_max takes 1..128, not 129",
                                         "lockstep_game.input_bytes takes 0..1024, not 1025"};
    games[0].tick_rate_hz = 0;
    games[1].players_max = LOCKSTEP_PLAYERS_MAX + 1;
    games[2].input_bytes = LOCKSTEP_INPUT_BYTES_MAX + 1;
    for (size_t i = 0; i < sizeof games / sizeof games[0]; i++) {
        lockstep *sim = lockstep_create(LOCKSTEP_SIM, &games[i]);
        cr_expect_eq(lockstep_start(sim), LOCKSTEP_BAD_ARGUMENT);
        cr_expect_str_eq(lockstep_error(sim), faults[i]);
        lockstep_close(sim);
    }
}

Test(liblockstep_faults, name_of_a_game_has_up_to_63_bytes)
{
    char name[65] = "";
    lockstep_game game = small;
    game.name = memset(name, 'x', 63);
    lockstep *sim = lockstep_create(LOCKSTEP_SIM, &game);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK, "%s", lockstep_error(sim));
    lockstep_close(sim);
    name[63] = 'x';
    sim = lockstep_create(LOCKSTEP_SIM, &game);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_BAD_ARGUMENT);
    cr_assert(strstr(lockstep_error(sim), "1..63"), "%s", lockstep_error(sim));
    lockstep_close(sim);
}
