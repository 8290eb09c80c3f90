#include "lockstep/common/program/frame_trace.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* ---- reading ---- */

static bool is_blank(char character)
{
    return character == ' ' || character == '\t' || character == '\r';
}

/* The line without its comment and without blanks around it. */
static const char *trim(const char *line, size_t *size)
{
    const char *comment = memchr(line, '#', *size);
    if (comment) {
        *size = (size_t)(comment - line);
    }
    while (*size > 0 && is_blank(line[*size - 1])) {
        (*size)--;
    }
    while (*size > 0 && is_blank(*line)) {
        line++;
        (*size)--;
    }
    return line;
}

static bool parse_frame(const char *digits, size_t size, uint64_t *frame_ns)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9' || number > LS_FRAME_TRACE_FRAME_MAX_NS) {
            return false;
        }
        number = number * 10 + (uint64_t)(digits[i] - '0');
    }
    *frame_ns = number;
    return number > 0 && number <= LS_FRAME_TRACE_FRAME_MAX_NS;
}

static uint32_t count_lines(const char *text, size_t size)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n' ? 1 : 0;
    }
    return lines;
}

/* Fills the frames, which have room for every line. The number of a bad line, or 0. */
static uint32_t parse_lines(const char *text, size_t size, ls_frame_trace *trace)
{
    const char *end = text + size;
    for (uint32_t line = 1; text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *next = newline ? newline + 1 : end;
        size_t length = (size_t)((newline ? newline : end) - text);
        const char *digits = trim(text, &length);
        if (length > 0 && !parse_frame(digits, length, &trace->frames_ns[trace->count++])) {
            return line;
        }
        text = next;
    }
    return 0;
}

ls_status ls_frame_trace_parse(const char *text, size_t size, const char *name,
                               const ls_allocator *allocator, ls_frame_trace *out, ls_text *why)
{
    ls_frame_trace trace = {0};
    trace.frames_ns = ls_allocate_array(allocator, count_lines(text, size), sizeof(uint64_t));
    if (!trace.frames_ns) {
        return ls_fail(LS_NO_MEMORY, why, "%s: %s", name, ls_status_text(LS_NO_MEMORY));
    }
    uint32_t bad_line = parse_lines(text, size, &trace);
    if (bad_line > 0 || trace.count == 0) {
        ls_frame_trace_release(&trace, allocator);
    }
    if (bad_line > 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s, line %" PRIu32 ": a line is one frame's time in nanoseconds, from 1 to "
                       "%" PRIu64 " (an hour), or a comment behind #",
                       name, bad_line, LS_FRAME_TRACE_FRAME_MAX_NS);
    }
    if (trace.count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "%s holds no frames: a line is one frame's time in nanoseconds", name);
    }
    *out = trace;
    return LS_OK;
}

ls_status ls_frame_trace_read(const char *path, const ls_allocator *allocator, ls_frame_trace *out,
                              ls_text *why)
{
    ls_mapped_file file;
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    if (file.size > LS_FRAME_TRACE_BYTES_MAX) {
        status = ls_fail(LS_FULL, why, "cannot read %s: it has %zu bytes, more than %" PRIu64, path,
                         file.size, LS_FRAME_TRACE_BYTES_MAX);
    } else {
        const char *text = file.bytes ? (const char *)file.bytes : "";
        status = ls_frame_trace_parse(text, file.size, path, allocator, out, why);
    }
    ls_mapped_file_close(&file);
    return status;
}

void ls_frame_trace_release(ls_frame_trace *trace, const ls_allocator *allocator)
{
    ls_release(allocator, trace->frames_ns);
    *trace = (ls_frame_trace){0};
}

/* ---- writing ---- */

static ls_status fail(const char *path, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot write the frame times to %s: %s", path, strerror(errno));
}

ls_status ls_frame_recorder_open(ls_frame_recorder *recorder, const char *path, ls_text *why)
{
    FILE *file = ls_output_open(path, LS_OUTPUT_NEVER_WAITS);
    if (!file) {
        return fail(path, why);
    }
    *recorder = (ls_frame_recorder){.file = file, .path = path};
    fputs("# frame times in nanoseconds, one a line\n", file);
    return LS_OK;
}

LS_TICK_CODE void ls_frame_recorder_begin_frame(ls_frame_recorder *recorder, uint64_t now_ns)
{
    if (recorder->file && recorder->last_ns > 0 && now_ns > recorder->last_ns) {
        fprintf(recorder->file, "%" PRIu64 "\n", now_ns - recorder->last_ns);
    }
    recorder->last_ns = now_ns;
}

ls_status ls_frame_recorder_close(ls_frame_recorder *recorder, ls_text *why)
{
    if (!recorder->file) {
        return LS_OK;
    }
    bool is_whole = ls_output_close(recorder->file);
    recorder->file = NULL;
    return is_whole ? LS_OK : fail(recorder->path, why);
}
