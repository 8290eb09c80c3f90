#define _GNU_SOURCE
#include "lockstep/tools/desync/write_trace.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/ability.h"

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
    const explain_write_request *request;
    explain_field_choice
        choices[EXPLAIN_CHOICES_MAX]; /* of the request, in the instance's schema */
    explain_write_trace *out;
    uint8_t *shadow; /* the state as it was when it was last looked at */
    size_t state_bytes;
    uint32_t pass;
    bool is_spectator;
    uint8_t *pages; /* read-only while watching: those that the field touches */
    size_t page_bytes;
    uint8_t *written; /* where the instruction that is let through begins to write, or NULL */
    bool is_logging;
    uint64_t instruction; /* its address */
    void *resumed;        /* the one after it */
    int outer_count;      /* of the stack below the pass */
    void *outer[FRAMES_MAX];
} tracing;

/* ---- memory that shares no page with anything else ---- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static void *allocate_pages(void *user, size_t bytes)
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

static const ls_allocator page_allocator = {allocate_pages, give_pages, NULL};

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

/* The choice that the place belongs to, as the request has it; NULL: none. */
static const explain_field_choice *choice_of(const tracing *trace, const ls_schema_place *place)
{
    for (uint32_t i = 0; i < trace->request->choice_count; i++) {
        if (explain_field_choice_has(&trace->choices[i], place)) {
            return &trace->request->choices[i];
        }
    }
    return NULL;
}

static void note_write(tracing *trace, const ls_schema_place *place,
                       const explain_field_choice *choice)
{
    explain_write_trace *out = trace->out;
    size_t bytes = ls_field_type_bytes(place->field->type);
    if (out->list_count < EXPLAIN_WRITES_MAX) {
        explain_field_write *write = &out->writes[out->list_count++];
        *write = (explain_field_write){
            .pass = trace->pass, .place = *place, .instruction = trace->instruction};
        write->place.field = choice->field; /* which outlives the instance */
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
        const explain_field_choice *choice = is_hit || is_changed ? choice_of(trace, &place) : NULL;
        if (choice) {
            note_write(trace, &place, choice);
        }
        begin = place.offset + bytes;
    }
}

/* From the first byte of the fields to the last. */
static void fields_span(const tracing *trace, size_t *begin, size_t *end)
{
    *begin = SIZE_MAX;
    *end = 0;
    for (uint32_t i = 0; i < trace->request->choice_count; i++) {
        const ls_field *field = trace->choices[i].field;
        size_t field_end =
            field->offset + (field->count - 1) * field->stride + ls_field_item_bytes(field);
        *begin = LS_MIN(*begin, field->offset);
        *end = LS_MAX(*end, field_end);
    }
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
    if (trace->is_spectator && trace->request->log && trace->request->log_pass == index) {
        trace->is_logging = true;
        raise(SIGTRAP); /* the first step of many */
    }
#endif
    pass->run(step);
    trace->is_logging = false;
    trace->instruction = 0;
    trace->resumed = NULL;
    if (!trace->is_spectator) {
        fields_span(trace, &begin, &end);
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

/* The instruction that is let through has written. */
static void record_write(tracing *trace, const ucontext_t *thread)
{
    const uint8_t *state = live(trace);
    size_t begin = trace->written > state ? (size_t)(trace->written - state) : 0;
    size_t end = begin + STORE_BYTES_MAX;
    trace->resumed = (void *)(uintptr_t)thread->uc_mcontext.gregs[REG_RIP];
    look_at(trace, begin, LS_MIN(end, trace->state_bytes), trace->written);
    trace->written = NULL;
    close_pages(trace);
}

/* The instruction that comes next; false: no more is wanted. */
static bool log_step(const tracing *trace, const ucontext_t *thread)
{
    static const int order[EXPLAIN_REGISTERS] = {
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    explain_logged_step *step = NULL;
    if (!trace->is_logging || trace->out->count > trace->request->log_until ||
        !explain_step_log_append(trace->request->log, &step)) {
        return false;
    }
    step->instruction = (uint64_t)thread->uc_mcontext.gregs[REG_RIP];
    for (uint32_t i = 0; i < EXPLAIN_REGISTERS; i++) {
        step->registers[i] = (uint64_t)thread->uc_mcontext.gregs[order[i]];
    }
    return true;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *thread = context;
    if (spectating->written) {
        record_write(spectating, thread);
    }
    if (log_step(spectating, thread)) {
        thread->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    } else {
        thread->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    }
}

static void find_pages(tracing *trace)
{
    size_t begin = 0;
    size_t end = 0;
    size_t page = page_size();
    fields_span(trace, &begin, &end);
    uintptr_t state = (uintptr_t)live(trace);
    uintptr_t first = (state + begin) / page * page;
    trace->pages = (uint8_t *)ls_sim_instance_state(trace->instance) + (ptrdiff_t)(first - state);
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

/* The same choices in the instance's own schema. */
static ls_status choose_here(tracing *trace, ls_text *why)
{
    const ls_schema *schema = ls_sim_instance_schema(trace->instance);
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < trace->request->choice_count && status == LS_OK; i++) {
        const explain_field_choice *asked = &trace->request->choices[i];
        explain_field_choice *here = &trace->choices[i];
        status = explain_field_choice_parse(schema, asked->field->path, here, why);
        here->item = asked->item;
        here->element = asked->element;
    }
    return status;
}

/* Addresses by which reads are told apart. */
static void place_log(const tracing *trace, const ls_tick_inputs *inputs)
{
    explain_step_log *log = trace->request->log;
    uint64_t state = (uint64_t)(uintptr_t)live(trace);
    uint64_t slots = (uint64_t)(uintptr_t)inputs->slots;
    log->state = (explain_span){state, state + trace->state_bytes};
    log->slots = (explain_span){slots, slots + inputs->slot_count * sizeof inputs->slots[0]};
    log->input_count = inputs->slot_count;
    for (uint32_t i = 0; i < inputs->slot_count; i++) {
        uint64_t bytes = (uint64_t)(uintptr_t)inputs->slots[i].bytes;
        log->inputs[i] = (explain_span){bytes, bytes + inputs->slots[i].size};
    }
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
    if (trace->request->wants_state) {
        memcpy(trace->out->state_before, live(trace), trace->state_bytes);
    }
    if (trace->request->log) {
        place_log(trace, &inputs);
    }
    if (trace->is_spectator) {
        step_watched(trace, &inputs, &watch);
    } else {
        ls_sim_instance_step_watched(trace->instance, &inputs, &watch);
    }
    return LS_OK;
}

static ls_status find_room(tracing *trace, ls_text *why)
{
    explain_write_trace *out = trace->out;
    trace->state_bytes = ls_sim_instance_state_bytes(trace->instance);
    trace->shadow = malloc(trace->state_bytes);
    out->writes = calloc(EXPLAIN_WRITES_MAX, sizeof *out->writes);
    out->state_before = trace->request->wants_state ? malloc(trace->state_bytes) : NULL;
    if (trace->shadow && out->writes && (out->state_before || !trace->request->wants_state)) {
        return LS_OK;
    }
    return ls_fail(LS_NO_MEMORY, why, "no memory to trace a step");
}

ls_status explain_write_trace_run(const ls_simulation *simulation, const ls_sim_config *config,
                                  const ls_replay_stretch *stretch,
                                  const explain_write_request *request, explain_write_trace *out,
                                  ls_text *why)
{
    tracing trace = {.out = out,
                     .request = request,
                     .is_spectator = request->wants_watch &&
                                     ls_ability_is_there(LS_ABILITY_WRITE_TRACES, NULL)};
    LS_ASSERT(request->choice_count <= EXPLAIN_CHOICES_MAX);
    *out = (explain_write_trace){.is_watched = trace.is_spectator};
    ls_status status =
        ls_sim_instance_create(simulation, config, &page_allocator, &trace.instance, why);
    if (status != LS_OK) {
        return status;
    }
    status = find_room(&trace, why);
    if (status == LS_OK) {
        status = choose_here(&trace, why);
    }
    if (status == LS_OK) {
        status = trace_step(&trace, stretch, why);
    }
    if (status != LS_OK) {
        explain_write_trace_release(out);
    }
    free(trace.shadow);
    ls_sim_instance_destroy(trace.instance);
    return status;
}

void explain_write_trace_release(explain_write_trace *trace)
{
    free(trace->state_before);
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
