#define _DEFAULT_SOURCE
/* liblockstep: every function of lockstep.h, used rightly and wrongly. Matches are played over UDP
 * on this machine, host and clients in this process, in frames of the test's own or in threads of
 * theirs. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PLAYERS = 2,
    CELLS = 4,
    WAIT_MS = 2,
    FRAMES_MAX = 30000,
    EVENT_KINDS = 32,
};

/* ---- a game: each player's presses are counted, and their sum is mixed with the seed ---- */

typedef struct counters {
    uint64_t sum;
    uint32_t presses[CELLS];
    uint32_t joined[CELLS];
    uint32_t left[CELLS];
} counters;

typedef struct flaw {
    uint32_t tick; /* after whose step the sum is wrong; 0: never */
} flaw;

static void init_counters(void *user, void *state, const lockstep_setup *setup)
{
    counters *now = state;
    (void)user;
    now->sum = setup->seed;
}

static void step_counters(void *user, void *state, const lockstep_inputs *inputs)
{
    counters *now = state;
    const flaw *own = user;
    for (uint32_t i = 0; i < inputs->setup->players; i++) {
        const lockstep_slot *slot = &inputs->slots[i];
        now->presses[i] += slot->size > 0 ? slot->bytes[0] : 0;
        now->joined[i] += slot->events & LOCKSTEP_JOINED ? 1 : 0;
        now->left[i] += slot->events & LOCKSTEP_LEFT ? 1 : 0;
        now->sum = now->sum * 31 + now->presses[i];
    }
    if (own && own->tick != 0 && inputs->tick == own->tick) {
        now->sum ^= 1;
    }
}

#define CELLS_OF(member)                                                                           \
    {                                                                                              \
        "cells." #member, "", LOCKSTEP_U32, 1, CELLS, offsetof(counters, member), sizeof(uint32_t) \
    }
static const lockstep_field fields[] = {
    {"total.sum", "", LOCKSTEP_U64, 1, 1, offsetof(counters, sum), 0},
    CELLS_OF(presses),
    CELLS_OF(joined),
    CELLS_OF(left),
};

static lockstep_game game_of(flaw *own)
{
    return (lockstep_game){.size = sizeof(lockstep_game),
                           .name = "counters",
                           .version = 1,
                           .tick_rate_hz = 200,
                           .players_max = CELLS,
                           .input_bytes = 1,
                           .state_bytes = sizeof(counters),
                           .fields = fields,
                           .field_count = sizeof fields / sizeof fields[0],
                           .init = init_counters,
                           .step = step_counters,
                           .user = own};
}

static lockstep *open_sim(const lockstep_game *game, const char *seed)
{
    lockstep *sim = lockstep_create(LOCKSTEP_SIM, game);
    cr_assert_eq(lockstep_set(sim, "players", "2"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_set(sim, "seed", seed), LOCKSTEP_OK);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK, "%s", lockstep_error(sim));
    return sim;
}

static counters state_of(lockstep *handle)
{
    lockstep_view view = {.size = sizeof view};
    counters now;
    cr_assert_eq(lockstep_get_view(handle, &view), LOCKSTEP_OK, "%s", lockstep_error(handle));
    cr_assert_eq(view.state_bytes, sizeof now);
    memcpy(&now, view.state, sizeof now);
    return now;
}

/* ---- misuse ---- */

enum {
    CALLS = 18,
};

/* Calls everything but close. */
static void call_all(lockstep *handle, int results[CALLS])
{
    lockstep_event event = {.size = sizeof event};
    lockstep_info info = {.size = sizeof info};
    lockstep_player player = {.size = sizeof player};
    lockstep_view view = {.size = sizeof view};
    lockstep_field field;
    lockstep_shape shape;
    uint8_t bytes[1] = {0};
    lockstep *const sims[] = {handle};
    const int given[CALLS] = {
        lockstep_set(handle, "players", "2"),
        lockstep_start(handle),
        lockstep_frame(handle, 0),
        lockstep_end(handle, 0),
        lockstep_poll(handle, &event),
        lockstep_get_info(handle, &info),
        lockstep_get_player(handle, 0, &player),
        lockstep_say(handle, "hello"),
        lockstep_get_view(handle, &view),
        lockstep_find_field(handle, NULL, 0, &field),
        lockstep_draw(handle, &shape, sizeof shape, 1),
        lockstep_input(handle, bytes, 1, 0),
        lockstep_kick(handle, 0, "go"),
        lockstep_pause(handle, 1, "wait"),
        lockstep_step(sims, 1, bytes, NULL),
        (int)lockstep_save(handle, bytes, 1),
        lockstep_load(handle, bytes, 1, 0),
        lockstep_check_steps(handle, 1),
    };
    memcpy(results, given, sizeof given);
}

static void expect_refused(const int results[CALLS])
{
    for (size_t i = 0; i < CALLS; i++) {
        cr_expect_eq(results[i], LOCKSTEP_BAD_ARGUMENT, "call %zu gives %d", i, results[i]);
    }
}

/* Calls everything with a handle that is none. */
static void expect_all_refuse(lockstep *handle, const char *why)
{
    int results[CALLS];
    call_all(handle, results);
    expect_refused(results);
    cr_expect_eq(lockstep_hash(handle), 0);
    cr_expect_str_eq(lockstep_error(handle), why);
    lockstep_close(handle);
}

Test(liblockstep, every_function_refuses_a_handle_that_is_null)
{
    expect_all_refuse(NULL, "the handle is NULL: there was no such kind or game, or no memory");
}

Test(liblockstep, every_function_refuses_a_handle_that_was_closed)
{
    for (int kind = LOCKSTEP_CLIENT; kind <= LOCKSTEP_SIM; kind++) {
        lockstep *handle = lockstep_create(kind, NULL);
        lockstep_close(handle);
        expect_all_refuse(handle, "the handle was closed");
    }
}

/* ---- two threads ---- */

typedef struct intruder {
    lockstep *handle;
    bool was_there;
    int results[CALLS];
    uint64_t hash;
    char why[128];
} intruder;

static void *intrude(void *user)
{
    intruder *self = user;
    call_all(self->handle, self->results);
    self->hash = lockstep_hash(self->handle);
    snprintf(self->why, sizeof self->why, "%s", lockstep_error(self->handle));
    return NULL;
}

/* While the call that makes this step lasts, another thread calls everything. */
static void step_beside_intruder(void *user, void *state, const lockstep_inputs *inputs)
{
    intruder *self = user;
    pthread_t thread;
    (void)state;
    (void)inputs;
    if (!self->was_there) {
        self->was_there = true;
        cr_assert_eq(pthread_create(&thread, NULL, intrude, self), 0);
        pthread_join(thread, NULL);
    }
}

static void expect_intruder_is_refused(const intruder *self)
{
    expect_refused(self->results);
    cr_expect_eq(self->hash, 0);
    cr_expect(strstr(self->why, "used by two threads at once"), "%s", self->why);
    cr_expect_str_eq(lockstep_error(self->handle), "", "the other thread's call went well");
}

Test(liblockstep, second_thread_is_refused_while_a_call_lasts)
{
    intruder self = {0};
    lockstep_game game = game_of(NULL);
    game.user = &self;
    game.init = NULL;
    game.step = step_beside_intruder;
    self.handle = open_sim(&game, "1");
    const uint8_t inputs[2] = {0};
    cr_expect_eq(lockstep_step(&self.handle, 1, inputs, NULL), LOCKSTEP_OK);
    expect_intruder_is_refused(&self);
    lockstep *const twice[] = {self.handle, self.handle};
    cr_expect_eq(lockstep_step(twice, 2, (const uint8_t[4]){0}, NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_expect_eq(lockstep_step(&self.handle, 1, inputs, NULL), LOCKSTEP_OK);
    lockstep_close(self.handle);
}

Test(liblockstep, no_handle_is_made_of_a_kind_or_a_game_that_there_is_not)
{
    lockstep_game game = game_of(NULL);
    game.size = sizeof game - 1;
    cr_assert_null(lockstep_create(0, NULL));
    cr_assert_null(lockstep_create(4, NULL));
    cr_assert_null(lockstep_create(LOCKSTEP_SIM, &game));
    game.size = 0;
    cr_assert_null(lockstep_create(LOCKSTEP_HOST, &game));
}

Test(liblockstep, a_game_of_a_newer_header_is_taken_as_far_as_it_is_known)
{
    struct {
        lockstep_game game;
        uint64_t later;
    } newer = {.game = game_of(NULL), .later = 7};
    newer.game.size = sizeof newer;
    lockstep *sim = open_sim(&newer.game, "1");
    cr_assert_eq(state_of(sim).sum, 1);
    lockstep_close(sim);
}

Test(liblockstep, calls_at_the_wrong_moment_or_of_another_kind_say_so)
{
    lockstep *host = lockstep_create(LOCKSTEP_HOST, NULL);
    lockstep *sim = lockstep_create(LOCKSTEP_SIM, NULL);
    cr_assert_eq(lockstep_frame(host, 0), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_str_eq(lockstep_error(host), "this call comes behind lockstep_start");
    cr_assert_eq(lockstep_frame(sim, 0), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_str_eq(lockstep_error(sim), "this call is for another kind of handle");
    cr_assert_eq(lockstep_set(sim, "sim", "units"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_OK);
    cr_assert_eq(lockstep_set(sim, "sim", "units"), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_str_eq(lockstep_error(sim), "this call comes before lockstep_start");
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_BAD_ARGUMENT);
    lockstep_close(host);
    lockstep_close(sim);
}

Test(liblockstep, structs_without_their_size_and_null_arguments_are_told)
{
    const lockstep_game game = game_of(NULL);
    lockstep *sim = open_sim(&game, "1");
    lockstep_view view = {.size = 0};
    lockstep_event event = {.size = 4};
    cr_assert_eq(lockstep_get_view(sim, &view), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_str_eq(lockstep_error(sim), "lockstep_view.size is not set to sizeof(lockstep_view)");
    cr_assert_eq(lockstep_poll(sim, &event), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_get_view(sim, NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_str_eq(lockstep_error(sim), "view is NULL");
    cr_assert_eq(lockstep_poll(sim, NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_find_field(sim, "total.sum", 0, NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_load(sim, NULL, 1, 0), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_step(&sim, 1, NULL, NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_step(NULL, 1, "", NULL), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_step(NULL, 0, NULL, NULL), LOCKSTEP_OK);
    lockstep_close(sim);
}

/* ---- settings ---- */

Test(liblockstep, every_setting_that_is_listed_is_known)
{
    for (int kind = LOCKSTEP_CLIENT; kind <= LOCKSTEP_SIM; kind++) {
        const char *name = NULL;
        const char *takes = NULL;
        const char *help = NULL;
        uint32_t count = 0;
        lockstep *handle = lockstep_create(kind, NULL);
        for (; lockstep_setting(kind, count, &name, &takes, &help) == LOCKSTEP_OK; count++) {
            cr_expect(name && takes && help && help[0] != '\0', "%s", name);
            cr_expect_neq(lockstep_set(handle, name, "?"), LOCKSTEP_NOT_FOUND, "%s", name);
        }
        cr_expect_geq(count, 5);
        cr_expect_eq(lockstep_setting(kind, count, NULL, NULL, NULL), LOCKSTEP_NOT_FOUND);
        lockstep_close(handle);
    }
    cr_expect_eq(lockstep_setting(0, 0, NULL, NULL, NULL), LOCKSTEP_BAD_ARGUMENT);
}

Test(liblockstep, statuses_have_names_and_the_library_its_version)
{
    cr_assert_str_eq(lockstep_status_name(LOCKSTEP_MATCH_FULL), "MATCH_FULL");
    cr_assert_str_eq(lockstep_status_name(LOCKSTEP_SAVED), "SAVED");
    cr_assert_str_eq(lockstep_status_name(-999), "UNKNOWN");
    cr_assert_str_eq(lockstep_version(), LOCKSTEP_VERSION);
}

/* ---- the simulation alone ---- */

Test(liblockstep, own_game_steps_on_its_inputs)
{
    const lockstep_game game = game_of(NULL);
    lockstep *sim = open_sim(&game, "5");
    const uint8_t inputs[PLAYERS] = {3, 4};
    const uint32_t sizes[PLAYERS] = {1, 0};
    cr_assert_eq(lockstep_step(&sim, 1, inputs, NULL), LOCKSTEP_OK);
    cr_assert_eq(lockstep_step(&sim, 1, inputs, sizes), LOCKSTEP_OK);
    counters now = state_of(sim);
    lockstep_info info = {.size = sizeof info};
    cr_assert_eq(lockstep_get_info(sim, &info), LOCKSTEP_OK);
    cr_assert_eq(info.input_bytes, 1);
    cr_assert_eq(info.players, PLAYERS);
    cr_assert_eq(info.tick, 2);
    cr_assert_str_eq(info.sim, "counters");
    cr_assert_eq(now.presses[0], 6);
    cr_assert_eq(now.presses[1], 4);
    cr_assert_eq(now.joined[0], 1);
    lockstep_close(sim);
}

Test(liblockstep, saved_state_leads_to_the_same_hash_again)
{
    const lockstep_game game = game_of(NULL);
    lockstep *sim = open_sim(&game, "5");
    uint8_t saved[sizeof(counters) + 64];
    const uint8_t inputs[PLAYERS] = {1, 2};
    uint64_t first = lockstep_hash(sim);
    lockstep_step(&sim, 1, inputs, NULL);
    int64_t size = lockstep_save(sim, NULL, 0);
    cr_assert_gt(size, 0);
    cr_assert_eq(lockstep_save(sim, saved, 1), size);
    cr_assert_eq(lockstep_save(sim, saved, sizeof saved), size);
    lockstep_step(&sim, 1, inputs, NULL);
    uint64_t hash = lockstep_hash(sim);
    cr_assert_eq(lockstep_load(sim, saved, (size_t)size, 1), LOCKSTEP_OK);
    cr_assert_neq(lockstep_hash(sim), hash);
    lockstep_step(&sim, 1, inputs, NULL);
    cr_assert_eq(lockstep_hash(sim), hash);
    cr_assert_eq(lockstep_load(sim, saved, (size_t)size - 1, 1), LOCKSTEP_MALFORMED);
    cr_assert_eq(lockstep_hash(sim), hash);
    cr_assert_eq(lockstep_load(sim, NULL, 0, 0), LOCKSTEP_OK);
    cr_assert_eq(lockstep_hash(sim), first);
    lockstep_close(sim);
}

Test(liblockstep, many_simulations_step_in_one_call_as_each_by_itself)
{
    enum {
        COUNT = 5
    };
    const lockstep_game game = game_of(NULL);
    lockstep *many[COUNT];
    lockstep *alone[COUNT];
    uint8_t inputs[COUNT * PLAYERS];
    for (int i = 0; i < COUNT; i++) {
        many[i] = open_sim(&game, "9");
        alone[i] = open_sim(&game, "9");
    }
    for (int tick = 0; tick < 10; tick++) {
        for (int i = 0; i < COUNT * PLAYERS; i++) {
            inputs[i] = (uint8_t)(tick * 7 + i);
        }
        cr_assert_eq(lockstep_step(many, COUNT, inputs, NULL), LOCKSTEP_OK);
        for (size_t i = 0; i < COUNT; i++) {
            lockstep_step(&alone[i], 1, inputs + i * PLAYERS, NULL);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(lockstep_hash(many[i]), lockstep_hash(alone[i]));
        cr_assert(i == 0 || lockstep_hash(many[i]) != lockstep_hash(many[0]));
    }
    const uint32_t sizes[COUNT * PLAYERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
    uint64_t before = lockstep_hash(many[0]);
    cr_assert_eq(lockstep_step(many, COUNT, inputs, sizes), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_hash(many[0]), before, "none is stepped where one cannot be");
    for (int i = 0; i < COUNT; i++) {
        lockstep_close(many[i]);
        lockstep_close(alone[i]);
    }
}

Test(liblockstep, fields_are_found_by_path_and_by_number)
{
    const lockstep_game game = game_of(NULL);
    lockstep *sim = open_sim(&game, "1");
    lockstep_field field;
    cr_assert_eq(lockstep_find_field(sim, "cells.presses", 0, &field), LOCKSTEP_OK);
    cr_assert_eq(field.offset, offsetof(counters, presses));
    cr_assert_eq(field.count, CELLS);
    cr_assert_eq(field.stride, sizeof(uint32_t));
    cr_assert_eq(field.type, (uint32_t)LOCKSTEP_U32);
    cr_assert_eq(lockstep_find_field(sim, NULL, 0, &field), LOCKSTEP_OK);
    cr_assert_str_eq(field.path, "total.sum");
    cr_assert_eq(lockstep_find_field(sim, NULL, 99, &field), LOCKSTEP_NOT_FOUND);
    cr_assert_eq(lockstep_find_field(sim, "no.such", 0, &field), LOCKSTEP_NOT_FOUND);
    lockstep_close(sim);
}

Test(liblockstep, game_without_fields_is_bytes_and_one_that_leaves_some_out_is_refused)
{
    lockstep_game game = game_of(NULL);
    lockstep_field field;
    game.fields = NULL;
    game.field_count = 0;
    lockstep *sim = open_sim(&game, "1");
    cr_assert_eq(lockstep_find_field(sim, NULL, 0, &field), LOCKSTEP_OK);
    cr_assert_eq(field.length, sizeof(counters));
    lockstep_close(sim);
    game.fields = fields;
    game.field_count = 2;
    sim = lockstep_create(LOCKSTEP_SIM, &game);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_SCHEMA);
    cr_assert(strstr(lockstep_error(sim), "24"), "%s", lockstep_error(sim));
    lockstep_close(sim);
    game.field_count = sizeof fields / sizeof fields[0];
    game.step = NULL;
    sim = lockstep_create(LOCKSTEP_SIM, &game);
    cr_assert_eq(lockstep_start(sim), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_str_eq(lockstep_error(sim), "lockstep_game.step is missing");
    lockstep_close(sim);
}

/* ---- files ---- */

static char directory[] = "/tmp/liblockstep-XXXXXX";

static void make_directory(void)
{
    cr_assert(mkdtemp(directory));
}

/* The only file there, which is gone with the directory at the end. */
static void find_file(char *path, size_t capacity)
{
    DIR *files = opendir(directory);
    cr_assert(files);
    for (struct dirent *file = readdir(files); file; file = readdir(files)) {
        if (file->d_name[0] != '.') {
            snprintf(path, capacity, "%s/%s", directory, file->d_name);
        }
    }
    closedir(files);
}

static void remove_directory(void)
{
    char path[4096] = "";
    find_file(path, sizeof path);
    remove(path);
    rmdir(directory);
}

/* ---- matches ---- */

typedef struct table {
    lockstep *host;
    lockstep *clients[PLAYERS];
    uint32_t host_events[EVENT_KINDS];
    uint32_t events[PLAYERS][EVENT_KINDS];
    char text[EVENT_KINDS][4096];  /* the newest of the host's */
    char heard[EVENT_KINDS][4096]; /* of any client's */
    int result[PLAYERS];
} table;

static void poll_all(lockstep *handle, uint32_t counts[EVENT_KINDS], char texts[EVENT_KINDS][4096])
{
    lockstep_event event = {.size = sizeof event};
    while (lockstep_poll(handle, &event) > 0) {
        cr_assert_lt(event.kind, EVENT_KINDS);
        bool is_of_all = event.kind == LOCKSTEP_STARTED || event.kind == LOCKSTEP_ENDED;
        lockstep_info info = {.size = sizeof info};
        cr_assert_eq(lockstep_get_info(handle, &info), LOCKSTEP_OK);
        bool is_host = info.port != 0;
        cr_expect(!is_host || !is_of_all || event.slot == LOCKSTEP_NO_SLOT);
        cr_expect(event.kind != LOCKSTEP_ENDED || event.tick > 0);
        cr_expect(event.kind != LOCKSTEP_PLAYER_JOINED || event.text[0] != '\0');
        counts[event.kind]++;
        snprintf(texts[event.kind], sizeof texts[event.kind], "%s", event.text);
    }
}

static void set(lockstep *handle, const char *name, const char *value)
{
    cr_assert_eq(lockstep_set(handle, name, value), LOCKSTEP_OK, "%s", lockstep_error(handle));
}

static lockstep_info info_of(lockstep *handle)
{
    lockstep_info info = {.size = sizeof info};
    cr_assert_eq(lockstep_get_info(handle, &info), LOCKSTEP_OK);
    return info;
}

static void open_host(table *all, const lockstep_game *game)
{
    all->host = lockstep_create(LOCKSTEP_HOST, game);
    set(all->host, "players", "2");
    set(all->host, "bind", "127.0.0.1");
}

/* `thread`: "on" or "off". */
static void open_client(table *all, uint32_t index, const lockstep_game *game, const char *thread)
{
    lockstep *client = lockstep_create(LOCKSTEP_CLIENT, game);
    all->clients[index] = client;
    all->result[index] = 1;
    set(client, "server", info_of(all->host).invite);
    set(client, "name", index == 0 ? "Ann" : "Ben");
    set(client, "thread", thread);
    cr_assert_eq(lockstep_start(client), LOCKSTEP_OK, "%s", lockstep_error(client));
}

/* One turn of everybody; whether anything is left to play. */
static bool turn(table *all)
{
    bool goes_on = lockstep_frame(all->host, WAIT_MS) > 0;
    poll_all(all->host, all->host_events, all->text);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        if (all->clients[i] && all->result[i] > 0) {
            all->result[i] = lockstep_frame(all->clients[i], 0);
            poll_all(all->clients[i], all->events[i], all->heard);
        }
        goes_on = goes_on || (all->clients[i] && all->result[i] > 0);
    }
    return goes_on;
}

static void play(table *all)
{
    uint32_t turns = 0;
    while (turn(all)) {
        cr_assert_lt(++turns, (uint32_t)FRAMES_MAX);
    }
}

/* Until the host has said so. */
static void play_until(table *all, lockstep_event_kind kind)
{
    for (uint32_t turns = 0; all->host_events[kind] == 0; turns++) {
        cr_assert(turn(all));
        cr_assert_lt(turns, (uint32_t)FRAMES_MAX);
    }
}

static void close_all(table *all)
{
    for (uint32_t i = 0; i < PLAYERS; i++) {
        lockstep_close(all->clients[i]);
    }
    lockstep_close(all->host);
}

static table all; /* too large for some stacks */

static void expect_whole_match(uint32_t ticks)
{
    counters first = state_of(all.clients[0]);
    counters second = state_of(all.clients[1]);
    cr_expect_arr_eq(&first, &second, sizeof first);
    cr_expect_eq(info_of(all.host).tick, ticks);
    cr_expect_eq(info_of(all.host).desyncs, 0);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        lockstep_player player = {.size = sizeof player};
        cr_assert_eq(lockstep_get_player(all.host, i, &player), LOCKSTEP_OK);
        cr_expect_eq(player.agreed_tick, ticks);
        cr_expect_eq(all.result[i], 0);
        cr_expect_eq(all.events[i][LOCKSTEP_OVER], 1);
        cr_expect_eq(all.events[i][LOCKSTEP_CONNECTED], 1);
    }
    cr_expect_eq(all.host_events[LOCKSTEP_PLAYER_JOINED], 2);
    cr_expect_eq(all.host_events[LOCKSTEP_STARTED], 1);
    cr_expect_eq(all.host_events[LOCKSTEP_OVER], 1);
}

Test(liblockstep, match_of_an_own_game_is_played_to_its_end_with_equal_states)
{
    lockstep_game game = game_of(NULL);
    const uint8_t one = 1;
    const uint8_t hundred = 100;
    open_host(&all, &game);
    set(all.host, "ticks", "120");
    /* Every input counts, however busy the machine is: what comes late is waited for. */
    set(all.host, "late", "wait");
    set(all.host, "wait-limit", "60000");
    set(all.host, "wait-budget", "0");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "off");
    open_client(&all, 1, &game, "off");
    play_until(&all, LOCKSTEP_STARTED);
    cr_assert_eq(lockstep_input(all.clients[0], &one, 1, 0), LOCKSTEP_OK);
    cr_assert_eq(lockstep_input(all.clients[1], &hundred, 1, 1), LOCKSTEP_OK);
    cr_assert_eq(lockstep_input(all.clients[1], &hundred, 1, 1), LOCKSTEP_OK);
    cr_assert_eq(lockstep_input(all.clients[1], "ab", 2, 0), LOCKSTEP_BAD_ARGUMENT);
    cr_assert_eq(lockstep_input(all.clients[1], NULL, 1, 0), LOCKSTEP_BAD_ARGUMENT);
    play(&all);
    expect_whole_match(120);
    uint32_t slot = info_of(all.clients[1]).slot;
    cr_expect_eq(state_of(all.clients[0]).presses[slot], 200, "once is once");
    cr_expect_gt(state_of(all.clients[0]).presses[1 - slot], 50);
    cr_expect_eq(state_of(all.clients[0]).joined[0], 1);
    close_all(&all);
}

Test(liblockstep, host_has_the_hash_of_its_players)
{
    lockstep_game game = game_of(NULL);
    open_host(&all, &game);
    set(all.host, "ticks", "30");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "off");
    cr_expect_eq(lockstep_hash(all.clients[0]), 0);
    cr_expect_str_eq(lockstep_error(all.clients[0]), "there is no state yet");
    open_client(&all, 1, &game, "off");
    play(&all);
    cr_expect_neq(lockstep_hash(all.host), 0);
    cr_expect_eq(lockstep_hash(all.host), lockstep_hash(all.clients[0]));
    cr_expect_eq(lockstep_hash(all.host), lockstep_hash(all.clients[1]));
    close_all(&all);
}

Test(liblockstep, second_thread_is_refused_by_host_and_client)
{
    intruder of_host = {0};
    intruder of_client = {0};
    lockstep_game game = game_of(NULL);
    game.init = NULL;
    game.step = step_beside_intruder;
    game.user = &of_host;
    open_host(&all, &game);
    set(all.host, "ticks", "30");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    of_host.handle = all.host;
    game.user = &of_client;
    open_client(&all, 0, &game, "off");
    of_client.handle = all.clients[0];
    game.step = step_counters;
    game.user = NULL;
    open_client(&all, 1, &game, "off");
    while (!of_host.was_there || !of_client.was_there) {
        turn(&all);
    }
    expect_intruder_is_refused(&of_host);
    expect_intruder_is_refused(&of_client);
    close_all(&all);
}

/* A frame that lasted as long as it may would outlast the test. */
static void play_in_long_frames(const char *host_thread, const char *client_thread)
{
    lockstep_game game = game_of(NULL);
    const uint32_t an_hour_ms = 3600000;
    open_host(&all, &game);
    set(all.host, "ticks", "30");
    set(all.host, "thread", host_thread);
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "on");
    open_client(&all, 1, &game, client_thread);
    lockstep *in_the_loop = host_thread[1] == 'f' ? all.host : all.clients[1];
    int result = 1;
    for (uint32_t frames = 0; result > 0; frames++) {
        result = lockstep_frame(in_the_loop, an_hour_ms);
        poll_all(in_the_loop, all.events[1], all.heard);
        cr_assert_lt(frames, (uint32_t)FRAMES_MAX);
    }
    cr_expect_eq(result, 0, "%s", lockstep_error(in_the_loop));
    cr_expect_eq(all.events[1][LOCKSTEP_OVER], 1, "a poll behind the last frame has it");
    cr_expect_eq(lockstep_frame(in_the_loop, an_hour_ms), 0, "it stays over");
    close_all(&all);
    memset(&all, 0, sizeof all);
}

Test(liblockstep, long_frame_ends_with_the_match)
{
    play_in_long_frames("on", "off");
    play_in_long_frames("on", "on");
    play_in_long_frames("off", "on");
}

Test(liblockstep, host_without_a_journal_saves_no_match)
{
    lockstep_game game = game_of(NULL);
    open_host(&all, &game);
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    cr_expect_eq(lockstep_end(all.host, 1), LOCKSTEP_BAD_ARGUMENT);
    cr_expect(strstr(lockstep_error(all.host), "set \"journal\""), "%s", lockstep_error(all.host));
    cr_expect_gt(lockstep_frame(all.host, 0), 0, "the match goes on");
    close_all(&all);
}

Test(liblockstep, host_and_clients_play_in_threads_of_their_own)
{
    lockstep_game game = game_of(NULL);
    open_host(&all, &game);
    set(all.host, "ticks", "200");
    set(all.host, "thread", "on");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "on");
    open_client(&all, 1, &game, "on");
    play(&all);
    expect_whole_match(200);
    close_all(&all);
}

Test(liblockstep, threads_play_while_the_caller_looks_at_nothing)
{
    lockstep_game game = game_of(NULL);
    open_host(&all, &game);
    set(all.host, "ticks", "100");
    set(all.host, "thread", "on");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "on");
    open_client(&all, 1, &game, "on");
    for (uint32_t i = 0; info_of(all.host).tick < 100; i++) {
        cr_assert_lt(i, (uint32_t)FRAMES_MAX);
        lockstep_frame(all.host, WAIT_MS); /* the clients are not called at all */
    }
    play(&all);
    expect_whole_match(100);
    close_all(&all);
}

Test(liblockstep, difference_is_reported_with_its_field_to_host_and_client, .init = make_directory,
     .fini = remove_directory)
{
    flaw wrong = {.tick = 60};
    lockstep_game game = game_of(NULL);
    lockstep_game flawed = game_of(&wrong);
    open_host(&all, &game);
    set(all.host, "ticks", "400");
    set(all.host, "bundle-dir", directory);
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "off");
    open_client(&all, 1, &flawed, "off");
    play(&all);
    cr_expect_eq(all.host_events[LOCKSTEP_DESYNC], 1);
    cr_expect_eq(all.events[0][LOCKSTEP_DESYNC], 1);
    cr_expect_eq(all.events[1][LOCKSTEP_DESYNC], 1);
    cr_expect_geq(all.host_events[LOCKSTEP_CAUSE], 1);
    cr_expect(strstr(all.text[LOCKSTEP_DESYNC], "tick 61"), "%s", all.text[LOCKSTEP_DESYNC]);
    cr_expect(strstr(all.text[LOCKSTEP_CAUSE], "total.sum"), "%s", all.text[LOCKSTEP_CAUSE]);
    cr_expect(strstr(all.heard[LOCKSTEP_CAUSE], "total.sum"), "%s", all.heard[LOCKSTEP_CAUSE]);
    cr_expect_eq(all.host_events[LOCKSTEP_BUNDLE], 1);
    FILE *bundle = fopen(all.text[LOCKSTEP_BUNDLE], "rb");
    cr_expect(bundle, "%s", all.text[LOCKSTEP_BUNDLE]);
    if (bundle) {
        fclose(bundle);
    }
    close_all(&all);
}

Test(liblockstep, difference_is_healed_where_the_host_says_so)
{
    flaw wrong = {.tick = 60};
    lockstep_game game = game_of(NULL);
    lockstep_game flawed = game_of(&wrong);
    open_host(&all, &game);
    set(all.host, "ticks", "600");
    set(all.host, "on-desync", "heal");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "off");
    open_client(&all, 1, &flawed, "off");
    play(&all);
    cr_expect_eq(all.host_events[LOCKSTEP_HEALED], 1);
    cr_expect_eq(all.events[1][LOCKSTEP_HEALED], 1);
    counters first = state_of(all.clients[0]);
    counters second = state_of(all.clients[1]);
    cr_expect_arr_eq(&first, &second, sizeof first);
    close_all(&all);
}

Test(liblockstep, players_talk_and_the_host_speaks_pauses_and_kicks)
{
    lockstep_game game = game_of(NULL);
    lockstep_player player = {.size = sizeof player};
    open_host(&all, &game);
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    cr_assert_eq(lockstep_pause(all.host, 1, "wait"), LOCKSTEP_NOT_FOUND);
    cr_assert_eq(lockstep_kick(all.host, 0, "go"), LOCKSTEP_NOT_FOUND);
    cr_assert_eq(lockstep_kick(all.host, 77, "go"), LOCKSTEP_NOT_FOUND);
    open_client(&all, 0, &game, "off");
    open_client(&all, 1, &game, "off");
    play_until(&all, LOCKSTEP_STARTED);
    cr_assert_eq(lockstep_say(all.clients[0], "good luck"), LOCKSTEP_OK);
    play_until(&all, LOCKSTEP_CHAT);
    cr_expect_str_eq(all.text[LOCKSTEP_CHAT], "good luck");
    cr_assert_eq(lockstep_say(all.host, "welcome"), LOCKSTEP_OK);
    cr_assert_eq(lockstep_pause(all.host, 1, "tea"), LOCKSTEP_OK);
    play_until(&all, LOCKSTEP_PAUSED);
    while (all.events[1][LOCKSTEP_PAUSED] == 0) {
        turn(&all);
    }
    cr_expect_str_eq(all.heard[LOCKSTEP_SAID], "welcome");
    cr_expect_str_eq(all.heard[LOCKSTEP_PAUSED], "tea");
    cr_assert_eq(lockstep_pause(all.host, 0, NULL), LOCKSTEP_OK);
    play_until(&all, LOCKSTEP_UNPAUSED);
    while (info_of(all.host).tick < 10) { /* the game knows that both have come */
        cr_assert(turn(&all));
    }
    uint32_t slot = info_of(all.clients[0]).slot;
    cr_assert_eq(lockstep_get_player(all.host, slot, &player), LOCKSTEP_OK);
    cr_expect_str_eq(player.name, "Ann");
    cr_expect_eq(player.is_here, 1);
    cr_assert_eq(lockstep_get_player(all.clients[1], slot, &player), LOCKSTEP_OK);
    cr_expect_str_eq(player.name, "Ann");
    cr_assert_eq(lockstep_get_player(all.host, 9, &player), LOCKSTEP_NOT_FOUND);
    cr_assert_eq(lockstep_kick(all.host, slot, "no tea"), LOCKSTEP_OK);
    play_until(&all, LOCKSTEP_PLAYER_LEFT);
    while (all.result[0] > 0) {
        turn(&all);
    }
    cr_expect_eq(all.result[0], LOCKSTEP_KICKED);
    cr_expect(strstr(lockstep_error(all.clients[0]), "no tea"), "%s",
              lockstep_error(all.clients[0]));
    for (uint32_t i = 0; state_of(all.clients[1]).left[slot] == 0; i++) {
        cr_assert(turn(&all));
        cr_assert_lt(i, (uint32_t)FRAMES_MAX);
    }
    cr_assert_eq(lockstep_end(all.host, 0), LOCKSTEP_OK);
    play(&all);
    cr_expect_eq(all.result[1], 0);
    close_all(&all);
}

Test(liblockstep, picture_of_a_builtin_has_shapes_and_view_has_two_states)
{
    static lockstep_shape shapes[512];
    lockstep_view view = {.size = sizeof view};
    open_host(&all, NULL);
    set(all.host, "sim", "arena");
    set(all.host, "ticks", "60");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, NULL, "off");
    open_client(&all, 1, NULL, "on");
    cr_assert_eq(lockstep_get_view(all.clients[0], &view), LOCKSTEP_NOT_FOUND);
    play(&all);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        cr_assert_eq(lockstep_get_view(all.clients[i], &view), LOCKSTEP_OK);
        cr_expect_eq(view.tick, 60);
        cr_expect(view.alpha >= 0 && view.alpha <= 1);
        cr_expect_neq(view.state, view.previous);
        cr_expect_gt(lockstep_draw(all.clients[i], shapes, sizeof shapes[0], 512), 2);
        cr_expect_eq(lockstep_draw(all.clients[i], shapes, sizeof shapes[0], 1), 1);
        cr_expect_eq(lockstep_draw(all.clients[i], shapes, 1, 1), LOCKSTEP_BAD_ARGUMENT);
    }
    cr_expect_eq(lockstep_hash(all.clients[0]), lockstep_hash(all.clients[1]));
    cr_expect_str_eq(info_of(all.clients[0]).sim, "arena");
    close_all(&all);
}

Test(liblockstep, saved_match_goes_on_from_its_journal, .init = make_directory,
     .fini = remove_directory)
{
    lockstep_game game = game_of(NULL);
    char path[4096];
    open_host(&all, &game);
    set(all.host, "journal", directory);
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "off");
    open_client(&all, 1, &game, "off");
    while (info_of(all.host).tick < 50) {
        turn(&all);
    }
    cr_assert_eq(lockstep_end(all.host, 1), LOCKSTEP_OK);
    play(&all);
    cr_expect_eq(all.result[0], LOCKSTEP_SAVED);
    cr_expect_eq(info_of(all.host).status, LOCKSTEP_SAVED);
    uint32_t tick = info_of(all.host).tick;
    close_all(&all);
    find_file(path, sizeof path);
    memset(&all, 0, sizeof all);
    all.host = lockstep_create(LOCKSTEP_HOST, &game);
    set(all.host, "resume", path);
    set(all.host, "bind", "127.0.0.1");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    cr_expect_eq(info_of(all.host).tick, tick);
    lockstep_close(all.host);
}

Test(liblockstep, client_says_why_it_does_not_come_in)
{
    lockstep_game game = game_of(NULL);
    lockstep *client = lockstep_create(LOCKSTEP_CLIENT, &game);
    cr_assert_eq(lockstep_start(client), LOCKSTEP_BAD_ARGUMENT);
    cr_assert(strstr(lockstep_error(client), "\"server\""), "%s", lockstep_error(client));
    cr_assert_eq(lockstep_set(client, "server", ""), LOCKSTEP_BAD_ARGUMENT);
    cr_assert(strstr(lockstep_error(client), "server is empty"), "%s", lockstep_error(client));
    set(client, "server", "lockstep://nonsense");
    cr_assert_lt(lockstep_start(client), 0);
    lockstep_close(client);

    open_host(&all, &game);
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    lockstep_game other = game_of(NULL);
    other.version = 2;
    open_client(&all, 0, &other, "off");
    while (all.result[0] > 0) {
        turn(&all);
    }
    cr_expect_eq(all.result[0], -23, "%d", all.result[0]);
    cr_expect_eq(all.events[0][LOCKSTEP_OVER], 1);
    cr_expect_gt(strlen(lockstep_error(all.clients[0])), 10);
    cr_expect_eq(lockstep_frame(all.clients[0], 0), all.result[0], "it stays over");
    close_all(&all);
}

Test(liblockstep, closing_in_the_midst_of_a_match_takes_nothing_along)
{
    lockstep_game game = game_of(NULL);
    open_host(&all, &game);
    set(all.host, "thread", "on");
    cr_assert_eq(lockstep_start(all.host), LOCKSTEP_OK, "%s", lockstep_error(all.host));
    open_client(&all, 0, &game, "on");
    open_client(&all, 1, &game, "off");
    play_until(&all, LOCKSTEP_STARTED);
    lockstep_close(all.clients[0]);
    all.clients[0] = NULL;
    play_until(&all, LOCKSTEP_PLAYER_LEFT);
    lockstep_close(all.host);
    while (all.result[1] > 0 && all.events[1][LOCKSTEP_LOST] == 0) {
        all.result[1] = lockstep_frame(all.clients[1], WAIT_MS);
        poll_all(all.clients[1], all.events[1], all.heard);
    }
    lockstep_close(all.clients[1]);
}
