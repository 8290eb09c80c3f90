#define _GNU_SOURCE
#include "lockstep/common/program/systemd.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listener = -1;

/* Stands in for systemd: an abstract socket whose name nobody else has. */
static void open_listener(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int length = snprintf(name, sizeof name, "@lockstep-notify-%ld", (long)getpid());
    memcpy(address.sun_path, name, (size_t)length);
    address.sun_path[0] = '\0';
    listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
    cr_assert_eq(bind(listener, (struct sockaddr *)&address, bytes), 0);
    setenv("NOTIFY_SOCKET", name, 1);
}

static void close_listener(void)
{
    close(listener);
}

static void expect(const char *message)
{
    char heard[512] = "";
    ssize_t bytes = recv(listener, heard, sizeof heard - 1, 0);
    cr_assert_gt(bytes, 0, "'%s' has not come", message);
    cr_assert_str_eq(heard, message);
}

TestSuite(service_notify, .init = open_listener, .fini = close_listener);

Test(service_notify, states_are_told)
{
    ls_service_notify_ready();
    expect("READY=1");
    ls_service_notify_alive();
    expect("WATCHDOG=1");
    ls_service_notify_stopping();
    expect("STOPPING=1");
}

Test(service_notify, a_status_is_one_line)
{
    ls_service_notify_status("4 rooms\nMAINPID=1");
    expect("STATUS=4 rooms MAINPID=1");
    char sentence[1000] = "";
    char wanted[512] = "STATUS=";
    memset(sentence, 'x', sizeof sentence - 1);
    ls_service_notify_status(sentence);
    memset(wanted + strlen(wanted), 'x', 255);
    expect(wanted);
}

Test(service_notify, without_systemd_nothing_is_sent)
{
    unsetenv("NOTIFY_SOCKET");
    ls_service_notify_ready();
    char heard[16];
    cr_assert_lt(recv(listener, heard, sizeof heard, 0), 0);
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    ls_service_notify_status("the socket is gone"); /* and nothing else happens */
}
