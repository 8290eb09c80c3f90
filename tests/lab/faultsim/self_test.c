#define _DEFAULT_SOURCE
#include "lockstep/tests/lab/faultsim/self_test.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/match_memory.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    FAULTSIM_SELF_TEST_PLAYERS = 4, /* each flips one bit in a match, at a tick of its own */
    FAULTSIM_SELF_TEST_CLEAN_TICKS = 2000,
    FAULTSIM_SELF_TEST_RTT_MS = 67,
};

/* The outcome of one flip: all false for one that was never made. */
typedef struct faultsim_self_test_flip {
    bool is_made; /* in this very bit, and the state hash depends on it */
    bool is_padding;
    bool is_caught;
    bool is_tick_right;
    bool is_field_right; /* this element and no other is named */
    bool are_values_right;
    bool is_class_right; /* a one-off of the client */
    uint64_t seed;
    uint64_t caught_ns;    /* from the flip to DESYNC ... */
    uint64_t named_ns;     /* ... and to its full cause */
    uint32_t caught_ticks; /* likewise, in ticks that the server closed meanwhile */
    uint32_t named_ticks;
    ls_difference_text planted; /* a: before, b: after */
    ls_difference_text found;
} faultsim_self_test_flip;

/* ---- self test match ---- */

enum {
    SPACING_TICKS = 32, /* a player's stretch, in which it flips its bit */
    WARM_UP_TICKS = 2,  /* before the first */
    TAIL_TICKS = 30,    /* after the last */
    LOSS_PPM = 20000,   /* of matches that lose packets */
};

#define JITTER_NS (5 * LS_NS_PER_MS)

/* ---- the match ---- */

static void make_small(ls_sim_config *config, const ls_simulation *simulation)
{
    static const char *const sizes[] = {"bodies", "shots", "units"};
    static const int64_t small[] = {8, 1, 0};
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        for (uint32_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            if (strcmp(param->name, sizes[j]) == 0) {
                config->params[i] = small[j] > param->min ? small[j] : param->min;
            }
        }
    }
}

static ls_sim_config sim_config(const ls_simulation *simulation, uint64_t seed)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    config.seed = seed;
    config.players = FAULTSIM_SELF_TEST_PLAYERS;
    make_small(&config, simulation);
    return config;
}

/* Small, so that every bit can be flipped. Bytes of its state. */
static size_t bytes_of_state(const ls_simulation *simulation)
{
    ls_sim_config config = sim_config(simulation, 1);
    return simulation->state_bytes(&config);
}

static virtual_setup setup_of(ls_match_memory *memory, const ls_simulation *simulation,
                              uint64_t seed, uint32_t ticks)
{
    faultsim_match_memory_reset(memory);
    virtual_setup setup = virtual_setup_default(simulation, FAULTSIM_SELF_TEST_PLAYERS, ticks);
    setup.seed = seed;
    setup.match.sim = sim_config(simulation, seed);
    setup.link.delay_ns = FAULTSIM_SELF_TEST_RTT_MS * LS_NS_PER_MS / 2;
    setup.allocator = faultsim_match_memory_of_cores(memory);
    setup.storage = faultsim_match_memory_of_harness(memory);
    return setup;
}

static void count_match(virtual_match *run, uint32_t planted, faultsim_self_test_counts *counts)
{
    uint32_t told = virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX);
    counts->matches++;
    counts->false_alarms += told > planted ? told - planted : 0;
    counts->unsound += !virtual_match_is_over(run) || !match_check_is_sound(check_of(run));
}

/* ---- flips ---- */

/* Ticks that the server closed between two moments. */
static uint32_t closed_between(const virtual_match *run, uint64_t from_ns, uint64_t to_ns)
{
    const match_check *check = check_of(run);
    uint32_t count = 0;
    for (ls_tick tick = 0; tick < check->tick_count; tick++) {
        uint64_t closed_ns = check->ticks[tick].closed_ns;
        count += closed_ns > from_ns && closed_ns <= to_ns;
    }
    return count;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void judge_finding(const virtual_client *client, const ls_desync_finding *finding,
                          faultsim_self_test_flip *out)
{
    if (finding->place_count > 0) {
        out->found = finding->places[0];
    }
    const ls_difference_text *planted = &out->planted;
    const ls_difference_text *found = &out->found;
    out->is_tick_right = out->is_tick_right && finding->tick == client->flip.tick;
    out->is_field_right = finding->elements == 1 && finding->place_count == 1 &&
                          !finding->is_lower_bound && is_same(found->name, planted->name);
    out->are_values_right = is_same(found->a, planted->a) && is_same(found->b, planted->b) &&
                            !is_same(found->a, found->b);
    out->is_class_right = finding->verdict.kind == LS_DESYNC_CLASS_ONE_OFF &&
                          finding->verdict.culprit == LS_DESYNC_CULPRIT_CLIENT;
}

static void self_test_match_judge(const virtual_match *run, const virtual_client *client,
                                  faultsim_self_test_flip *out)
{
    *out = (faultsim_self_test_flip){.seed = run->setup.seed};
    out->is_made = client->flip.is_done && client->flip.flipped_byte == client->flip.byte;
    const ls_schema *schema = ls_sim_instance_schema(ls_match_instance(run->match));
    out->is_padding = ls_schema_at(schema, client->flip.byte).field->type == LS_FIELD_PADDING;
    uint32_t slot = ls_session_report_of(client->session).slot;
    const virtual_event *caught = virtual_match_find_slot(run, LS_MATCH_DESYNC, slot);
    if (!out->is_made) {
        return;
    }
    out->planted = client->flip.text;
    if (!caught || caught->at_ns < client->flip.at_ns) {
        return;
    }
    out->is_caught = true;
    out->is_tick_right = caught->event.tick == client->flip.tick;
    out->caught_ns = caught->at_ns - client->flip.at_ns;
    out->caught_ticks = closed_between(run, client->flip.at_ns, caught->at_ns);
    const virtual_event *named = virtual_match_find_slot(run, LS_MATCH_DESYNC_CAUSE, slot);
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    if (!named || !finding) {
        out->is_tick_right = false;
        return;
    }
    out->named_ns = named->at_ns - client->flip.at_ns;
    out->named_ticks = closed_between(run, client->flip.at_ns, named->at_ns);
    judge_finding(client, finding, out);
}

/* Player i flips bit first_bit + i * every, as long as it is below bit_end; what came of it is
 * written to out[i]. */
static void play_flips(ls_match_memory *memory, const ls_simulation *simulation, uint64_t seed,
                       size_t first_bit, uint32_t every, size_t bit_end,
                       faultsim_self_test_flip *out, faultsim_self_test_counts *counts)
{
    uint32_t ticks = WARM_UP_TICKS + FAULTSIM_SELF_TEST_PLAYERS * SPACING_TICKS + TAIL_TICKS;
    virtual_setup setup = setup_of(memory, simulation, seed, ticks);
    virtual_match *run = checked_match_create(&setup);
    ls_rng rng = ls_rng_make(seed, 3);
    uint32_t planted = 0;
    for (uint32_t i = 0; i < FAULTSIM_SELF_TEST_PLAYERS; i++) {
        size_t bit = first_bit + (size_t)i * every;
        if (bit >= bit_end) {
            break;
        }
        virtual_client *client = run->clients[i];
        client->flip.byte = bit / 8;
        client->flip.bit = (uint32_t)(bit % 8);
        client->flip.tick =
            WARM_UP_TICKS + i * SPACING_TICKS + (ls_tick)ls_rng_below(&rng, SPACING_TICKS);
        planted++;
    }
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < planted; i++) {
        self_test_match_judge(run, run->clients[i], &out[i]);
    }
    count_match(run, planted, counts);
    virtual_match_destroy(run);
}

/* ---- no flips ---- */

/* Nothing is flipped; every second match loses packets. */
static void play_clean(ls_match_memory *memory, const ls_simulation *simulation, uint64_t seed,
                       faultsim_self_test_counts *counts)
{
    virtual_setup setup = setup_of(memory, simulation, seed, FAULTSIM_SELF_TEST_CLEAN_TICKS);
    if (seed % 2 == 1) {
        setup.link.loss_ppm = LOSS_PPM;
        setup.link.jitter_ns = JITTER_NS;
    }
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run_to_end(run);
    uint64_t compared = UINT64_MAX;
    for (uint32_t slot = 0; slot < FAULTSIM_SELF_TEST_PLAYERS; slot++) {
        uint64_t its = ls_match_slot_of(run->match, slot).hashes_compared;
        compared = its < compared ? its : compared;
    }
    /* The state before the first tick is compared too. */
    counts->clean_ticks += compared > 0 ? compared - 1 : 0;
    count_match(run, 0, counts);
    virtual_match_destroy(run);
}

/* ---- self test report ---- */

enum {
    MISSES_SHOWN = 8
};

/* ---- counting ---- */

static void add_latency(faultsim_self_test_latency *latency, uint64_t ns, uint32_t ticks)
{
    ls_histogram_add(&latency->ns, ns);
    latency->ticks_max = ticks > latency->ticks_max ? ticks : latency->ticks_max;
}

/* Adds up what came of each flip. */
static void score_flips(faultsim_self_test_score *score, const faultsim_self_test_flip *flips)
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

/* Every flip caught and named rightly, and nothing else. */
static bool is_perfect(const faultsim_self_test_score *score)
{
    uint64_t flips = score->flips;
    return score->made == flips && score->caught == flips && score->tick_right == flips &&
           score->field_right == flips && score->values_right == flips &&
           score->class_right == flips && score->counts.false_alarms == 0 &&
           score->counts.unsound == 0 && score->deaths == 0;
}

/* Something was flipped, and enough ticks without flips were compared. */
static bool is_conclusive(const faultsim_self_test_score *score)
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

static void print_misses(FILE *file, const faultsim_self_test_score *score,
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

/* The first flips that went wrong; and the score. */
static void print(FILE *file, const faultsim_self_test_score *score)
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
    fprintf(file, "  %s\n", is_perfect(score) ? "perfect" : "NOT PERFECT");
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

/* ---- the self-test ---- */

enum {
    SIMULATIONS_MAX = 2
};

/* A process that plays every so many-th match. */
typedef struct worker {
    ls_child_process process;
    uint64_t match; /* being played */
    bool is_done;
    faultsim_self_test_counts counts;
} worker;

/* Shared with the processes, but for the pointers, which are set before they start. */
typedef struct test_run {
    const ls_simulation *simulation;
    uint32_t every;
    uint64_t positions;
    uint64_t flips;
    uint64_t flip_matches; /* come first */
    uint64_t matches;
    uint32_t jobs;
    worker *workers;
    faultsim_self_test_flip *out;
} test_run;

/* ---- in a process ---- */

static void play(const test_run *run, ls_match_memory *memory, worker *self)
{
    uint64_t seed = self->match + 1;
    if (self->match >= run->flip_matches) {
        play_clean(memory, run->simulation, seed, &self->counts);
        return;
    }
    uint64_t first = self->match * FAULTSIM_SELF_TEST_PLAYERS;
    play_flips(memory, run->simulation, seed, first * run->every, run->every, run->positions,
               &run->out[first], &self->counts);
}

typedef struct worker_task {
    const test_run *run;
    worker *self;
} worker_task;

static int work(const void *user, int channel)
{
    const test_run *run = ((const worker_task *)user)->run;
    worker *self = ((const worker_task *)user)->self;
    (void)channel;
    ls_match_memory *memory = faultsim_match_memory_create();
    if (!memory) {
        return LS_EXIT_ENVIRONMENT;
    }
    const faultsim_config longest = {.scenario = {.ticks = FAULTSIM_SELF_TEST_CLEAN_TICKS}};
    for (; self->match < run->matches; self->match += run->jobs) {
        faultsim_jobs_limit_time(&longest);
        play(run, memory, self);
    }
    self->is_done = true;
    return LS_EXIT_CLEAN;
}

/* ---- around them ---- */

static void *share(size_t count, size_t bytes)
{
    void *memory =
        mmap(NULL, count * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool start(const test_run *run, worker *self)
{
    const worker_task task = {run, self};
    const ls_child_process_work copy = {.run = work, .user = &task};
    fflush(NULL);
    return ls_child_process_fork(&copy, &self->process, NULL, NULL) == LS_OK;
}

/* False when it cannot go on. One that dies is replaced, and the match it died of left out. */
static bool wait_for(const test_run *run, worker *self, uint64_t *deaths)
{
    ls_child_process_end end;
    while (ls_child_process_wait(&self->process, LS_CHILD_WAIT_FOREVER, &end) && !self->is_done) {
        if (end.exit_code == LS_EXIT_ENVIRONMENT) {
            return false;
        }
        ++*deaths;
        self->match += run->jobs;
        if (!start(run, self)) {
            return false;
        }
    }
    return self->is_done;
}

static bool play_all(const test_run *run, faultsim_self_test_score *score)
{
    bool is_well = true;
    for (uint32_t i = 0; i < run->jobs; i++) {
        run->workers[i].match = i;
        is_well = start(run, &run->workers[i]) && is_well;
    }
    for (uint32_t i = 0; i < run->jobs; i++) {
        worker *self = &run->workers[i];
        is_well = self->process.id != 0 && wait_for(run, self, &score->deaths) && is_well;
        score->counts.matches += self->counts.matches;
        score->counts.clean_ticks += self->counts.clean_ticks;
        score->counts.false_alarms += self->counts.false_alarms;
        score->counts.unsound += self->counts.unsound;
    }
    return is_well;
}

static uint64_t parts(uint64_t whole, uint64_t part)
{
    return (whole + part - 1) / part;
}

static test_run run_of(const faultsim_self_test_config *config, const ls_simulation *simulation)
{
    test_run run = {.simulation = simulation,
                    .every = config->every,
                    .positions = 8 * (uint64_t)bytes_of_state(simulation),
                    .jobs = config->jobs};
    run.flips = parts(run.positions, run.every);
    run.flip_matches = parts(run.flips, FAULTSIM_SELF_TEST_PLAYERS);
    run.matches = run.flip_matches + parts(config->clean_ticks, FAULTSIM_SELF_TEST_CLEAN_TICKS);
    return run;
}

static bool test(const faultsim_self_test_config *config, const ls_simulation *simulation,
                 FILE *file, faultsim_self_test_score *score)
{
    ls_clock clock = ls_clock_system();
    uint64_t start_ns = ls_clock_now_ns(&clock);
    test_run run = run_of(config, simulation);
    *score = (faultsim_self_test_score){.simulation = simulation->name,
                                        .positions = run.positions,
                                        .every = run.every,
                                        .flips = run.flips,
                                        .clean_ticks_wanted = config->clean_ticks,
                                        .jobs = run.jobs};
    run.workers = share(run.jobs, sizeof *run.workers);
    run.out = share(run.flips, sizeof *run.out);
    bool is_well = run.workers && run.out && play_all(&run, score);
    score->elapsed_ns = ls_clock_now_ns(&clock) - start_ns;
    if (is_well) {
        score_flips(score, run.out);
        print_misses(file, score, run.out);
        print(file, score);
        fflush(file);
    }
    if (run.workers) {
        munmap(run.workers, run.jobs * sizeof *run.workers);
    }
    if (run.out) {
        munmap(run.out, run.flips * sizeof *run.out);
    }
    return is_well;
}

static ls_exit_code judge(const faultsim_self_test_score *scores, uint32_t count)
{
    ls_exit_code code = LS_EXIT_CLEAN;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_perfect(&scores[i])) {
            return LS_EXIT_DESYNC;
        }
        code = is_conclusive(&scores[i]) ? code : LS_EXIT_INTERNAL;
    }
    return code;
}

ls_exit_code faultsim_self_test_run(const faultsim_self_test_config *config, ls_console *console)
{
    static faultsim_self_test_score scores[SIMULATIONS_MAX];
    const ls_simulation *simulations[SIMULATIONS_MAX] = {test_simulation(), ls_arena_simulation()};
    uint32_t count = SIMULATIONS_MAX;
    if (config->simulation) {
        simulations[0] = config->simulation;
        count = 1;
    }
    FILE *file = config->json_path && strcmp(config->json_path, "-") == 0 ? stderr : stdout;
    ls_text why = {{0}};
    ls_status status = config->json_path ? ls_output_check_path(config->json_path, &why) : LS_OK;
    for (uint32_t i = 0; i < count && status == LS_OK; i++) {
        if (!test(config, simulations[i], file, &scores[i])) {
            ls_text_set(&why, "no processes or no memory to play the matches");
            status = LS_NO_MEMORY;
        }
    }
    if (status == LS_OK && config->json_path) {
        status = faultsim_self_test_write(config->json_path, scores, count, &why);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    ls_exit_code code = judge(scores, count);
    if (code == LS_EXIT_INTERNAL) {
        ls_log_line(&console->log, LS_LOG_ERROR,
                    "nothing was flipped, or too few clean ticks were compared: that proves "
                    "nothing");
    }
    return code;
}
