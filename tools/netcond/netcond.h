/* Netcond: the condition proxy as a program: the event loop, the proxy, stop signals, live lines
 * and the report, wired together. Decides nothing. Called by main. */
#ifndef LOCKSTEP_TOOLS_NETCOND_NETCOND_H
#define LOCKSTEP_TOOLS_NETCOND_NETCOND_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/tools/netcond/conditioner.h"

/* ---- Proxy: stands between clients and one server on UDP and passes each datagram on when a
 * conditioner says so. Each client gets a socket of its own towards the server, so that the
 * server sees different ports, as behind a NAT. Owns the sockets; decides nothing about packets
 * and looks into none. Runs on its owner's event loop; allocates when a client appears, never per
 * packet ---- */

typedef struct netcond_proxy netcond_proxy;

typedef struct netcond_proxy_config {
    ls_endpoint listen; /* port 0: chosen by the system */
    ls_endpoint server;
    ls_link_config links[NETCOND_DIRECTION_COUNT]; /* checked */
    uint64_t seed;
    uint32_t clients_max; /* 1 .. NETCOND_CONDITIONER_CLIENTS_MAX */
    uint32_t idle_ms;     /* > 0; a client that is silent for so long is forgotten */
    const ls_log *log;    /* borrowed */
} netcond_proxy_config;

/* Loopback, any port, perfect links; the server is to be set. */
netcond_proxy_config netcond_proxy_config_default(void);

typedef struct netcond_proxy_counts {
    uint32_t clients;           /* now */
    uint64_t clients_seen;      /* the first is number 1 */
    uint64_t clients_forgotten; /* were silent for too long */
    uint64_t refused;           /* datagrams of those for whom there was no place */
    uint64_t unreachable;       /* the server's machine answered that nobody listens there */
    uint64_t unsent;            /* due, but the system took no more */
} netcond_proxy_counts;

/* Binds and waits on the loop. BAD_ARGUMENT when the server is the proxy itself, IO or NO_MEMORY;
 * `why` says more. */
ls_status netcond_proxy_open(const netcond_proxy_config *config, ls_event_loop *loop,
                             const ls_allocator *allocator, netcond_proxy **out, ls_text *why);

/* While the loop still exists. Packets held are lost. NULL is allowed. */
void netcond_proxy_close(netcond_proxy *proxy);

uint16_t netcond_proxy_port(const netcond_proxy *proxy);
netcond_proxy_counts netcond_proxy_counts_of(const netcond_proxy *proxy);
const netcond_conditioner_figures *netcond_proxy_figures(const netcond_proxy *proxy,
                                                         netcond_direction direction);

/* ---- the program ---- */

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
