#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/netcond/report.h"

#include "lockstep/common/program/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double percent_of(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static double mean_of(uint64_t sum, uint64_t count)
{
    return count > 0 ? (double)sum / (double)count : 0;
}

/* Bits a second that left, in thousands. */
static double kbit_of(uint64_t bytes, uint64_t elapsed_ns)
{
    return elapsed_ns > 0 ? (double)bytes * 8e6 / (double)elapsed_ns : 0;
}

/* ---- JSON: keys and words are our own literals and addresses are digits: nothing to escape ----
 */

static void write_asked(FILE *file, const netcond_link_config *link)
{
    fprintf(file,
            "    \"asked\": {\n"
            "      \"delay_ms\": %.6g, \"jitter_ms\": %.6g, \"overtake\": %s,\n"
            "      \"loss_percent\": %.6g,\n"
            "      \"burst\": {\"percent\": %.6g, \"packets\": %.6g, \"loss_percent\": %.6g},\n"
            "      \"duplicate_percent\": %.6g,\n"
            "      \"reorder\": {\"percent\": %.6g, \"ms\": %.6g},\n",
            ms_of(link->delay_ns), ms_of(link->jitter_ns), link->overtakes ? "true" : "false",
            link->loss_ppm / 1e4, link->burst_ppm / 1e4, link->burst_milli / 1e3,
            link->burst_loss_ppm / 1e4, link->duplicate_ppm / 1e4, link->reorder_ppm / 1e4,
            ms_of(link->reorder_ns));
    fprintf(file,
            "      \"rate_kbit\": %.10g, \"bucket_kb\": %.8g, \"queue_kb\": %.8g,\n"
            "      \"partition_ms\": {\"start\": %.9g, \"length\": %.9g, \"every\": %.9g}\n"
            "    },\n",
            (double)link->rate_bps / 1e3, (double)link->bucket_bytes / 1e3,
            (double)link->queue_bytes / 1e3, ms_of(link->partition_start_ns),
            ms_of(link->partition_length_ns), ms_of(link->partition_every_ns));
}

static void write_lost(FILE *file, const netcond_conditioner_figures *figures)
{
    uint64_t lost = netcond_conditioner_lost(figures);
    fprintf(file, "      \"lost\": {\"total\": %" PRIu64, lost);
#define WRITE_LOSS(name, key)                                                                      \
    fprintf(file, ", \"" #key "\": %" PRIu64, figures->lost[NETCOND_LOSS_##name]);
    NETCOND_LOSS_MAP(WRITE_LOSS)
#undef WRITE_LOSS
    fprintf(file,
            "},\n"
            "      \"loss_percent\": %.4f,\n"
            "      \"loss_run_packets\": {\"mean\": %.3f, \"longest\": %" PRIu64 "},\n",
            percent_of(lost, figures->received), mean_of(lost, figures->loss_runs),
            figures->longest_loss_run);
}

static void write_times(FILE *file, const char *key, const netcond_conditioner_times *times)
{
    fprintf(file,
            "      \"%s\": {\"min\": %.3f, \"mean\": %.3f, \"p50\": %.3f, \"p90\": %.3f, "
            "\"p99\": %.3f, \"max\": %.3f}",
            key, times->count > 0 ? ms_of(times->min_ns) : 0,
            mean_of(times->sum_ns, times->count) / 1e6,
            ms_of(netcond_conditioner_percentile_ns(times, 50)),
            ms_of(netcond_conditioner_percentile_ns(times, 90)),
            ms_of(netcond_conditioner_percentile_ns(times, 99)), ms_of(times->max_ns));
}

static void write_measured(FILE *file, const netcond_conditioner_figures *figures,
                           uint64_t elapsed_ns)
{
    fprintf(file,
            "    \"measured\": {\n"
            "      \"received\": %" PRIu64 ", \"received_bytes\": %" PRIu64 ",\n"
            "      \"forwarded\": %" PRIu64 ", \"forwarded_bytes\": %" PRIu64 ",\n"
            "      \"forwarded_kbit\": %.3f,\n"
            "      \"duplicated\": %" PRIu64 ", \"reordered\": %" PRIu64 ",\n"
            "      \"held\": %" PRIu32 ", \"held_max\": %" PRIu32 ",\n",
            figures->received, figures->received_bytes, figures->forwarded,
            figures->forwarded_bytes, kbit_of(figures->forwarded_bytes, elapsed_ns),
            figures->duplicated, figures->reordered, figures->held, figures->held_max);
    write_lost(file, figures);
    write_times(file, "delay_ms", &figures->delay);
    fprintf(file, ",\n");
    write_times(file, "late_ms", &figures->late);
    fprintf(file, "\n    }\n");
}

static void write_report(FILE *file, const netcond_report *report)
{
    static const char *const directions[] = {"up", "down"};
    const netcond_proxy_counts *counts = &report->counts;
    char server[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(&report->config->server, server);
    fprintf(file,
            "{\n"
            "  \"program\": \"lockstep-netcond\",\n"
            "  \"server\": \"%s\",\n"
            "  \"port\": %u,\n"
            "  \"seed\": \"%" PRIu64 "\",\n"
            "  \"seconds\": %.3f,\n"
            "  \"clients\": {\"now\": %" PRIu32 ", \"seen\": %" PRIu64 ", \"forgotten\": %" PRIu64
            "},\n"
            "  \"refused\": %" PRIu64 ",\n"
            "  \"unreachable\": %" PRIu64 ",\n"
            "  \"unsent\": %" PRIu64,
            server, report->port, report->config->seed, (double)report->elapsed_ns / 1e9,
            counts->clients, counts->clients_seen, counts->clients_forgotten, counts->refused,
            counts->unreachable, counts->unsent);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        fprintf(file, ",\n  \"%s\": {\n", directions[i]);
        write_asked(file, &report->config->links[i]);
        write_measured(file, report->figures[i], report->elapsed_ns);
        fprintf(file, "  }");
    }
    fprintf(file, "\n}");
}

ls_status netcond_report_write(const netcond_report *report, const char *path, ls_text *why)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (file) {
        write_report(file, report);
    }
    if (!file || fclose(file) != 0) {
        free(text);
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    ls_status status = ls_output_write(path, text, why);
    free(text);
    return status;
}

/* ---- for people ---- */

void netcond_report_packets(const netcond_conditioner_figures *figures, ls_text *line)
{
    uint64_t lost = netcond_conditioner_lost(figures);
    ls_text_set(line,
                "%" PRIu64 " in, %" PRIu64 " out, %.2f %% lost in runs of %.1f, %" PRIu64
                " twice, %" PRIu64 " reordered",
                figures->received, figures->forwarded, percent_of(lost, figures->received),
                mean_of(lost, figures->loss_runs), figures->duplicated, figures->reordered);
}

void netcond_report_delays(const netcond_conditioner_figures *figures, ls_text *line)
{
    const netcond_conditioner_times *delay = &figures->delay;
    const netcond_conditioner_times *late = &figures->late;
    ls_text_set(line, "delay %.1f ms, p50 %.1f, p99 %.1f; sent %.2f ms late, p99 %.2f",
                mean_of(delay->sum_ns, delay->count) / 1e6,
                ms_of(netcond_conditioner_percentile_ns(delay, 50)),
                ms_of(netcond_conditioner_percentile_ns(delay, 99)),
                mean_of(late->sum_ns, late->count) / 1e6,
                ms_of(netcond_conditioner_percentile_ns(late, 99)));
}
