/* Plays in a match over UDP until it is over. usage: client INVITE; presses keys in turn. Exit code
 * 0: the match was played to its end. */
#include <lockstep.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    lockstep *client = lockstep_create(LOCKSTEP_CLIENT, NULL);
    lockstep_event event = {.size = sizeof event};
    lockstep_view view = {.size = sizeof view};
    int result = -1;
    if (argc > 1 && lockstep_set(client, "server", argv[1]) == 0 && lockstep_start(client) == 0) {
        result = 1;
        while (result > 0) {
            result = lockstep_frame(client, 16);
            unsigned char keys = 0;
            if (lockstep_get_view(client, &view) == 0) {
                keys = (unsigned char)(view.tick / 8); /* draw view.previous to view.state here */
            }
            lockstep_input(client, &keys, 1, 0);
            while (lockstep_poll(client, &event) > 0) {
                printf("%s\n", event.text);
            }
        }
    }
    if (result < 0) {
        fprintf(stderr, "client: %s\n", lockstep_error(client));
    } else {
        lockstep_get_view(client, &view);
        printf("over at tick %u, hash %016llx\n", view.tick,
               (unsigned long long)lockstep_hash(client));
    }
    lockstep_close(client);
    return result < 0 ? 1 : 0;
}
