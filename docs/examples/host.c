/* Hosts a match over UDP until it is over. usage: host SIM PLAYERS TICKS [INVITE-HOST]; prints the
 * invite first, then what happens. Exit code 0: every player agreed on every tick. */
#include <lockstep.h>

#include <stdio.h>

static int fail(lockstep *host)
{
    fprintf(stderr, "host: %s\n", lockstep_error(host));
    lockstep_close(host);
    return 1;
}

int main(int argc, char **argv)
{
    lockstep *host = lockstep_create(LOCKSTEP_HOST, NULL);
    lockstep_info info = {.size = sizeof info};
    lockstep_event event = {.size = sizeof event};
    if (argc < 4 || lockstep_set(host, "sim", argv[1]) < 0 ||
        lockstep_set(host, "players", argv[2]) < 0 || lockstep_set(host, "ticks", argv[3]) < 0 ||
        lockstep_set(host, "invite-host", argc > 4 ? argv[4] : "127.0.0.1") < 0 ||
        lockstep_start(host) < 0) {
        return fail(host);
    }
    lockstep_get_info(host, &info);
    printf("%s\n", info.invite);
    fflush(stdout);
    int goes_on = 1;
    while (goes_on) {
        goes_on = lockstep_frame(host, 100) > 0;
        while (lockstep_poll(host, &event) > 0) {
            printf("tick %u: %s\n", event.tick, event.text);
        }
    }
    lockstep_get_info(host, &info);
    printf("over at tick %u with %u differences\n", info.tick, info.desyncs);
    lockstep_close(host);
    return info.desyncs == 0 ? 0 : 1;
}
