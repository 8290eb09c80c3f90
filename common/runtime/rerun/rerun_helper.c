#include "lockstep/common/runtime/rerun/rerun_helper.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/runtime/rerun/rerun_writes.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/foreign_calls.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/signals.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXIT_OK = 0,
    EXIT_BAD = 1,
    HOLE_BYTES = 13 << 20, /* that no library of the process apart can have */
    BLOCK_BYTES_LEAST = 16,
    BLOCK_SIZES = 64, /* up to 1 KiB */
    BLOCKS_SCATTERED = 32 * BLOCK_SIZES,
    SCATTER_SEED = 12345,
    FILLING = 0x5a, /* of heap memory that is given back; what is given out has its opposite */
    OTHER_FILLING = 0xa5,
    SHARE_OF_LARGE = 4, /* of the time, for a large state */
    PACE_UNIT = 256,
    DEPTH_BYTES = 1 << 20, /* of the stack; of 8 MiB there is always so much */
    PROOF_MS_MAX = 2000,   /* a plug-in whose variables are set back may wait for ever */
};

/* Everything of this process. A handler of signals reads it. */
typedef struct helper {
    int pipe_out;       /* the pipe; a plug-in that prints finds no standard output */
    uint64_t states_at; /* in the file that held the request; 0: it came by a pipe */
    ls_rerun_order order;
    const ls_simulation *simulation;
    ls_rerun *rerun;   /* NULL: not created yet */
    uint64_t began_ns; /* to read the request */
    uint64_t pace;     /* of time that passes in its runs to what it spends; 0: they go on */
    uint8_t *before; /* shared with copies: the state before the last tick, of a large one; NULL */
    bool has_before;
} helper;

static helper here;

static char **own_words; /* of the command line; NULL: main has not told */

/* The plug-in finds the variables as they are in the match. */
static bool take_variable(void)
{
    static const char variable[] = LS_RERUN_HELPER_VARIABLE;
    bool is_set = false;
    for (const char *const *own = ls_machine_variables(); *own; own++) {
        is_set = is_set || strcmp(*own, variable) == 0;
    }
    if (is_set) {
        char name[sizeof variable] = {0};
        memcpy(name, variable, strcspn(variable, "="));
        ls_machine_set_variable(name, NULL);
    }
    return is_set;
}

bool ls_rerun_helper_is_asked(int argc, char **argv)
{
    own_words = argv;
    return take_variable() || (argc == 2 && strcmp(argv[1], LS_RERUN_HELPER_ARGUMENT) == 0);
}

const char *const *ls_rerun_helper_words(void)
{
    static const char *const words[] = {"lockstep-rerun-helper", LS_RERUN_HELPER_ARGUMENT, NULL};
    return own_words ? (const char *const *)(uintptr_t)own_words : words;
}

/* ---- the pipe ---- */

bool ls_rerun_helper_write(const void *bytes, size_t size)
{
    return ls_socket_send_all(here.pipe_out, bytes, size) == LS_OK;
}

static bool read_all(uint8_t *bytes, size_t size)
{
    return ls_socket_receive_all(LS_CHILD_INPUT, bytes, size, LS_CHILD_WAIT_FOREVER) == LS_OK;
}

/* A request that is a file is mapped, and stays where it is. */
static const uint8_t *use_file(const ls_mapped_file *file, size_t *size)
{
    if (file->size <= LS_RERUN_PIPE_HEAD_BYTES ||
        ls_load_u64(file->bytes) != file->size - LS_RERUN_PIPE_HEAD_BYTES) {
        return NULL;
    }
    *size = file->size - LS_RERUN_PIPE_HEAD_BYTES;
    here.states_at = file->size;
    return file->bytes + LS_RERUN_PIPE_HEAD_BYTES;
}

static const uint8_t *read_request(size_t *size)
{
    uint8_t head[LS_RERUN_PIPE_HEAD_BYTES];
    ls_mapped_file file;
    if (ls_mapped_file_of(LS_CHILD_INPUT, "the request", &file, NULL) == LS_OK) {
        return use_file(&file, size);
    }
    if (!read_all(head, sizeof head)) {
        return NULL;
    }
    *size = (size_t)ls_load_u64(head);
    uint8_t *bytes = ls_allocate(ls_allocator_heap(), *size);
    if (bytes && !read_all(bytes, *size)) {
        ls_release(ls_allocator_heap(), bytes);
        return NULL;
    }
    return bytes;
}

/* ---- surroundings ---- */

static void on_crash(const ls_crash *met)
{
    uint8_t bytes[LS_RERUN_CRASH_BYTES];
    ls_rerun_crash crash = {.signal = (uint32_t)met->signal_number,
                            .is_in_init = !here.rerun,
                            .tick = here.rerun ? ls_rerun_tick(here.rerun) : 0};
    ls_rerun_pipe_write_crash(&crash, bytes);
    (void)ls_rerun_helper_write(bytes, sizeof bytes);
    _Exit(EXIT_BAD);
}

/* Nothing of the parent's is held open. A file that the parent has open for its children, at any
 * number, gives way to the pipe or is closed. */
static bool stand_apart(void)
{
    here.pipe_out = ls_child_process_keep(LS_CHILD_OUR_OUTPUT);
    return here.pipe_out >= 0 && ls_child_process_hush();
}

/* A change that this machine cannot make is left out. */
static void change_surroundings(uint32_t wanted)
{
    if (wanted & LS_RERUN_WITH_FLUSH_TO_ZERO) {
        ls_float_mode_flush();
    }
    if (wanted & LS_RERUN_WITH_ROUNDING_DOWN) {
        ls_float_mode_round(FE_DOWNWARD);
    }
    if (wanted & LS_RERUN_WITH_ONE_CORE) {
        ls_machine_use_one_processor();
    }
    if (wanted & LS_RERUN_WITH_ROOT_DIRECTORY) {
        (void)ls_folder_enter("/");
    }
}

/* ---- the heap ---- */

static ls_step_noise block_noise; /* of what the plug-in gets now */

static void fill_block(uint8_t *bytes, size_t size)
{
    ls_step_noise_fill_block(&block_noise, bytes, size);
}

/* Blocks that the C library takes for itself hold one byte, and the plug-in's noise. */
static void fill_heap(const ls_step_noise *noise)
{
    static const int bytes[] = {
        [LS_NOISE_RANDOM] = FILLING, [LS_NOISE_OPPOSITE] = OTHER_FILLING, [LS_NOISE_ZERO] = 0xff};
    block_noise = *noise;
    ls_heap_fill(bytes[noise->kind]);
}

void ls_rerun_helper_fill_blocks(void)
{
    ls_foreign_calls_fill_heap(fill_block);
}

/* ---- running ---- */

static bool is_asked_for(uint32_t what)
{
    return (here.order.match.surroundings & what) != 0;
}

static bool is_large(void)
{
    return here.order.match.state_bytes > LS_RERUN_PIPE_SMALL_BYTES;
}

/* The runs behind the first one copy and hash large states for seconds, beside a live match that
 * needs the memory's speed. Those that have not ended by then are left out. */
static bool is_enough(uint64_t now_ns, uint64_t limit_ns)
{
    return is_large() && now_ns >= limit_ns / SHARE_OF_LARGE &&
           (ls_rerun_figures_of(here.rerun)->known & LS_RERUN_FRESH);
}

static uint64_t passed_ns(void)
{
    const ls_clock clock = ls_clock_system();
    return ls_clock_now_ns(&clock) - here.began_ns;
}

/* Other processes that this waits for wait for a processor as this did. */
static uint64_t spent_ns(void)
{
    return here.pace == 0 ? ls_rerun_spent_ns(passed_ns(), ls_machine_cpu_ns())
                          : passed_ns() * PACE_UNIT / here.pace;
}

/* For other processes to end. Of the time for a large state some is for its states to be left. */
static uint32_t left_ms(void)
{
    uint64_t spent_ms = spent_ns() / LS_NS_PER_MS;
    uint32_t limit_ms = here.order.time_max_ms;
    limit_ms -= is_large() ? limit_ms / SHARE_OF_LARGE : 0;
    return spent_ms < limit_ms ? (uint32_t)((limit_ms - spent_ms) * here.pace / PACE_UNIT) : 0;
}

/* Of a large state copies run the last tick alone. */
static void keep_before(void)
{
    if (here.before && !here.has_before) {
        memcpy(here.before, ls_rerun_state_before(here.rerun), here.order.match.state_bytes);
        here.has_before = true;
    }
}

/* Calls work(user) with the top of the stack where it is in every copy of this process, whatever
 * called it: what goes by addresses there is no race. */
__attribute__((noinline)) static void at_one_depth(void (*work)(void *user), void *user)
{
    uintptr_t above = (uintptr_t)__builtin_frame_address(0) % DEPTH_BYTES;
    void *gap = __builtin_alloca(above);
    __asm__ volatile("" : : "r"(gap) : "memory");
    work(user);
    __asm__ volatile("" : : "r"(gap) : "memory");
}

static void run(void *user)
{
    ls_text *failure = user;
    uint64_t limit_ns = here.order.time_max_ms * LS_NS_PER_MS;
    const ls_rerun_match *match = &here.order.match;
    ls_rerun_vary(here.rerun, LS_MAX(match->workers, 1u), match->noise);
    ls_rerun_start(here.rerun, &here.order.stretch);
    ls_rerun_keep_pass(here.rerun, here.order.pass);
    if (is_asked_for(LS_RERUN_WITH_FIRST_RUN_ALONE)) {
        ls_rerun_run_once(here.rerun);
    }
    if (is_asked_for(LS_RERUN_WITHOUT_STATE)) {
        ls_rerun_leave_state(here.rerun);
    }
    while (!ls_rerun_advance(here.rerun, 1)) {
        uint64_t now_ns = spent_ns();
        if (ls_rerun_figures_of(here.rerun)->known & LS_RERUN_FRESH) {
            ls_machine_give_way(true);
            keep_before();
        }
        if (is_enough(now_ns, limit_ns)) {
            return;
        } else if (now_ns >= limit_ns) {
            ls_text_set(failure, "took longer than %u ms", here.order.time_max_ms);
            return;
        }
    }
}

/* ---- the plug-in ---- */

/* A simulation that came out with another state size than the live one is not the live one. */
static ls_status load(bool is_single, ls_text *failure)
{
    ls_loaded_simulation loaded;
    const ls_rerun_match *match = &here.order.match;
    ls_status status = ls_simulation_load(match->simulation, &loaded, failure);
    if (status != LS_OK) {
        return status;
    }
    ls_rerun *made = NULL;
    ls_rerun_helper_fill_blocks();
    if (!is_large()) {
        status =
            ls_rerun_create(loaded.simulation, &match->config, ls_allocator_heap(), &made, failure);
    } else {
        status = (is_single ? ls_rerun_create_single : ls_rerun_create_large)(
            loaded.simulation, &match->config, ls_allocator_large(), &made, failure);
    }
    if (status == LS_OK && ls_rerun_state_bytes(made) != match->state_bytes) {
        return ls_fail(LS_PLUGIN, failure,
                       "the simulation's file has been replaced since it was loaded");
    }
    if (status == LS_OK) {
        ls_rerun_own_process(made, fill_heap);
    }
    here.rerun = made;
    here.simulation = loaded.simulation;
    return status;
}

/* ---- the same in another process ---- */

/* Forked before the plug-in is loaded, so that statics, seeds, threads and addresses are its own.
 * With a large state it waits until it is known that another result is of use. */
typedef struct apart_process {
    ls_child_process process;
    int channel;
} apart_process;

/* The process tells all that it has found out so far. */
typedef struct apart_result {
    ls_rerun_figures figures;
    ls_rerun_repeats repeats;
    ls_pass_trace passes;
} apart_result;

static void shuffle(uint32_t *list, size_t count, ls_rng *rng)
{
    for (size_t i = count; i > 1; i--) {
        size_t place = ls_rng_below(rng, (uint32_t)i);
        uint32_t last = list[i - 1];
        list[i - 1] = list[place];
        list[place] = last;
    }
}

/* Blocks of every size that the heap gives out next, in an order of their own: a plug-in that goes
 * by the addresses of what it has from malloc goes another way, also where each block has another
 * size. Behind each that is free one stays, or the heap would join two of them. */
static void scatter_heap(void)
{
    static void *blocks[BLOCKS_SCATTERED];
    static uint32_t order[BLOCKS_SCATTERED];
    ls_rng rng = ls_rng_make(SCATTER_SEED, 1);
    for (uint32_t i = 0; i < BLOCKS_SCATTERED; i++) {
        order[i] = i;
    }
    shuffle(order, BLOCKS_SCATTERED, &rng);
    for (uint32_t i = 0; i < BLOCKS_SCATTERED; i++) {
        size_t size = (size_t)(1 + order[i] % BLOCK_SIZES) * BLOCK_BYTES_LEAST;
        blocks[i] = ls_allocate(ls_allocator_heap(), size - sizeof(void *));
        (void)ls_allocate(ls_allocator_heap(), BLOCK_BYTES_LEAST); /* stays */
    }
    shuffle(order, BLOCKS_SCATTERED, &rng);
    for (uint32_t i = 0; i < BLOCKS_SCATTERED; i++) {
        ls_release(ls_allocator_heap(), blocks[order[i]]);
    }
}

static void move_addresses(void)
{
    ls_heap_leave_hole(HOLE_BYTES);
    scatter_heap();
}

/* The same runs, with the same noise; of a large state the first one. */
static int run_apart(const void *user, int channel)
{
    ls_text failure = {{0}};
    uint8_t wanted = 0;
    (void)user;
    ls_socket_close(here.pipe_out);
    here.pipe_out = channel;
    ls_machine_give_way(true);
    if (is_large() &&
        ls_socket_receive_all(channel, &wanted, sizeof wanted, LS_CHILD_WAIT_FOREVER) != LS_OK) {
        return EXIT_BAD;
    }
    move_addresses();
    if (load(true, &failure) == LS_OK) {
        const ls_rerun_figures *figures = ls_rerun_figures_of(here.rerun);
        uint32_t told = 0;
        bool is_done = false;
        ls_rerun_start(here.rerun, &here.order.stretch);
        while (!is_done) {
            is_done = ls_rerun_advance(here.rerun, 1);
            if (figures->known != told) {
                const apart_result known = {*figures, *ls_rerun_repeats_of(here.rerun),
                                            *ls_rerun_passes(here.rerun)};
                told = figures->known;
                (void)ls_socket_send_all(channel, &known, sizeof known);
            }
        }
    }
    return EXIT_OK;
}

static apart_process start_apart(void)
{
    static const ls_child_process_work work = {.run = run_apart};
    apart_process apart = {.channel = -1};
    if (!is_asked_for(LS_RERUN_WITH_FIRST_RUN_ALONE)) {
        (void)ls_child_process_fork(&work, &apart.process, &apart.channel, NULL);
    }
    return apart;
}

/* The newest result that has come by the end of the time; nothing known: none has. */
static void read_apart(const apart_process *apart, uint32_t wait_ms, apart_result *out)
{
    const ls_clock clock = ls_clock_system();
    uint64_t end_ns = ls_clock_now_ns(&clock) + wait_ms * LS_NS_PER_MS;
    *out = (apart_result){0};
    while (!(out->figures.known & LS_RERUN_RELOADED)) {
        apart_result newer;
        uint64_t now_ns = ls_clock_now_ns(&clock);
        uint32_t left_ms = now_ns < end_ns ? (uint32_t)((end_ns - now_ns) / LS_NS_PER_MS) : 0;
        if (ls_socket_receive_all(apart->channel, &newer, sizeof newer, left_ms) != LS_OK) {
            return;
        }
        *out = newer;
    }
}

static bool know_both(const ls_rerun_figures *a, const ls_rerun_figures *b, uint32_t which)
{
    return (a->known & b->known & which) != 0;
}

/* A result that only one of the two processes had, or the one that both had. */
static uint64_t compare_apart(const ls_rerun_figures *own, const ls_rerun_figures *other,
                              const ls_rerun_repeats *other_repeats)
{
    if (other->fresh != own->fresh) {
        return other->fresh;
    }
    if (know_both(own, other, LS_RERUN_AGAIN) && other->again != own->again) {
        return own->again != own->fresh ? own->again : other->again;
    }
    if (know_both(own, other, LS_RERUN_RELOADED) && other->reloaded != own->reloaded) {
        return own->reloaded != own->fresh ? own->reloaded : other->reloaded;
    }
    const ls_rerun_repeats *repeats = ls_rerun_repeats_of(here.rerun);
    bool have_repeated =
        know_both(own, other, LS_RERUN_RELOADED) && repeats->count == other_repeats->count;
    if (have_repeated && repeats->digest != other_repeats->digest) {
        return repeats->other != 0 ? repeats->other : other_repeats->other;
    }
    return own->fresh;
}

/* The live match is another process as well: where it got what the first run gave, one more would
 * say nothing that is worth its time. */
static bool is_another_of_use(const ls_rerun_figures *figures)
{
    return !is_large() || ((figures->known & LS_RERUN_FRESH) && figures->fresh != figures->live);
}

/* It began earlier and has the same to do: one that has not ended by now gets a quarter of the
 * helper's time more. Where copies of one process part already it tells nothing. */
static void collect_apart(apart_process *apart, bool is_waited_for, ls_rerun_outcome *outcome)
{
    apart_result other;
    uint32_t pass = 0;
    if (apart->process.id == 0) {
        return;
    }
    if (!is_another_of_use(&outcome->figures) ||
        outcome->figures.known & (LS_RERUN_RACES | LS_RERUN_APART)) {
        ls_child_process_kill(&apart->process);
        return;
    }
    if (is_large()) {
        (void)ls_socket_send_all(apart->channel, "", 1);
    }
    uint64_t quarter_ms = here.order.time_max_ms * here.pace / PACE_UNIT / 4;
    read_apart(apart, is_waited_for ? (uint32_t)LS_MIN(quarter_ms, left_ms()) : 0, &other);
    if (know_both(&outcome->figures, &other.figures, LS_RERUN_FRESH)) {
        outcome->figures.apart = compare_apart(&outcome->figures, &other.figures, &other.repeats);
        outcome->figures.known |= LS_RERUN_APART;
    }
    if (outcome->unstable_pass == LS_NO_PASS &&
        ls_pass_trace_compare(&outcome->passes, &other.passes, &pass) == LS_PASS_AT) {
        outcome->unstable_pass = pass;
    }
    ls_child_process_kill(&apart->process);
}

/* ---- once more, from the same image ---- */

/* A process that has loaded the plug-in and never stepped it, and makes copies of itself that run:
 * what one run leaves in statics and in the heap reaches no other, and each has the same addresses.
 * It waits until it is known that a repetition is of use. */
typedef struct image_process {
    ls_child_process process;
    int channel;
} image_process;

typedef enum copy_task {
    COPY_ALL,       /* every run that the helper has made */
    COPY_LAST_TICK, /* it alone, twice */
    COPY_OPPOSITE,  /* the first one, with other noise */
    COPY_ZERO,
    COPY_WATCHED, /* the first one, or the last tick, with an eye on variables and files */
} copy_task;

typedef struct copy_result {
    ls_rerun_figures figures;
    ls_rerun_repeats repeats;
} copy_result;

/* ---- the copies ---- */

static ls_replay_stretch copied_stretch(void)
{
    ls_replay_stretch stretch = here.order.stretch;
    if (is_large()) {
        stretch.first = stretch.last - 1;
        stretch.agreed = stretch.first;
        stretch.snapshot = here.before;
    }
    return stretch;
}

/* The results stand as those of whole runs do. */
static void run_last_tick(void *user)
{
    copy_result *result = user;
    const ls_replay_stretch stretch = copied_stretch();
    uint64_t results[2] = {0, 0};
    for (uint32_t i = 0; i < 2; i++) {
        ls_rerun_start(here.rerun, &stretch);
        ls_rerun_run_once(here.rerun);
        while (!ls_rerun_advance(here.rerun, 1)) {
        }
        results[i] = ls_rerun_figures_of(here.rerun)->fresh;
    }
    result->figures = *ls_rerun_figures_of(here.rerun);
    result->figures.fresh = result->figures.reloaded = results[0];
    result->figures.again = results[1];
}

static void run_with_noise(ls_noise_kind noise)
{
    ls_rerun_start(here.rerun, &here.order.stretch);
    ls_rerun_run_alone(here.rerun, noise);
    while (!ls_rerun_advance(here.rerun, 1)) {
    }
}

static bool make_runs(copy_task task)
{
    ls_text failure = {{0}};
    copy_result result = {.repeats = {0}};
    if (task == COPY_ALL || task == COPY_LAST_TICK) {
        ls_foreign_calls_delay_threads(); /* what differs then is a race, or the time's doing */
        ls_foreign_calls_shift_clock();
    }
    if (task == COPY_LAST_TICK) {
        at_one_depth(run_last_tick, &result);
        return ls_rerun_helper_write(&result, sizeof result);
    } else if (task == COPY_ALL) {
        at_one_depth(run, &failure);
    } else {
        run_with_noise(task == COPY_ZERO ? LS_NOISE_ZERO : LS_NOISE_OPPOSITE);
    }
    result = (copy_result){*ls_rerun_figures_of(here.rerun), *ls_rerun_repeats_of(here.rerun)};
    return failure.bytes[0] == '\0' && ls_rerun_helper_write(&result, sizeof result);
}

static bool send_writes(const ls_rerun_writes *writes)
{
    return ls_rerun_helper_write(writes, sizeof *writes);
}

static bool watch_writes(void)
{
    const ls_replay_stretch stretch = copied_stretch();
    return ls_rerun_writes_find(here.simulation, &here.order.match, &stretch, send_writes);
}

static int run_copy(const void *user, int channel)
{
    const uint8_t *task = user;
    (void)channel;
    return (*task == COPY_WATCHED ? watch_writes() : make_runs(*task)) ? EXIT_OK : EXIT_BAD;
}

/* A copy that crashes says nothing, and neither does the image from then on. */
static int keep_image(const void *user, int channel)
{
    uint8_t task = 0;
    (void)user;
    ls_socket_close(here.pipe_out);
    here.pipe_out = channel;
    while (ls_socket_receive_all(channel, &task, sizeof task, LS_CHILD_WAIT_FOREVER) == LS_OK) {
        const ls_child_process_work work = {.run = run_copy, .user = &task};
        ls_child_process copy;
        ls_child_process_end end;
        if (ls_child_process_fork(&work, &copy, NULL, NULL) != LS_OK) {
            return EXIT_BAD;
        }
        ls_child_process_wait(&copy, LS_CHILD_WAIT_FOREVER, &end);
        if (end.exit_code != EXIT_OK) {
            return EXIT_BAD;
        }
    }
    return EXIT_OK;
}

static image_process start_image(void)
{
    static const ls_child_process_work work = {.run = keep_image};
    image_process made = {.channel = -1};
    if (is_large()) {
        here.before = ls_shared_memory_acquire(here.order.match.state_bytes);
    }
    if (!is_asked_for(LS_RERUN_WITH_FIRST_RUN_ALONE) && (!is_large() || here.before)) {
        (void)ls_child_process_fork(&work, &made.process, &made.channel, NULL);
    }
    return made;
}

static bool ask_image(const image_process *image, uint8_t task, void *out, size_t size)
{
    uint32_t wait_ms = left_ms();
    return wait_ms > 0 && ls_socket_send_all(image->channel, &task, sizeof task) == LS_OK &&
           ls_socket_receive_all(image->channel, out, size, wait_ms) == LS_OK;
}

/* Nothing in the process made a difference: what differs then between two of them at the end is
 * what each has of its own, such as its id. */
static bool is_one_result(const copy_result *result)
{
    const ls_rerun_figures *figures = &result->figures;
    return figures->again == figures->fresh && figures->reloaded == figures->fresh &&
           result->repeats.other == 0;
}

static bool is_same_result(const copy_result *a, const copy_result *b)
{
    return a->figures.known == b->figures.known && a->figures.strayed == b->figures.strayed &&
           a->figures.fresh == b->figures.fresh && a->figures.again == b->figures.again &&
           a->figures.reloaded == b->figures.reloaded && a->repeats.digest == b->repeats.digest;
}

/* The runs once more: nothing is changed, so that a race or chance makes what differs. Where only
 * the last tick is, all that are compared are such copies: one alone gets another result than the
 * first run where that has carried something on from the ticks before. False: there was no time. */
static bool repeat_runs(const image_process *image, ls_rerun_figures *figures)
{
    const copy_task task = is_large() ? COPY_LAST_TICK : COPY_ALL;
    copy_result first = {*ls_rerun_figures_of(here.rerun), *ls_rerun_repeats_of(here.rerun)};
    if (is_large() && !ask_image(image, COPY_LAST_TICK, &first, sizeof first)) {
        return false;
    }
    uint32_t others = 0;
    bool is_own = is_one_result(&first);
    uint64_t other = 0;
    for (uint32_t i = 1; i < LS_RERUN_TIMES; i++) {
        copy_result result;
        if (!ask_image(image, (uint8_t)task, &result, sizeof result)) {
            return false; /* what is known of some tells nothing of all */
        }
        bool is_same = is_same_result(&first, &result);
        others += !is_same;
        is_own = is_own && is_one_result(&result);
        other = is_same ? other : result.figures.fresh;
    }
    if (others > 0 && is_own && other != figures->fresh) {
        figures->apart = other;
        figures->known |= LS_RERUN_APART;
    } else if (others > 0) {
        figures->apart = others;
        figures->known = (figures->known & ~LS_RERUN_APART) | LS_RERUN_RACES;
    } else if (is_large() && !(figures->known & LS_RERUN_RELOADED)) {
        figures->reloaded = first.figures.fresh;
        figures->known |= LS_RERUN_RELOADED;
    }
    return true;
}

/* An earlier run may have made the difference that the noise seems to have made. Where copies show
 * that the noise does, and agree without it, another process that has other bytes in that memory
 * shows the same once more. */
static void repeat_noise(const image_process *image, ls_rerun_figures *figures)
{
    copy_result opposite, zero;
    if (!(figures->known & LS_RERUN_REPEATED) ||
        !ask_image(image, COPY_OPPOSITE, &opposite, sizeof opposite) ||
        !ask_image(image, COPY_ZERO, &zero, sizeof zero)) {
        return;
    }
    if (opposite.figures.fresh == figures->fresh && zero.figures.fresh == figures->fresh) {
        figures->known = (figures->known & ~LS_RERUN_REPEATED) | LS_RERUN_CHANGED;
    } else {
        figures->apart = figures->fresh;
        figures->known |= LS_RERUN_APART;
    }
}

static bool is_other(const ls_rerun_figures *figures, uint32_t which, uint64_t state_hash)
{
    return (figures->known & which) && state_hash != figures->fresh;
}

static bool is_worth_repeating(const ls_rerun_figures *figures)
{
    return is_other(figures, LS_RERUN_APART, figures->apart) || figures->strayed < figures->tick ||
           is_other(figures, LS_RERUN_AGAIN, figures->again) ||
           is_other(figures, LS_RERUN_RELOADED, figures->reloaded) ||
           figures->fresh != figures->live || ls_rerun_repeats_of(here.rerun)->other != 0;
}

/* They come twice: the second time with what each of them changes, if that does no harm. */
static void name_writes(const image_process *image, ls_rerun_outcome *outcome)
{
    ls_rerun_writes writes;
    bool is_there = ask_image(image, COPY_WATCHED, &writes, sizeof writes);
    for (uint32_t i = 0; i < 2 && is_there; i++) {
        const int cut = LS_TEXT_BYTES_MAX - 1; /* the plug-in may have written over it */
        ls_text_set(&outcome->outside, "%.*s", cut, writes.outside.bytes);
        ls_text_set(&outcome->harmless, "%.*s", cut, writes.harmless.bytes);
        is_there = i == 0 && ls_socket_receive_all(image->channel, &writes, sizeof writes,
                                                   LS_MIN(left_ms(), PROOF_MS_MAX)) == LS_OK;
    }
}

static void use_image(image_process *image, ls_rerun_outcome *outcome)
{
    const uint32_t all = LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED;
    ls_rerun_figures *figures = &outcome->figures;
    bool is_whole = is_large() ? here.has_before : (figures->known & all) == all;
    if (image->process.id == 0) {
        return; /* none, or used */
    }
    if (is_whole && is_worth_repeating(figures)) {
        if (!repeat_runs(image, figures)) {
            figures->known &= ~LS_RERUN_RELOADED; /* nothing has a name that is not repeated */
        }
        if (!(figures->known & LS_RERUN_RACES)) {
            repeat_noise(image, figures);
        }
    }
    const uint64_t half_ns = here.order.time_max_ms * LS_NS_PER_MS / 2;
    if (is_whole && (is_large() || spent_ns() < half_ns)) {
        name_writes(image, outcome);
    }
    ls_child_process_kill(&image->process);
}

/* In the place of the snapshot, which nothing needs any more, or behind it. */
static bool leave_state(const uint8_t *state, ls_rerun_which which)
{
    const uint64_t size = here.order.match.state_bytes;
    const uint64_t at = which == LS_RERUN_REACHED ? here.states_at - size : here.states_at;
    return state && ls_shared_memory_write(LS_CHILD_INPUT, state, (size_t)size, at);
}

static void leave_states(ls_rerun_outcome *outcome)
{
    outcome->is_left[LS_RERUN_REACHED] = leave_state(outcome->state, LS_RERUN_REACHED);
    outcome->is_left[LS_RERUN_BEHIND_PASS] = leave_state(outcome->pass_state, LS_RERUN_BEHIND_PASS);
    outcome->state = NULL;
    outcome->pass_state = NULL;
}

static bool write_outcome(const ls_text *failure, apart_process *apart, image_process *image)
{
    uint8_t head[LS_RERUN_PIPE_OUTCOME_HEAD_BYTES_MAX];
    ls_rerun_outcome outcome = {.failure = *failure, .unstable_pass = LS_NO_PASS};
    if (here.rerun) {
        outcome.figures = *ls_rerun_figures_of(here.rerun);
        outcome.passes = *ls_rerun_passes(here.rerun);
        outcome.unstable_pass = ls_rerun_unstable_pass(here.rerun);
        if (is_large()) { /* what takes one tick comes before what takes all */
            use_image(image, &outcome);
        }
        collect_apart(apart, failure->bytes[0] == '\0', &outcome);
        use_image(image, &outcome);
        outcome.state = ls_rerun_state(here.rerun);
        outcome.pass_state = ls_rerun_pass_state(here.rerun);
    }
    if (here.states_at > 0 &&
        ls_rerun_pipe_leaves_states(here.order.match.state_bytes, here.order.pass)) {
        leave_states(&outcome);
    }
    uint32_t state_bytes = here.order.match.state_bytes;
    return ls_rerun_helper_write(head, ls_rerun_pipe_write_outcome_head(&outcome, head)) &&
           (!outcome.state || ls_rerun_helper_write(outcome.state, state_bytes)) &&
           (!outcome.pass_state || ls_rerun_helper_write(outcome.pass_state, state_bytes));
}

const ls_rerun_order *ls_rerun_helper_begin(void)
{
    size_t size = 0;
    const ls_clock clock = ls_clock_system();
    here.began_ns = ls_clock_now_ns(&clock);
    const uint8_t *bytes = stand_apart() ? read_request(&size) : NULL;
    if (!bytes ||
        ls_rerun_pipe_read_request(bytes, size, ls_allocator_heap(), &here.order) != LS_OK) {
        return NULL;
    }
    /* The match goes first. Not while this reads: a large state comes in hundreds of pieces, and it
     * would wait for its turn at each. Behind all others the first run of a large state would never
     * end where the match takes all of the processors. */
    ls_machine_give_way(!is_large());
    change_surroundings(here.order.match.surroundings);
    if (here.order.match.surroundings & LS_RERUN_WITH_OTHER_ADDRESSES) {
        move_addresses();
    }
    ls_step_noise noise = ls_rerun_first_noise(&here.order.stretch, 0, here.order.match.noise);
    fill_heap(&noise);
    return &here.order;
}

int ls_rerun_helper_run(void)
{
    ls_text failure = {{0}};
    if (!ls_rerun_helper_begin()) {
        return EXIT_BAD;
    }
    apart_process apart = start_apart();
    ls_crash_signal_watch(on_crash, true);
    image_process image = {.channel = -1};
    if (load(is_asked_for(LS_RERUN_WITH_FIRST_RUN_ALONE), &failure) == LS_OK) {
        image = start_image();
        at_one_depth(run, &failure);
    }
    here.pace = passed_ns() * PACE_UNIT / LS_MAX(spent_ns(), 1);
    bool is_written = write_outcome(&failure, &apart, &image);
    _Exit(is_written ? EXIT_OK : EXIT_BAD); /* without what a plug-in does at the end */
}
