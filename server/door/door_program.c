#include "lockstep/server/door/door_program.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/server/control/tls_files.h"
#include "lockstep/server/door/door_listener.h"

enum {
    WATCH_MS = 1000, /* between two looks at the files of TLS */
    LEAVE_MS = 50,   /* for the last words of the server, and then for those of the door */
};

typedef struct door_program {
    ls_console *console;
    ls_door_page *page;
    ls_event_loop *loop;
    ls_tls_files *tls; /* NULL: none */
    ls_door_switch *to;
    ls_web_sockets *sockets;
    ls_rtc_peers *rtc;            /* NULL: no data channels */
    ls_broadcast_http *broadcast; /* NULL: none */
    ls_door_listener *listener;
    ls_loop_source *leaving;
} door_program;

static void on_watch(void *user, uint64_t now_ns)
{
    const door_program *self = user;
    (void)now_ns;
    ls_tls_files_watch(self->tls, &self->console->log);
    ls_console_flush(self->console);
}

/* Sealed bytes leave in turns of the loop. */
static void on_leaving(void *user, uint64_t now_ns)
{
    const door_program *self = user;
    if (ls_web_sockets_close(self->sockets)) {
        ls_loop_alarm_set(self->leaving, now_ns + LEAVE_MS * LS_NS_PER_MS);
    } else {
        ls_event_loop_stop(self->loop);
    }
}

/* The signal may have been sent to all processes of a service, which drains then: its players play
 * on, those in pages too. */
static void on_signal(void *user, uint64_t now_ns)
{
    const door_program *self = user;
    if (atomic_load_explicit(&self->page->is_over, memory_order_acquire)) {
        ls_loop_alarm_set(self->leaving, now_ns + LEAVE_MS * LS_NS_PER_MS);
    }
}

static ls_status open_page(door_program *self, ls_text *why)
{
    self->page = ls_shared_memory_map(LS_DOOR_PAGE_DESCRIPTOR, sizeof *self->page);
    if (!self->page || self->page->server.port == 0) {
        return ls_fail(LS_IO, why, "a door is opened by lockstep-server or lockstep-relay --web");
    }
    self->console->log.level = (ls_log_level)self->page->log_level;
    ls_console_set_format(self->console, (ls_log_format)self->page->log_format);
    return LS_OK;
}

static ls_status open_tls(door_program *self, ls_text *why)
{
    const ls_tls_files_config tls = {self->page->certificate, self->page->certificate_key};
    return self->page->certificate[0] != '\0' ? ls_tls_files_open(&tls, &self->tls, why) : LS_OK;
}

static ls_status build(door_program *self, ls_text *why)
{
    ls_status status = open_page(self, why);
    LS_THEN(status, open_tls(self, why));
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &self->loop));
    LS_THEN(status,
            ls_door_switch_create(LS_DOOR_UDP_DESCRIPTOR, self->page, self->loop, &self->to));
    LS_THEN(status, ls_web_sockets_create(self->to, self->page, self->loop, &self->sockets));
    if (status == LS_OK && self->page->has_rtc) {
        (void)ls_rtc_peers_create(LS_DOOR_RTC_DESCRIPTOR, self->to, self->page, self->loop,
                                  &self->rtc);
    }
    if (status == LS_OK && self->page->broadcast_delay_s > 0) {
        status = ls_broadcast_http_create(self->page->journals, self->page->broadcast_delay_s,
                                          self->loop, &self->broadcast);
    }
    const ls_door_listener_config listener = {.descriptor = LS_DOOR_LISTEN_DESCRIPTOR,
                                              .is_tls = self->tls != NULL,
                                              .page = self->page,
                                              .sockets = self->sockets,
                                              .rtc = self->rtc,
                                              .broadcast = self->broadcast};
    LS_THEN(status, ls_door_listener_create(&listener, self->loop, &self->listener, why));
    LS_THEN(status,
            ls_event_loop_add_timer(self->loop, WATCH_MS, (ls_loop_handler){on_watch, self}, NULL));
    LS_THEN(status, ls_event_loop_add_alarm(self->loop, (ls_loop_handler){on_leaving, self},
                                            &self->leaving));
    LS_THEN(status, ls_event_loop_add_stop_signals(self->loop, (ls_loop_handler){on_signal, self}));
    return status;
}

ls_exit_code ls_door_program_run(ls_console *console)
{
    door_program self = {.console = console};
    ls_text why = {{0}};
    ls_status status = build(&self, &why);
    if (status == LS_OK) {
        ls_event_loop_run(self.loop);
    } else {
        ls_log_line(&console->log, LS_LOG_ERROR, "the door for pages: %s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_web_sockets_destroy(self.sockets);
    ls_door_listener_destroy(self.listener);
    ls_broadcast_http_destroy(self.broadcast);
    ls_rtc_peers_destroy(self.rtc);
    ls_door_switch_destroy(self.to);
    ls_event_loop_destroy(self.loop);
    ls_tls_files_close(self.tls);
    ls_shared_memory_release(self.page, sizeof *self.page);
    return ls_exit_code_of(status);
}
