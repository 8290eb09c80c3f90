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
    cr_assert_null(strstr(lockstep_error(host), "--"), "%s", lockstep_error(host));
    cr_assert_eq(lockstep_set(host, "playes", "2"), LOCKSTEP_NOT_FOUND);
    cr_assert_str_eq(lockstep_error(host), "a host has no setting 'playes'; it has 'players'");
    cr_assert_eq(lockstep_set(host, "zoom", "2"), LOCKSTEP_NOT_FOUND);
    cr_assert_str_eq(lockstep_error(host),
                     "there is no setting 'zoom'; lockstep_setting lists them");
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

typedef struct boat {
    double speed;
    uint16_t flags[3];
    uint8_t end_padding[2];
} boat;

typedef struct harbour {
    boat boats[3];
    uint64_t seed;
    uint32_t angle;
    int8_t fates[4];
} harbour;

static const lockstep_field harbour_fields[] = {
    LOCKSTEP_FIELDS(harbour, boats, speed, "m/s", LOCKSTEP_F64),
    LOCKSTEP_FIELDS(harbour, boats, flags, "", LOCKSTEP_U16),
    LOCKSTEP_FIELDS(harbour, boats, end_padding, "", LOCKSTEP_PADDING),
    LOCKSTEP_FIELD(harbour, seed, "", LOCKSTEP_U64),
    LOCKSTEP_FIELD(harbour, angle, "", LOCKSTEP_ANGLE),
    LOCKSTEP_FIELD(harbour, fates, "", LOCKSTEP_I8),
};

Test(liblockstep_faults, rows_of_the_macros_cover_a_state)
{
    lockstep_game game = small;
    game.state_bytes = sizeof(harbour);
    game.fields = harbour_fields;
    game.field_count = sizeof harbour_fields / sizeof harbour_fields[0];
    lockstep *sim = lockstep_create(LOCKSTEP_SIM, &game);
    lockstep_field field;
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK, "%s", lockstep_error(sim));
    cr_assert_eq(lockstep_find_field(sim, "boats.flags", 0, &field), LOCKSTEP_OK);
    cr_expect_eq(field.offset, 8);
    cr_expect_eq(field.length, 3);
    cr_expect_eq(field.count, 3);
    cr_expect_eq(field.stride, sizeof(boat));
    lockstep_close(sim);
}

Test(liblockstep_faults, client_names_the_faults_of_its_game_before_it_connects)
{
    lockstep_game game = small;
    game.fields = harbour_fields;
    game.field_count = 1;
    lockstep *client = lockstep_create(LOCKSTEP_CLIENT, &game);
    cr_assert_eq(lockstep_set(client, "server", "127.0.0.1:1"), LOCKSTEP_OK);
    cr_expect_eq(lockstep_start(client), LOCKSTEP_SCHEMA);
    cr_expect(strstr(lockstep_error(client), "boats.speed"), "%s", lockstep_error(client));
    lockstep_close(client);
    game.fields = NULL;
    client = lockstep_create(LOCKSTEP_CLIENT, &game);
    cr_expect_eq(lockstep_start(client), LOCKSTEP_BAD_ARGUMENT);
    cr_expect_str_eq(lockstep_error(client), "lockstep_game.field_count is 1, and fields is NULL");
    lockstep_close(client);
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
