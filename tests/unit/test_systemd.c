#define _GNU_SOURCE
#include "lockstep/common/program/systemd.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- service_notify ---- */

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

/* ---- service_sockets ---- */

enum {
    FIRST = 3, /* the descriptor that systemd begins with */
    HIGH = 60, /* above those that are handed over */
    COUNT_MAX = 20,
};

typedef struct outcome {
    ls_status status;
    ls_service_sockets sockets;
    ls_text why;
    uint32_t open; /* of those that were handed over */
} outcome;

static int given[COUNT_MAX];
static uint32_t given_count;
static outcome *seen;

static void open_memory(void)
{
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(seen, MAP_FAILED);
    given_count = 0;
}

static void close_all(void)
{
    for (uint32_t i = 0; i < given_count; i++) {
        close(given[i]);
    }
    munmap(seen, sizeof *seen);
}

TestSuite(service_sockets, .init = open_memory, .fini = close_all);

static void give(int family, int type)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int descriptor = socket(family, type, 0);
    cr_assert_geq(descriptor, 0);
    if (family == AF_INET) {
        cr_assert_eq(bind(descriptor, (struct sockaddr *)&here, sizeof here), 0);
    }
    given[given_count++] = descriptor;
}

static void give_listening(void)
{
    give(AF_INET, SOCK_STREAM);
    cr_assert_eq(listen(given[given_count - 1], 1), 0);
}

/* A child process takes them, with the descriptors where systemd puts them. */
static void handle(bool is_for_it)
{
    char number[32];
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        for (uint32_t i = 0; i < given_count; i++) {
            dup2(given[i], HIGH + (int)i);
        }
        for (uint32_t i = 0; i < given_count; i++) {
            dup2(HIGH + (int)i, FIRST + (int)i);
        }
        snprintf(number, sizeof number, "%u", given_count);
        setenv("LISTEN_FDS", number, 1);
        snprintf(number, sizeof number, "%ld", is_for_it ? (long)getpid() : 1L);
        setenv("LISTEN_PID", number, 1);
        seen->status = ls_service_sockets_take(&seen->sockets, &seen->why);
        for (uint32_t i = 0; i < given_count; i++) {
            struct sockaddr_storage own;
            socklen_t bytes = sizeof own;
            seen->open +=
                getsockname(FIRST + (int)i, (struct sockaddr *)&own, &bytes) == 0 ? 1u : 0;
        }
        _exit(getenv("LISTEN_FDS") ? 1 : 0);
    }
    int code = 0;
    cr_assert_eq(waitpid(child, &code, 0), child);
    cr_assert_eq(code, 0, "its children would take the sockets for theirs");
}

static void expect_refused(const char *words)
{
    handle(true);
    cr_assert_eq(seen->status, LS_BAD_ARGUMENT);
    cr_assert(strstr(seen->why.bytes, words), "%s", seen->why.bytes);
    cr_assert_eq(seen->sockets.datagram_count, 0);
    cr_assert_eq(seen->sockets.stream, -1);
    cr_assert_eq(seen->open, 0, "they are closed");
}

Test(service_sockets, are_taken_by_their_kinds)
{
    give(AF_INET, SOCK_DGRAM);
    give_listening();
    give(AF_INET, SOCK_DGRAM);
    handle(true);
    cr_assert_eq(seen->status, LS_OK, "%s", seen->why.bytes);
    cr_assert_eq(seen->sockets.datagram_count, 2);
    cr_assert_eq(seen->sockets.datagrams[0], FIRST);
    cr_assert_eq(seen->sockets.datagrams[1], FIRST + 2);
    cr_assert_eq(seen->sockets.stream, FIRST + 1);
    cr_assert_eq(seen->open, 3);
}

Test(service_sockets, are_none_without_systemd_and_for_another_process)
{
    ls_service_sockets sockets;
    cr_assert_eq(ls_service_sockets_take(&sockets, NULL), LS_OK);
    cr_assert_eq(sockets.datagram_count, 0);
    cr_assert_eq(sockets.stream, -1);
    give(AF_INET, SOCK_DGRAM);
    handle(false);
    cr_assert_eq(seen->status, LS_OK);
    cr_assert_eq(seen->sockets.datagram_count, 0);
    cr_assert_eq(seen->open, 1);
}

Test(service_sockets, that_are_not_there_are_refused)
{
    static const char *const counts[] = {"many", "-1", "999"};
    ls_service_sockets sockets;
    ls_text why = {{0}};
    char pid[32];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", counts[i], 1);
        cr_assert_eq(ls_service_sockets_take(&sockets, &why), LS_BAD_ARGUMENT, "%s", counts[i]);
        cr_assert(strstr(why.bytes, "LISTEN_FDS"), "%s", why.bytes);
        cr_assert_eq(sockets.datagram_count, 0);
        cr_assert_eq(sockets.stream, -1);
    }
}

Test(service_sockets, of_no_use_are_refused)
{
    give(AF_INET, SOCK_DGRAM);
    give(AF_UNIX, SOCK_STREAM);
    expect_refused("descriptor 4");
}

Test(service_sockets, that_do_not_listen_are_refused)
{
    give(AF_INET, SOCK_STREAM);
    expect_refused("descriptor 3");
}

Test(service_sockets, two_for_http_are_refused)
{
    give_listening();
    give_listening();
    expect_refused("one ListenStream");
}

Test(service_sockets, more_than_there_are_workers_are_refused)
{
    for (uint32_t i = 0; i <= LS_SERVICE_DATAGRAM_SOCKETS_MAX; i++) {
        give(AF_INET, SOCK_DGRAM);
    }
    expect_refused("more UDP sockets");
}
