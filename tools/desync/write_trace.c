#define _GNU_SOURCE
#include "lockstep/tools/desync/write_trace.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__) && defined(__x86_64__)
#define EXPLAIN_CAN_WATCH 1
#include <execinfo.h>
#include <ucontext.h>
#endif

enum {
    STORE_BYTES_MAX = 64, /* that one instruction writes */
    FRAMES_MAX = 64,      /* of a stack, ours and those of the test or program around it too */
};

typedef struct tracing {
    ls_sim_instance *instance;
    explain_field_choice choice;
    explain_write_trace *out;
    uint8_t *shadow; /* the state as it was when it was last looked at */
    size_t state_bytes;
    uint32_t pass;
    bool is_spectator;
    uint8_t *pages; /* read-only while watching: those that the field touches */
    size_t page_bytes;
    uint8_t *written;     /* where the instruction that is let through begins to write */
    uint64_t instruction; /* its address */
    void *resumed;        /* the one after it */
    int outer_count;      /* of the stack below the pass */
    void *outer[FRAMES_MAX];
} tracing;

bool explain_write_trace_can_watch(void)
{
#if defined(EXPLAIN_CAN_WATCH)
    return true;
#else
    return false;
#endif
}

/* ---- memory that shares no page with anything else ---- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *take_pages(void *user, size_t bytes)
{
    (void)user;
    size_t page = page_size();
    size_t size = bytes < SIZE_MAX - page ? (bytes + page - 1) / page * page : 0;
    void *pages = size > 0 ? aligned_alloc(page, size) : NULL;
    return pages ? memset(pages, 0, size) : NULL;
}

static void give_pages(void *user, void *pages)
{
    (void)user;
    free(pages);
}

static const ls_allocator page_allocator = {take_pages, give_pages, NULL};

/* ---- what was written ---- */

static const uint8_t *live(const tracing *trace)
{
    return ls_sim_instance_view(trace->instance);
}

#if defined(EXPLAIN_CAN_WATCH)

/* The frames that a stack shares with the one below the pass; the pass's caller is not among them,
 * since it is at another call by then. */
static int shared_frames(const tracing *trace, void *const *frames, int count)
{
    int shared = 0;
    while (shared < count && shared < trace->outer_count &&
           frames[count - 1 - shared] == trace->outer[trace->outer_count - 1 - shared]) {
        shared++;
    }
    return shared;
}

/* The calls between the pass and the instruction. Taken while the instruction is interrupted, so
 * that the stack is the simulation's; what lies below the pass is ours. */
static void note_stack(const tracing *trace, explain_field_write *write)
{
    void *frames[FRAMES_MAX];
    int count = trace->resumed ? backtrace(frames, FRAMES_MAX) : 0;
    int shared = shared_frames(trace, frames, count);
    int end = shared > 0 ? count - shared - 1 : count;
    int at = 0;
    while (at < end && frames[at] != trace->resumed) {
        at++;
    }
    for (at++; at < end && write->stack_count < EXPLAIN_STACK_MAX; at++) {
        write->stack[write->stack_count++] = (uint64_t)(uintptr_t)frames[at];
    }
}

#endif

static void note_write(tracing *trace, const ls_schema_place *place, uint64_t instruction)
{
    explain_write_trace *out = trace->out;
    size_t bytes = ls_field_type_bytes(place->field->type);
    if (out->list_count < EXPLAIN_WRITES_MAX) {
        explain_field_write *write = &out->writes[out->list_count++];
        *write =
            (explain_field_write){.pass = trace->pass, .place = *place, .instruction = instruction};
        memcpy(write->before, trace->shadow + place->offset, bytes);
        memcpy(write->after, live(trace) + place->offset, bytes);
#if defined(EXPLAIN_CAN_WATCH)
        note_stack(trace, write);
#endif
    }
    out->count++;
    memcpy(trace->shadow + place->offset, live(trace) + place->offset, bytes);
}

/* Looks at the elements in a piece of the state. `written` is where a write began, or NULL. */
static void look_at(tracing *trace, size_t begin, size_t end, const uint8_t *written)
{
    const ls_schema *schema = ls_sim_instance_schema(trace->instance);
    while (begin < end) {
        ls_schema_place place = ls_schema_at(schema, begin);
        size_t bytes = ls_field_type_bytes(place.field->type);
        const uint8_t *element = live(trace) + place.offset;
        bool is_hit = written && written >= element && written < element + bytes;
        bool is_changed = memcmp(element, trace->shadow + place.offset, bytes) != 0;
        if ((is_hit || is_changed) && explain_field_choice_has(&trace->choice, &place)) {
            note_write(trace, &place, trace->instruction);
        }
        begin = place.offset + bytes;
    }
}

/* The field from its first byte to its last. */
static void field_span(const ls_field *field, size_t *begin, size_t *end)
{
    *begin = field->offset;
    *end = field->offset + (field->count - 1) * field->stride + ls_field_item_bytes(field);
}

/* The bytes that a pass changed, where no watchpoint tells. */
static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    tracing *trace = user;
    size_t begin = 0;
    size_t end = 0;
    trace->pass = index;
#if defined(EXPLAIN_CAN_WATCH)
    trace->outer_count = trace->is_spectator ? backtrace(trace->outer, FRAMES_MAX) : 0;
#endif
    pass->run(step);
    trace->instruction = 0;
    trace->resumed = NULL;
    if (!trace->is_spectator) {
        field_span(trace->choice.field, &begin, &end);
        look_at(trace, begin, end, NULL);
    }
}

/* ---- the watch ---- */

#if defined(EXPLAIN_CAN_WATCH)

#define TRAP_FLAG 0x100 /* in the flags register: stop after the next instruction */

static tracing *spectating; /* signals bring no argument of ours */

static void open_pages(const tracing *trace)
{
    mprotect(trace->pages, trace->page_bytes, PROT_READ | PROT_WRITE);
}

static void close_pages(const tracing *trace)
{
    mprotect(trace->pages, trace->page_bytes, PROT_READ);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *thread = context;
    uint8_t *address = info->si_addr;
    if (!spectating || address < spectating->pages ||
        (size_t)(address - spectating->pages) >= spectating->page_bytes) {
        signal(number, SIG_DFL); /* a fault of the simulation's own: it comes again, and ends us */
        return;
    }
    spectating->written = address;
    spectating->instruction = (uint64_t)thread->uc_mcontext.gregs[REG_RIP];
    thread->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    open_pages(spectating);
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *thread = context;
    thread->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    spectating->resumed = (void *)(uintptr_t)thread->uc_mcontext.gregs[REG_RIP];
    const uint8_t *state = live(spectating);
    size_t begin = spectating->written > state ? (size_t)(spectating->written - state) : 0;
    size_t end = begin + STORE_BYTES_MAX;
    look_at(spectating, begin, LS_MIN(end, spectating->state_bytes), spectating->written);
    close_pages(spectating);
}

static void find_pages(tracing *trace)
{
    size_t begin = 0;
    size_t end = 0;
    size_t page = page_size();
    field_span(trace->choice.field, &begin, &end);
    uintptr_t state = (uintptr_t)live(trace);
    uintptr_t first = (state + begin) / page * page;
    trace->pages = (uint8_t *)ls_sim_instance_state(trace->instance) - (state - first);
    trace->page_bytes = (state + end - first + page - 1) / page * page;
}

static void step_watched(tracing *trace, const ls_tick_inputs *inputs, const ls_step_watch *watch)
{
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct sigaction old_fault, old_step;
    find_pages(trace);
    spectating = trace;
    sigaction(SIGSEGV, &fault, &old_fault);
    sigaction(SIGTRAP, &step, &old_step);
    close_pages(trace);
    ls_sim_instance_step_watched(trace->instance, inputs, watch);
    open_pages(trace);
    sigaction(SIGTRAP, &old_step, NULL);
    sigaction(SIGSEGV, &old_fault, NULL);
    spectating = NULL;
}

#else

static void step_watched(tracing *trace, const ls_tick_inputs *inputs, const ls_step_watch *watch)
{
    ls_sim_instance_step_watched(trace->instance, inputs, watch);
}

#endif

/* ---- the step ---- */

static ls_status reach_last_step(tracing *trace, const ls_replay_stretch *stretch,
                                 ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *inputs)
{
    ls_status status = ls_replay_stretch_load(stretch, trace->instance);
    if (status == LS_OK) {
        status = ls_replay_stretch_run(stretch, trace->instance, stretch->last - 1);
    }
    return status == LS_OK ? ls_replay_stretch_inputs(stretch, trace->instance, slots, inputs)
                           : status;
}

/* The same choice in the instance's own schema. */
static ls_status choose_here(tracing *trace, const explain_field_choice *choice, ls_text *why)
{
    const ls_schema *schema = ls_sim_instance_schema(trace->instance);
    ls_status status = explain_field_choice_parse(schema, choice->field->path, &trace->choice, why);
    trace->choice.item = choice->item;
    trace->choice.element = choice->element;
    return status;
}

static ls_status trace_step(tracing *trace, const ls_replay_stretch *stretch, ls_text *why)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    const ls_step_watch watch = {run_pass, trace};
    ls_status status = reach_last_step(trace, stretch, slots, &inputs);
    if (status != LS_OK) {
        ls_text_set(why, "the ticks cannot be run again: %s", ls_status_text(status));
        return status;
    }
    memcpy(trace->shadow, live(trace), trace->state_bytes);
    if (trace->is_spectator) {
        step_watched(trace, &inputs, &watch);
    } else {
        ls_sim_instance_step_watched(trace->instance, &inputs, &watch);
    }
    return LS_OK;
}

ls_status explain_write_trace_run(const ls_simulation *simulation, const ls_sim_config *config,
                                  const ls_replay_stretch *stretch,
                                  const explain_field_choice *choice, bool wants_watch,
                                  explain_write_trace *out, ls_text *why)
{
    tracing trace = {.out = out, .is_spectator = wants_watch && explain_write_trace_can_watch()};
    *out = (explain_write_trace){.is_watched = trace.is_spectator};
    ls_status status =
        ls_sim_instance_create(simulation, config, &page_allocator, &trace.instance, why);
    if (status != LS_OK) {
        return status;
    }
    trace.state_bytes = ls_sim_instance_state_bytes(trace.instance);
    trace.shadow = malloc(trace.state_bytes);
    out->writes = calloc(EXPLAIN_WRITES_MAX, sizeof *out->writes);
    if (!trace.shadow || !out->writes) {
        ls_text_set(why, "no memory to trace a step");
        status = LS_NO_MEMORY;
    } else {
        status = choose_here(&trace, choice, why);
    }
    if (status == LS_OK) {
        status = trace_step(&trace, stretch, why);
    }
    if (status != LS_OK) {
        explain_write_trace_release(out);
    }
    for (uint32_t i = 0; i < out->list_count; i++) {
        out->writes[i].place.field = choice->field; /* which outlives the instance */
    }
    free(trace.shadow);
    ls_sim_instance_destroy(trace.instance);
    return status;
}

void explain_write_trace_release(explain_write_trace *trace)
{
    free(trace->writes);
    *trace = (explain_write_trace){0};
}

/* A text is written byte by byte. */
static ls_field as_elements(const ls_field *field)
{
    ls_field elements = *field;
    elements.unit = ls_field_is_text(field) ? "" : field->unit;
    return elements;
}

void explain_field_write_name(const explain_field_write *write, char *text, size_t capacity)
{
    ls_field field = as_elements(write->place.field);
    ls_schema_place place = write->place;
    place.field = &field;
    ls_schema_place_name(&place, text, capacity);
}

void explain_field_write_value(const explain_field_write *write, bool is_after, char *text,
                               size_t capacity)
{
    ls_field field = as_elements(write->place.field);
    ls_schema_place place = write->place;
    place.field = &field;
    place.offset = 0;
    ls_schema_place_value(&place, is_after ? write->after : write->before, text, capacity);
}
