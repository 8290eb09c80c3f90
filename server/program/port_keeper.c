#include "lockstep/server/program/port_keeper.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/protocol/portmap/port_mapper.h"

#include <inttypes.h>
#include <string.h>

enum {
    TAKE_BACK_MS = 10000, /* a router that keeps the port for an hour is worse than a late end */
};

struct ls_port_keeper {
    const ls_log *log;
    ls_port_keeper_site site;
    ls_child_process process;
    int channel; /* the port goes there, and reports come from there */
    ls_loop_source *watch;
    ls_port_report report; /* the first `size` bytes of the next one */
    size_t size;
    bool is_mapped;
};

/* ---- in the process that asks ---- */

typedef struct asker {
    int channel;
} asker;

/* The channel can be read when the server has closed it. */
static bool wait(void *user, uint64_t wait_ms)
{
    const asker *self = user;
    const ls_clock clock = ls_clock_system();
    const uint64_t until_ns = ls_clock_now_ns(&clock) + wait_ms * LS_NS_PER_MS;
    bool is_over = false;
    for (uint64_t now_ns = 0; !is_over && now_ns < until_ns; now_ns = ls_clock_now_ns(&clock)) {
        is_over = ls_socket_await(self->channel, until_ns - now_ns);
    }
    return is_over;
}

static void report(void *user, const ls_port_report *now)
{
    const asker *self = user;
    (void)ls_socket_send_all(self->channel, now, sizeof *now);
}

static int ask(const void *user, int channel)
{
    asker self = {ls_child_process_keep(channel)};
    ls_port_mapper_config config = {.wait = wait, .report = report, .user = &self};
    (void)user;
    config.way_count = ls_router_ways(&config.ways);
    (void)ls_child_process_hush();
    if (ls_socket_receive_all(self.channel, &config.port, sizeof config.port, UINT32_MAX) !=
        LS_OK) {
        return 0; /* the server never had a port */
    }
    return ls_port_mapper_run(&config) ? 0 : 1;
}

/* ---- in the server ---- */

static ls_status create(const ls_log *log, ls_port_keeper **out, ls_text *why)
{
    const ls_router_way *ways;
    const ls_child_process_work work = {.run = ask, .outlives_parent = true, .is_background = true};
    if (ls_router_ways(&ways) == 0) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "this build was made without libnatpmp and libminiupnpc");
    }
    ls_port_keeper *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    ls_status status =
        made ? ls_child_process_fork(&work, &made->process, &made->channel, why) : LS_NO_MEMORY;
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), made);
        return status;
    }
    made->log = log;
    *out = made;
    return LS_OK;
}

ls_port_keeper *ls_port_keeper_make(const ls_log *log, bool is_told)
{
    ls_port_keeper *made = NULL;
    ls_text why = {{0}};
    if (create(log, &made, &why) != LS_OK) {
        ls_log_line(log, is_told ? LS_LOG_WARNING : LS_LOG_INFO,
                    "no router is asked for a port: %s", why.bytes);
    }
    return made;
}

void ls_port_keeper_destroy(ls_port_keeper *keeper)
{
    ls_child_process_end end = {.exit_code = 1};
    if (!keeper) {
        return;
    }
    ls_loop_source_remove(keeper->watch);
    ls_socket_close(keeper->channel);
    if (keeper->is_mapped) {
        bool is_done = ls_child_process_wait(&keeper->process, TAKE_BACK_MS, &end) &&
                       end.exit_code == 0 && end.signal == 0;
        ls_log_line(keeper->log, is_done ? LS_LOG_INFO : LS_LOG_WARNING, "%s",
                    is_done ? "the router has taken its port back"
                            : "the router has not taken its port back, and keeps it for an hour");
    }
    ls_child_process_kill(&keeper->process);
    ls_release(ls_allocator_heap(), keeper);
}

static void on_report(ls_port_keeper *keeper)
{
    const ls_port_report *now = &keeper->report;
    const ls_log *log = keeper->log;
    char place[LS_ENDPOINT_NUMERIC_BYTES];
    if (now->is_mapped) {
        ls_endpoint_format(&now->mapping.outside, place);
        ls_log_line(log, LS_LOG_INFO,
                    "the router leads UDP port %s to this server (%s, for %" PRIu32 " s at a time)",
                    place, now->way, now->mapping.lifetime_s);
    } else {
        ls_log_line(log, LS_LOG_INFO, "no router leads a port to this server (%s)", now->why.bytes);
    }
    bool was_mapped = keeper->is_mapped;
    keeper->is_mapped = now->is_mapped;
    if (was_mapped || now->is_mapped) {
        const ls_endpoint none = {.port = 0};
        keeper->site.on_mapped(keeper->site.user, now->is_mapped ? &now->mapping.outside : &none);
    }
}

static void on_readable(void *user, uint64_t now_ns)
{
    ls_port_keeper *keeper = user;
    uint8_t *bytes = (uint8_t *)&keeper->report;
    ptrdiff_t size = ls_socket_receive_some(keeper->channel, bytes + keeper->size,
                                            sizeof keeper->report - keeper->size);
    (void)now_ns;
    if (size < 0) { /* the process has ended: what the router gave is over in an hour */
        ls_loop_source_remove(keeper->watch);
        keeper->watch = NULL;
        return;
    }
    keeper->size += (size_t)size;
    if (keeper->size == sizeof keeper->report) {
        keeper->size = 0;
        on_report(keeper);
    }
}

ls_status ls_port_keeper_attach(ls_port_keeper *keeper, const ls_port_keeper_site *site)
{
    if (!keeper) {
        return LS_OK;
    }
    ls_loop_handler handler = {on_readable, keeper};
    keeper->site = *site;
    ls_status status = ls_socket_send_all(keeper->channel, &site->port, sizeof site->port);
    LS_THEN(status, ls_event_loop_watch(site->loop, keeper->channel, handler, &keeper->watch));
    return status;
}
