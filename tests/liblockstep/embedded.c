/* A program that embeds its game: `embedded PLAYERS TICKS` hosts a match and prints the invite and
 * what happens, `embedded INVITE` plays in it. With -DPLUGIN it is the same game as a plug-in. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef EMBEDDED_GAIN
#define EMBEDDED_GAIN 3
#endif

typedef struct furnace {
    uint32_t ticks, salt;
    uint32_t heat[4];
} furnace;

static uint32_t own_salt(void)
{
#ifdef EMBEDDED_SALT
    const char *salt = getenv("EMBEDDED_SALT");
    return salt ? (uint32_t)strtoul(salt, NULL, 10) : 0;
#else
    return 0;
#endif
}

static void step(void *user, void *state, const lockstep_inputs *inputs)
{
    furnace *here = state;
    (void)user;
    (void)inputs;
    here->ticks++;
    here->salt += here->ticks > 30 ? own_salt() : 0;
    for (uint32_t i = 0; i < 4; i++) {
        here->heat[i] += here->ticks > 30 && i == 2 ? EMBEDDED_GAIN : 2; /* fault */
    }
}

static const lockstep_field fields[] = {
    {"ticks", "", LOCKSTEP_U32, 1, 1, offsetof(furnace, ticks), 0},
    {"salt", "", LOCKSTEP_U32, 1, 1, offsetof(furnace, salt), 0},
    {"heat", "K", LOCKSTEP_U32, 4, 1, offsetof(furnace, heat), 0},
};

static const lockstep_game game = {.size = sizeof game,
                                   .name = "furnace",
                                   .version = 1,
                                   .tick_rate_hz = 120,
                                   .players_max = 2,
                                   .state_bytes = sizeof(furnace),
                                   .fields = fields,
                                   .field_count = 3,
                                   .step = step};

#ifdef PLUGIN

LOCKSTEP_EXPORT const lockstep_game *lockstep_plugin(void);

const lockstep_game *lockstep_plugin(void)
{
    return &game;
}

#else

static int set_up(lockstep *me, int argc, char **argv)
{
    if (argc == 2) {
        return lockstep_set(me, "server", argv[1]);
    }
    static const char *const settings[][2] = {
        {"invite-host", "127.0.0.1"}, {"bind", "127.0.0.1"},   {"late", "wait"},
        {"wait-budget", "0"},         {"wait-limit", "30000"}, {"timeout", "60000"},
        {"bundle-dir", "."}};
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof settings / sizeof settings[0]; i++) {
        result = lockstep_set(me, settings[i][0], settings[i][1]);
    }
    result = result == 0 ? lockstep_set(me, "players", argv[1]) : result;
    return result == 0 ? lockstep_set(me, "ticks", argv[2]) : result;
}

int main(int argc, char **argv)
{
    lockstep *me = lockstep_create(argc > 2 ? LOCKSTEP_HOST : LOCKSTEP_CLIENT, &game);
    lockstep_event event = {.size = sizeof event};
    lockstep_info info = {.size = sizeof info};
    int result = argc > 1 ? set_up(me, argc, argv) : -1;
    result = result == 0 ? lockstep_start(me) : result;
    if (result == 0 && argc > 2 && lockstep_get_info(me, &info) == 0) {
        printf("%s\n", info.invite);
    }
    int goes_on = result == 0;
    while (goes_on) {
        fflush(stdout);
        result = lockstep_frame(me, 16);
        goes_on = result > 0;
        while (lockstep_poll(me, &event) > 0) {
            printf("%s\n", event.text);
        }
    }
    printf("%s\n", result < 0 ? lockstep_error(me) : "over");
    lockstep_close(me);
    return result < 0;
}

#endif
