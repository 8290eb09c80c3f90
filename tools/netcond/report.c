#include "lockstep/tools/netcond/report.h"

#include "lockstep/common/program/json.h"
#include "lockstep/common/system/endpoint_text.h"

#include <inttypes.h>
#include <stdio.h>

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

/* ---- JSON ---- */

static void add_percent(ls_json *json, const char *key, uint32_t ppm)
{
    ls_json_number(json, key, ppm / 1e4);
}

static void add_thousands(ls_json *json, const char *key, uint64_t number)
{
    ls_json_number(json, key, (double)number / 1e3);
}

static void add_asked(ls_json *json, const ls_link_config *link)
{
    ls_json_ms(json, "delay_ms", link->delay_ns);
    ls_json_ms(json, "jitter_ms", link->jitter_ns);
    ls_json_bool(json, "overtake", !link->keeps_order);
    add_percent(json, "loss_percent", link->loss_ppm);
    ls_json *burst = ls_json_object(json, "burst");
    add_percent(burst, "percent", link->burst_ppm);
    add_thousands(burst, "packets", link->burst_milli);
    add_percent(burst, "loss_percent", link->burst_loss_ppm);
    add_percent(json, "duplicate_percent", link->duplicate_ppm);
    ls_json *reorder = ls_json_object(json, "reorder");
    add_percent(reorder, "percent", link->reorder_ppm);
    ls_json_ms(reorder, "ms", link->reorder_ns);
    add_thousands(json, "rate_kbit", link->rate_bps);
    add_thousands(json, "bucket_kb", link->bucket_bytes);
    add_thousands(json, "queue_kb", link->queue_bytes);
    ls_json *partition = ls_json_object(json, "partition_ms");
    ls_json_ms(partition, "start", link->partition_start_ns);
    ls_json_ms(partition, "length", link->partition_length_ns);
    ls_json_ms(partition, "every", link->partition_every_ns);
}

static void add_lost(ls_json *json, const netcond_conditioner_figures *figures)
{
    uint64_t total = netcond_conditioner_lost(figures);
    ls_json *lost = ls_json_object(json, "lost");
    ls_json_number(lost, "total", (double)total);
#define ADD_LOSS(name, key) ls_json_number(lost, #key, (double)figures->lost[NETCOND_LOSS_##name]);
    NETCOND_LOSS_MAP(ADD_LOSS)
#undef ADD_LOSS
    ls_json_number(json, "loss_percent", percent_of(total, figures->received));
    ls_json *runs = ls_json_object(json, "loss_run_packets");
    ls_json_number(runs, "mean", mean_of(total, figures->loss_runs));
    ls_json_number(runs, "longest", (double)figures->longest_loss_run);
}

static void add_times(ls_json *json, const netcond_conditioner_times *times)
{
    ls_json_ms(json, "min", times->count > 0 ? times->min_ns : 0);
    ls_json_number(json, "mean", mean_of(times->sum_ns, times->count) / 1e6);
    ls_json_ms(json, "p50", netcond_conditioner_percentile_ns(times, 50));
    ls_json_ms(json, "p90", netcond_conditioner_percentile_ns(times, 90));
    ls_json_ms(json, "p99", netcond_conditioner_percentile_ns(times, 99));
    ls_json_ms(json, "max", times->max_ns);
}

static void add_measured(ls_json *json, const netcond_conditioner_figures *figures,
                         uint64_t elapsed_ns)
{
#define FIELD(member) LS_JSON_FIELD(netcond_conditioner_figures, member)
    static const ls_json_field fields[] = {
        FIELD(received),   FIELD(received_bytes), FIELD(forwarded), FIELD(forwarded_bytes),
        FIELD(duplicated), FIELD(reordered),      FIELD(held),      FIELD(held_max)};
#undef FIELD
    LS_JSON_ADD(json, fields, figures);
    ls_json_number(json, "forwarded_kbit", kbit_of(figures->forwarded_bytes, elapsed_ns));
    add_lost(json, figures);
    add_times(ls_json_object(json, "delay_ms"), &figures->delay);
    add_times(ls_json_object(json, "late_ms"), &figures->late);
}

static void fill_json(ls_json *json, const void *of)
{
    static const char *const directions[] = {"up", "down"};
#define FIELD(key, member) LS_JSON_FIELD_AS(key, netcond_proxy_counts, member)
    static const ls_json_field clients[] = {FIELD("now", clients), FIELD("seen", clients_seen),
                                            FIELD("forgotten", clients_forgotten)};
    static const ls_json_field datagrams[] = {
        FIELD("refused", refused), FIELD("unreachable", unreachable), FIELD("unsent", unsent)};
#undef FIELD
    const netcond_report *report = of;
    char server[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(&report->config->server, server);
    ls_json_text(json, "program", "lockstep-netcond");
    ls_json_text(json, "server", server);
    ls_json_number(json, "port", report->port);
    ls_json_decimal(json, "seed", report->config->seed);
    ls_json_number(json, "seconds", (double)report->elapsed_ns / 1e9);
    LS_JSON_ADD(ls_json_object(json, "clients"), clients, &report->counts);
    LS_JSON_ADD(json, datagrams, &report->counts);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        ls_json *direction = ls_json_object(json, directions[i]);
        add_asked(ls_json_object(direction, "asked"), &report->config->links[i]);
        add_measured(ls_json_object(direction, "measured"), report->figures[i], report->elapsed_ns);
    }
}

ls_status netcond_report_write(const netcond_report *report, const char *path, ls_text *why)
{
    return ls_json_save(fill_json, report, path, why);
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
