#include "lockstep/tools/synctest/launch.h"

#include "lockstep/tools/synctest/perturbed_process.h"
#include "lockstep/tools/synctest/process_changes.h"

#include <string.h>

enum {
    POLL_MS = 100,
};

static ls_status start(const synctest_launch *launch, ls_child_process *process)
{
    static const char *const this_program[] = {"lockstep-synctest", NULL};
    const char *const *words = launch->program ? launch->program : this_program;
    const char *arguments[SYNCTEST_PROGRAM_WORDS_MAX + 2] = {NULL};
    size_t count = 0;
    while (count < SYNCTEST_PROGRAM_WORDS_MAX && words[count]) {
        arguments[count] = words[count];
        count++;
    }
    arguments[count] = SYNCTEST_PERTURBED_ARGUMENT;
    ls_child_process_config config = {.program = launch->program ? words[0] : LS_CHILD_THIS_PROGRAM,
                                      .arguments = arguments,
                                      .streams = {0, 0, launch->words},
                                      .descriptor_count = SYNCTEST_FILE_COUNT,
                                      .dies_with_parent = true};
    synctest_process_changes_prepare(launch, &config);
    memcpy(config.descriptors, launch->files, sizeof launch->files);
    return ls_child_process_start(&config, process, NULL);
}

/* False when it stood still for too long. */
static bool wait_for_end(const synctest_launch *launch, ls_child_process *process,
                         ls_child_process_end *end)
{
    uint32_t still_ms = 0;
    uint32_t beats = launch->exchange->progress.beats;
    while (!ls_child_process_wait(process, POLL_MS, end)) {
        uint32_t now = launch->exchange->progress.beats;
        still_ms = now == beats ? still_ms + POLL_MS : 0;
        beats = now;
        if (still_ms >= launch->patience_ms) {
            ls_child_process_strike(process);
            ls_child_process_wait(process, LS_CHILD_WAIT_FOREVER, end);
            return false;
        }
    }
    return true;
}

ls_status synctest_launch_run(const synctest_launch *launch, synctest_launch_end *how,
                              ls_child_process_end *end)
{
    ls_child_process process;
    ls_status status = start(launch, &process);
    if (status != LS_OK) {
        return status;
    }
    bool has_ended = wait_for_end(launch, &process, end);
    bool has_told = launch->exchange->outcome.kind != SYNCTEST_OUTCOME_NONE;
    *how = !has_ended ? SYNCTEST_LAUNCH_HUNG
           : has_told ? SYNCTEST_LAUNCH_TOLD
                      : SYNCTEST_LAUNCH_ENDED;
    return LS_OK;
}
