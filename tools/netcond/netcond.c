#include "lockstep/tools/netcond/netcond.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/netcond/report.h"

#include <inttypes.h>

enum {
    PROGRESS_MS = 250
};

/* One packet of a hundred sent so late means that the machine, not the settings, shaped the
 * network. */
#define LATE_P99_NS (3 * LS_NS_PER_MS)

typedef struct netcond {
    const netcond_config *config;
    ls_console *console;
    netcond_proxy_config proxy_config;
    ls_event_loop *loop;
    netcond_proxy *proxy;
    uint64_t start_ns;
} netcond;

static netcond_report report_of(const netcond *host, uint64_t now_ns)
{
    return (netcond_report){
        .config = &host->proxy_config,
        .counts = netcond_proxy_counts_of(host->proxy),
        .port = netcond_proxy_port(host->proxy),
        .elapsed_ns = now_ns - host->start_ns,
        .figures = {netcond_proxy_figures(host->proxy, NETCOND_DIRECTION_UP),
                    netcond_proxy_figures(host->proxy, NETCOND_DIRECTION_DOWN)},
    };
}

/* Prints the figures, a line at a time. */
static void each_line(const netcond_report *report, void (*show)(netcond *, const char *),
                      netcond *host)
{
    static const char *const directions[] = {"up  ", "down"};
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        ls_text figures, line;
        netcond_report_packets(report->figures[i], &figures);
        ls_text_set(&line, "%s  %s", directions[i], figures.bytes);
        show(host, line.bytes);
        netcond_report_delays(report->figures[i], &figures);
        ls_text_set(&line, "      %s", figures.bytes);
        show(host, line.bytes);
    }
}

static void show_live(netcond *host, const char *line)
{
    ls_console_line(host->console, "%s", line);
}

static void show_logged(netcond *host, const char *line)
{
    ls_log_line(&host->console->log, LS_LOG_INFO, "%s", line);
}

static void show_progress(void *user, uint64_t now_ns)
{
    netcond *host = user;
    ls_console_flush(host->console);
    if (!host->console->is_live) {
        return;
    }
    netcond_report report = report_of(host, now_ns);
    ls_console_begin(host->console);
    ls_console_line(host->console, "%.0f s, %" PRIu32 " clients", (double)report.elapsed_ns / 1e9,
                    report.counts.clients);
    each_line(&report, show_live, host);
    ls_console_end(host->console);
}

static void on_signal(void *user, uint64_t now_ns)
{
    (void)now_ns;
    netcond *host = user;
    ls_event_loop_stop(host->loop);
}

/* Names the causes that made the figures differ from the settings, if any. */
static void warn(const netcond *host, const netcond_report *report)
{
    const ls_log *log = &host->console->log;
    uint64_t late_ns = 0;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        uint64_t own_ns = netcond_conditioner_percentile_ns(&report->figures[i]->late, 99);
        late_ns = LS_MAX(own_ns, late_ns);
    }
    if (late_ns > LATE_P99_NS) {
        ls_log_line(log, LS_LOG_WARNING,
                    "this machine was busy: 1 %% of the packets were sent %.1f ms late or more",
                    (double)late_ns / 1e6);
    }
    if (report->counts.unreachable > 0) {
        ls_log_line(log, LS_LOG_WARNING, "%" PRIu64 " times nobody listened at %s",
                    report->counts.unreachable, host->config->server);
    }
    if (report->counts.refused > 0) {
        ls_log_line(log, LS_LOG_WARNING, "%" PRIu64 " packets of clients without a place",
                    report->counts.refused);
    }
}

static ls_exit_code finish(netcond *host)
{
    netcond_report report = report_of(host, ls_event_loop_now_ns(host->loop));
    const ls_log *log = &host->console->log;
    ls_console_clear(host->console);
    ls_text why = {{0}};
    each_line(&report, show_logged, host);
    warn(host, &report);
    if (host->config->json_path &&
        netcond_report_write(&report, host->config->json_path, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    return LS_EXIT_CLEAN;
}

/* ---- building it ---- */

static ls_status find_addresses(netcond *host, ls_text *why)
{
    const netcond_config *config = host->config;
    host->proxy_config = config->proxy;
    host->proxy_config.log = &host->console->log;
    ls_status status = ls_endpoint_resolve(config->listen_host, config->listen_port,
                                           &host->proxy_config.listen, why);
    return status == LS_OK ? ls_endpoint_parse(config->server, &host->proxy_config.server, why)
                           : status;
}

static ls_status add_handlers(netcond *host)
{
    ls_loop_handler signal_handler = {on_signal, host};
    ls_loop_handler progress = {show_progress, host};
    ls_status status = ls_event_loop_add_stop_signals(host->loop, signal_handler);
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(host->loop, PROGRESS_MS, progress, NULL);
    }
    return status;
}

static ls_status write_port_file(const netcond *host, ls_text *why)
{
    const char *path = host->config->port_file;
    return path ? ls_output_write_port(path, netcond_proxy_port(host->proxy), why) : LS_OK;
}

static ls_status build(netcond *host, ls_text *why)
{
    const char *json_path = host->config->json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    if (status == LS_OK) {
        status = find_addresses(host, why);
    }
    if (status == LS_OK) {
        status = ls_event_loop_create(ls_allocator_heap(), &host->loop);
    }
    if (status == LS_OK) {
        status = netcond_proxy_open(&host->proxy_config, host->loop, ls_allocator_heap(),
                                    &host->proxy, why);
    }
    if (status == LS_OK) {
        status = add_handlers(host);
    }
    return status == LS_OK ? write_port_file(host, why) : status;
}

ls_exit_code netcond_run(const netcond_config *config, ls_console *console)
{
    netcond host = {.config = config, .console = console};
    ls_text why = {{0}};
    ls_status status = build(&host, &why);
    ls_exit_code code = ls_exit_code_of(status);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        ls_log_line(&console->log, LS_LOG_INFO, "listening on %s:%u, passing on to %s",
                    config->listen_host, netcond_proxy_port(host.proxy), config->server);
        host.start_ns = ls_event_loop_now_ns(host.loop);
        ls_event_loop_run(host.loop);
        code = finish(&host);
    }
    netcond_proxy_close(host.proxy);
    ls_event_loop_destroy(host.loop);
    return code;
}
