/* A networked game: ships on a line. usage: game PLAYERS TICKS hosts, game INVITE plays. */
#include <lockstep.h>

#include <stdio.h>

enum {
    SHIPS = 4,
    LEFT = 1,
    RIGHT = 2,
    JUMP = 4
};

typedef struct ship {
    int32_t place, speed; /* millimetres; millimetres a tick */
} ship;

typedef struct fleet {
    ship ships[SHIPS];
} fleet;

static void step(void *user, void *state, const lockstep_inputs *inputs)
{
    ship *ships = ((fleet *)state)->ships;
    (void)user;
    for (uint32_t i = 0; i < inputs->setup->players; i++) {
        const lockstep_slot *slot = &inputs->slots[i];
        uint32_t keys = slot->size > 0 ? slot->bytes[0] : 0;
        ships[i].speed += (keys & RIGHT ? 1 : 0) - (keys & LEFT ? 1 : 0);
        ships[i].place += ships[i].speed + (keys & JUMP ? 1000 : 0);
    }
}

static const lockstep_field fields[] = {
    LOCKSTEP_FIELDS(fleet, ships, place, "mm", LOCKSTEP_I32),
    LOCKSTEP_FIELDS(fleet, ships, speed, "mm/tick", LOCKSTEP_I32),
};
static const uint8_t edges[] = {JUMP}, buttons[] = {LEFT | RIGHT};
static const lockstep_game game = {.size = sizeof game,
                                   .name = "ships",
                                   .version = 1,
                                   .tick_rate_hz = 60,
                                   .players_max = SHIPS,
                                   .input_bytes = 1,
                                   .state_bytes = sizeof(fleet),
                                   .fields = fields,
                                   .field_count = 2,
                                   .step = step,
                                   .edges = edges,
                                   .buttons = buttons};

int main(int argc, char **argv)
{
    int is_host = argc > 2; /* else the argument is the invite that the host prints */
    lockstep *me = lockstep_create(is_host ? LOCKSTEP_HOST : LOCKSTEP_CLIENT, &game);
    lockstep_event event = {.size = sizeof event};
    lockstep_info info = {.size = sizeof info};
    lockstep_view view = {.size = sizeof view};
    unsigned char held = 0;
    int result = lockstep_set(me, is_host ? "players" : "server", argc > 1 ? argv[1] : "");
    result = result == 0 && is_host ? lockstep_set(me, "ticks", argv[2]) : result;
    result = result == 0 ? lockstep_start(me) : result;
    if (result == 0 && is_host && lockstep_get_info(me, &info) == 0) {
        printf("%s\n", info.invite);
        fflush(stdout);
    }
    int goes_on = result == 0;
    while (goes_on) {
        result = lockstep_frame(me, 16);
        goes_on = result > 0;
        if (!is_host && lockstep_get_view(me, &view) == 0) {
            /* Draw the ships here, view.alpha of the way from view.previous to view.state. */
            unsigned char keys = view.tick / 60 % 2 ? LEFT : RIGHT, jump = keys | JUMP;
            if (keys != held) {
                lockstep_input(me, &jump, 1, 1); /* in one tick */
            }
            lockstep_input(me, &keys, 1, 0); /* from now on */
            held = keys;
        }
        while (lockstep_poll(me, &event) > 0) {
            printf("%s\n", event.text);
        }
    }
    if (!is_host && lockstep_get_view(me, &view) == 0) {
        printf("tick %u: the first ship is at %d mm\n", view.tick,
               ((const fleet *)view.state)->ships[0].place);
    }
    if (result < 0) {
        fprintf(stderr, "%s\n", lockstep_error(me));
    }
    lockstep_close(me);
    return result < 0;
}
