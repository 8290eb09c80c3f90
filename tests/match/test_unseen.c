/* Faults that no other test has, live: a server and three clients over a link of 100 ms and with 5
 * % loss. Each is named with its first bad tick, its pass, its field and its class, or the class is
 * unknown and says why; it is never a wrong one. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/rerun.h"
#include "lockstep/common/diagnosis/rerun_host.h"
#include "lockstep/server/investigation/desync_finding.h"

#include "lockstep/tests/match/match_test.h"

#include <string.h>

/* ==== the machine ==== */

/* Unseen machine: one machine of a match whose simulation goes wrong on it: what its process holds
 * beside the state, and a rerun host that simulates again in processes of their own, in which
 * statics are as when the plug-in is loaded, and addresses and the time are others. The fault is
 * planted by kind. */

enum {
    UNSEEN_CELLS = 300,
    UNSEEN_RUNS_MAX = 32,
};

typedef struct unseen_state {
    uint64_t sum; /* of all inputs */
    uint32_t ticks;
    uint32_t wrong;   /* what the fault gives, computed anew in each step */
    uint32_t score;   /* what it gives, added up */
    uint32_t shadow;  /* no pass writes it */
    uint64_t players; /* a bit for each of 64 */
    uint64_t cells[UNSEEN_CELLS];
    uint32_t tail; /* lies behind the cells */
    uint32_t spare;
} unseen_state;

typedef enum unseen_fault {
    UNSEEN_NONE,
    UNSEEN_CONSTANT,   /* another constant in `wrong` */
    UNSEEN_CONVERSION, /* float to int out of range: a value at some ticks alone */
    UNSEEN_FUSED,      /* the last bit of `score` */
    UNSEEN_PAST_END,   /* writes cells[UNSEEN_CELLS] */
    UNSEEN_BITFIELD,   /* player 63 is another bit */
    UNSEEN_ORDER,      /* two values change places */
    UNSEEN_TWO_PASSES, /* two faults at once, in gather and finish */
    UNSEEN_COUNTER,    /* a static that counts frames */
    UNSEEN_STREAM,     /* a random stream in a static */
    UNSEEN_CACHE,      /* a static that something outside the step has set, one value */
    UNSEEN_WIDE_CACHE, /* the same, all cells */
    UNSEEN_RACE,       /* a lost update, once */
    UNSEEN_STACK,      /* memory on the stack that is not set */
    UNSEEN_ADDRESS,    /* the order of pointers */
    UNSEEN_CLOCK,      /* the time */
    UNSEEN_VARIABLE,   /* an environment variable */
    UNSEEN_LOCALE,     /* the language */
    UNSEEN_FILE,       /* what a file holds */
    UNSEEN_DENORMALS,  /* a library has set a mode for the whole process */
    UNSEEN_MODE_LEFT,  /* a callback has left a mode in the live process alone */
    UNSEEN_DRAW,       /* draw writes to the state */
    UNSEEN_DAMAGE,     /* bits of all cells change in the live process */
    UNSEEN_LATE_INPUT, /* an input is applied a tick late, once */
} unseen_fault;

/* Statics and surroundings of one process. */
typedef struct unseen_process {
    uint32_t calls;
    uint32_t cache;
    uint32_t address;
    uint64_t clock;
    uint32_t variable;
    uint32_t locale;
    bool is_helper;
} unseen_process;

typedef struct unseen_run {
    uint32_t ticket; /* 0: free */
    uint64_t ready_ns;
    ls_rerun *rerun;
    unseen_process process;
    ls_rerun_outcome outcome;
} unseen_run;

typedef struct unseen_machine {
    unseen_fault fault;
    uint32_t part;          /* what the fault gives here, where other machines have it too */
    uint32_t ballast_words; /* of 8 bytes behind the state, of all machines alike */
    ls_tick from;           /* of the first step that goes wrong */
    ls_tick until;          /* and of the first one that does not any more; 0: never */
    unseen_process live;
    unseen_process *now; /* in which steps are made */
    ls_build_fingerprint print;
    ls_simulation simulation;
    ls_rerun_host host;
    uint64_t now_ns;
    uint32_t tickets;
    unseen_run runs[UNSEEN_RUNS_MAX];
} unseen_machine;

#define RUN_NS (200 * LS_NS_PER_MS) /* that a re-run takes, with its processes */

/* ---- the simulation ---- */

static uint32_t ballast_words_of(const ls_sim_config *config)
{
    const unseen_machine *machine = config->user;
    return machine->ballast_words;
}

static size_t state_bytes(const ls_sim_config *config)
{
    return sizeof(unseen_state) + ballast_words_of(config) * sizeof(uint64_t);
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
        {"ballast", "", LS_FIELD_U64, 1, ballast_words_of(config), sizeof(unseen_state), 8},
    };
    uint32_t count = sizeof list / sizeof list[0] - (ballast_words_of(config) == 0);
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
    for (uint32_t i = 0; i < ballast_words_of(step->config) / 64; i++) {
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

/* Makes it a machine like all others. */
static void unseen_machine_init(unseen_machine *machine)
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

/* ==== the matches ==== */

enum {
    MACHINES = 4, /* the server, and three clients */
    TICKS = 420,
    FROM = 101,
    COMES = 150,
    LARGER_WORDS = 64 << 10,
    SERVER = 1u << 0,
    FIRST = 1u << 1,
    NEXT = 1u << 2,
    THIRD = 1u << 3,
    CLIENTS = FIRST | NEXT | THIRD,
    ALL = SERVER | CLIENTS,
};

typedef enum print_change {
    SAME_PRINT,
    OTHER_BUILD,
    OTHER_VARIABLES,
    OTHER_LOCALE,
    OTHER_FILES,
    OTHER_FLOAT,
} print_change;

static const ls_fingerprint_item changed_items[] = {
    [OTHER_BUILD] = LS_PRINT_SIMULATION, [OTHER_VARIABLES] = LS_PRINT_VARIABLES,
    [OTHER_LOCALE] = LS_PRINT_LOCALE,    [OTHER_FILES] = LS_PRINT_FILES,
    [OTHER_FLOAT] = LS_PRINT_FLOAT,
};

/* How the case is played, and what the report says of it. */
typedef struct unseen_case {
    const char *name;
    unseen_fault fault;
    uint32_t faulty;     /* machines that have the fault, as bits */
    uint32_t part[2];    /* the server's, and that of the first client */
    print_change change; /* of the faulty clients, or of the server where it alone is */
    ls_tick from;        /* 0: FROM */
    ls_tick lasts;       /* ticks; 0: to the end */
    bool is_late;        /* the third client comes when the match runs */
    bool is_back;        /* the first client has lost its link before, and is back */
    bool is_flip;        /* `fault` is none: a bit of the first client's state is flipped */
    bool is_healed;      /* likewise, and it is healed before the fault begins */
    bool is_passing;     /* states that are compared seldom do not show it */
    const char *pass;    /* NULL: none is named */
    const char *field;   /* the first that is listed */
    ls_desync_class kind;
    const char *says; /* what the report says as well; NULL: nothing of order */
} unseen_case;

#define BUILD LS_DESYNC_CLASS_BUILD
#define ONE_OFF LS_DESYNC_CLASS_ONE_OFF
#define OUTSIDE LS_DESYNC_CLASS_OUTSIDE
#define UNSTABLE LS_DESYNC_CLASS_UNSTABLE
#define ENVIRONMENT LS_DESYNC_CLASS_ENVIRONMENT
#define PROCESS LS_DESYNC_CLASS_PROCESS
#define UNKNOWN LS_DESYNC_CLASS_UNKNOWN

#define OF_BUILD .faulty = FIRST, .change = OTHER_BUILD, .kind = BUILD
#define SPREAD .pass = "spread"
#define IN(field_) .field = (field_)

static const unseen_case cases[] = {
    {"another constant", UNSEEN_CONSTANT, OF_BUILD, .part = {0, 6}, SPREAD, IN("wrong")},
    {"a conversion out of range", UNSEEN_CONVERSION, OF_BUILD, .from = 119, SPREAD, IN("wrong")},
    {"a fused operation", UNSEEN_FUSED, OF_BUILD, SPREAD, IN("score")},
    {"an array written past its end", UNSEEN_PAST_END, OF_BUILD, SPREAD, IN("tail")},
    {"one of 64 players", UNSEEN_BITFIELD, OF_BUILD, SPREAD, IN("players")},
    {"the order of a table", UNSEEN_ORDER, OF_BUILD, SPREAD, IN("cells[10]"),
     .says = "their order alone"},
    {"two faults at once", UNSEEN_TWO_PASSES, OF_BUILD, .pass = "gather", IN("spare")},
    {"from the first steps on", UNSEEN_FUSED, OF_BUILD, .from = 1, SPREAD, IN("score")},
    {"in one step", UNSEEN_FUSED, OF_BUILD, .lasts = 1, SPREAD, IN("score")},
    {"gone before the next hash", UNSEEN_CONSTANT, OF_BUILD, .part = {0, 6}, .lasts = 1,
     .is_passing = true, SPREAD, IN("wrong")},
    {"one who is back", UNSEEN_FUSED, OF_BUILD, .from = 250, .is_back = true, SPREAD, IN("score")},
    {"one who was healed", UNSEEN_FUSED, OF_BUILD, .from = 301, .lasts = 1, .is_healed = true,
     SPREAD, IN("score")},
    {"two of three clients", UNSEEN_FUSED, FIRST | NEXT, .change = OTHER_BUILD, SPREAD, IN("score"),
     BUILD},
    {"the server alone", UNSEEN_FUSED, SERVER, .change = OTHER_BUILD, SPREAD, IN("score"), BUILD},
    {"a build that comes late", UNSEEN_FUSED, THIRD, .change = OTHER_BUILD, .is_late = true, SPREAD,
     IN("score"), BUILD},
    {"a frame counter, and one comes late", UNSEEN_COUNTER, ALL, .is_late = true, SPREAD,
     IN("wrong"), OUTSIDE},
    {"a random stream, and one comes late", UNSEEN_STREAM, ALL, .is_late = true, SPREAD,
     IN("wrong"), OUTSIDE},
    {"a flipped bit", UNSEEN_NONE, .is_flip = true, IN("shadow"), ONE_OFF},
    {"300 damaged values", UNSEEN_DAMAGE, FIRST, .lasts = 1, SPREAD, IN("cells[0]"), UNKNOWN},
    {"300 damaged values of the server", UNSEEN_DAMAGE, SERVER, .lasts = 1, SPREAD, IN("cells[0]"),
     UNKNOWN},
    {"a cache that something else has warmed", UNSEEN_CACHE, FIRST, .part = {0, 0x5a5a5a5a}, SPREAD,
     IN("score"), UNKNOWN},
    {"a cache for many values", UNSEEN_WIDE_CACHE, FIRST, .part = {0, 0x5a5a5a5a}, SPREAD,
     IN("cells[0]"), UNKNOWN},
    {"a mode that a callback has left", UNSEEN_MODE_LEFT, FIRST, .part = {0, 0x3c3c3c3c}, SPREAD,
     IN("score"), UNKNOWN},
    {"a lost update", UNSEEN_RACE, FIRST, .lasts = 1, SPREAD, IN("score"), ONE_OFF},
    {"drawing", UNSEEN_DRAW, FIRST, IN("shadow"), ONE_OFF},
    {"drawing, on the server", UNSEEN_DRAW, SERVER, IN("shadow"), ONE_OFF},
    {"an input applied late", UNSEEN_LATE_INPUT, FIRST, .lasts = 1, .pass = "gather", IN("sum"),
     UNKNOWN},
    {"a stack that is not set",
     UNSEEN_STACK,
     ALL,
     {0x1234567, 0x89abcde},
     SPREAD,
     IN("wrong"),
     UNSTABLE},
    {"the order of pointers", UNSEEN_ADDRESS, ALL, {1, 2}, SPREAD, IN("wrong"), PROCESS},
    {"the time", UNSEEN_CLOCK, ALL, {100, 200}, SPREAD, IN("wrong"), PROCESS},
    {"a variable", UNSEEN_VARIABLE, ALL, {3, 4}, OTHER_VARIABLES, SPREAD, IN("wrong"), ENVIRONMENT},
    {"the language", UNSEEN_LOCALE, ALL, {5, 6}, OTHER_LOCALE, SPREAD, IN("wrong"), ENVIRONMENT},
    {"a file", UNSEEN_FILE, ALL, {7, 8}, OTHER_FILES, SPREAD, IN("wrong"), ENVIRONMENT},
    {"denormals that a library flushes",
     UNSEEN_DENORMALS,
     ALL,
     {9, 10},
     OTHER_FLOAT,
     SPREAD,
     IN("wrong"),
     ENVIRONMENT},
    {"a file that the plug-in does not name",
     UNSEEN_FILE,
     ALL,
     {7, 8},
     SPREAD,
     IN("wrong"),
     ENVIRONMENT},
};

/* One who comes when the match runs, and differs in its first steps. */
#define LATE .is_late = true
#define OF_LATE_BUILD .faulty = THIRD, .change = OTHER_BUILD, LATE, .kind = BUILD

static const unseen_case late_cases[] = {
    {"a late constant", UNSEEN_CONSTANT, OF_LATE_BUILD, .part = {0, 6}, SPREAD, IN("wrong")},
    {"a late fused operation", UNSEEN_FUSED, OF_LATE_BUILD, SPREAD, IN("score")},
    {"a late write past an end", UNSEEN_PAST_END, OF_LATE_BUILD, SPREAD, IN("tail")},
    {"a late bit field", UNSEEN_BITFIELD, OF_LATE_BUILD, SPREAD, IN("players")},
    {"two late faults", UNSEEN_TWO_PASSES, OF_LATE_BUILD, .pass = "gather", IN("spare")},
    {"a late frame counter", UNSEEN_COUNTER, ALL, LATE, SPREAD, IN("wrong"), OUTSIDE},
    {"a late random stream", UNSEEN_STREAM, ALL, LATE, SPREAD, IN("wrong"), OUTSIDE},
    {"a cache that is cold late", UNSEEN_CACHE, ALL, {77, 0}, LATE, SPREAD, IN("score"), OUTSIDE},
    {"a wide cache that is cold late",
     UNSEEN_WIDE_CACHE,
     ALL,
     {77, 0},
     LATE,
     SPREAD,
     IN("cells[0]"),
     OUTSIDE},
    {"a late stack that is not set",
     UNSEEN_STACK,
     ALL,
     {0x1234567, 0x89abcde},
     LATE,
     SPREAD,
     IN("wrong"),
     UNSTABLE},
    {"a late order of pointers", UNSEEN_ADDRESS, ALL, {1, 2}, LATE, SPREAD, IN("wrong"), PROCESS},
    {"a late clock", UNSEEN_CLOCK, ALL, {100, 200}, LATE, SPREAD, IN("wrong"), PROCESS},
    {"a late variable",
     UNSEEN_VARIABLE,
     ALL,
     {3, 4},
     OTHER_VARIABLES,
     LATE,
     SPREAD,
     IN("wrong"),
     ENVIRONMENT},
    {"a late file", UNSEEN_FILE, ALL, {7, 8}, OTHER_FILES, LATE, SPREAD, IN("wrong"), ENVIRONMENT},
};

/* ---- playing ---- */

static unseen_machine machines[MACHINES];
static uint32_t ballast_words;

static bool has_fault(const unseen_case *what, uint32_t machine)
{
    return what->faulty >> machine & 1u;
}

/* The client whose difference is looked at. */
static uint32_t judged(const unseen_case *what)
{
    return what->is_late ? 2 : 0;
}

static void prepare(const unseen_case *what, uint32_t index)
{
    unseen_machine *machine = &machines[index];
    /* Of several clients one differs from the server, or all would outvote it. */
    bool is_like_server = index == 0 || (what->faulty == ALL && index != judged(what) + 1);
    bool is_changed =
        what->faulty == SERVER ? index == 0 : !is_like_server && has_fault(what, index);
    uint32_t own = what->part[!is_like_server];
    unseen_machine_init(machine);
    machine->fault = has_fault(what, index) ? what->fault : UNSEEN_NONE;
    machine->from = what->from != 0 ? what->from : FROM;
    machine->until = what->lasts > 0 ? machine->from + what->lasts : 0;
    machine->part = own;
    machine->ballast_words = ballast_words;
    machine->live = (unseen_process){
        .cache = own, .address = own, .clock = own, .variable = own, .locale = own};
    if (is_changed && what->change != SAME_PRINT) {
        ls_build_fingerprint_set(&machine->print, changed_items[what->change], "another");
    }
}

static virtual_client *add_machine(virtual_match *run, uint32_t index, bool is_late)
{
    virtual_client_setup client = virtual_client_setup_default(run);
    client.simulation = &machines[index].simulation;
    client.session.rerun_host = &machines[index].host;
    client.session.print = &machines[index].print;
    client.comes_later = is_late;
    return virtual_match_add_client(run, &client);
}

static virtual_match *play(const unseen_case *what, uint32_t interval, uint64_t seed)
{
    for (uint32_t i = 0; i < MACHINES; i++) {
        prepare(what, i);
    }
    virtual_setup setup = virtual_setup_default(&machines[0].simulation, 3, TICKS);
    setup.clients = 0;
    setup.seed = seed;
    setup.link = (ls_link_config){.delay_ns = 50 * MS, .loss_ppm = 50000};
    setup.match.start_players = what->is_late ? 2 : 3;
    setup.match.hash_interval_ticks = interval;
    setup.match.on_desync = what->is_healed ? LS_ON_DESYNC_HEAL : LS_ON_DESYNC_REPORT;
    setup.match.rerun_host = &machines[0].host;
    setup.match.print = &machines[0].print;
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 1; i < MACHINES; i++) {
        add_machine(run, i, what->is_late && i == 3);
    }
    if (what->is_flip || what->is_healed) {
        flip_bit(run->clients[0], FROM + 1, offsetof(unseen_state, shadow));
    }
    if (what->is_late) {
        virtual_match_run_to_tick(run, COMES);
        virtual_client_come(run->clients[2]);
    }
    if (what->is_back) {
        virtual_match_run_to_tick(run, FROM);
        cut_link(run->clients[0], true);
        virtual_match_run(run, SECOND);
        cut_link(run->clients[0], false);
    }
    virtual_match_run_to_end(run);
    return run;
}

/* The first tick that differs of one who comes late is that of its first step. */
static ls_tick first_tick(const virtual_match *run, const unseen_case *what, uint32_t slot)
{
    const virtual_event *joining = virtual_match_find_slot(run, LS_MATCH_PLAYER_JOINING, slot);
    if (what->is_late) {
        cr_assert_not_null(joining);
        return joining->event.tick + 1;
    }
    return (what->from != 0 ? what->from : FROM) + 1;
}

static void check_case(const unseen_case *what, uint32_t interval, uint64_t seed)
{
    virtual_match *run = play(what, interval, seed);
    uint32_t slot = report_of(run->clients[judged(what)]).slot;
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    ls_text about;
    ls_text_set(&about, "%s, hashed every %u ticks", what->name, interval);
    if (what->is_passing && interval > 1) {
        cr_assert_null(finding, "%s", about.bytes);
        virtual_match_destroy(run);
        return;
    }
    cr_assert_not_null(finding, "%s", about.bytes);
    ls_text_add(&about, ": %s", finding->verdict.why.bytes);
    cr_expect_eq(finding->first_tick, first_tick(run, what, slot), "%s: tick %u", about.bytes,
                 finding->first_tick);
    cr_expect_str_eq(finding->pass ? finding->pass : "", what->pass ? what->pass : "", "%s",
                     about.bytes);
    cr_assert_gt(finding->place_count, 0, "%s", about.bytes);
    cr_expect_str_eq(finding->places[0].name, what->field, "%s", about.bytes);
    cr_expect_eq(finding->verdict.kind, what->kind, "%s", about.bytes);
    const char *says = what->says ? what->says : "order alone";
    cr_expect_eq(strstr(finding->verdict.why.bytes, says) != NULL, what->says != NULL, "%s",
                 about.bytes);
    cr_expect_gt(strlen(finding->verdict.why.bytes),
                 strlen(ls_desync_class_text(finding->verdict.kind)) + 2, "%s", about.bytes);
    cr_expect_leq(finding->took_ns, 3 * SECOND, "%s", about.bytes);
    for (uint32_t other = 0; other < 3; other++) {
        bool is_bad = other == judged(what) || has_fault(what, other + 1) || what->faulty == SERVER;
        uint32_t its = report_of(run->clients[other]).slot;
        cr_expect(is_bad || virtual_match_count(run, LS_MATCH_DESYNC, its) == 0,
                  "%s: client %u is innocent", about.bytes, other);
    }
    virtual_match_destroy(run);
}

Test(unseen, faults_are_named_when_every_state_is_compared)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i], 1, i + 1);
    }
}

Test(unseen, faults_are_named_when_states_are_compared_seldom)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i], i % 2 == 0 ? 8 : 30, i + 1);
    }
}

static void check_late_joiners(uint32_t words, uint32_t interval)
{
    ballast_words = words;
    for (size_t i = 0; i < sizeof late_cases / sizeof late_cases[0]; i++) {
        check_case(&late_cases[i], interval, i + 1);
    }
    ballast_words = 0;
}

Test(unseen, faults_of_a_late_joiner_are_named_in_its_first_steps)
{
    check_late_joiners(0, 1);
    check_late_joiners(0, 8);
}

/* Its states are not all kept: not even that before the first one that differs. */
Test(unseen, faults_of_a_late_joiner_with_a_larger_state_are_named_in_its_first_steps)
{
    check_late_joiners(LARGER_WORDS, 16);
}
