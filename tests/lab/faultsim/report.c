#include "lockstep/tests/lab/faultsim/report.h"

#include "lockstep/common/program/json.h"

#include <inttypes.h>

static double per_second(uint64_t count, uint64_t ns)
{
    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static void print_resumes(FILE *file, const faultsim_play_totals *totals)
{
    const check_resumes *resumes = &totals->resumes;
    fprintf(file,
            "servers killed %" PRIu64 ", matches resumed %" PRIu64
            ", over by their journals %" PRIu64 ", without journals %" PRIu64 "\n"
            "closed ticks that players brought back %" PRIu64 ", that nobody who came back had "
            "%" PRIu64 ", lost %" PRIu64 "\n"
            "let into running matches %" PRIu64 ", watched to the end %" PRIu64
            ", failed writes %" PRIu64 "\n",
            resumes->crashes, resumes->resumed, resumes->finished, resumes->hopeless,
            resumes->recovered, resumes->forgotten, resumes->lost, totals->joins, totals->watched,
            totals->disk_failures);
}

static void print_bounds(FILE *file, const faultsim_play_totals *totals)
{
    fprintf(file, "the most that one peer caused of what it may:");
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        fprintf(file, "%s %s %.0f %%", i == 0 ? "" : ",", check_bound_key((check_bound)i),
                (double)totals->shares[i] / 10);
    }
    fputc('\n', file);
}

void faultsim_report_print(FILE *file, const faultsim_report *report)
{
    const faultsim_play_totals *totals = &report->totals;
    fprintf(file, "faults injected:");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        fprintf(file, "%s %s %" PRIu64, i == 0 ? "" : ",",
                faultsim_fault_class_key((faultsim_fault_class)i), totals->faults[i]);
    }
    fprintf(file,
            "\nticks %" PRIu64 ", packets %" PRIu64 ", hashes compared %" PRIu64
            ", inputs on time %" PRIu64 ", late %" PRIu64 ", substituted %" PRIu64 "\n"
            "packets rejected %" PRIu64 ", players left %" PRIu64 ", desyncs reported %" PRIu64
            ", digest %016" PRIx64 "\n",
            totals->ticks, totals->packets, totals->hashes_compared, totals->inputs_on_time,
            totals->inputs_late, totals->inputs_substituted, totals->packets_rejected,
            totals->players_left, totals->desyncs, report->digest);
    print_resumes(file, totals);
    print_bounds(file, totals);
    fprintf(file,
            "%" PRIu64 " matches in %.1f s on %" PRIu32 " processes: %.0f a second, %.0f a second "
            "of CPU time; %" PRIu64 " broke an invariant\n",
            totals->matches, (double)report->elapsed_ns / 1e9, report->jobs,
            per_second(totals->matches, report->elapsed_ns),
            per_second(totals->matches, report->cpu_ns), report->failure_count);
}

/* ---- JSON ---- */

static void add_failures(ls_json *json, const faultsim_report *report)
{
    ls_json *failures = ls_json_array(json, "failures");
    for (uint32_t i = 0; i < report->failures_kept; i++) {
        const faultsim_job_failure *failure = &report->failures[i];
        ls_json *item = ls_json_append(failures);
        char invariant[16];
        snprintf(invariant, sizeof invariant, "I%d", (int)failure->broken);
        ls_json_decimal(item, "seed", failure->seed);
        ls_json_text(item, "invariant", invariant);
        ls_json_text(item, "text", failure->fault.bytes);
    }
}

static void add_totals(ls_json *json, const faultsim_play_totals *totals)
{
#define FIELD(member) LS_JSON_FIELD(faultsim_play_totals, member)
    static const ls_json_field fields[] = {FIELD(matches),
                                           FIELD(ticks),
                                           FIELD(packets),
                                           FIELD(hashes_compared),
                                           FIELD(packets_rejected),
                                           FIELD(inputs_on_time),
                                           FIELD(inputs_late),
                                           FIELD(inputs_substituted),
                                           FIELD(players_left),
                                           FIELD(desyncs),
                                           FIELD(joins),
                                           FIELD(watched),
                                           FIELD(disk_failures)};
#undef FIELD
#define FIELD(key, member) LS_JSON_FIELD_AS(key, check_resumes, member)
    static const ls_json_field resumes[] = {FIELD("killed", crashes),
                                            FIELD("resumed", resumed),
                                            FIELD("finished", finished),
                                            FIELD("hopeless", hopeless),
                                            FIELD("ticks_recovered", recovered),
                                            FIELD("ticks_forgotten", forgotten),
                                            FIELD("ticks_lost", lost)};
#undef FIELD
    LS_JSON_ADD(json, fields, totals);
    LS_JSON_ADD(ls_json_object(json, "resumes"), resumes, &totals->resumes);
    ls_json *used = ls_json_object(json, "bounds");
    for (uint32_t i = 0; i < CHECK_BOUND_COUNT; i++) {
        ls_json_number(used, check_bound_key((check_bound)i), (double)totals->shares[i] / 1000);
    }
    ls_json *faults = ls_json_object(json, "faults");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        ls_json_number(faults, faultsim_fault_class_key((faultsim_fault_class)i),
                       (double)totals->faults[i]);
    }
}

static void fill_json(ls_json *json, const void *of)
{
    const faultsim_report *report = of;
    const faultsim_play_totals *totals = &report->totals;
    ls_json_text(json, "program", "lockstep-faultsim");
    ls_json_decimal(json, "first_seed", report->config->first_seed);
    ls_json_decimal(json, "last_seed", report->config->last_seed);
    ls_json_number(json, "jobs", report->jobs);
    ls_json_number(json, "seconds", (double)report->elapsed_ns / 1e9);
    ls_json_number(json, "cpu_seconds", (double)report->cpu_ns / 1e9);
    ls_json_number(json, "matches_per_second", per_second(totals->matches, report->elapsed_ns));
    ls_json_number(json, "matches_per_cpu_second", per_second(totals->matches, report->cpu_ns));
    ls_json_hash(json, "digest", report->digest);
    add_totals(json, totals);
    ls_json_number(json, "failure_count", (double)report->failure_count);
    add_failures(json, report);
}

ls_status faultsim_report_write(const faultsim_report *report, const char *path, ls_text *why)
{
    return ls_json_save(fill_json, report, path, why);
}
