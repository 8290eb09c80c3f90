#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/faultsim/report.h"

#include "lockstep/common/program/output.h"

#include <inttypes.h>
#include <stdlib.h>

static double per_second(uint64_t count, uint64_t ns)
{
    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

static void print_resumes(FILE *file, const ls_play_totals *totals)
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

void ls_faultsim_report_print(FILE *file, const ls_faultsim_report *report)
{
    const ls_play_totals *totals = &report->totals;
    fprintf(file, "faults injected:");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        fprintf(file, "%s %s %" PRIu64, i == 0 ? "" : ",", ls_fault_class_key((ls_fault_class)i),
                totals->faults[i]);
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
    fprintf(file,
            "%" PRIu64 " matches in %.1f s on %" PRIu32 " processes: %.0f a second, %.0f a second "
            "of CPU time; %" PRIu64 " broke an invariant\n",
            totals->matches, (double)report->elapsed_ns / 1e9, report->jobs,
            per_second(totals->matches, report->elapsed_ns),
            per_second(totals->matches, report->cpu_ns), report->failure_count);
}

/* ---- JSON: a fault's text is our own but for players' names, which are drawn; no quotes ---- */

static void write_failures(FILE *file, const ls_faultsim_report *report)
{
    fprintf(file, "  \"failures\": [");
    for (uint32_t i = 0; i < report->failures_kept; i++) {
        const ls_job_failure *failure = &report->failures[i];
        fprintf(file,
                "%s\n    {\"seed\": \"%" PRIu64 "\", \"invariant\": \"I%d\", \"text\": \"%s\"}",
                i == 0 ? "" : ",", failure->seed, (int)failure->broken, failure->fault.bytes);
    }
    fprintf(file, "%s]\n", report->failures_kept > 0 ? "\n  " : "");
}

static void write_totals(FILE *file, const ls_play_totals *totals)
{
    const check_resumes *resumes = &totals->resumes;
    fprintf(file,
            "  \"matches\": %" PRIu64 ", \"ticks\": %" PRIu64 ", \"packets\": %" PRIu64 ",\n"
            "  \"hashes_compared\": %" PRIu64 ", \"packets_rejected\": %" PRIu64 ",\n"
            "  \"inputs_on_time\": %" PRIu64 ", \"inputs_late\": %" PRIu64
            ", \"inputs_substituted\": %" PRIu64 ",\n"
            "  \"players_left\": %" PRIu64 ", \"desyncs\": %" PRIu64 ",\n"
            "  \"joins\": %" PRIu64 ", \"watched\": %" PRIu64 ", \"disk_failures\": %" PRIu64 ",\n"
            "  \"resumes\": {\"killed\": %" PRIu64 ", \"resumed\": %" PRIu64
            ", \"finished\": %" PRIu64 ", \"hopeless\": %" PRIu64 ",\n"
            "    \"ticks_recovered\": %" PRIu64 ", \"ticks_forgotten\": %" PRIu64
            ", \"ticks_lost\": %" PRIu64 "},\n"
            "  \"faults\": {",
            totals->matches, totals->ticks, totals->packets, totals->hashes_compared,
            totals->packets_rejected, totals->inputs_on_time, totals->inputs_late,
            totals->inputs_substituted, totals->players_left, totals->desyncs, totals->joins,
            totals->watched, totals->disk_failures, resumes->crashes, resumes->resumed,
            resumes->finished, resumes->hopeless, resumes->recovered, resumes->forgotten,
            resumes->lost);
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        fprintf(file, "%s\"%s\": %" PRIu64, i == 0 ? "" : ", ",
                ls_fault_class_key((ls_fault_class)i), totals->faults[i]);
    }
    fprintf(file, "},\n");
}

static void write_json(FILE *file, const ls_faultsim_report *report)
{
    const ls_faultsim_config *config = report->config;
    fprintf(file,
            "{\n"
            "  \"program\": \"lockstep-faultsim\",\n"
            "  \"first_seed\": \"%" PRIu64 "\", \"last_seed\": \"%" PRIu64 "\",\n"
            "  \"jobs\": %" PRIu32 ", \"seconds\": %.3f, \"cpu_seconds\": %.3f,\n"
            "  \"matches_per_second\": %.2f, \"matches_per_cpu_second\": %.2f,\n"
            "  \"digest\": \"%016" PRIx64 "\",\n",
            config->first_seed, config->last_seed, report->jobs, (double)report->elapsed_ns / 1e9,
            (double)report->cpu_ns / 1e9, per_second(report->totals.matches, report->elapsed_ns),
            per_second(report->totals.matches, report->cpu_ns), report->digest);
    write_totals(file, &report->totals);
    fprintf(file, "  \"failure_count\": %" PRIu64 ",\n", report->failure_count);
    write_failures(file, report);
    fprintf(file, "}");
}

ls_status ls_faultsim_report_write(const ls_faultsim_report *report, const char *path, ls_text *why)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) {
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    write_json(file, report);
    if (fclose(file) != 0) {
        free(text);
        ls_text_set(why, "%s", ls_status_text(LS_NO_MEMORY));
        return LS_NO_MEMORY;
    }
    ls_status status = ls_output_write(path, text, why);
    free(text);
    return status;
}
