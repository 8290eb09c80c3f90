/* Calls of liblockstep from within a step of the handle's own, which would wait for themselves; and
 * two ends of a client and a frame that no program meant. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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

static lockstep_game game_of(within *self)
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
    lockstep_game game = game_of(self);
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
