/* Explained: a bundle in a directory of its own, and what lockstep-desync says of it. Stops the
 * test when something cannot be made. Called by tests of lockstep-desync. */
#ifndef LOCKSTEP_TESTS_SUPPORT_EXPLAINED_H
#define LOCKSTEP_TESTS_SUPPORT_EXPLAINED_H

#include "lockstep/common/system/file.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/process.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct explained_files {
    char directory[40];
    char bundle_path[64];
    char html_path[64];
    char stem[64]; /* of the files that a process writes its output to */
    ls_process process;
    cJSON *json; /* of the newest run that wrote one */
} explained_files;

static explained_files explained;

/* Before and after each test. */
static inline void explained_open(void)
{
    explained_files *made = &explained;
    const char *directory = made->directory;
    cr_assert(ls_folder_make_temporary(made->directory, sizeof made->directory));
    snprintf(made->bundle_path, sizeof made->bundle_path, "%s/desync.bundle", directory);
    snprintf(made->html_path, sizeof made->html_path, "%s/page.html", directory);
    snprintf(made->stem, sizeof made->stem, "%s/run", directory);
}

static inline void explained_close(void)
{
    cJSON_Delete(explained.json);
    ls_process_stop(&explained.process);
    remove(explained.bundle_path);
    remove(explained.html_path);
    remove(explained.process.out_path);
    remove(explained.process.err_path);
    rmdir(explained.directory);
}

static inline void explained_save_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* Saves the bundle of a match; returns its size. */
static inline size_t explained_save_bundle(diagnosed_match *match)
{
    diagnosed_memory *memory = calloc(1, sizeof *memory);
    ls_desync_bundle bundle;
    uint8_t *bytes = NULL;
    size_t size = 0;
    diagnosed_match_bundle(match, memory, &bundle);
    ls_build_fingerprint_set(&bundle.client.print, LS_PRINT_CPU, "Another <CPU> \"2\"");
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    explained_save_file(explained.bundle_path, bytes, size);
    ls_release(ls_allocator_heap(), bytes);
    free(memory);
    return size;
}

/* Runs lockstep-desync, whose path LS_TEST_DESYNC is; the last argument is NULL. */
static inline void explained_run(const char *program, int exit_code, const char *const *arguments)
{
    ls_process *process = &explained.process;
    ls_process_stop(process);
    const ls_process_config config = {
        .program = program, .arguments = arguments, .output_stem = explained.stem};
    ls_process_start(process, &config);
    cr_assert(ls_process_wait(process, LS_PROCESS_PATIENCE_MS));
    cr_assert_eq(process->exit_code, exit_code, "exit code %d: %s", process->exit_code,
                 ls_process_errors(process));
}

/* The output into `json`. */
static inline void explained_parse(void)
{
    const char *output = ls_process_output(&explained.process);
    cJSON_Delete(explained.json);
    explained.json = cJSON_Parse(output);
    cr_assert_not_null(explained.json, "not JSON: %s", output);
}

static inline const char *explained_text(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    cr_assert(item, "no \"%s\"", key);
    return cJSON_IsString(item) ? item->valuestring : "(null)";
}

static inline int explained_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(object, key);
    cr_assert(cJSON_IsNumber(item), "no number \"%s\"", key);
    return item->valueint;
}

#define EXPLAINED_RUN(exit_code, ...)                                                              \
    explained_run(LS_TEST_DESYNC, exit_code, (const char *const[]){__VA_ARGS__, NULL})

/* Explains the bundle into `json`. */
#define EXPLAINED_JSON(...)                                                                        \
    do {                                                                                           \
        EXPLAINED_RUN(3, "explain", explained.bundle_path, "--json", "-", __VA_ARGS__);            \
        explained_parse();                                                                         \
    } while (0)

#endif
