#include "lockstep/tools/desync/write_stream.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_ARGUMENT "--write-stream="

enum {
    EXIT_OK = 0,
    EXIT_BAD = 1,
};

/* The first bytes of what a helper writes; both ends are one build. `count` writes follow. */
typedef struct stream_head {
    uint64_t state_hash;
    uint32_t count;
    bool has_code;
    explain_stream_code code;
} stream_head;

/* ---- the helper ---- */

bool explain_stream_helper_is_asked(int argc, char **argv)
{
    return argc == 2 && strncmp(argv[1], STREAM_ARGUMENT, strlen(STREAM_ARGUMENT)) == 0;
}

/* The stack of the one write that the trace lists. */
static void read_code(const explain_write_trace *trace, const explain_write_stream *stream,
                      stream_head *head)
{
    if (trace->list_count == 0) {
        return;
    }
    explain_code_places *places = explain_code_places_open();
    const explain_field_write *write = &trace->writes[0];
    head->has_code = true;
    head->code.write = stream->list[stream->wanted];
    head->code.level_count = explain_code_places_stack(places, write->instruction, write->stack,
                                                       write->stack_count, head->code.levels);
    explain_code_places_close(places);
}

static ls_status trace(const ls_rerun_order *order, explain_write_stream *stream, stream_head *head)
{
    ls_text why = {{0}};
    ls_loaded_simulation loaded;
    explain_write_trace traced = {0};
    ls_status status = ls_simulation_load(order->match.simulation, &loaded, &why);
    if (status != LS_OK || loaded.simulation->hash || !stream->list) {
        return status == LS_OK ? LS_UNSUPPORTED : status;
    }
    ls_rerun_helper_fill_blocks();
    ls_step_noise noise = ls_rerun_first_noise(&order->stretch, loaded.simulation->pass_count,
                                               order->match.noise); /* the same result */
    noise.is_deep = true;
    stream->noise = &noise;
    const explain_write_request request = {.stream = stream,
                                           .wants_watch = true,
                                           .workers = order->match.workers,
                                           .state_hash = &head->state_hash};
    status = explain_write_trace_run(loaded.simulation, &order->match.config, &order->stretch,
                                     &request, &traced, &why);
    if (status == LS_OK && !traced.is_watched) {
        status = LS_UNSUPPORTED;
    } else if (status == LS_OK) {
        read_code(&traced, stream, head);
    }
    explain_write_trace_release(&traced);
    return status;
}

int explain_stream_helper_run(char **argv)
{
    explain_write_stream stream = {.list = calloc(EXPLAIN_STREAM_MAX, sizeof *stream.list)};
    const ls_rerun_order *order = ls_rerun_helper_begin();
    static stream_head head;
    if (!order || sscanf(argv[1] + strlen(STREAM_ARGUMENT), "%" SCNu32 ":%" SCNu32, &stream.pass,
                         &stream.wanted) != 2) {
        return EXIT_BAD;
    }
    if (trace(order, &stream, &head) == LS_OK) {
        bool wants_all = stream.wanted == UINT32_MAX;
        head.count = wants_all ? stream.count : 0;
        if (ls_rerun_helper_write(&head, sizeof head) &&
            ls_rerun_helper_write(stream.list, head.count * sizeof stream.list[0])) {
            _Exit(EXIT_OK); /* without what a plug-in does at the end */
        }
    }
    _Exit(EXIT_BAD);
}

/* ---- the parent ---- */

static bool take(const explain_runs *runs, const explain_variation *run, const uint32_t which[2],
                 uint8_t *output, size_t room, ls_text *why)
{
    char argument[64];
    size_t size = 0;
    const stream_head *head = (const void *)output; /* from malloc */
    snprintf(argument, sizeof argument, "%s%" PRIu32 ":%" PRIu32, STREAM_ARGUMENT, which[0],
             which[1]);
    if (!explain_variation_run(runs, run, argument, NULL, output, room, &size, why)) {
        return false;
    }
    if (size < sizeof *head ||
        size != sizeof *head + (size_t)head->count * sizeof(explain_stream_write)) {
        ls_text_set(why, "the helper that watches the writes ended early");
        return false;
    }
    return true;
}

bool explain_stream_take(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                         explain_stream *out, ls_text *why)
{
    const size_t room = sizeof(stream_head) + EXPLAIN_STREAM_MAX * sizeof(explain_stream_write);
    uint8_t *output = malloc(room);
    const uint32_t which[2] = {pass, UINT32_MAX};
    *out = (explain_stream){.count = 0};
    if (output && take(runs, run, which, output, room, why)) {
        const stream_head *head = (const void *)output;
        size_t bytes = head->count * sizeof out->list[0];
        out->state_hash = head->state_hash;
        out->list = malloc(bytes > 0 ? bytes : 1);
        out->count = out->list ? head->count : 0;
        memcpy(out->list, output + sizeof *head, out->count * sizeof out->list[0]);
    }
    free(output);
    return out->list != NULL;
}

void explain_stream_release(explain_stream *stream)
{
    free(stream->list);
    *stream = (explain_stream){0};
}

bool explain_stream_code_of(const explain_runs *runs, const explain_variation *run, uint32_t pass,
                            uint32_t index, explain_stream_code *out, ls_text *why)
{
    stream_head *head = calloc(1, sizeof *head);
    const uint32_t which[2] = {pass, index};
    bool is_known =
        head && take(runs, run, which, (uint8_t *)head, sizeof *head, why) && head->has_code;
    if (is_known) {
        *out = head->code;
    }
    free(head);
    return is_known;
}

/* ---- where two part ---- */

/* The writes to one element in one pass, in their order. */
typedef struct write_group {
    const explain_stream_write *const *first;
    uint32_t count;
} write_group;

/* By pass, then element. */
static int compare_writes(const void *left, const void *right, const void *context)
{
    (void)context;
    const explain_stream_write *a = *(const explain_stream_write *const *)left;
    const explain_stream_write *b = *(const explain_stream_write *const *)right;
    if (a->pass != b->pass) {
        return a->pass < b->pass ? -1 : 1;
    }
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    return 0;
}

/* Those of one element in one pass stay in their order. */
static const explain_stream_write **sort(const explain_stream *stream)
{
    const explain_stream_write **sorted = malloc((stream->count + 1u) * sizeof *sorted);
    const explain_stream_write **scratch = malloc((stream->count + 1u) * sizeof *scratch);
    for (uint32_t i = 0; sorted && i < stream->count; i++) {
        sorted[i] = &stream->list[i];
    }
    if (sorted && scratch) {
        ls_stable_sort(sorted, stream->count, sizeof *sorted, scratch, compare_writes, NULL);
    }
    free(scratch);
    return sorted;
}

static bool is_of_group(const explain_stream_write *a, const explain_stream_write *b)
{
    return a->pass == b->pass && a->offset == b->offset;
}

/* The group of `key` at the front, or an empty one. */
static write_group next_group(const explain_stream_write *const *sorted, uint32_t left,
                              const explain_stream_write *key)
{
    write_group group = {sorted, 0};
    while (group.count < left && is_of_group(sorted[group.count], key)) {
        group.count++;
    }
    return group;
}

static bool is_same(const void *a, const void *b)
{
    return memcmp(a, b, sizeof((explain_stream_write *)0)->after) == 0;
}

/* The value at the end of the pass: of an element that the other one alone writes, that before. */
static const uint8_t *value_of(const write_group *own, const write_group *other)
{
    return own->count > 0 ? own->first[own->count - 1]->after : other->first[0]->before;
}

/* The first write of the group in which the two differ, in each stream. Where one writes more
 * often, as code that was compiled otherwise does, no two are known to belong together but the last
 * ones.
 */
static void find_in_group(const write_group groups[2], const explain_stream_write *out[2])
{
    uint32_t at = 0;
    if (groups[0].count > 0 && groups[1].count > 0 && groups[0].count != groups[1].count) {
        out[0] = groups[0].first[groups[0].count - 1];
        out[1] = groups[1].first[groups[1].count - 1];
        return;
    }
    while (at < groups[0].count && at < groups[1].count &&
           is_same(groups[0].first[at]->after, groups[1].first[at]->after)) {
        at++;
    }
    for (uint32_t i = 0; i < 2; i++) {
        out[i] = at < groups[i].count ? groups[i].first[at] : NULL;
    }
}

typedef struct stream_search {
    const explain_stream *streams[2];
    uint32_t pass; /* of what was found; LS_NO_PASS: nothing yet */
    uint32_t order;
    explain_stream_difference is;
} stream_search;

static uint32_t index_in(const explain_stream *stream, const explain_stream_write *write)
{
    return write ? (uint32_t)(write - stream->list) : UINT32_MAX;
}

static void judge_group(stream_search *found, const write_group groups[2])
{
    const explain_stream_write *parts[2];
    uint32_t pass = (groups[0].count > 0 ? groups[0] : groups[1]).first[0]->pass;
    if (is_same(value_of(&groups[0], &groups[1]), value_of(&groups[1], &groups[0]))) {
        return;
    }
    find_in_group(groups, parts);
    const uint32_t at[2] = {index_in(found->streams[0], parts[0]),
                            index_in(found->streams[1], parts[1])};
    uint32_t order = at[0] < at[1] ? at[0] : at[1];
    if (found->pass == LS_NO_PASS || order < found->order) {
        found->pass = pass;
        found->order = order;
        found->is = (explain_stream_difference){{at[0], at[1]}, groups[1].count > groups[0].count};
    }
}

/* Whether the search is over: what is behind the first pass that differs has followed from it. */
static bool is_behind(const stream_search *found, const explain_stream_write *next)
{
    return found->pass != LS_NO_PASS && next->pass > found->pass;
}

bool explain_stream_compare(const explain_stream *a, const explain_stream *b,
                            explain_stream_difference *out)
{
    stream_search found = {.streams = {a, b}, .pass = LS_NO_PASS};
    const explain_stream_write **sorted[2] = {sort(a), sort(b)};
    uint32_t used[2] = {0, 0};
    const uint32_t counts[2] = {a->count, b->count};
    while (sorted[0] && sorted[1] && (used[0] < counts[0] || used[1] < counts[1])) {
        bool is_first = used[1] == counts[1];
        if (used[0] < counts[0] && used[1] < counts[1]) {
            const explain_stream_write *x = sorted[0][used[0]], *y = sorted[1][used[1]];
            is_first = x->pass < y->pass || (x->pass == y->pass && x->offset <= y->offset);
        }
        const explain_stream_write *key = is_first ? sorted[0][used[0]] : sorted[1][used[1]];
        if (is_behind(&found, key)) {
            break;
        }
        write_group groups[2];
        for (uint32_t i = 0; i < 2; i++) {
            groups[i] = next_group(sorted[i] + used[i], counts[i] - used[i], key);
            used[i] += groups[i].count;
        }
        judge_group(&found, groups);
    }
    free(sorted[0]);
    free(sorted[1]);
    *out = found.is;
    return found.pass != LS_NO_PASS;
}

static bool is_among(size_t offset, const size_t *offsets, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && offsets[i] != offset) {
        i++;
    }
    return i < count;
}

/* Whether a later write of the same pass goes over it. */
static bool is_last(const explain_stream *stream, uint32_t index)
{
    for (uint32_t i = index + 1; i < stream->count; i++) {
        if (is_of_group(&stream->list[i], &stream->list[index])) {
            return false;
        }
    }
    return true;
}

uint32_t explain_stream_find(const explain_stream *stream, const size_t *offsets, uint32_t count)
{
    for (uint32_t i = 0; i < stream->count; i++) {
        if (is_among(stream->list[i].offset, offsets, count) && is_last(stream, i)) {
            return i;
        }
    }
    return UINT32_MAX;
}
