#include "lockstep/tests/support/unseen_machine.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/desync_class.h"

#include <string.h>

#define RUN_NS (200 * LS_NS_PER_MS) /* that a re-run takes, with its processes */

/* ---- the simulation ---- */

static uint32_t ballast_words(const ls_sim_config *config)
{
    const unseen_machine *machine = config->user;
    return machine->ballast_words;
}

static size_t state_bytes(const ls_sim_config *config)
{
    return sizeof(unseen_state) + ballast_words(config) * sizeof(uint64_t);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    const ls_field list[] = {
        LS_FIELD_OF(unseen_state, sum, LS_FIELD_U64, ""),
        LS_FIELD_OF(unseen_state, ticks, LS_FIELD_U32, "ticks"),
        LS_FIELD_OF(unseen_state, wrong, LS_FIELD_U32, ""),
        LS_FIELD_OF(unseen_state, score, LS_FIELD_U32, "points"),
        LS_FIELD_OF(unseen_state, shadow, LS_FIELD_U32, ""),
        LS_FIELD_OF(unseen_state, players, LS_FIELD_U64, ""),
        LS_FIELD_ARRAY_OF(unseen_state, cells, UNSEEN_CELLS, LS_FIELD_U64, ""),
        LS_FIELD_OF(unseen_state, tail, LS_FIELD_U32, ""),
        LS_FIELD_OF(unseen_state, spare, LS_FIELD_U32, ""),
        {"ballast", "", LS_FIELD_U64, 1, ballast_words(config), sizeof(unseen_state), 8},
    };
    uint32_t count = sizeof list / sizeof list[0] - (ballast_words(config) == 0);
    return ls_fields_copy(list, count, out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((unseen_state *)state)->sum = config->seed;
    return LS_OK;
}

static unseen_machine *machine_of(const ls_step *step)
{
    return step->config->user;
}

/* The fault, where this step has it. */
static unseen_fault fault_of(const ls_step *step)
{
    const unseen_machine *machine = machine_of(step);
    ls_tick tick = step->inputs->tick;
    bool is_due = tick >= machine->from && (machine->until == 0 || tick < machine->until);
    return is_due ? machine->fault : UNSEEN_NONE;
}

static bool is_live(const ls_step *step)
{
    return !machine_of(step)->now->is_helper;
}

static void gather(const ls_step *step)
{
    unseen_state *state = step->state;
    unseen_fault fault = fault_of(step);
    bool is_late = fault == UNSEEN_LATE_INPUT && is_live(step);
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        state->sum = state->sum * 31 + input->size + input->events;
        for (uint32_t i = 0; i < input->size; i++) {
            state->sum = state->sum * 31 + (is_late ? 0 : input->bytes[i]);
        }
    }
    state->spare += fault == UNSEEN_TWO_PASSES ? 3 : 1;
}

__attribute__((noinline)) static uint32_t junk_on_the_stack(void)
{
    volatile uint8_t junk[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
    uint32_t sum = 0;
    for (uint32_t i = 0; i < sizeof junk; i++) {
        sum = sum * 3 + junk[i];
    }
#pragma GCC diagnostic pop
    return sum;
}

/* The value that the fault gives; right ones give 0 or what all machines give. */
static uint32_t wrong_of(const ls_step *step)
{
    unseen_machine *machine = machine_of(step);
    unseen_process *process = machine->now;
    switch (fault_of(step)) {
    case UNSEEN_CONSTANT:
        return machine->part;
    case UNSEEN_CONVERSION:
        return step->inputs->tick % 7 == 0 ? 0x80000000u : 0;
    case UNSEEN_COUNTER:
        return process->calls;
    case UNSEEN_STREAM:
        return process->calls * 2654435761u;
    case UNSEEN_STACK:
        return is_live(step) ? machine->part : junk_on_the_stack();
    case UNSEEN_ADDRESS:
        return process->address;
    case UNSEEN_CLOCK:
        return (uint32_t)process->clock++ * 7919u;
    case UNSEEN_VARIABLE:
        return process->variable;
    case UNSEEN_LOCALE:
        return process->locale;
    case UNSEEN_FILE:
    case UNSEEN_DENORMALS:
        return machine->part;
    default:
        return 0;
    }
}

/* The amount that the fault adds to `score`, which steps write anyway. */
static uint32_t gain_of(const ls_step *step)
{
    unseen_fault fault = fault_of(step);
    uint32_t lost = fault == UNSEEN_RACE && is_live(step) ? 1 : 0;
    bool is_cached = fault == UNSEEN_CACHE || fault == UNSEEN_MODE_LEFT;
    return (is_cached ? machine_of(step)->now->cache : 0) - lost;
}

static void spread(const ls_step *step)
{
    unseen_state *state = step->state;
    unseen_machine *machine = machine_of(step);
    unseen_fault fault = fault_of(step);
    machine->now->calls++;
    state->wrong = wrong_of(step);
    state->score += 5 + (fault == UNSEEN_FUSED) + gain_of(step);
    state->players ^= UINT64_C(1) << (fault == UNSEEN_BITFIELD ? 63 : state->ticks % 63);
    for (uint32_t i = 0; i < UNSEEN_CELLS; i++) {
        state->cells[i] += (state->sum >> (i % 8) & 0xffu) +
                           (fault == UNSEEN_WIDE_CACHE ? machine->now->cache : 0);
    }
    if (fault == UNSEEN_ORDER) {
        uint64_t kept = state->cells[10];
        state->cells[10] = state->cells[11];
        state->cells[11] = kept;
    }
    uint64_t *ballast = (uint64_t *)(state + 1);
    for (uint32_t i = 0; i < ballast_words(step->config) / 64; i++) {
        ballast[i * 64 + state->ticks % 64] += state->sum;
    }
    if (fault == UNSEEN_PAST_END) {
        state->tail = 9;
    }
}

static void finish(const ls_step *step)
{
    unseen_state *state = step->state;
    state->ticks++;
    state->tail += fault_of(step) == UNSEEN_TWO_PASSES ? 2 : 1;
    for (uint32_t i = 0; fault_of(step) == UNSEEN_DAMAGE && is_live(step) && i < UNSEEN_CELLS;
         i++) {
        state->cells[i] ^= UINT64_C(1) << (i % 64);
    }
    if (fault_of(step) == UNSEEN_DRAW && is_live(step)) {
        state->shadow = step->inputs->tick * 2654435761u; /* as drawing this state would leave it */
    }
}

static const ls_pass passes[] = {{"gather", gather}, {"spread", spread}, {"finish", finish}};

static const ls_simulation unseen_simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "unseen",
    .summary = "goes wrong in many ways",
    .default_tick_rate_hz = 60,
    .default_players = 3,
    .players_max = 4,
    .input_bytes_max = 8,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .state_bytes = state_bytes,
    .fields = fields,
    .init = init,
};

/* ---- re-runs ---- */

static unseen_run *run_of(unseen_machine *machine, uint32_t ticket)
{
    for (uint32_t i = 0; i < UNSEEN_RUNS_MAX; i++) {
        if (machine->runs[i].ticket == ticket) {
            return &machine->runs[i];
        }
    }
    return NULL;
}

/* All runs of one helper process, one behind the other. */
static ls_status run_process(unseen_machine *machine, const ls_rerun_request *request,
                             unseen_process *process, ls_rerun **out)
{
    unseen_process *before = machine->now;
    const ls_sim_instance *instance = request->instance;
    machine->now = process;
    ls_status status =
        ls_rerun_create(ls_sim_instance_simulation(instance), ls_sim_instance_config(instance),
                        ls_allocator_heap(), out, NULL);
    if (status == LS_OK) {
        ls_rerun_start(*out, request->stretch);
        ls_rerun_keep_pass(*out, request->pass);
        if (request->is_single) {
            ls_rerun_run_once(*out);
        }
        while (!ls_rerun_advance(*out, 1000)) {
        }
    }
    machine->now = before;
    return status;
}

static unseen_process helper_of(const unseen_machine *machine, uint32_t number)
{
    return (unseen_process){.address = 1000 + number,
                            .clock = 5000 * number,
                            .variable = machine->live.variable,
                            .locale = machine->live.locale,
                            .is_helper = true};
}

/* As rerun_helper and rerun_apart do: the same ticks in another process, and with the surroundings
 * made equal one by one. */
static void run_apart(unseen_machine *machine, const ls_rerun_request *request,
                      ls_rerun_figures *figures)
{
    static const ls_surrounding changed[] = {LS_SURROUNDING_VARIABLES, LS_SURROUNDING_LOCALE};
    ls_rerun *other = NULL;
    unseen_process process = helper_of(machine, ++machine->tickets);
    if (run_process(machine, request, &process, &other) == LS_OK) {
        const ls_rerun_figures *seen = ls_rerun_figures_of(other);
        figures->apart = seen->fresh != figures->fresh   ? seen->fresh
                         : seen->again != figures->again ? seen->again
                                                         : figures->fresh;
        figures->known |= LS_RERUN_APART;
        ls_rerun_destroy(other);
    }
    bool is_worth_it = figures->fresh == figures->live && figures->again == figures->fresh &&
                       figures->apart == figures->fresh && figures->reloaded == figures->fresh;
    for (uint32_t i = 0; is_worth_it && i < 2; i++) {
        process = helper_of(machine, ++machine->tickets);
        process.variable = changed[i] == LS_SURROUNDING_VARIABLES ? 0 : process.variable;
        process.locale = changed[i] == LS_SURROUNDING_LOCALE ? 0 : process.locale;
        if (run_process(machine, request, &process, &other) == LS_OK) {
            bool is_moved = ls_rerun_figures_of(other)->fresh != figures->fresh;
            figures->moved |= is_moved ? LS_SURROUNDING_BIT(changed[i]) : 0;
            ls_rerun_destroy(other);
        }
    }
    figures->tried = is_worth_it ? LS_SURROUNDINGS_ALL : 0;
}

static ls_status start(void *context, const ls_rerun_request *request, uint32_t *ticket)
{
    unseen_machine *machine = context;
    unseen_run *run = run_of(machine, 0);
    if (!run) {
        return LS_NO_MEMORY;
    }
    run->process = helper_of(machine, ++machine->tickets);
    ls_status status = run_process(machine, request, &run->process, &run->rerun);
    if (status != LS_OK) {
        return status;
    }
    run->ticket = ++machine->tickets;
    run->ready_ns = 0;
    run->outcome = (ls_rerun_outcome){.figures = *ls_rerun_figures_of(run->rerun),
                                      .passes = *ls_rerun_passes(run->rerun),
                                      .unstable_pass = ls_rerun_unstable_pass(run->rerun),
                                      .state = ls_rerun_state(run->rerun),
                                      .pass_state = ls_rerun_pass_state(run->rerun)};
    if (!request->is_single) {
        run_apart(machine, request, &run->outcome.figures);
    }
    *ticket = run->ticket;
    return LS_OK;
}

static const ls_rerun_outcome *poll(void *context, uint32_t ticket, uint64_t now_ns)
{
    unseen_run *run = run_of(context, ticket);
    LS_ASSERT(run != NULL);
    run->ready_ns = run->ready_ns == 0 ? now_ns + RUN_NS : run->ready_ns;
    return now_ns >= run->ready_ns ? &run->outcome : NULL;
}

static void release(void *context, uint32_t ticket)
{
    unseen_run *run = run_of(context, ticket);
    LS_ASSERT(ticket != 0 && run != NULL);
    ls_rerun_destroy(run->rerun);
    *run = (unseen_run){0};
}

void unseen_machine_init(unseen_machine *machine)
{
    *machine = (unseen_machine){.simulation = unseen_simulation};
    machine->simulation.user = machine;
    machine->now = &machine->live;
    machine->host =
        (ls_rerun_host){.context = machine, .start = start, .poll = poll, .release = release};
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        ls_build_fingerprint_set(&machine->print, (ls_fingerprint_item)item, "the same");
    }
}
