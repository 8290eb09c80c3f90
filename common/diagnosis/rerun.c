#include "lockstep/common/diagnosis/rerun.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/diagnosis/desync_class.h"

#include <string.h>

#define HASHED_BYTES_MAX ((uint64_t)256 << 20)   /* of the states of a stretch that are compared */
#define RELOADED_BYTES_MAX ((uint64_t)256 << 20) /* likewise saved and loaded */

enum {
    REPEATS_OF_STEP = 4,   /* with equal noise: what differs then is a race, the time or a static */
    SMALL_BYTES = 1 << 20, /* of a state of which steps are repeated at no visible cost */
};

typedef enum run_kind {
    RUN_FRESH,
    RUN_OPPOSITE, /* with the opposite noise */
    RUN_ZERO,     /* with none; left out when the one before has told */
    RUN_REPEATED, /* with the noise of fresh; only when one of the two gave something else */
    RUN_RELOADED,
    RUN_DONE,
} run_kind;

/* A run has one noise on the stack and one in scratch. Scratch has the same in all but RELOADED:
 * memory that a step carries on from an earlier one is state outside the saved block. */
typedef struct run_plan {
    ls_noise_kind stack;
    ls_noise_kind scratch;
    uint32_t instance; /* that it begins in */
} run_plan;

static const run_plan plans[] = {
    [RUN_FRESH] = {LS_NOISE_RANDOM, LS_NOISE_RANDOM, 0},
    [RUN_OPPOSITE] = {LS_NOISE_OPPOSITE, LS_NOISE_RANDOM, 1},
    [RUN_ZERO] = {LS_NOISE_ZERO, LS_NOISE_RANDOM, 1},
    [RUN_REPEATED] = {LS_NOISE_RANDOM, LS_NOISE_RANDOM, 0},
    [RUN_RELOADED] = {LS_NOISE_RANDOM, LS_NOISE_OPPOSITE, 0},
};

struct ls_rerun {
    const ls_allocator *allocator;
    ls_sim_instance *instances[2];
    uint32_t instance_count; /* made so far */
    uint32_t instances_max;  /* 1: for the first run alone */
    uint32_t workers;        /* of their steps */
    size_t state_bytes;
    uint8_t *carried;         /* canonical: between instances, before that the state `fresh` had
                                 before its last step */
    uint8_t *reached;         /* canonical: state of the first run */
    ls_pass_state pass_state; /* of its last step */
    bool is_reached;
    ls_replay_stretch stretch;
    run_kind run;
    uint32_t current; /* instance that steps */
    ls_pass_trace passes;
    ls_rerun_figures figures;
    void (*on_noise)(const ls_step_noise *noise); /* NULL: the process is not its own */
    ls_step_noise noise;
    ls_step_noise last_noise; /* of the last step of `fresh`, at its start */
    uint32_t unstable_pass;
    ls_rerun_repeats repeats;
    uint32_t other_noise; /* 0: the usual one */
    bool is_single;       /* only `fresh` runs */
    bool is_state_left;   /* the state that it leads to is not wanted */
};

/* ---- create ---- */

static void tune(const ls_rerun *rerun, uint32_t instance)
{
    ls_sim_instance_tune(rerun->instances[instance],
                         (ls_sim_tuning){.workers = rerun->workers, .log_level = LS_LOG_WARNING});
}

static ls_status add_instance(ls_rerun *rerun, const ls_simulation *simulation,
                              const ls_sim_config *config, ls_text *why)
{
    uint32_t next = rerun->instance_count;
    ls_status status =
        ls_sim_instance_create(simulation, config, rerun->allocator, &rerun->instances[next], why);
    if (status == LS_OK) {
        tune(rerun, next);
        rerun->instance_count++;
    }
    return status;
}

static ls_status build(ls_rerun *rerun, const ls_simulation *simulation,
                       const ls_sim_config *config, uint32_t instance_count, ls_text *why)
{
    ls_status status = LS_OK;
    while (status == LS_OK && rerun->instance_count < instance_count) {
        status = add_instance(rerun, simulation, config, why);
    }
    if (status != LS_OK) {
        return status;
    }
    rerun->state_bytes = ls_sim_instance_image_bytes(rerun->instances[0]);
    rerun->carried = ls_allocate(rerun->allocator, rerun->state_bytes);
    rerun->reached = ls_allocate(rerun->allocator, rerun->state_bytes);
    rerun->pass_state.bytes = ls_allocate(rerun->allocator, rerun->state_bytes);
    if (!rerun->carried || !rerun->reached || !rerun->pass_state.bytes) {
        return ls_fail(LS_NO_MEMORY, why, "no memory to run a simulation again");
    }
    return LS_OK;
}

typedef struct instance_counts {
    uint32_t now;
    uint32_t later;
} instance_counts;

static ls_status create(const ls_simulation *simulation, const ls_sim_config *config,
                        instance_counts counts, const ls_allocator *allocator, ls_rerun **out,
                        ls_text *why)
{
    if (ls_simulation_only_hashes(simulation)) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "simulation '%s' hashes by callback and has no save and load: its ticks "
                       "cannot be run again",
                       simulation->name);
    }
    ls_rerun *rerun = ls_allocate(allocator, sizeof *rerun);
    if (!rerun) {
        return ls_fail(LS_NO_MEMORY, why, "no memory to run a simulation again");
    }
    rerun->allocator = allocator;
    rerun->instances_max = counts.later;
    rerun->workers = 1;
    rerun->run = RUN_DONE;
    ls_status status = build(rerun, simulation, config, counts.now, why);
    if (status != LS_OK) {
        ls_rerun_destroy(rerun);
        return status;
    }
    *out = rerun;
    return LS_OK;
}

ls_status ls_rerun_create(const ls_simulation *simulation, const ls_sim_config *config,
                          const ls_allocator *allocator, ls_rerun **out, ls_text *why)
{
    return create(simulation, config, (instance_counts){2, 2}, allocator, out, why);
}

ls_status ls_rerun_create_large(const ls_simulation *simulation, const ls_sim_config *config,
                                const ls_allocator *allocator, ls_rerun **out, ls_text *why)
{
    return create(simulation, config, (instance_counts){1, 2}, allocator, out, why);
}

ls_status ls_rerun_create_single(const ls_simulation *simulation, const ls_sim_config *config,
                                 const ls_allocator *allocator, ls_rerun **out, ls_text *why)
{
    return create(simulation, config, (instance_counts){1, 1}, allocator, out, why);
}

void ls_rerun_destroy(ls_rerun *rerun)
{
    if (!rerun) {
        return;
    }
    ls_release(rerun->allocator, rerun->pass_state.bytes);
    ls_release(rerun->allocator, rerun->reached);
    ls_release(rerun->allocator, rerun->carried);
    ls_sim_instance_destroy(rerun->instances[1]);
    ls_sim_instance_destroy(rerun->instances[0]);
    ls_release(rerun->allocator, rerun);
}

void ls_rerun_vary(ls_rerun *rerun, uint32_t workers, uint32_t noise)
{
    rerun->workers = workers;
    for (uint32_t i = 0; i < rerun->instance_count; i++) {
        tune(rerun, i);
    }
    rerun->other_noise = noise;
}

void ls_rerun_own_process(ls_rerun *rerun, void (*on_noise)(const ls_step_noise *noise))
{
    rerun->on_noise = on_noise;
}

/* ---- runs ---- */

ls_step_noise ls_rerun_first_noise(const ls_replay_stretch *stretch, uint32_t pass_count,
                                   uint32_t noise)
{
    return (ls_step_noise){.seed = ls_hash_pair(stretch->last, 0) + noise,
                           .passes = (uint64_t)stretch->first * pass_count};
}

static void announce(const ls_rerun *rerun, const ls_step_noise *noise)
{
    if (rerun->on_noise) {
        rerun->on_noise(noise);
    }
}

/* Of a large state the second one is made once a run needs it. */
static bool has_second(ls_rerun *rerun)
{
    const ls_sim_instance *first = rerun->instances[0];
    return rerun->instance_count == 2 || add_instance(rerun, ls_sim_instance_simulation(first),
                                                      ls_sim_instance_config(first), NULL) == LS_OK;
}

/* With a schema loading is a copy; an engine may refuse, and then what is known is known. A step
 * finds the same noise on both sides of a match, wherever their runs begin. */
static void begin_run(ls_rerun *rerun, run_kind run)
{
    rerun->run = run == RUN_FRESH || run == RUN_DONE || has_second(rerun) ? run : RUN_DONE;
    if (rerun->run == RUN_DONE) {
        return;
    }
    rerun->current = plans[run].instance;
    const ls_sim_instance *instance = rerun->instances[rerun->current];
    rerun->noise = ls_rerun_first_noise(
        &rerun->stretch, ls_sim_instance_simulation(instance)->pass_count, rerun->other_noise);
    rerun->noise.kind = plans[run].stack;
    rerun->noise.is_deep = rerun->on_noise != NULL;
    announce(rerun, &rerun->noise);
    if (ls_replay_stretch_load(&rerun->stretch, rerun->instances[rerun->current]) != LS_OK) {
        rerun->run = RUN_DONE;
    }
}

void ls_rerun_start(ls_rerun *rerun, const ls_replay_stretch *stretch)
{
    LS_ASSERT(stretch->first < stretch->last);
    rerun->stretch = *stretch;
    rerun->is_reached = false;
    rerun->is_single = rerun->instances_max == 1;
    rerun->is_state_left = false;
    rerun->pass_state.pass = LS_NO_PASS;
    rerun->pass_state.is_kept = false;
    rerun->passes = (ls_pass_trace){0};
    rerun->unstable_pass = LS_NO_PASS;
    rerun->repeats = (ls_rerun_repeats){0};
    rerun->figures = (ls_rerun_figures){
        .known = LS_RERUN_LIVE,
        .first = stretch->first,
        .tick = stretch->last,
        .strayed = stretch->last,
        .live = ls_replay_stretch_hash(stretch, stretch->last),
    };
    begin_run(rerun, RUN_FRESH);
}

void ls_rerun_keep_pass(ls_rerun *rerun, uint32_t pass)
{
    rerun->pass_state.pass = pass;
    rerun->pass_state.before =
        rerun->carried; /* nothing else is in these before the step is over */
    rerun->pass_state.after = rerun->reached;
    if (pass != LS_NO_PASS) {
        memset(rerun->pass_state.bytes, 0, rerun->state_bytes);
    }
}

void ls_rerun_run_once(ls_rerun *rerun)
{
    rerun->is_single = true;
}

void ls_rerun_run_alone(ls_rerun *rerun, ls_noise_kind noise)
{
    rerun->is_single = true;
    rerun->is_state_left = true;
    rerun->noise.kind = noise;
    announce(rerun, &rerun->noise);
}

void ls_rerun_leave_state(ls_rerun *rerun)
{
    rerun->is_state_left = true;
}

/* Of large states not every one: hashing or saving them all would take most of the time that there
 * is. Whether it is the turn of this one of those up to `last`, itself included. */
static bool is_turn(const ls_rerun *rerun, ls_tick made, ls_tick last, uint64_t bytes_max)
{
    ls_tick first = rerun->stretch.first;
    uint64_t bytes = (uint64_t)(last - first) * rerun->state_bytes;
    return made == last || (made < last && (made - first) % (bytes / bytes_max + 1) == 0);
}

static ls_status step_fresh(ls_rerun *rerun, ls_sim_instance *instance,
                            const ls_tick_inputs *inputs)
{
    ls_rerun_figures *figures = &rerun->figures;
    ls_tick made = inputs->tick + 1;
    if (made == figures->tick) {
        ls_status status =
            rerun->is_single ? LS_OK : ls_sim_instance_image(instance, rerun->carried);
        rerun->last_noise = rerun->noise;
        ls_pass_trace_step(instance, inputs, &rerun->noise, &rerun->pass_state, &rerun->passes);
        return status;
    }
    if (rerun->pass_state.pass == LS_PASS_OF_WRITERS && rerun->state_bytes <= SMALL_BYTES) {
        ls_pass_trace ignored; /* of a larger state the last step alone is watched */
        ls_pass_trace_step(instance, inputs, &rerun->noise, &rerun->pass_state, &ignored);
    } else {
        ls_step_noise_step(&rerun->noise, instance, inputs);
    }
    uint64_t recorded = ls_replay_stretch_hash(&rerun->stretch, made);
    if (recorded != 0 && is_turn(rerun, made, rerun->stretch.agreed, HASHED_BYTES_MAX) &&
        figures->strayed == figures->tick && ls_sim_instance_hash(instance) != recorded) {
        figures->strayed = made;
    }
    return LS_OK;
}

/* ---- the pass in which ways of running the last step part ---- */

static void note_difference(ls_rerun *rerun, const ls_pass_trace *other)
{
    uint32_t pass = 0;
    uint64_t state_hash = other->pass_count > 0 ? other->state_hashes[other->pass_count - 1] : 0;
    rerun->repeats.digest = ls_hash_pair(rerun->repeats.digest, state_hash);
    rerun->repeats.other = state_hash != rerun->figures.fresh ? state_hash : rerun->repeats.other;
    if (rerun->unstable_pass == LS_NO_PASS &&
        ls_pass_trace_compare(&rerun->passes, other, &pass) == LS_PASS_AT) {
        rerun->unstable_pass = pass;
    }
}

/* The last step once more, out of the state in which `fresh` began it. */
static void repeat_last_step(ls_rerun *rerun, ls_noise_kind kind)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_pass_trace other;
    ls_sim_instance *instance = rerun->instances[1];
    ls_step_noise noise = rerun->last_noise;
    if (ls_sim_instance_load(instance, rerun->carried, rerun->state_bytes,
                             rerun->figures.tick - 1) != LS_OK ||
        ls_replay_stretch_inputs(&rerun->stretch, instance, slots, &inputs) != LS_OK) {
        return;
    }
    ls_step_noise_fill_scratch(&noise, instance);
    noise.kind = kind;
    announce(rerun, &noise);
    ls_pass_trace_step(instance, &inputs, &noise, NULL, &other);
    note_difference(rerun, &other);
}

/* Runs from the snapshot may have parted long before the last step. From one state on, the pass
 * that differs is the one with the fault. */
static void find_unstable_pass(ls_rerun *rerun)
{
    rerun->repeats.count++;
    repeat_last_step(rerun, LS_NOISE_OPPOSITE);
    repeat_last_step(rerun, LS_NOISE_ZERO);
    for (uint32_t i = 0; i < REPEATS_OF_STEP; i++) {
        repeat_last_step(rerun, LS_NOISE_RANDOM);
    }
}

/* The state goes through its saved form into the other instance, and nothing else does: before the
 * last step, and before all or every n-th of the others. */
static ls_status step_reloaded(ls_rerun *rerun, ls_sim_instance *instance,
                               const ls_tick_inputs *inputs)
{
    if (inputs->tick + 1 == rerun->figures.tick) {
        ls_pass_trace passes;
        ls_pass_trace_step(instance, inputs, &rerun->noise, NULL, &passes);
        note_difference(rerun, &passes);
    } else {
        ls_step_noise_step(&rerun->noise, instance, inputs);
    }
    if (!is_turn(rerun, inputs->tick + 1, rerun->figures.tick - 1, RELOADED_BYTES_MAX)) {
        return LS_OK;
    }
    rerun->current ^= 1u;
    ls_sim_instance *other = rerun->instances[rerun->current];
    ls_status status = ls_sim_instance_image(instance, rerun->carried);
    return status == LS_OK ? ls_sim_instance_load(other, rerun->carried, rerun->state_bytes,
                                                  ls_sim_instance_tick(instance))
                           : status;
}

static ls_status step(ls_rerun *rerun)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_sim_instance *instance = rerun->instances[rerun->current];
    ls_status status = ls_replay_stretch_inputs(&rerun->stretch, instance, slots, &inputs);
    if (status != LS_OK) {
        return status;
    }
    ls_step_noise scratch_noise = rerun->noise;
    scratch_noise.kind = plans[rerun->run].scratch;
    ls_step_noise_fill_scratch(&scratch_noise, instance);
    if (rerun->run == RUN_FRESH) {
        return step_fresh(rerun, instance, &inputs);
    } else if (rerun->run == RUN_RELOADED) {
        return step_reloaded(rerun, instance, &inputs);
    } else {
        ls_step_noise_step(&rerun->noise, instance, &inputs);
    }
    return LS_OK;
}

static void keep_fresh(ls_rerun *rerun, uint64_t state_hash)
{
    rerun->figures.fresh = state_hash;
    rerun->figures.known |= LS_RERUN_FRESH;
    bool is_wanted = !rerun->is_single || rerun->pass_state.pass != LS_NO_PASS;
    rerun->is_reached =
        is_wanted && !rerun->is_state_left &&
        ls_sim_instance_image(rerun->instances[rerun->current], rerun->reached) == LS_OK;
}

/* Takes the result of the run that has ended, and says which one is next. */
static run_kind note_result(ls_rerun *rerun, uint64_t state_hash)
{
    ls_rerun_figures *figures = &rerun->figures;
    bool is_fresh = state_hash == figures->fresh;
    switch (rerun->run) {
    case RUN_FRESH:
        keep_fresh(rerun, state_hash);
        return rerun->is_single ? RUN_DONE : RUN_OPPOSITE;
    case RUN_OPPOSITE:
    case RUN_ZERO:
        figures->again = state_hash;
        figures->known |= LS_RERUN_AGAIN;
        if (is_fresh && rerun->run == RUN_ZERO && rerun->state_bytes <= SMALL_BYTES) {
            find_unstable_pass(rerun);
        }
        return !is_fresh ? RUN_REPEATED : rerun->run == RUN_OPPOSITE ? RUN_ZERO : RUN_RELOADED;
    case RUN_REPEATED:
        figures->known |= is_fresh ? LS_RERUN_REPEATED : LS_RERUN_CHANGED;
        find_unstable_pass(rerun);
        return RUN_RELOADED;
    default:
        figures->reloaded = state_hash;
        figures->known |= LS_RERUN_RELOADED;
        return RUN_DONE;
    }
}

static void end_run(ls_rerun *rerun)
{
    uint64_t state_hash = ls_sim_instance_hash(rerun->instances[rerun->current]);
    begin_run(rerun, note_result(rerun, state_hash));
}

bool ls_rerun_advance(ls_rerun *rerun, uint32_t steps_max)
{
    for (uint32_t i = 0; i < steps_max && rerun->run != RUN_DONE; i++) {
        if (step(rerun) != LS_OK) {
            rerun->run = RUN_DONE; /* the inputs have left the window: what is known is known */
        } else if (ls_sim_instance_tick(rerun->instances[rerun->current]) == rerun->stretch.last) {
            end_run(rerun);
        }
    }
    return rerun->run == RUN_DONE;
}

/* ---- what came out ---- */

ls_tick ls_rerun_tick(const ls_rerun *rerun)
{
    return ls_sim_instance_tick(rerun->instances[rerun->current]);
}

size_t ls_rerun_state_bytes(const ls_rerun *rerun)
{
    return rerun->state_bytes;
}

const ls_rerun_figures *ls_rerun_figures_of(const ls_rerun *rerun)
{
    return &rerun->figures;
}

const ls_pass_trace *ls_rerun_passes(const ls_rerun *rerun)
{
    return &rerun->passes;
}

const ls_rerun_repeats *ls_rerun_repeats_of(const ls_rerun *rerun)
{
    return &rerun->repeats;
}

uint32_t ls_rerun_unstable_pass(const ls_rerun *rerun)
{
    return rerun->unstable_pass;
}

const uint8_t *ls_rerun_state(const ls_rerun *rerun)
{
    return rerun->is_reached ? rerun->reached : NULL;
}

const uint8_t *ls_rerun_pass_state(const ls_rerun *rerun)
{
    bool is_done = (rerun->figures.known & LS_RERUN_FRESH) != 0;
    return is_done && rerun->pass_state.is_kept ? rerun->pass_state.bytes : NULL;
}

const uint8_t *ls_rerun_state_before(const ls_rerun *rerun)
{
    return rerun->carried;
}

/* u8 known, u32 first, tick, strayed, u64 live, fresh, again, reloaded, apart, u8 tried, moved:
 * version 0.1.0 had another name for apart, and never knew it. */
void ls_rerun_figures_write(const ls_rerun_figures *figures, uint8_t bytes[LS_RERUN_FIGURES_BYTES])
{
    bytes[0] = (uint8_t)figures->known;
    ls_store_u32(bytes + 1, figures->first);
    ls_store_u32(bytes + 5, figures->tick);
    ls_store_u32(bytes + 9, figures->strayed);
    ls_store_u64(bytes + 13, figures->live);
    ls_store_u64(bytes + 21, figures->fresh);
    ls_store_u64(bytes + 29, figures->again);
    ls_store_u64(bytes + 37, figures->reloaded);
    ls_store_u64(bytes + 45, figures->apart);
    bytes[LS_RERUN_OLD_FIGURES_BYTES] = (uint8_t)figures->tried;
    bytes[LS_RERUN_OLD_FIGURES_BYTES + 1] = (uint8_t)figures->moved;
}

ls_status ls_rerun_figures_read(const uint8_t *bytes, size_t size, ls_rerun_figures *out)
{
    const uint32_t all = LS_RERUN_LIVE | LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED |
                         LS_RERUN_APART | LS_RERUN_REPEATED | LS_RERUN_CHANGED | LS_RERUN_RACES;
    const uint32_t both = LS_RERUN_REPEATED | LS_RERUN_CHANGED;
    if (size != LS_RERUN_FIGURES_BYTES || (bytes[0] & ~all) != 0 || (bytes[0] & both) == both) {
        return LS_MALFORMED;
    }
    ls_rerun_figures figures = {
        .known = bytes[0] & all,
        .first = ls_load_u32(bytes + 1),
        .tick = ls_load_u32(bytes + 5),
        .strayed = ls_load_u32(bytes + 9),
        .live = ls_load_u64(bytes + 13),
        .fresh = ls_load_u64(bytes + 21),
        .again = ls_load_u64(bytes + 29),
        .reloaded = ls_load_u64(bytes + 37),
        .apart = ls_load_u64(bytes + 45),
        .tried = bytes[LS_RERUN_OLD_FIGURES_BYTES],
        .moved = bytes[LS_RERUN_OLD_FIGURES_BYTES + 1],
    };
    bool is_race = figures.known & LS_RERUN_RACES;
    if (is_race &&
        (figures.known & LS_RERUN_APART || figures.apart == 0 || figures.apart >= LS_RERUN_TIMES)) {
        return LS_MALFORMED;
    }
    if ((figures.tried & ~LS_SURROUNDINGS_ALL) != 0 || (figures.moved & ~figures.tried) != 0) {
        return LS_MALFORMED;
    }
    if (figures.known != 0 && (figures.first >= figures.tick || figures.strayed <= figures.first ||
                               figures.strayed > figures.tick)) {
        return LS_MALFORMED;
    }
    *out = figures;
    return LS_OK;
}
