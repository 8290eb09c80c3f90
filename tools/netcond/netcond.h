/* Netcond: the condition proxy as a program: the event loop, the proxy, stop signals, live lines
 * and the report, wired together. Decides nothing. Called by main. */
#ifndef LOCKSTEP_TOOLS_NETCOND_NETCOND_H
#define LOCKSTEP_TOOLS_NETCOND_NETCOND_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/tools/netcond/proxy.h"

typedef struct netcond_config {
    netcond_proxy_config proxy; /* without its log, and without addresses: */
    const char *listen_host;    /* IPv4 address or name */
    uint16_t listen_port;       /* 0: chosen by the system and told on the console */
    const char *server;         /* "HOST:PORT" */
    const char *port_file;      /* gets the port in decimal once it is bound; NULL: none */
    const char *json_path;      /* NULL: no report; "-": standard output */
} netcond_config;

/* Runs until SIGINT or SIGTERM. */
ls_exit_code netcond_run(const netcond_config *config, ls_console *console);

/* ---- Report: what a run of the proxy came to, asked against measured, as JSON for programs
 * and as lines for people. Reads figures, never changes them ---- */

typedef struct netcond_report {
    const netcond_proxy_config *config;
    netcond_proxy_counts counts;
    uint16_t port;
    uint64_t elapsed_ns;
    const netcond_conditioner_figures *figures[NETCOND_DIRECTION_COUNT];
} netcond_report;

/* One JSON object to the file, or to standard output for "-". Shares are in per cent, times in
 * milliseconds, bytes with IPv4 and UDP headers. NO_MEMORY, or IO with the reason. */
ls_status netcond_report_write(const netcond_report *report, const char *path, ls_text *why);

#endif
