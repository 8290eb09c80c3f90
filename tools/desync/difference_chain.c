#include "lockstep/tools/desync/difference_chain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    if (!explain_write_trace_can_watch() || !search->code) {
        ls_text_set(&chain->end, "Single writes cannot be watched on this platform.");
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
