/* The listener of HTTP in this process, so that the order is seen in which it answers. */
#define _GNU_SOURCE
#include "lockstep/server/control/http_listener.h"

#include "lockstep/tests/support/fake_service.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CLIENTS = 60,
    ROUNDS_MAX = 10000,
};

static fake_service *fake;
static ls_event_loop *loop;
static ls_http_listener *listener;
static int clients[CLIENTS];

static void begin(void)
{
    ls_http_listener_config config = ls_http_listener_config_default();
    ls_text why = {{0}};
    fake = fake_service_create();
    config.view = fake_service_view(fake);
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
    cr_assert_eq(ls_http_listener_create(&config, loop, &listener, &why), LS_OK, "%s", why.bytes);
}

static void end(void)
{
    ls_http_listener_destroy(listener);
    ls_event_loop_destroy(loop);
    fake_service_destroy(fake);
}

TestSuite(http_listener, .init = begin, .fini = end);

/* The system takes connections and what they send before the listener looks. */
static int ask(const char *path)
{
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons(ls_http_listener_endpoint(listener).port),
                                   .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char request[128];
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int size =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    cr_assert(made >= 0 && connect(made, (const struct sockaddr *)&to, sizeof to) == 0);
    cr_assert_eq(send(made, request, (size_t)size, 0), size);
    return made;
}

static bool is_answered(int client)
{
    char status[13] = "";
    return recv(client, status, 12, MSG_DONTWAIT | MSG_PEEK) == 12 &&
           strcmp(status, "HTTP/1.1 200") == 0;
}

static uint32_t count_answered(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        count += is_answered(clients[i]);
    }
    return count;
}

static void run_until_all_are_answered(void)
{
    for (uint32_t i = 0; i < ROUNDS_MAX && count_answered() < CLIENTS; i++) {
        ls_event_loop_run_until(loop, 0);
    }
    cr_assert_eq(count_answered(), CLIENTS);
}

Test(http_listener, a_probe_is_answered_before_most_of_those_who_asked_for_much_before_it)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = ask("/metrics");
    }
    int probe = ask("/healthz");
    for (uint32_t i = 0; i < ROUNDS_MAX && !is_answered(probe); i++) {
        ls_event_loop_run_until(loop, 0);
    }
    cr_assert(is_answered(probe));
    cr_assert_lt(count_answered(), CLIENTS / 2);
    run_until_all_are_answered();
    for (uint32_t i = 0; i < CLIENTS; i++) {
        close(clients[i]);
    }
    close(probe);
}
