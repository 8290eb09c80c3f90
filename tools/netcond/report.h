/* Report: what a run of the proxy came to, asked against measured, as JSON for programs and as
 * lines for people. Reads figures, never changes them. Called by netcond. */
#ifndef LOCKSTEP_TOOLS_NETCOND_REPORT_H
#define LOCKSTEP_TOOLS_NETCOND_REPORT_H

#include "lockstep/common/base/text.h"
#include "lockstep/tools/netcond/proxy.h"

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

/* One direction for people: what became of its packets, and how long they took. */
void netcond_report_packets(const netcond_conditioner_figures *figures, ls_text *line);
void netcond_report_delays(const netcond_conditioner_figures *figures, ls_text *line);

#endif
