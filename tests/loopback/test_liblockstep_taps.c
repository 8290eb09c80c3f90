/* liblockstep: what becomes of taps whose player falls silent, under the rule "late" = "repeat". */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    TAP = 1,
    SILENT_TICKS = 150, /* more than inputs are ever on their way */
    FRAMES_MAX = 30000,
};

typedef struct moves {
    uint32_t count;
} moves;

static void step(void *user, void *state, const lockstep_inputs *inputs)
{
    (void)user;
    if (inputs->slots[0].size > 0 && (inputs->slots[0].bytes[0] & TAP) != 0) {
        ((moves *)state)->count++;
    }
}

static const uint8_t tap_mask[] = {TAP};

/* Of a program that is built with a header of `size` bytes of a game. */
static lockstep_game game_of(size_t size)
{
    lockstep_game game = {.size = size,
                          .name = "moves",
                          .version = 1,
                          .tick_rate_hz = 200,
                          .players_max = 1,
                          .input_bytes = 1,
                          .state_bytes = sizeof(moves),
                          .step = step,
                          .edges = tap_mask};
    return game;
}

static lockstep *open_handle(int kind, const lockstep_game *game, const char *name,
                             const char *value)
{
    lockstep *handle = lockstep_create(kind, game);
    cr_assert_not_null(handle);
    cr_assert_eq(lockstep_set(handle, name, value), LOCKSTEP_OK, "%s", lockstep_error(handle));
    return handle;
}

static uint32_t moves_made(lockstep *client)
{
    lockstep_view view = {.size = sizeof view};
    return lockstep_get_view(client, &view) == LOCKSTEP_OK ? ((const moves *)view.state)->count : 0;
}

static uint32_t tick_of(lockstep *handle)
{
    lockstep_info info = {.size = sizeof info};
    cr_assert_eq(lockstep_get_info(handle, &info), LOCKSTEP_OK);
    return info.tick;
}

typedef struct outcome {
    uint32_t taps;
    uint32_t moves;
} outcome;

/* A player taps on and on until the first tap has moved something, and falls silent with taps left
 * over; then it comes back and taps no more, and the match goes on until all is settled. */
static outcome play(const lockstep_game *game)
{
    const uint8_t tap = TAP;
    outcome result = {0};
    lockstep_info info = {.size = sizeof info};
    lockstep *host = open_handle(LOCKSTEP_HOST, game, "players", "1");
    cr_assert_eq(lockstep_set(host, "bind", "127.0.0.1"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_start(host), LOCKSTEP_OK, "%s", lockstep_error(host));
    lockstep_get_info(host, &info);
    lockstep *client = open_handle(LOCKSTEP_CLIENT, game, "server", info.invite);
    cr_assert_eq(lockstep_start(client), LOCKSTEP_OK, "%s", lockstep_error(client));
    for (uint32_t frames = 0; moves_made(client) == 0; frames++) {
        cr_assert_lt(frames, (uint32_t)FRAMES_MAX);
        while (lockstep_input(client, &tap, sizeof tap, 1) == LOCKSTEP_OK) {
            result.taps++;
        }
        lockstep_frame(client, 0);
        lockstep_frame(host, 1);
    }
    for (uint32_t silent = tick_of(host) + SILENT_TICKS; tick_of(host) < silent;) {
        lockstep_frame(host, 1);
    }
    for (uint32_t end = tick_of(host) + SILENT_TICKS; tick_of(client) < end;) {
        lockstep_frame(client, 0);
        lockstep_frame(host, 1);
    }
    result.moves = moves_made(client);
    lockstep_close(client);
    lockstep_close(host);
    return result;
}

Test(liblockstep, tap_is_one_move_though_the_inputs_behind_it_come_too_late)
{
    lockstep_game game = game_of(sizeof game);
    outcome result = play(&game);
    cr_expect_gt(result.moves, 0);
    cr_expect_leq(result.moves, result.taps);
}

Test(liblockstep, game_of_a_header_without_edges_has_every_bit_repeated)
{
    lockstep_game game = game_of(offsetof(lockstep_game, edges));
    outcome result = play(&game);
    cr_expect_gt(result.moves, result.taps);
}

Test(liblockstep, game_whose_size_ends_within_a_member_is_none)
{
    lockstep_game game = game_of(offsetof(lockstep_game, edges) - 1);
    cr_assert_null(lockstep_create(LOCKSTEP_SIM, &game));
    game.size = offsetof(lockstep_game, edges) + 1;
    cr_assert_null(lockstep_create(LOCKSTEP_SIM, &game));
}
