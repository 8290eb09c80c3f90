/* Explained: a bundle in a directory of its own, and what lockstep-desync says of it. Stops the
 * test when something cannot be made. Called by tests of lockstep-desync. */
#ifndef LOCKSTEP_TESTS_SUPPORT_EXPLAINED_H
#define LOCKSTEP_TESTS_SUPPORT_EXPLAINED_H

#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/process.h"

#include <cjson/cJSON.h>

typedef struct explained_files {
    char directory[40];
    char bundle_path[64];
    char html_path[64];
    char stem[64]; /* of the files that a process writes its output to */
    ls_process process;
    cJSON *json; /* of the newest run that wrote one */
} explained_files;

extern explained_files explained;

/* Before and after each test. */
void explained_open(void);
void explained_close(void);

void explained_save_file(const char *path, const uint8_t *bytes, size_t size);

/* Saves the bundle of a match; returns its size. */
size_t explained_save_bundle(diagnosed_match *match);

/* Runs lockstep-desync; the last argument is NULL. */
void explained_run(int exit_code, const char *const *arguments);
void explained_parse(void); /* the output into `json` */

const char *explained_text(const cJSON *object, const char *key);
int explained_number(const cJSON *object, const char *key);

#define EXPLAINED_RUN(exit_code, ...)                                                              \
    explained_run(exit_code, (const char *const[]){__VA_ARGS__, NULL})

/* Explains the bundle into `json`. */
#define EXPLAINED_JSON(...)                                                                        \
    do {                                                                                           \
        EXPLAINED_RUN(3, "explain", explained.bundle_path, "--json", "-", __VA_ARGS__);            \
        explained_parse();                                                                         \
    } while (0)

#endif
