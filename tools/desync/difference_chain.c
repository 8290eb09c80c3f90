#include "lockstep/tools/desync/difference_chain.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/tools/desync/machine_code.h"
#include "lockstep/tools/desync/write_trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct explain_origins {
    uint32_t count;                      /* the first EXPLAIN_ORIGINS_MAX, the last read first */
    size_t offsets[EXPLAIN_ORIGINS_MAX]; /* of elements of the state */
    bool is_cut;     /* there are more, or the log does not go back far enough */
    bool has_inputs; /* players' inputs were read */
} explain_origins;

typedef struct chain_search {
    const explain_evidence *evidence;
    ls_replay_stretch stretch;
    uint32_t build_count;
    const ls_simulation *const *builds;
    explain_machine_code *code;
    explain_code_places *places;
    explain_step_log log;
    explain_chain *chain;
} chain_search;

/* One link: the element, the write to it, and what each build tells. */
typedef struct link_search {
    explain_field_choice choice;
    uint32_t write;             /* to the element, of the step */
    explain_write_trace own[2]; /* of the element alone */
    explain_write_trace all[2]; /* of what was read as well */
    explain_origins origins;
    explain_link *link;
} link_search;

/* ---- value origin ---- */

/* The elements of the state that a written value was computed from, found by going back from the
 * write through the instructions that were run: registers, the stack and any other memory are
 * followed. The state's own elements end it. */

enum {
    RANGES_MAX = 256,   /* of memory that is followed at a time */
    KNOWN_COUNT = 4096, /* instructions whose effect is remembered; a power of two */
    BRANCHES_MAX = 8,
};

typedef struct origin_search {
    const explain_machine_code *code;
    const explain_step_log *log;
    const ls_schema *schema;
    explain_origins *out;
    uint64_t registers;
    uint32_t range_count;
    explain_span ranges[RANGES_MAX];
    uint32_t branch_count;
    uint64_t branches[BRANCHES_MAX]; /* each counts once */
    explain_effect *known;           /* by address */
} origin_search;

static const explain_effect *effect_at(origin_search *made, uint64_t instruction)
{
    explain_effect *effect = &made->known[instruction % KNOWN_COUNT];
    if (effect->instruction != instruction) {
        explain_machine_code_effect(made->code, instruction, effect);
    }
    return effect;
}

/* ---- memory ---- */

static void add_offset(explain_origins *out, size_t offset)
{
    for (uint32_t i = 0; i < out->count; i++) {
        if (out->offsets[i] == offset) {
            return;
        }
    }
    if (out->count == EXPLAIN_ORIGINS_MAX) {
        out->is_cut = true;
        return;
    }
    out->offsets[out->count++] = offset;
}

static void add_elements(origin_search *made, uint64_t begin, uint64_t end)
{
    const explain_span *state = &made->log->state;
    uint64_t at = LS_MAX(begin, state->begin);
    while (at < LS_MIN(end, state->end)) {
        ls_schema_place place = ls_schema_at(made->schema, (size_t)(at - state->begin));
        if (place.field->type != LS_FIELD_PADDING) {
            add_offset(made->out, place.offset);
        }
        at = state->begin + place.offset + ls_field_type_bytes(place.field->type);
    }
}

static bool is_input(const explain_step_log *log, uint64_t begin, uint64_t end)
{
    bool is = explain_span_meets(&log->slots, begin, end);
    for (uint32_t i = 0; i < log->input_count && !is; i++) {
        is = explain_span_meets(&log->inputs[i], begin, end);
    }
    return is;
}

static void need_memory(origin_search *made, uint64_t begin, uint64_t end)
{
    if (explain_span_meets(&made->log->state, begin, end)) {
        add_elements(made, begin, end);
    } else if (is_input(made->log, begin, end)) {
        made->out->has_inputs = true;
    } else if (made->range_count < RANGES_MAX) {
        made->ranges[made->range_count++] = (explain_span){begin, end};
    } else {
        made->out->is_cut = true;
    }
}

/* Whether any of it is needed; what is written over is needed no more from there on back. */
static bool claim_memory(origin_search *made, uint64_t begin, uint64_t end)
{
    bool is_needed = false;
    for (uint32_t i = 0; i < made->range_count;) {
        if (explain_span_meets(&made->ranges[i], begin, end)) {
            made->ranges[i] = made->ranges[--made->range_count];
            is_needed = true;
        } else {
            i++;
        }
    }
    return is_needed;
}

static uint64_t address_of(const explain_memory_use *use, const explain_logged_step *step,
                           const explain_effect *effect)
{
    uint64_t address = (uint64_t)use->displacement;
    if (use->base == EXPLAIN_BASE_IS_INSTRUCTION) {
        address += step->instruction + effect->bytes;
    } else if (use->base < EXPLAIN_REGISTERS) {
        address += step->registers[use->base];
    }
    if (use->index < EXPLAIN_REGISTERS) {
        address += step->registers[use->index] * use->scale;
    }
    return address;
}

/* ---- going back ---- */

static void need_what_it_reads(origin_search *made, const explain_logged_step *step,
                               const explain_effect *effect)
{
    made->registers |= effect->reads;
    for (uint32_t i = 0; i < effect->use_count; i++) {
        const explain_memory_use *use = &effect->uses[i];
        uint64_t address = address_of(use, step, effect);
        if (use->is_read) {
            need_memory(made, address, address + use->bytes);
        }
    }
}

static bool is_new_branch(origin_search *made, const explain_logged_step *step,
                          const explain_effect *effect, const explain_span *file)
{
    if (!file || !effect->is_branch || made->branch_count == BRANCHES_MAX ||
        step->instruction < file->begin || step->instruction >= file->end) {
        return false;
    }
    for (uint32_t i = 0; i < made->branch_count; i++) {
        if (made->branches[i] == step->instruction) {
            return false;
        }
    }
    made->branches[made->branch_count++] = step->instruction;
    return true;
}

static void go_back(origin_search *made, const explain_logged_step *step, const explain_span *file)
{
    const explain_effect *effect = effect_at(made, step->instruction);
    bool is_needed = (effect->writes & made->registers) != 0;
    for (uint32_t i = 0; i < effect->use_count; i++) {
        const explain_memory_use *use = &effect->uses[i];
        uint64_t address = address_of(use, step, effect);
        if (use->is_written && claim_memory(made, address, address + use->bytes)) {
            is_needed = true;
        }
    }
    if (is_needed) {
        made->registers &= ~effect->writes;
    }
    if (is_needed || is_new_branch(made, step, effect, file)) {
        need_what_it_reads(made, step, effect);
    }
}

static bool is_wanting(const origin_search *made, const explain_span *file)
{
    return made->registers != 0 || made->range_count > 0 || file;
}

/* Of the last instruction of the log, a write. With the `file` of its code, what decided the last
 * branches in there counts as well; NULL: what the value was made of alone. Adds to
 * `out`. */
static void explain_origins_add(const explain_machine_code *code, const explain_step_log *log,
                                const ls_schema *schema, const explain_span *file,
                                explain_origins *out)
{
    origin_search *made = calloc(1, sizeof *made);
    const explain_logged_step *step = explain_step_log_at(log, 0);
    explain_effect *known = calloc(KNOWN_COUNT, sizeof *known);
    if (made && known && code && step) {
        *made =
            (origin_search){.code = code, .log = log, .schema = schema, .out = out, .known = known};
        need_what_it_reads(made, step, effect_at(made, step->instruction));
        for (uint64_t back = 1; is_wanting(made, file) && step; back++) {
            step = explain_step_log_at(log, back);
            if (step) {
                go_back(made, step, file);
            }
        }
        out->is_cut = out->is_cut || (!step && log->count > EXPLAIN_LOG_KEPT);
    }
    free(known);
    free(made);
}

/* ---- places ---- */

static explain_field_choice choice_at(const ls_schema *schema, size_t offset)
{
    ls_schema_place place = ls_schema_at(schema, offset);
    return (explain_field_choice){place.field, place.item, place.element};
}

static ls_status trace_build(const chain_search *search, uint32_t build,
                             const explain_write_request *request, explain_write_trace *out)
{
    return explain_write_trace_run(search->builds[build], &search->evidence->bundle->config,
                                   &search->stretch, request, out, &search->chain->end);
}

/* ---- the write ---- */

static const explain_field_write *write_at(const explain_write_trace *trace, uint32_t index)
{
    return index < trace->list_count ? &trace->writes[index] : NULL;
}

static bool is_same_write(const explain_field_write *a, const explain_field_write *b)
{
    return a && b && a->pass == b->pass && a->place.offset == b->place.offset &&
           memcmp(a->after, b->after, sizeof a->after) == 0;
}

/* The first write in which the two differ; false: they never do. */
static bool find_differing(link_search *found)
{
    const explain_write_trace *own = found->own;
    uint32_t at = 0;
    while (is_same_write(write_at(&own[0], at), write_at(&own[1], at))) {
        at++;
    }
    found->write = at;
    return write_at(&own[0], at) || write_at(&own[1], at);
}

static ls_status trace_element(const chain_search *search, link_search *found)
{
    const explain_write_request request = {
        .choices = &found->choice, .choice_count = 1, .wants_watch = true};
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < search->build_count && status == LS_OK; i++) {
        status = trace_build(search, i, &request, &found->own[i]);
    }
    return status;
}

/* ---- what it read ---- */

/* Runs the pass once more, an instruction at a time, up to the write, and goes back from there. */
static ls_status find_origins(chain_search *search, link_search *found, bool has_branches)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < search->build_count && status == LS_OK; i++) {
        const explain_field_write *write = write_at(&found->own[i], found->write);
        explain_write_trace trace = {0};
        explain_code_span code;
        if (!write || write->instruction == 0) {
            continue;
        }
        const explain_write_request request = {.choices = &found->choice,
                                               .choice_count = 1,
                                               .wants_watch = true,
                                               .log = &search->log,
                                               .log_pass = write->pass,
                                               .log_until = found->write};
        search->log.count = 0;
        status = trace_build(search, i, &request, &trace);
        bool is_there = status == LS_OK && trace.count > found->write;
        bool is_known = explain_code_places_file(search->places, write->instruction, &code);
        const explain_span file = {code.begin, code.end};
        if (is_there && search->log.count < EXPLAIN_LOG_MAX) {
            explain_origins_add(search->code, &search->log, search->evidence->schema,
                                has_branches && is_known ? &file : NULL, &found->origins);
        } else {
            found->origins.is_cut = true;
        }
        explain_write_trace_release(&trace);
    }
    return status;
}

/* ---- which of it differed ---- */

static ls_status trace_all(const chain_search *search, link_search *found)
{
    explain_field_choice choices[EXPLAIN_ORIGINS_MAX + 1];
    uint32_t count = 0;
    choices[count++] = found->choice;
    for (uint32_t i = 0; i < found->origins.count; i++) {
        choices[count++] = choice_at(search->evidence->schema, found->origins.offsets[i]);
    }
    const explain_write_request request = {
        .choices = choices, .choice_count = count, .wants_watch = true, .wants_state = true};
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < search->build_count && status == LS_OK; i++) {
        status = trace_build(search, i, &request, &found->all[i]);
    }
    return status;
}

/* How many writes of a trace came before the link's own, which is one to its element. A build that
 * does not write it at all has all of its writes before. */
static uint32_t writes_before(const explain_write_trace *trace, const link_search *found)
{
    size_t offset = found->own[0].list_count > 0 ? found->own[0].writes[0].place.offset
                                                 : found->own[1].writes[0].place.offset;
    uint32_t own = 0;
    for (uint32_t i = 0; i < trace->list_count; i++) {
        if (trace->writes[i].place.offset == offset && own++ == found->write) {
            return i;
        }
    }
    return trace->list_count;
}

/* The element's value before the link's write; `writes` counts those to it in the step until then.
 */
static void value_before(const explain_write_trace *trace, const link_search *found,
                         const ls_schema_place *place, uint8_t value[8], uint32_t *writes)
{
    uint32_t end = writes_before(trace, found);
    memcpy(value, trace->state_before + place->offset, ls_field_type_bytes(place->field->type));
    *writes = 0;
    for (uint32_t i = 0; i < end; i++) {
        if (trace->writes[i].place.offset == place->offset) {
            memcpy(value, trace->writes[i].after, 8);
            (*writes)++;
        }
    }
}

/* Elements that differ after the step are suspects when nothing else is known. */
static bool differs_after(const explain_evidence *evidence, const ls_schema_place *place)
{
    return evidence->has_difference &&
           memcmp(evidence->server_state + place->offset, evidence->client_state + place->offset,
                  ls_field_type_bytes(place->field->type)) != 0;
}

static bool set_read(const chain_search *search, link_search *found, size_t offset)
{
    explain_read *read = &found->link->reads[found->link->read_count++];
    uint32_t writes[2] = {0, 0};
    *read = (explain_read){.place = ls_schema_at(search->evidence->schema, offset)};
    value_before(&found->all[0], found, &read->place, read->here, &writes[0]);
    if (search->build_count == 2) {
        value_before(&found->all[1], found, &read->place, read->other, &writes[1]);
        read->differs = memcmp(read->here, read->other, sizeof read->here) != 0;
    } else {
        read->differs = writes[0] > 0 && differs_after(search->evidence, &read->place);
    }
    return read->differs;
}

static ls_status compare_reads(chain_search *search, link_search *found, bool *differ)
{
    ls_status status = trace_all(search, found);
    found->link->read_count = 0;
    *differ = false;
    for (uint32_t i = 0; i < found->origins.count && status == LS_OK; i++) {
        bool does = set_read(search, found, found->origins.offsets[i]);
        *differ = *differ || does;
    }
    found->link->reads_inputs = found->origins.has_inputs;
    found->link->reads_more = found->origins.is_cut;
    return status;
}

static ls_status find_reads_one_way(chain_search *search, link_search *found, bool has_branches,
                                    bool *differ)
{
    found->origins = (explain_origins){.count = 0};
    explain_write_trace_release(&found->all[0]);
    explain_write_trace_release(&found->all[1]);
    ls_status status = find_origins(search, found, has_branches);
    return status == LS_OK ? compare_reads(search, found, differ) : status;
}

/* First the elements that the value was made of. If none of them differs, those that decided that
 * it was written are taken instead, as long as one of those does. */
static ls_status find_reads(chain_search *search, link_search *found, bool *differ)
{
    ls_status status = find_reads_one_way(search, found, false, differ);
    if (status != LS_OK || *differ) {
        return status;
    }
    const explain_link made_of = *found->link;
    status = find_reads_one_way(search, found, true, differ);
    if (status == LS_OK && *differ) {
        found->link->is_decided = true;
    } else {
        *found->link = made_of;
    }
    return status;
}

/* ---- the chain ---- */

/* Of the reads that differ the one that was written first; `write` is which of the writes to it.
 * False: none was written before in this step. */
static bool find_next(const chain_search *search, const link_search *found,
                      explain_field_choice *next, uint32_t *write)
{
    const explain_link *link = found->link;
    uint32_t earliest = UINT32_MAX;
    for (uint32_t i = 0; i < link->read_count; i++) {
        const ls_schema_place *place = &link->reads[i].place;
        uint32_t writes[2] = {0, 0};
        uint8_t value[8];
        for (uint32_t build = 0; build < search->build_count; build++) {
            value_before(&found->all[build], found, place, value, &writes[build]);
        }
        uint32_t build = writes[0] > 0 ? 0 : 1;
        if (!link->reads[i].differs || writes[build] == 0) {
            continue;
        }
        const explain_write_trace *trace = &found->all[build];
        uint32_t at = 0;
        while (trace->writes[at].place.offset != place->offset) {
            at++;
        }
        if (at < earliest) {
            earliest = at;
            *next = choice_at(search->evidence->schema, place->offset);
            *write = writes[0] > 0 ? writes[0] - 1 : 0;
        }
    }
    return earliest != UINT32_MAX;
}

static void keep_writes(const link_search *found)
{
    const explain_field_write *here = write_at(&found->own[0], found->write);
    const explain_field_write *other = write_at(&found->own[1], found->write);
    found->link->has_here = here != NULL;
    found->link->has_other = other != NULL;
    found->link->here = here ? *here : (explain_field_write){0};
    found->link->other = other ? *other : (explain_field_write){0};
}

static void release_link(link_search *found)
{
    for (uint32_t i = 0; i < 2; i++) {
        explain_write_trace_release(&found->own[i]);
        explain_write_trace_release(&found->all[i]);
    }
}

/* With two builds, the first write in which they differ; with one, the write that was asked for. */
static bool find_write(const chain_search *search, link_search *found, ls_text *end)
{
    if (search->build_count == 2 && !find_differing(found)) {
        ls_text_set(end, "Both builds write the same values to it in this tick.");
        return false;
    }
    if (found->write == UINT32_MAX) { /* the last one */
        found->write = found->own[0].list_count - 1;
    }
    if (search->build_count == 1 && !write_at(&found->own[0], found->write)) {
        ls_text_set(end, "This machine does not write it in this tick.");
        return false;
    }
    return true;
}

static const char end_of_two[] =
    "Nothing that this statement reads differs before it: this is where the two builds part.";
static const char end_of_one[] =
    "Nothing that this statement reads and this tick wrote before it differs after the tick: the "
    "difference begins here, or in what was read here. Another build (--against FILE.so) tells "
    "which.";

/* One link; `found` becomes the next one's. False: the chain ends. */
static bool follow(chain_search *search, link_search *found)
{
    explain_chain *chain = search->chain;
    explain_field_choice next;
    uint32_t write = 0;
    bool differ = false;
    if (trace_element(search, found) != LS_OK || !find_write(search, found, &chain->end)) {
        return false;
    }
    found->link = &chain->links[chain->count++];
    keep_writes(found);
    if (find_reads(search, found, &differ) != LS_OK) {
        return false;
    }
    if (!differ) {
        ls_text_set(&chain->end, "%s", search->build_count == 2 ? end_of_two : end_of_one);
        return false;
    }
    if (!find_next(search, found, &next, &write)) {
        ls_text_set(&chain->end, "What differs there was not written in this tick: the two differ "
                                 "before it already.");
        return false;
    }
    release_link(found);
    *found = (link_search){.choice = next, .write = write};
    return true;
}

/* The element of the field that differs first: the one that is asked for. */
static bool find_element(const chain_search *search, link_search *found)
{
    if (trace_element(search, found) != LS_OK) {
        return false;
    }
    if (search->build_count == 2) {
        find_differing(found);
    } else {
        found->write = found->own[0].list_count - 1;
    }
    const explain_field_write *write = write_at(&found->own[0], found->write);
    write = write ? write : write_at(&found->own[1], found->write);
    explain_field_choice choice = found->choice;
    if (write) {
        choice =
            (explain_field_choice){write->place.field, write->place.item, write->place.element};
    }
    release_link(found);
    *found = (link_search){.choice = choice, .write = UINT32_MAX};
    return true;
}

static bool begin(chain_search *search, const ls_bundle_reading *reading, link_search *found)
{
    explain_chain *chain = search->chain;
    const explain_evidence *evidence = search->evidence;
    if (!ls_ability_is_there(LS_ABILITY_WRITE_TRACES, &chain->end)) {
        return false;
    }
    if (!search->code) {
        ls_text_set(&chain->end, "This processor's machine code cannot be read.");
        return false;
    }
    if (!evidence->schema || ls_bundle_reading_stretch(reading, &search->stretch) != LS_OK) {
        ls_text_set(&chain->end, "The bundle has no schema, no snapshot, or not the inputs since.");
        return false;
    }
    for (uint32_t i = 0; i < search->build_count; i++) {
        if (explain_evidence_check_traced(evidence->bundle, search->builds[i], &chain->end) !=
            LS_OK) {
            return false;
        }
    }
    chain->links = calloc(EXPLAIN_LINKS_MAX, sizeof *chain->links);
    if (!chain->links || explain_step_log_init(&search->log) != LS_OK) {
        ls_text_set(&chain->end, "There is no memory for it.");
        return false;
    }
    return explain_field_choice_parse(evidence->schema, chain->field, &found->choice,
                                      &chain->end) == LS_OK;
}

void explain_chain_find(const explain_evidence *evidence, const ls_bundle_reading *reading,
                        const ls_simulation *const builds[2], const char *field,
                        explain_chain *chain)
{
    *chain = (explain_chain){.field = field, .has_other = builds[1] != NULL};
    chain_search search = {.evidence = evidence,
                           .build_count = builds[1] ? 2 : 1,
                           .builds = builds,
                           .code = explain_machine_code_open(),
                           .places = explain_code_places_open(),
                           .chain = chain};
    link_search found = {.write = UINT32_MAX};
    bool goes_on = begin(&search, reading, &found) && find_element(&search, &found);
    while (goes_on && chain->count < EXPLAIN_LINKS_MAX) {
        goes_on = follow(&search, &found);
    }
    if (goes_on) {
        ls_text_set(&chain->end, "It goes further back: ask for the last field.");
    }
    release_link(&found);
    explain_step_log_deinit(&search.log);
    explain_code_places_close(search.places);
    explain_machine_code_close(search.code);
}

void explain_chain_release(explain_chain *chain)
{
    free(chain->links);
    *chain = (explain_chain){0};
}
