/* Command: what the commands of lockstep-replay have in common: the arguments, the journal that is
 * open, where they print and the JSON object that they fill. Each is a file of its own.
 * Called by lockstep_replay.c. */
#ifndef LOCKSTEP_TOOLS_REPLAY_COMMAND_H
#define LOCKSTEP_TOOLS_REPLAY_COMMAND_H

#include "lockstep/client/window/screen.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/json.h"
#include "lockstep/tools/replay/broadcast_reader.h"

struct replay_command;

typedef struct replay_config {
    const struct replay_command *command;
    const char *paths[2];    /* of journals; diff has two; of view and verify: or a broadcast */
    ls_sim_files files;      /* of file parameters */
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
    replay_broadcast *broadcast; /* that it reads; NULL: a file */
    ls_json *json;
} replay_run;

/* A command prints, fills run->json, and returns DESYNCED for a difference; any other failure is
 * explained in `why`. */
typedef struct replay_command {
    const char *name;
    uint32_t journals, numbers; /* the words behind it: files, then ticks */
    const char *help;
    ls_journal_trust trust; /* seeking needs little of the file, everything else all of it */
    ls_status (*work)(replay_run *run, ls_text *why);
} replay_command;

ls_status replay_info(replay_run *run, ls_text *why);
ls_status replay_verify(replay_run *run, ls_text *why);
ls_status replay_seek(replay_run *run, ls_text *why);
ls_status replay_diff(replay_run *run, ls_text *why);
ls_status replay_export(replay_run *run, ls_text *why);
ls_status replay_view(replay_run *run, ls_text *why);
ls_status replay_cut(replay_run *run, ls_text *why);

/* A line of the answer, on standard output. */
void replay_say(const replay_run *run, const char *format, ...) LS_PRINTF(2, 3);

/* Runs the command that the config names. */
ls_exit_code replay_run_command(const replay_config *config, ls_console *console);

#endif
