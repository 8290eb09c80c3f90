#define _GNU_SOURCE
#include "lockstep/tools/desync/sanitizer_report.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/mapped_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES_MAX = 1024,
    NAME_BYTES_MAX = 256,
};

/* ---- before the run ---- */

/* Among the names in the plug-in's file, of which those of libraries that it needs are some. */
static bool names_library(const ls_mapped_file *file, const char *beginning, char *name)
{
    const char *at = (const char *)file->bytes;
    const char *end = at + file->size;
    size_t size = strlen(beginning);
    while ((at = memmem(at, (size_t)(end - at), beginning, size)) != NULL) {
        size_t length = strnlen(at, (size_t)(end - at));
        if ((const uint8_t *)at > file->bytes && at[-1] == '\0' && at + length < end &&
            length < NAME_BYTES_MAX && strstr(at, ".so")) {
            memcpy(name, at, length + 1);
            return true;
        }
        at += size;
    }
    return false;
}

/* The sanitizers' own libraries come first in the process: they replace malloc, and are there
 * before anything else. */
static ls_status set_preload(explain_sanitizer_report *report, const char *plugin, ls_text *why)
{
    static const char *const runtimes[] = {"libasan.so", "libtsan.so", "liblsan.so", "libubsan.so",
                                           "libclang_rt."};
    char name[NAME_BYTES_MAX];
    char *variable = report->variables[0];
    size_t capacity = sizeof report->variables[0];
    size_t used = 0;
    ls_mapped_file file = {NULL, 0};
    ls_status status = ls_mapped_file_open(plugin, &file, why);
    for (size_t i = 0; status == LS_OK && i < sizeof runtimes / sizeof runtimes[0]; i++) {
        if (names_library(&file, runtimes[i], name)) {
            used += (size_t)snprintf(variable + used, capacity - used, "%s%s",
                                     used == 0 ? "LD_PRELOAD=" : ":", name);
        }
    }
    ls_mapped_file_close(&file);
    return status;
}

ls_status explain_sanitizer_report_open(explain_sanitizer_report *report, const char *plugin,
                                        ls_text *why)
{
    static const char *const options[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"};
    char directory[] = "/tmp/lockstep-sanitizer-XXXXXX";
    *report = (explain_sanitizer_report){.directory = ""};
    if (!mkdtemp(directory)) {
        return ls_fail(LS_IO, why, "no directory can be made in /tmp");
    }
    snprintf(report->directory, sizeof report->directory, "%s", directory);
    ls_status status = set_preload(report, plugin, why);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        snprintf(report->variables[1 + i], sizeof report->variables[1 + i],
                 "%s=log_path=%s/%zu:detect_leaks=0:halt_on_error=1:print_stacktrace=1", options[i],
                 directory, i);
    }
    return status;
}

/* ---- after it ---- */

static void cut_line(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
}

/* "    #1 0x7f... in fill game.c:41": the first frame with a line of a file, which is not one of
 * the sanitizer's own. */
static bool is_place(const char *line)
{
    const char *in = strstr(line, " in ");
    const char *colon = strrchr(line, ':');
    return strstr(line, "#") && in && colon && colon > in && colon[1] >= '0' && colon[1] <= '9' &&
           !strstr(line, "libsanitizer") && !strstr(line, "interceptor");
}

/* AddressSanitizer tells first what it is and then, in the stack below, where. False: it does not
 * tell where; the process may have been killed while it wrote. */
static bool read_report(FILE *file, ls_text *out)
{
    char line[LINE_BYTES_MAX];
    bool has_begun = false;
    while (fgets(line, sizeof line, file)) {
        char *error = strstr(line, "runtime error:");
        cut_line(line);
        if (error && !has_begun) {
            const char *slash = strrchr(line, '/');
            bool is_before = slash && slash < error;
            ls_text_set(out, "%s", is_before ? slash + 1 : line);
            return true;
        }
        error = strstr(line, "ERROR: ");
        error = error ? error : strstr(line, "WARNING: ");
        if (error && !has_begun) {
            has_begun = true;
            char *address = strstr(error, " on address");
            error[address ? (size_t)(address - error) : strlen(error)] = '\0';
            ls_text_set(out, "%s", strchr(error, ' ') + 1);
        } else if (has_begun && is_place(line)) {
            const char *slash = strrchr(line, '/');
            ls_text_add(out, ", in %s", slash ? slash + 1 : strstr(line, " in ") + 4);
            return true;
        }
    }
    return false;
}

/* Calls `visit` for the files until it says true. */
static bool visit_files(const explain_sanitizer_report *report,
                        bool (*visit)(const char *path, ls_text *out), ls_text *out)
{
    ls_folder *folder = ls_folder_open(report->directory);
    const char *name = NULL;
    bool is_done = false;
    while (folder && !is_done && (name = ls_folder_next(folder)) != NULL) {
        char path[NAME_BYTES_MAX + sizeof report->directory];
        snprintf(path, sizeof path, "%s/%.200s", report->directory, name);
        is_done = name[0] != '.' && visit(path, out);
    }
    ls_folder_close(folder);
    return is_done;
}

static bool read_file_at(const char *path, ls_text *out)
{
    FILE *file = fopen(path, "r");
    bool has_report = file && read_report(file, out); /* whole; else another one may be */
    if (file) {
        fclose(file);
    }
    return has_report;
}

static bool remove_file_at(const char *path, ls_text *out)
{
    (void)out;
    remove(path);
    return false;
}

bool explain_sanitizer_report_read(const explain_sanitizer_report *report, ls_text *out)
{
    return visit_files(report, read_file_at, out) || out->bytes[0] != '\0';
}

void explain_sanitizer_report_close(explain_sanitizer_report *report)
{
    if (report->directory[0] != '\0') {
        visit_files(report, remove_file_at, NULL);
        remove(report->directory);
    }
}
