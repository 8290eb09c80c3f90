#include "lockstep/tools/desync/value_origin.h"

#include "lockstep/common/base/limits.h"

#include <stdlib.h>

enum {
    RANGES_MAX = 256,   /* of memory that is followed at a time */
    KNOWN_COUNT = 4096, /* instructions whose effect is remembered; a power of two */
    BRANCHES_MAX = 8,
};

typedef struct search {
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
} search;

static const explain_effect *effect_at(search *made, uint64_t instruction)
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

static void add_elements(search *made, uint64_t begin, uint64_t end)
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

static void need_memory(search *made, uint64_t begin, uint64_t end)
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
static bool take_memory(search *made, uint64_t begin, uint64_t end)
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

static void need_what_it_reads(search *made, const explain_logged_step *step,
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

static bool is_new_branch(search *made, const explain_logged_step *step,
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

static void go_back(search *made, const explain_logged_step *step, const explain_span *file)
{
    const explain_effect *effect = effect_at(made, step->instruction);
    bool is_needed = (effect->writes & made->registers) != 0;
    for (uint32_t i = 0; i < effect->use_count; i++) {
        const explain_memory_use *use = &effect->uses[i];
        uint64_t address = address_of(use, step, effect);
        if (use->is_written && take_memory(made, address, address + use->bytes)) {
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

static bool is_wanting(const search *made, const explain_span *file)
{
    return made->registers != 0 || made->range_count > 0 || file;
}

void explain_origins_add(const explain_machine_code *code, const explain_step_log *log,
                         const ls_schema *schema, const explain_span *file, explain_origins *out)
{
    search *made = calloc(1, sizeof *made);
    const explain_logged_step *step = explain_step_log_at(log, 0);
    explain_effect *known = calloc(KNOWN_COUNT, sizeof *known);
    if (made && known && code && step) {
        *made = (search){.code = code, .log = log, .schema = schema, .out = out, .known = known};
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
