/* Late route: a library to be loaded before a program's others (LD_PRELOAD), under which the
 * network is not up at first: no UDP socket can be connected the first times. Used by the tests of
 * the programs. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FAILURES = 6 /* longer than a second, with a quarter of one between two attempts */
};

__attribute__((visibility("default"))) int connect(int descriptor, const struct sockaddr *address,
                                                   socklen_t size)
{
    static int failures;
    int type = 0;
    socklen_t type_size = sizeof type;
    (void)getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size);
    if (type == SOCK_DGRAM && address->sa_family != AF_UNIX && failures < FAILURES) {
        failures++;
        errno = ENETUNREACH;
        return -1;
    }
    return (int)syscall(SYS_connect, descriptor, address, size);
}
