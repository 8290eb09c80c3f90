/* A host and two clients of liblockstep in threads of their own, whose callers do all that a caller
 * may do meanwhile. Exit code 0 when the match ended with every state equal. */
#include "lockstep/tools/liblockstep/lockstep.h"

#include <stdio.h>
#include <string.h>

enum {
    CLIENTS = 2,
    FRAME_MS = 5,
    TICKS = 300,
};

static void step(void *user, void *state, const lockstep_inputs *inputs)
{
    uint32_t *sums = state;
    (void)user;
    for (uint32_t i = 0; i < inputs->setup->players; i++) {
        const lockstep_slot *slot = &inputs->slots[i];
        sums[i] = sums[i] * 31 + (slot->size > 0 ? slot->bytes[0] : 7u);
    }
}

static const lockstep_game game = {.size = sizeof game,
                                   .name = "sums",
                                   .version = 1,
                                   .tick_rate_hz = 100,
                                   .players_max = CLIENTS,
                                   .input_bytes = 1,
                                   .state_bytes = CLIENTS * sizeof(uint32_t),
                                   .step = step};

static lockstep *open_handle(int kind, const char *name, const char *value)
{
    lockstep *handle = lockstep_create(kind, &game);
    if (lockstep_set(handle, name, value) < 0 || lockstep_set(handle, "thread", "on") < 0 ||
        (kind == LOCKSTEP_HOST && (lockstep_set(handle, "bind", "127.0.0.1") < 0 ||
                                   lockstep_set(handle, "players", "2") < 0)) ||
        lockstep_start(handle) < 0) {
        fprintf(stderr, "%s\n", lockstep_error(handle));
        lockstep_close(handle);
        return NULL;
    }
    return handle;
}

/* A game does this in each picture. */
static int play_frame(lockstep *client, uint32_t *frames)
{
    lockstep_event event = {.size = sizeof event};
    lockstep_view view = {.size = sizeof view};
    lockstep_info info = {.size = sizeof info};
    uint8_t keys = (uint8_t)++ * frames;
    int result = lockstep_frame(client, FRAME_MS);
    if (result > 0) {
        lockstep_input(client, &keys, 1, *frames % 5 == 0);
        lockstep_get_view(client, &view);
        lockstep_get_info(client, &info);
        lockstep_say(client, "hello");
    }
    while (lockstep_poll(client, &event) > 0) {
        if (event.kind == LOCKSTEP_DESYNC) {
            printf("%s\n", event.text);
        }
    }
    return result;
}

int main(void)
{
    lockstep *clients[CLIENTS] = {NULL};
    uint32_t frames[CLIENTS] = {0};
    uint64_t hashes[CLIENTS] = {0};
    lockstep_info info = {.size = sizeof info};
    lockstep_event event = {.size = sizeof event};
    lockstep *host = open_handle(LOCKSTEP_HOST, "ticks", "300");
    if (!host || lockstep_get_info(host, &info) < 0) {
        return 1;
    }
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = open_handle(LOCKSTEP_CLIENT, "server", info.invite);
        if (!clients[i]) {
            return 1;
        }
    }
    int left = CLIENTS;
    while (lockstep_frame(host, 0) > 0 || left > 0) {
        left = 0;
        for (int i = 0; i < CLIENTS; i++) {
            left += play_frame(clients[i], &frames[i]) > 0;
        }
        lockstep_say(host, "welcome");
        while (lockstep_poll(host, &event) > 0) {
        }
    }
    lockstep_get_info(host, &info);
    for (int i = 0; i < CLIENTS; i++) {
        hashes[i] = lockstep_hash(clients[i]);
        lockstep_close(clients[i]);
    }
    lockstep_close(host);
    printf("tick %u, %u differences\n", info.tick, info.desyncs);
    return info.tick == TICKS && info.desyncs == 0 && hashes[0] == hashes[1] ? 0 : 1;
}
