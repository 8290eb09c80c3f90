/* Games of liblockstep that are made, fed or stepped in ways that a program may not have meant. */
#include "lockstep/common/base/language.h"
#include "lockstep/tools/liblockstep/lockstep.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- liblockstep_faults ---- */

/* Faults: the sentences of liblockstep for a handle that is set, or a game that is made, badly. */

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

/* ---- liblockstep_taps ---- */

/* liblockstep: what becomes of taps whose player falls silent, under the rule "late" = "repeat". */

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

/* ---- liblockstep_trial ---- */

/* The library plays a game twice before it meets another machine. */

typedef enum trap_kind {
    NO_TRAP,
    ADDRESS_IN_INIT, /* as of a std::string, which points into itself */
    COUNTER_IN_INIT,
    COUNTER_IN_STEP,
    UNSET_IN_STEP,
} trap_kind;

typedef struct trap {
    trap_kind kind;
    uint64_t counter;
} trap;

typedef struct cage {
    uint64_t name, kept;
    uint32_t ticks, bytes;
} cage;

static const lockstep_field cage_fields[] = {
    LOCKSTEP_FIELD(cage, name, "", LOCKSTEP_U64), LOCKSTEP_FIELD(cage, kept, "", LOCKSTEP_U64),
    LOCKSTEP_FIELD(cage, ticks, "", LOCKSTEP_U32), LOCKSTEP_FIELD(cage, bytes, "", LOCKSTEP_U32)};

static void init_cage(void *user, void *state, const lockstep_setup *setup)
{
    trap *self = user;
    cage *made = state;
    (void)setup;
    made->name = self->kind == ADDRESS_IN_INIT ? (uint64_t)(uintptr_t)state : 7;
    made->kept = self->kind == COUNTER_IN_INIT ? ++self->counter : 0;
}

/* Compilers keep the whole struct on the stack, where the half that was not set is anything. */
__attribute__((noinline)) static void fill_half(uint32_t half[8], uint32_t tick)
{
    __asm__ volatile("" : : "r"(half) : "memory");
    half[0] = tick;
}

static void step_cage(void *user, void *state, const lockstep_inputs *inputs)
{
    trap *self = user;
    cage *now = state;
    uint32_t half[8];
    fill_half(half, inputs->tick);
    now->ticks = half[0] + 1;
    for (uint32_t slot = 0; slot < inputs->setup->players; slot++) {
        now->bytes += inputs->slots[slot].size;
    }
    if (self->kind == COUNTER_IN_STEP && inputs->tick >= 5) {
        now->kept = ++self->counter;
    } else if (self->kind == UNSET_IN_STEP && inputs->tick >= 5) {
        now->bytes = half[7];
    }
}

static lockstep *cage_of(int kind, trap *self)
{
    const lockstep_game game = {.size = sizeof game,
                                .name = "cage",
                                .version = 1,
                                .tick_rate_hz = 30,
                                .players_max = 2,
                                .input_bytes = 3,
                                .state_bytes = sizeof(cage),
                                .fields = cage_fields,
                                .field_count = 4,
                                .init = init_cage,
                                .step = step_cage,
                                .user = self};
    lockstep *handle = lockstep_create(kind, &game);
    if (kind == LOCKSTEP_CLIENT) {
        cr_assert_eq(lockstep_set(handle, "server", "127.0.0.1:1"), LOCKSTEP_OK);
    }
    return handle;
}

static void expect_says(lockstep *handle, int status, int wanted, const char *field,
                        const char *cause)
{
    const char *error = lockstep_error(handle);
    cr_expect_eq(status, wanted, "%d: %s", status, error);
    cr_expect(strstr(error, field) && strstr(error, cause), "%s", error);
    lockstep_close(handle);
}

Test(liblockstep_trial, game_whose_init_makes_another_state_each_time_does_not_start)
{
    for (int kind = LOCKSTEP_CLIENT; kind <= LOCKSTEP_HOST; kind++) {
        trap address = {ADDRESS_IN_INIT, 0}, counter = {COUNTER_IN_INIT, 0}, none = {NO_TRAP, 0};
        lockstep *handle = cage_of(kind, &address);
        expect_says(handle, lockstep_start(handle), LOCKSTEP_DESYNCED, "again: name is ",
                    "an address: a state holds no pointers");
        handle = cage_of(kind, &counter);
        expect_says(handle, lockstep_start(handle), LOCKSTEP_DESYNCED, "again: kept is ",
                    "no variable that is kept");
        handle = cage_of(kind, &none);
        expect_says(handle, lockstep_start(handle), LOCKSTEP_OK, "", "");
    }
}

static void expect_check(trap_kind kind, int wanted, const char *field, const char *cause)
{
    trap self = {kind, 0};
    lockstep *sim = cage_of(LOCKSTEP_SIM, &self);
    cr_assert_eq(lockstep_check_steps(sim, 60), LOCKSTEP_BAD_ARGUMENT, "it has not started");
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK, "%s", lockstep_error(sim));
    const uint8_t inputs[6] = {0};
    cr_assert_eq(lockstep_step(&sim, 1, inputs, NULL), LOCKSTEP_OK);
    lockstep_info info = {.size = sizeof info};
    uint64_t hash = lockstep_hash(sim);
    int status = lockstep_check_steps(sim, 60);
    cr_expect_eq(lockstep_hash(sim), hash, "the simulation itself stays");
    cr_expect_eq(lockstep_get_info(sim, &info), LOCKSTEP_OK);
    cr_expect_eq(info.tick, 1);
    expect_says(sim, status, wanted, field, cause);
}

Test(liblockstep_trial, check_names_tick_field_and_cause_of_a_step_that_goes_by_more_than_its_state)
{
    expect_check(NO_TRAP, LOCKSTEP_OK, "", "");
    expect_check(COUNTER_IN_INIT, LOCKSTEP_DESYNCED, "init makes another state", "kept is ");
    expect_check(
        COUNTER_IN_STEP, LOCKSTEP_DESYNCED,
        "the step of tick 5 makes another state when it is called again: kept is 1, then 2;",
        "no variable that is kept");
    if (LS_IS_SANITIZED) {
        return; /* what is not set is the sanitizer's */
    }
    expect_check(UNSET_IN_STEP, LOCKSTEP_DESYNCED, "the step of tick 5",
                 "memory that was never set");
}

Test(liblockstep_trial, check_steps_an_engine_whose_save_grows)
{
    lockstep *sim = lockstep_create(LOCKSTEP_SIM, NULL);
    cr_assert_eq(lockstep_set(sim, "sim", LS_TEST_PLUGIN_DIR "/growing_handle.so"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK, "%s", lockstep_error(sim));
    cr_expect_eq(lockstep_check_steps(sim, 60), LOCKSTEP_OK, "%s", lockstep_error(sim));
    lockstep_close(sim);
}

/* ---- liblockstep_within ---- */

/* Calls of liblockstep from within a step of the handle's own, which would wait for themselves; and
 * two ends of a client and a frame that no program meant. */

enum {
    CALLS = 10,
    WAIT_MS = 2,
    TURNS_MAX = 30000,
};

typedef struct within {
    lockstep *handle; /* that makes the step; NULL: the step calls nothing */
    int steps;
    int results[CALLS];
    char why[128];
} within;

/* The first step calls much with the handle that makes it. The state is the same with and without.
 */
static void step_within(void *user, void *state, const lockstep_inputs *inputs)
{
    within *self = user;
    lockstep_event event = {.size = sizeof event};
    lockstep_info info = {.size = sizeof info};
    lockstep_view view = {.size = sizeof view};
    lockstep *const same[] = {self->handle};
    *(uint64_t *)state += inputs->tick;
    if (!self->handle || self->steps++ > 0) {
        return;
    }
    const int given[CALLS] = {
        lockstep_set(self->handle, "players", "2"), lockstep_start(self->handle),
        lockstep_frame(self->handle, WAIT_MS),      lockstep_end(self->handle, 0),
        lockstep_poll(self->handle, &event),        lockstep_get_info(self->handle, &info),
        lockstep_get_view(self->handle, &view),     lockstep_say(self->handle, "hello"),
        lockstep_step(same, 1, "", NULL),           lockstep_close(self->handle)};
    memcpy(self->results, given, sizeof given);
    snprintf(self->why, sizeof self->why, "%s", lockstep_error(self->handle));
}

static lockstep_game liblockstep_within_game_of(within *self)
{
    return (lockstep_game){.size = sizeof(lockstep_game),
                           .name = "within",
                           .version = 1,
                           .tick_rate_hz = 200,
                           .players_max = 2,
                           .input_bytes = 1,
                           .state_bytes = sizeof(uint64_t),
                           .step = step_within,
                           .user = self};
}

static lockstep *open_one(int kind, within *self, const char *name, const char *value)
{
    lockstep_game game = liblockstep_within_game_of(self);
    lockstep *handle = lockstep_create(kind, &game);
    self->handle = handle;
    cr_assert_eq(lockstep_set(handle, name, value), LOCKSTEP_OK, "%s", lockstep_error(handle));
    return handle;
}

static void start(lockstep *handle, const char *thread)
{
    cr_assert_eq(lockstep_set(handle, "thread", thread), LOCKSTEP_OK, "%s", lockstep_error(handle));
    cr_assert_eq(lockstep_start(handle), LOCKSTEP_OK, "%s", lockstep_error(handle));
}

static void expect_refused(const within *self)
{
    cr_assert_gt(self->steps, 1, "steps go on");
    for (size_t i = 0; i < CALLS; i++) {
        cr_expect_eq(self->results[i], LOCKSTEP_BAD_ARGUMENT, "call %zu: %d", i, self->results[i]);
    }
    cr_expect_str_eq(self->why, "a step of this handle's own cannot use it, or close it");
}

Test(liblockstep_within, simulation_refuses_what_its_own_step_calls)
{
    within self = {0};
    lockstep *sim = open_one(LOCKSTEP_SIM, &self, "players", "2");
    const uint8_t inputs[2] = {0};
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK, "%s", lockstep_error(sim));
    cr_expect_eq(lockstep_step(&sim, 1, inputs, NULL), LOCKSTEP_OK);
    cr_expect_eq(lockstep_step(&sim, 1, inputs, NULL), LOCKSTEP_OK);
    expect_refused(&self);
    cr_expect_str_eq(lockstep_error(sim), "");
    cr_expect_eq(lockstep_close(sim), LOCKSTEP_OK);
    cr_expect_eq(lockstep_close(sim), LOCKSTEP_BAD_ARGUMENT, "it was closed");
    cr_expect_eq(lockstep_close(NULL), LOCKSTEP_OK);
}

/* With a thread of its own the step is that thread's; without, the caller's. */
static void play_within(const char *host_thread, const char *client_thread)
{
    within of_host = {0}, of_client = {0};
    lockstep_info info = {.size = sizeof info};
    lockstep *host = open_one(LOCKSTEP_HOST, &of_host, "players", "1");
    cr_assert_eq(lockstep_set(host, "bind", "127.0.0.1"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_set(host, "ticks", "30"), LOCKSTEP_OK);
    start(host, host_thread);
    cr_assert_eq(lockstep_get_info(host, &info), LOCKSTEP_OK);
    lockstep *client = open_one(LOCKSTEP_CLIENT, &of_client, "server", info.invite);
    start(client, client_thread);
    bool goes_on = true;
    for (int turns = 0; goes_on; turns++) {
        goes_on = lockstep_frame(host, WAIT_MS) > 0;
        goes_on = lockstep_frame(client, 0) > 0 || goes_on;
        cr_assert_lt(turns, (int)TURNS_MAX);
    }
    cr_expect_eq(lockstep_hash(host), lockstep_hash(client));
    expect_refused(&of_host);
    expect_refused(&of_client);
    cr_expect_eq(lockstep_close(client), LOCKSTEP_OK);
    cr_expect_eq(lockstep_close(host), LOCKSTEP_OK);
}

Test(liblockstep_within, host_and_client_refuse_what_their_own_steps_call)
{
    play_within("off", "off");
    play_within("on", "on");
}

/* A picture that took longer than its time has less than nothing left. */
Test(liblockstep_within, frame_of_a_negative_time_does_what_is_due)
{
    within self = {0};
    lockstep *host = open_one(LOCKSTEP_HOST, &self, "bind", "127.0.0.1");
    start(host, "off");
    cr_expect_eq(lockstep_frame(host, (uint32_t)-5), 1);
    cr_expect_eq(lockstep_frame(host, (uint32_t)INT32_MIN), 1);
    lockstep_close(host);
}

/* No program uses UDP port 1. */
Test(liblockstep_within, client_of_no_server_ends_as_unreachable)
{
    within self = {0};
    int result = 1;
    lockstep *client = open_one(LOCKSTEP_CLIENT, &self, "server", "127.0.0.1:1");
    cr_assert_eq(lockstep_set(client, "connect-wait", "0"), LOCKSTEP_OK);
    start(client, "off");
    cr_expect_eq(lockstep_input(client, "ab", 2, 0), LOCKSTEP_BAD_ARGUMENT, "its game takes one");
    cr_expect_eq(lockstep_input(client, "a", 1, 0), LOCKSTEP_OK);
    while (result > 0) {
        result = lockstep_frame(client, WAIT_MS);
    }
    cr_expect_eq(result, LOCKSTEP_UNREACHABLE);
    cr_expect(strstr(lockstep_error(client), "no server answers"), "%s", lockstep_error(client));
    lockstep_view view = {.size = sizeof view};
    lockstep_field field;
    cr_expect_eq(lockstep_get_view(client, &view), LOCKSTEP_NOT_FOUND);
    cr_expect_eq(lockstep_find_field(client, NULL, 0, &field), LOCKSTEP_NOT_FOUND);
    cr_expect_eq(lockstep_hash(client), 0);
    cr_expect(strstr(lockstep_error(client), "no server answers"), "why it has ended: %s",
              lockstep_error(client));
    lockstep_close(client);
}
