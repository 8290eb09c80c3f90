/* Command: what the commands of lockstep-replay have in common: the arguments, the journal that is
 * open, where they print and the JSON object that they fill. Each is a file of its own.
 * Called by lockstep_replay.c. */
#ifndef LOCKSTEP_TOOLS_REPLAY_COMMAND_H
#define LOCKSTEP_TOOLS_REPLAY_COMMAND_H

#include "lockstep/client/view/screen.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/program/json.h"
#include "lockstep/tools/replay/playback.h"

typedef struct replay_config {
    const char *command;
    const char *paths[2];    /* of journals; diff has two */
    const char *simulation;  /* NULL: the built-in that the journal names */
    const char *output;      /* of export and cut; "-": standard output */
    const char *fields;      /* seek: prints those whose names begin so; NULL: none */
    ls_tick from;            /* seek, cut; view: where it begins to play */
    ls_tick to;              /* cut */
    int32_t speed;           /* view: as a power of two */
    ls_screen_config screen; /* view */
    const char *json_path;   /* NULL: no summary */
    bool is_quiet;           /* prints nothing but warnings */
} replay_config;

typedef struct replay_run {
    const replay_config *config;
    ls_console *console;
    replay_playback *playback;
    ls_json *json;
} replay_run;

/* X(NAME, journals, numbers, help) */
#define REPLAY_COMMAND_MAP(X)                                                                      \
    X(info, 1, 0, "FILE: what is in the journal, and whether all of it is there")                  \
    X(verify, 1, 0, "FILE: simulate it again and compare every recorded state")                    \
    X(seek, 1, 1, "FILE TICK: the state at a tick, from the nearest snapshot")                     \
    X(diff, 2, 0, "FILE FILE: the first tick at which two journals differ, and in what")           \
    X(export, 1, 0, "FILE: everything as JSON lines, to --output")                                 \
    X(view, 1, 0, "FILE: watch it")                                                                \
    X(cut, 1, 2, "FILE FROM TO: a journal of ticks FROM to TO - 1, to --output")

/* Each prints, fills run->json, and returns DESYNCED for a difference; any other failure is
 * explained in `why`. */
#define REPLAY_COMMAND_DECLARE(name, journals, numbers, help)                                      \
    ls_status replay_##name(replay_run *run, ls_text *why);
REPLAY_COMMAND_MAP(REPLAY_COMMAND_DECLARE)
#undef REPLAY_COMMAND_DECLARE

/* A line of the answer, on standard output. */
void replay_say(const replay_run *run, const char *format, ...) LS_PRINTF(2, 3);

/* Runs the command that the config names. */
ls_exit_code replay_run_command(const replay_config *config, ls_console *console);

#endif
