#include "lockstep/tests/lab/faultsim/self_test_report.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"

#include <inttypes.h>

enum {
    MISSES_SHOWN = 8
};

/* ---- counting ---- */

static void add_latency(faultsim_self_test_latency *latency, uint64_t ns, uint32_t ticks)
{
    ls_histogram_add(&latency->ns, ns);
    latency->ticks_max = ticks > latency->ticks_max ? ticks : latency->ticks_max;
}

void faultsim_self_test_score_flips(faultsim_self_test_score *score,
                                    const faultsim_self_test_flip *flips)
{
    for (uint64_t i = 0; i < score->flips; i++) {
        const faultsim_self_test_flip *flip = &flips[i];
        score->made += flip->is_made;
        score->padding += flip->is_padding;
        score->caught += flip->is_caught;
        score->tick_right += flip->is_tick_right;
        score->field_right += flip->is_field_right;
        score->values_right += flip->are_values_right;
        score->class_right += flip->is_class_right;
        if (flip->is_caught) {
            add_latency(&score->caught_after, flip->caught_ns, flip->caught_ticks);
        }
        if (flip->named_ns > 0) {
            add_latency(&score->named_after, flip->named_ns, flip->named_ticks);
        }
    }
}

static bool is_right(const faultsim_self_test_flip *flip)
{
    return flip->is_made && flip->is_caught && flip->is_tick_right && flip->is_field_right &&
           flip->are_values_right && flip->is_class_right;
}

bool faultsim_self_test_is_perfect(const faultsim_self_test_score *score)
{
    uint64_t flips = score->flips;
    return score->made == flips && score->caught == flips && score->tick_right == flips &&
           score->field_right == flips && score->values_right == flips &&
           score->class_right == flips && score->counts.false_alarms == 0 &&
           score->counts.unsound == 0 && score->deaths == 0;
}

bool faultsim_self_test_is_conclusive(const faultsim_self_test_score *score)
{
    return score->made > 0 && score->counts.clean_ticks > 0 &&
           score->counts.clean_ticks >= score->clean_ticks_wanted;
}

/* ---- for people ---- */

static const char *what_is_wrong(const faultsim_self_test_flip *flip)
{
    if (flip->seed == 0) {
        return "was never judged: its process died";
    }
    if (!flip->is_made) {
        return "was not flipped, or the state hash does not depend on it";
    }
    if (!flip->is_caught) {
        return "was not caught";
    }
    if (!flip->is_tick_right) {
        return "was found at another tick, or not looked into";
    }
    if (!flip->is_field_right) {
        return "was named wrongly";
    }
    return flip->are_values_right ? "was put into another class" : "has other values";
}

void faultsim_self_test_print_misses(FILE *file, const faultsim_self_test_score *score,
                                     const faultsim_self_test_flip *flips)
{
    uint32_t shown = 0;
    for (uint64_t i = 0; i < score->flips && shown < MISSES_SHOWN; i++) {
        const faultsim_self_test_flip *flip = &flips[i];
        if (is_right(flip)) {
            continue;
        }
        shown++;
        fprintf(file,
                "%s: bit %" PRIu64 " (seed %" PRIu64 ") %s: %s from %s to %s; found: %s %s %s\n",
                score->simulation, i * score->every, flip->seed, what_is_wrong(flip),
                flip->planted.name, flip->planted.a, flip->planted.b, flip->found.name,
                flip->found.a, flip->found.b);
    }
}

static double percentile_ms(const faultsim_self_test_latency *latency, uint32_t percent)
{
    return (double)ls_histogram_percentile_ns(&latency->ns, percent) / 1e6;
}

static double worst_ms(const faultsim_self_test_latency *latency)
{
    return (double)latency->ns.max_ns / 1e6;
}

static void print_share(FILE *file, const faultsim_self_test_score *score, const char *what,
                        uint64_t count)
{
    fprintf(file, "  %s %" PRIu64 " (%.2f %%)", what, count,
            score->flips > 0 ? 100.0 * (double)count / (double)score->flips : 0);
}

static void print_latency(FILE *file, const char *what, const faultsim_self_test_latency *latency)
{
    fprintf(file, "  from the flip to %s: p50 %.2f ms, p99 %.2f ms, worst %.2f ms (%u ticks)\n",
            what, percentile_ms(latency, 50), percentile_ms(latency, 99), worst_ms(latency),
            latency->ticks_max);
}

void faultsim_self_test_print(FILE *file, const faultsim_self_test_score *score)
{
    fprintf(file,
            "%s: flips %" PRIu64 " of %" PRIu64 " bit positions, %" PRIu64
            " in padding; RTT %d ms; reached the hash %" PRIu64 "\n",
            score->simulation, score->flips, score->positions, score->padding,
            FAULTSIM_SELF_TEST_RTT_MS, score->made);
    print_share(file, score, "caught", score->caught);
    print_share(file, score, "tick right", score->tick_right);
    print_share(file, score, "field right", score->field_right);
    print_share(file, score, "values right", score->values_right);
    print_share(file, score, "class right", score->class_right);
    fprintf(file, "\n");
    print_latency(file, "the desync notice", &score->caught_after);
    print_latency(file, "the full cause", &score->named_after);
    fprintf(file,
            "  clean ticks %" PRIu64 ", false alarms %" PRIu64 ", broken invariants %" PRIu64
            "; %" PRIu64 " matches in %.1f s on %" PRIu32 " processes, %" PRIu64 " died\n",
            score->counts.clean_ticks, score->counts.false_alarms, score->counts.unsound,
            score->counts.matches, (double)score->elapsed_ns / 1e9, score->jobs, score->deaths);
    fprintf(file, "  %s\n", faultsim_self_test_is_perfect(score) ? "perfect" : "NOT PERFECT");
}

/* ---- for programs ---- */

static void add_latency_json(ls_json *json, const char *key,
                             const faultsim_self_test_latency *latency)
{
    ls_json *object = ls_json_object(json, key);
    ls_json_number(object, "p50_ms", percentile_ms(latency, 50));
    ls_json_number(object, "p99_ms", percentile_ms(latency, 99));
    ls_json_number(object, "worst_ms", worst_ms(latency));
    ls_json_number(object, "worst_ticks", latency->ticks_max);
}

static void add_score(ls_json *json, const faultsim_self_test_score *score)
{
#define FIELD(member) LS_JSON_FIELD(faultsim_self_test_score, member)
    static const ls_json_field flips[] = {
        FIELD(simulation),  LS_JSON_FIELD_AS("bit_positions", faultsim_self_test_score, positions),
        FIELD(every),       FIELD(flips),
        FIELD(padding),     FIELD(made),
        FIELD(caught),      FIELD(tick_right),
        FIELD(field_right), FIELD(values_right),
        FIELD(class_right)};
    static const ls_json_field rest[] = {FIELD(deaths), FIELD(jobs)};
#undef FIELD
#define FIELD(member) LS_JSON_FIELD(faultsim_self_test_counts, member)
    static const ls_json_field counts[] = {FIELD(clean_ticks), FIELD(false_alarms), FIELD(unsound),
                                           FIELD(matches)};
#undef FIELD
    LS_JSON_ADD(json, flips, score);
    ls_json_number(json, "rtt_ms", FAULTSIM_SELF_TEST_RTT_MS);
    add_latency_json(json, "notice", &score->caught_after);
    add_latency_json(json, "cause", &score->named_after);
    LS_JSON_ADD(json, counts, &score->counts);
    LS_JSON_ADD(json, rest, score);
    ls_json_number(json, "seconds", (double)score->elapsed_ns / 1e9);
}

ls_status faultsim_self_test_write(const char *path, const faultsim_self_test_score *scores,
                                   uint32_t count, ls_text *why)
{
    ls_json *json = ls_json_create();
    ls_json_text(json, "program", "lockstep-faultsim");
    ls_json *array = ls_json_array(json, "self_test");
    for (uint32_t i = 0; i < count; i++) {
        add_score(ls_json_append(array), &scores[i]);
    }
    ls_status status = ls_json_write(json, path, why);
    ls_json_destroy(json);
    return status;
}
