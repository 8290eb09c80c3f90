/* A bot without a picture: it steers by what it reads in the state. usage: bot INVITE; for a match
 * of arena, in which it turns to and fro and shoots. */
#include <lockstep.h>

#include <stdio.h>
#include <string.h>

enum {
    LEFT = 4,
    RIGHT = 8,
    FIRE = 16
};

/* Where this player's ship looks, in turns: a field of type LOCKSTEP_ANGLE counts in 2^-32. */
static double angle_of(const lockstep_view *view, const lockstep_field *field, uint32_t slot)
{
    uint32_t angle = 0;
    memcpy(&angle, (const char *)view->state + field->offset + slot * field->stride, sizeof angle);
    return angle / 4294967296.0;
}

int main(int argc, char **argv)
{
    lockstep *bot = lockstep_create(LOCKSTEP_CLIENT, NULL);
    lockstep_view view = {.size = sizeof view};
    lockstep_info info = {.size = sizeof info};
    lockstep_field field;
    unsigned char keys = RIGHT | FIRE;
    int result = -1;
    if (argc > 1 && lockstep_set(bot, "server", argv[1]) == 0 &&
        lockstep_set(bot, "name", "bot") == 0 && lockstep_set(bot, "thread", "on") == 0 &&
        lockstep_start(bot) == 0) {
        while ((result = lockstep_frame(bot, 16)) > 0) {
            if (lockstep_get_view(bot, &view) == 0 && lockstep_get_info(bot, &info) == 0 &&
                lockstep_find_field(bot, "bodies.angle", 0, &field) == 0) {
                keys = FIRE | (angle_of(&view, &field, info.slot) < 0.5 ? LEFT : RIGHT);
            }
            lockstep_input(bot, &keys, 1, 0);
        }
    }
    lockstep_get_view(bot, &view); /* the last state, which no frame has shown */
    printf("tick %u: %s\n", view.tick, result < 0 ? lockstep_error(bot) : "over");
    lockstep_close(bot);
    return result < 0 ? 1 : 0;
}
