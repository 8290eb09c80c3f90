#define _GNU_SOURCE
#include "lockstep/tools/desync/write_trace.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/system/ability.h"

#include <stdlib.h>
#include <string.h>

#if defined(__linux__) && defined(__x86_64__)
#define EXPLAIN_CAN_WATCH 1
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#endif

/* ---- names of fields ---- */

/* A name without the indices that are not part of a path. */
typedef struct given_indices {
    uint32_t item; /* UINT32_MAX: not given */
    uint32_t element;
} given_indices;

/* Digits in brackets. */
static bool read_index(const char **text, uint32_t *out)
{
    uint64_t index = 0;
    const char *at = *text + 1;
    if (**text != '[' || *at < '0' || *at > '9') {
        return false;
    }
    while (*at >= '0' && *at <= '9' && index < UINT32_MAX) {
        index = index * 10 + (uint64_t)(*at++ - '0');
    }
    if (*at != ']' || index >= UINT32_MAX) {
        return false;
    }
    *text = at + 1;
    *out = (uint32_t)index;
    return true;
}

/* A lone index behind a whole path is the item's where there are items, else the element's. */
static bool read_last_indices(const ls_field *field, const char *name, given_indices *given)
{
    uint32_t indices[2];
    uint32_t count = 0, used = 0;
    while (count < 2 && read_index(&name, &indices[count])) {
        count++;
    }
    if (given->item == UINT32_MAX && (count == 2 || (count == 1 && field->count > 1))) {
        given->item = indices[used++];
    }
    if (used < count) {
        given->element = indices[used++];
    }
    return used == count && *name == '\0';
}

/* Whether the name is one of the field's, as ls_schema_place_name writes them or with indices left
 * out. Indices that stand in the path itself are read as they are. */
static bool is_name_of(const ls_field *field, const char *name, given_indices *out)
{
    given_indices given = {UINT32_MAX, UINT32_MAX};
    const char *mark = strstr(field->path, LS_FIELD_ITEM_MARK);
    size_t mark_bytes = mark ? strlen(LS_FIELD_ITEM_MARK) : 0;
    const char *spot = mark ? mark : field->path + strcspn(field->path, ".");
    for (const char *path = field->path; *path != '\0'; path++, name++) {
        if (path == spot) {
            bool has_mark = strncmp(name, LS_FIELD_ITEM_MARK, mark_bytes) == 0;
            name += has_mark ? mark_bytes : 0;
            path += mark_bytes;
            read_index(&name, &given.item);
        }
        if (*path == '\0') {
            break;
        }
        if (*path != *name) {
            return false;
        }
    }
    bool is_whole = read_last_indices(field, name, &given);
    *out = given;
    return is_whole;
}

static const ls_field *find_field(const ls_schema *schema, const char *name, given_indices *given)
{
    for (uint32_t i = 0; i < ls_schema_field_count(schema); i++) {
        if (is_name_of(ls_schema_field(schema, i), name, given)) {
            return ls_schema_field(schema, i);
        }
    }
    return NULL;
}

/* Words with indices behind them, at most two at a place. */
static bool is_well_formed(const char *name)
{
    bool is_short = strlen(name) < LS_PLACE_NAME_BYTES_MAX;
    uint32_t run = 0, index = 0;
    if (*name == '[' || *name == '\0') {
        return false;
    }
    while (*name != '\0' && run <= 2) {
        if (*name != '[') {
            name++;
            run = 0;
        } else if (read_index(&name, &index)) {
            run++;
        } else {
            return false;
        }
    }
    return is_short && run <= 2;
}

/* The fields of the same part, as many as fit a sentence. */
static ls_status refuse_unknown(const ls_schema *schema, const char *name, ls_text *why)
{
    uint32_t count = 0;
    ls_text_set(why, "the state has no field '%s'", name);
    for (uint32_t pass = 0; pass < 2 && count == 0; pass++) {
        for (uint32_t i = 0; i < ls_schema_field_count(schema) && count < 8; i++) {
            const char *other = ls_schema_field(schema, i)->path;
            if (pass == 1 || strncmp(other, name, strcspn(name, ".[")) == 0) {
                ls_text_add(why, "%s%s", count++ == 0 ? "; there are " : ", ", other);
            }
        }
    }
    return LS_NOT_FOUND;
}

static ls_status check_index(const char *what, uint32_t index, uint32_t count, ls_text *why)
{
    if (index == UINT32_MAX || index < count) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "%s %u is out of range: there are %u", what, index, count);
}

ls_status explain_field_choice_parse(const ls_schema *schema, const char *name,
                                     explain_field_choice *out, ls_text *why)
{
    given_indices given;
    const ls_field *field = find_field(schema, name, &given);
    if (!field && !is_well_formed(name)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "'%s' is not the name of a field, as in bodies[3].position.x", name);
    }
    if (!field) {
        return refuse_unknown(schema, name, why);
    }
    explain_field_choice choice = {field, given.item, given.element};
    ls_status status = check_index("item", choice.item, field->count, why);
    LS_THEN(status, check_index("element", choice.element, field->length, why));
    if (status == LS_OK) {
        *out = choice;
    }
    return status;
}

bool explain_field_choice_has(const explain_field_choice *choice, const ls_schema_place *place)
{
    return place->field == choice->field &&
           (choice->item == UINT32_MAX || choice->item == place->item) &&
           (choice->element == UINT32_MAX || choice->element == place->element);
}

/* ---- the trace ---- */

ls_status explain_step_log_init(explain_step_log *log)
{
    *log = (explain_step_log){.list = calloc(EXPLAIN_LOG_KEPT, sizeof *log->list)};
    return log->list ? LS_OK : LS_NO_MEMORY;
}

void explain_step_log_deinit(explain_step_log *log)
{
    free(log->list);
    *log = (explain_step_log){0};
}

const explain_logged_step *explain_step_log_at(const explain_step_log *log, uint64_t back)
{
    bool is_kept = back < log->count && back < EXPLAIN_LOG_KEPT;
    return is_kept ? &log->list[(log->count - 1 - back) % EXPLAIN_LOG_KEPT] : NULL;
}

bool explain_span_meets(const explain_span *span, uint64_t begin, uint64_t end)
{
    return begin < span->end && end > span->begin;
}

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

#if defined(EXPLAIN_CAN_WATCH)

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

static const ls_allocator *state_allocator(void)
{
    static const ls_allocator pages = {allocate_pages, give_pages, NULL, NULL};
    return &pages;
}

#else

static const ls_allocator *state_allocator(void)
{
    return ls_allocator_heap();
}

#endif

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

static void list_write(tracing *trace, const ls_schema_place *place, const ls_field *field)
{
    explain_write_trace *out = trace->out;
    size_t bytes = ls_field_type_bytes(place->field->type);
    if (out->list_count < EXPLAIN_WRITES_MAX) {
        explain_field_write *write = &out->writes[out->list_count++];
        *write = (explain_field_write){
            .pass = trace->pass, .place = *place, .instruction = trace->instruction};
        write->place.field = field; /* which outlives the instance */
        memcpy(write->before, trace->shadow + place->offset, bytes);
        memcpy(write->after, live(trace) + place->offset, bytes);
#if defined(EXPLAIN_CAN_WATCH)
        note_stack(trace, write);
#endif
    }
    out->count++;
}

static bool is_stream_full(const explain_write_stream *stream)
{
    return stream && stream->count == EXPLAIN_STREAM_MAX;
}

static void add_to_stream(tracing *trace, const ls_schema_place *place)
{
    explain_write_stream *stream = trace->request->stream;
    size_t bytes = ls_field_type_bytes(place->field->type);
    if (place->field->type == LS_FIELD_PADDING || is_stream_full(stream)) {
        return;
    }
    if (stream->count == stream->wanted) {
        list_write(trace, place, place->field);
    }
    explain_stream_write *write = &stream->list[stream->count++];
    *write = (explain_stream_write){
        .offset = place->offset, .pass = trace->pass, .bytes = (uint8_t)bytes};
    memcpy(write->before, trace->shadow + place->offset, bytes);
    memcpy(write->after, live(trace) + place->offset, bytes);
}

static void note_write(tracing *trace, const ls_schema_place *place)
{
    const explain_field_choice *choice = choice_of(trace, place);
    if (trace->request->stream) {
        add_to_stream(trace, place);
    } else if (choice) {
        list_write(trace, place, choice->field);
    } else {
        return; /* the shadow of what nobody asks for is never read */
    }
    memcpy(trace->shadow + place->offset, live(trace) + place->offset,
           ls_field_type_bytes(place->field->type));
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
        if (is_hit || is_changed) {
            note_write(trace, &place);
        }
        begin = place.offset + bytes;
    }
}

/* From the first byte of the fields to the last. */
static void fields_span(const tracing *trace, size_t *begin, size_t *end)
{
    *begin = trace->request->stream ? 0 : SIZE_MAX;
    *end = trace->request->stream ? trace->state_bytes : 0;
    for (uint32_t i = 0; i < trace->request->choice_count; i++) {
        const ls_field *field = trace->choices[i].field;
        size_t field_end =
            field->offset + (field->count - 1) * field->stride + ls_field_item_bytes(field);
        *begin = LS_MIN(*begin, field->offset);
        *end = LS_MAX(*end, field_end);
    }
}

#if defined(EXPLAIN_CAN_WATCH)

static void open_pages(const tracing *trace)
{
    mprotect(trace->pages, trace->page_bytes, PROT_READ | PROT_WRITE);
}

/* A stream that is full is watched no more: the rest of the step is quick. */
static void close_pages(const tracing *trace)
{
    if (!is_stream_full(trace->request->stream)) {
        mprotect(trace->pages, trace->page_bytes, PROT_READ);
    }
}

#endif

/* A stream may be that of one pass. */
static void begin_watch(tracing *trace, uint32_t pass)
{
#if defined(EXPLAIN_CAN_WATCH)
    const explain_write_stream *stream = trace->request->stream;
    if (trace->is_spectator && (!stream || stream->pass == LS_NO_PASS || stream->pass == pass)) {
        memcpy(trace->shadow, live(trace), trace->state_bytes);
        close_pages(trace);
    }
#else
    (void)trace;
    (void)pass;
#endif
}

static void end_watch(tracing *trace)
{
#if defined(EXPLAIN_CAN_WATCH)
    if (trace->is_spectator) {
        open_pages(trace);
    }
#else
    (void)trace;
#endif
}

/* The pass itself, whose caller's frame is the last of those that are not its own. */
static void run_bare(tracing *trace, const ls_step *step, const ls_pass *pass)
{
#if defined(EXPLAIN_CAN_WATCH)
    trace->outer_count = trace->is_spectator ? backtrace(trace->outer, FRAMES_MAX) : 0;
    if (trace->is_spectator && trace->request->log && trace->request->log_pass == trace->pass) {
        trace->is_logging = true;
        raise(SIGTRAP); /* the first step of many */
    }
#endif
    pass->run(step);
    trace->is_logging = false;
    trace->instruction = 0;
    trace->resumed = NULL;
}

/* Of the run that is under way: a pass brings no argument of ours. */
static tracing *spectating;
static const ls_pass *spectated;

static void run_spectated(const ls_step *step)
{
    run_bare(spectating, step, spectated);
}

static void run_with_noise(tracing *trace, const ls_step *step, const ls_pass *pass)
{
    ls_pass between = *pass;
    between.run = run_spectated;
    spectating = trace;
    spectated = pass;
    ls_step_noise_run_pass(trace->request->stream->noise, step, &between);
}

static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    tracing *trace = user;
    const explain_write_stream *stream = trace->request->stream;
    size_t begin = 0;
    size_t end = 0;
    trace->pass = index;
    begin_watch(trace, index);
    if (stream && stream->noise) {
        run_with_noise(trace, step, pass);
    } else {
        run_bare(trace, step, pass);
    }
    end_watch(trace);
    if (!trace->is_spectator) { /* the bytes that it changed, where no watchpoint tells */
        fields_span(trace, &begin, &end);
        look_at(trace, begin, end, NULL);
    }
}

/* ---- the watch ---- */

#if defined(EXPLAIN_CAN_WATCH)

#define TRAP_FLAG 0x100 /* in the flags register: stop after the next instruction */

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

/* The place of the next one; false: enough. */
static bool explain_step_log_append(explain_step_log *log, explain_logged_step **out)
{
    if (log->count >= EXPLAIN_LOG_MAX) {
        return false;
    }
    *out = &log->list[log->count++ % EXPLAIN_LOG_KEPT];
    return true;
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
    ls_sim_instance_step_watched(trace->instance, inputs, watch);
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
    ls_step_noise *noise = trace->request->stream ? trace->request->stream->noise : NULL;
    ls_status status = ls_replay_stretch_load(stretch, trace->instance);
    if (!noise) {
        LS_THEN(status, ls_replay_stretch_run(stretch, trace->instance, stretch->last - 1));
    }
    LS_THEN(status, ls_replay_stretch_inputs(stretch, trace->instance, slots, inputs));
    while (noise && status == LS_OK) {
        ls_step_noise_fill_scratch(noise, trace->instance);
        if (inputs->tick == stretch->last - 1) {
            break;
        }
        ls_step_noise_step(noise, trace->instance, inputs);
        status = ls_replay_stretch_inputs(stretch, trace->instance, slots, inputs);
    }
    return status;
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
    if (trace->request->state_hash) {
        *trace->request->state_hash = ls_sim_instance_hash(trace->instance);
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
        ls_sim_instance_create(simulation, config, state_allocator(), &trace.instance, why);
    if (status != LS_OK) {
        return status;
    }
    ls_sim_instance_tune(trace.instance, (ls_sim_tuning){.workers = LS_MAX(request->workers, 1u),
                                                         .log_level = LS_LOG_WARNING});
    status = find_room(&trace, why);
    LS_THEN(status, choose_here(&trace, why));
    LS_THEN(status, trace_step(&trace, stretch, why));
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
