/* A service that nobody plays in, behind the real HTTP listener: for the tests beside it. Prints
 * its port, and ends when its standard input does. Limits are short, so that the tests are. */
#include "lockstep/common/program/option.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/control/http_listener.h"
#include "lockstep/tests/support/fake_service.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct program {
    ls_event_loop *loop;
    fake_service *fake;
} program;

static ls_operators operators;

/* A line adds an event, "answer" lets slow commands end, "unready" makes the service so, "withdraw"
 * leaves it without a token. */
static void read_input(void *user, uint64_t now_ns)
{
    program *of = user;
    char line[256] = "";
    (void)now_ns;
    ssize_t size = read(STDIN_FILENO, line, sizeof line - 1);
    if (size <= 0) {
        ls_event_loop_stop(of->loop);
        return;
    }
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "answer") == 0) {
        fake_service_answer(of->fake);
    } else if (strcmp(line, "unready") == 0) {
        fake_service_set_ready(of->fake, false);
    } else if (strcmp(line, "withdraw") == 0) {
        operators.count = 0;
    } else {
        fake_service_add_event(of->fake, "message", "arena-1", line);
    }
}

int main(int argc, char **argv)
{
    program self = {.fake = fake_service_create()};
    ls_http_listener_config config = ls_http_listener_config_default();
    ls_http_listener *listener = NULL;
    ls_text why = {{0}};
    const ls_log log = ls_log_stderr("fake_http_service", LS_LOG_INFO);
    config.log = &log;
    config.hosts = "lockstep.example";
    config.host = argc > 1 ? argv[1] : config.host;
    static ls_audit_log audit;
    if (argc > 2 && argv[2][0]) {
        (void)ls_operators_add(&operators, "token", LS_OPERATOR_ADMIN, argv[2], NULL);
        (void)ls_operators_add(&operators, "mod", LS_OPERATOR_MODERATE, "a-token-of-a-moderator",
                               NULL);
        (void)ls_operators_add(&operators, "eye", LS_OPERATOR_VIEW, "a-token-of-a-viewer", NULL);
    }
    config.operators = &operators;
    config.audit = &audit;
    config.view = fake_service_view(self.fake);
    uint64_t reply_kib = 0;
    if (argc > 4 && ls_option_number("kib", argv[4], (ls_option_range){1, 1 << 20}, &reply_kib,
                                     NULL) == LS_OK) {
        config.reply_bytes_max = reply_kib << 10;
    }
    config.connections_max = 40;
    config.connections_per_address = 20;
    config.streams_max = 3;
    config.idle_timeout_s = 4;
    config.request_timeout_ms = 2000;
    config.answer_timeout_ms = 4000;
    if (argc > 5) { /* no client's time is over before its test is */
        config.idle_timeout_s = 3600;
        config.request_timeout_ms = config.answer_timeout_ms = 3600000;
        config.wrong_token_ms = 3600000;
    }
    config.heartbeat_ms = 500;
    uint64_t rooms = 0;
    if (argc > 3) {
        (void)ls_option_number("rooms", argv[3], (ls_option_range){0, 500}, &rooms, NULL);
    }
    for (uint32_t i = 0; i < rooms; i++) {
        char name[24];
        snprintf(name, sizeof name, "crowd-%03u", i);
        fake_service_add_room(self.fake, name)->counters.ticks = 10;
    }
    if (ls_event_loop_create(ls_allocator_heap(), &self.loop) != LS_OK ||
        ls_http_listener_create(&config, self.loop, &listener, &why) != LS_OK) {
        fprintf(stderr, "fake_http_service: %s\n", why.bytes);
        return 1;
    }
    ls_status status =
        ls_event_loop_watch(self.loop, STDIN_FILENO, (ls_loop_handler){read_input, &self}, NULL);
    printf("%u\n", ls_http_listener_endpoint(listener).port);
    fflush(stdout);
    if (status == LS_OK) {
        ls_event_loop_run(self.loop);
    }
    ls_http_listener_destroy(listener);
    fake_service_answer(self.fake); /* answers that come when nobody waits */
    ls_event_loop_destroy(self.loop);
    fake_service_destroy(self.fake);
    return status == LS_OK ? 0 : 1;
}
