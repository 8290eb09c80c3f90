#include "lockstep/server/rooms/room_game.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/runtime/rerun/rerun_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/machine_fingerprint.h"
#include "lockstep/server/match/match_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- room files ---- */

enum {
    FOLDER_BYTES_MAX = 512,
    DIGITS = 2 * LS_CIPHER_SHA256_BYTES,
};

/* Calls it as often as there are lines until it says that this is the one. */
static bool find_line(const char *lines, const char *wanted,
                      int (*compare)(const char *, const char *, size_t))
{
    size_t size;
    for (const char *line = lines ? lines : ""; *line != '\0'; line += size + 1) {
        size = strcspn(line, "\n");
        if (size == strlen(wanted) && compare(line, wanted, size) == 0) {
            return true;
        }
    }
    return false;
}

/* From the first folder that has it. */
static ls_status open_beneath(const ls_room_files *files, const char *path, ls_mapped_file *out,
                              ls_text *why)
{
    char folder[FOLDER_BYTES_MAX];
    size_t size;
    ls_status status = ls_fail(LS_BAD_ARGUMENT, why,
                               "this service takes no files: its configuration names their "
                               "folders with `files`");
    for (const char *line = files->folders ? files->folders : "";
         *line != '\0' && (status == LS_BAD_ARGUMENT || status == LS_NOT_FOUND); line += size + 1) {
        size = strcspn(line, "\n");
        snprintf(folder, sizeof folder, "%.*s", (int)size, line);
        status = ls_mapped_file_open_beneath(folder, path, out, why);
        if (status == LS_OK || status == LS_BAD_ARGUMENT) {
            return status;
        }
    }
    return status;
}

static ls_status open_file(void *user, const char *assignment, ls_mapped_file *out, ls_text *why)
{
    ls_room_files *files = user;
    const char *path = strchr(assignment, '=') + 1;
    if (find_line(files->named, assignment, strncmp)) {
        return ls_mapped_file_open(path, out, why);
    }
    ls_status status = open_beneath(files, path, out, why);
    files->is_foreign = files->is_foreign || status == LS_OK;
    return status == LS_OK ? LS_OK : LS_BAD_ARGUMENT;
}

static ls_status check_file(void *user, const ls_param *param, const uint8_t *bytes, size_t size,
                            ls_text *why)
{
    const ls_room_files *files = user;
    uint8_t digest[LS_CIPHER_SHA256_BYTES];
    char digits[DIGITS + 1];
    if (strcmp(param->unit, LS_PARAM_UNIT_CODE) != 0) {
        return LS_OK;
    }
    ls_cipher_sha256(bytes, size, digest);
    ls_hex_write(digits, digest, sizeof digest);
    return find_line(files->code, digits, strncasecmp)
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "--param %s: this service runs no code of which its configuration does "
                         "not list the SHA-256 with `code`",
                         param->name);
}

/* The files outlive it. */
static ls_param_gate gate_of(ls_room_files *files)
{
    return (ls_param_gate){.open = open_file, .check = check_file, .user = files};
}

struct ls_room_game {
    ls_room_request request;
    ls_mapped_file journal;
    ls_resume *resume;
    const char *sim; /* as it was named */
    ls_loaded_simulation loaded;
    bool is_loaded;
    ls_param_files files;
    ls_room_files allowed; /* that may be among them */
    bool has_decided;      /* which there are */
    ls_build_fingerprint print;
    ls_rerun_process *reruns; /* NULL: the system starts none */
    ls_match_config match;
};

static ls_status open_journal(ls_room_game *game, ls_text *why)
{
    const char *path = game->request.resume_path;
    ls_text reason = {{0}};
    ls_status status = ls_mapped_file_open(path, &game->journal, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_resume_open(game->journal.bytes, game->journal.size, ls_allocator_heap(),
                            &game->resume, &reason);
    return status == LS_OK ? LS_OK : ls_fail(status, why, "%s: %s", path, reason.bytes);
}

ls_status ls_room_game_create(const ls_room_request *request, ls_room_game **out, ls_text *why)
{
    ls_room_game *game = ls_allocate(ls_allocator_heap(), sizeof *game);
    if (!game) {
        return LS_NO_MEMORY;
    }
    game->request = *request;
    if (request->files) {
        game->allowed = *request->files;
        game->files.gate = gate_of(&game->allowed);
    }
    ls_status status = request->resume_path ? open_journal(game, why) : LS_OK;
    if (status != LS_OK) {
        ls_room_game_destroy(game);
        return status;
    }
    *out = game;
    return LS_OK;
}

/* Applies the request on top of the defaults, or of a journal's settings. */
static ls_status apply(ls_room_game *game, ls_text *why)
{
    const ls_room_request *request = &game->request;
    uint64_t seed = game->match.sim.seed;
    ls_setting_table_copy(&ls_match_settings, request->given, &request->match, &game->match);
    if (game->resume && game->match.draws_seed) { /* it was, and the journal has it */
        game->match.draws_seed = false;
        game->match.sim.seed = seed;
    }
    if (!ls_setting_is_given(&ls_match_settings, request->given, "spectators")) {
        game->match.spectators_max = request->spectators;
    }
    ls_status status = ls_param_files_decide(&game->files, request->params, request->param_count,
                                             game->loaded.simulation, &game->match.sim, why);
    game->has_decided = status == LS_OK;
    return status;
}

static ls_status configure(ls_room_game *game, ls_text *why)
{
    const ls_simulation *simulation = game->loaded.simulation;
    game->match = ls_match_config_default(simulation);
    ls_status status =
        game->resume ? ls_resume_configure(game->resume, simulation, &game->match, why) : LS_OK;
    LS_THEN(status, apply(game, why));
    if (status == LS_OK && game->resume) {
        status = ls_resume_check(game->resume, &game->match, why);
        status = status == LS_OK
                     ? ls_sim_files_provide(&game->files.files, simulation, &game->match.sim, why)
                     : status;
    }
    LS_THEN(status, ls_setting_table_check(&ls_match_settings, &game->match, true, why));
    return status == LS_OK ? ls_match_config_check(&game->match, why) : status;
}

static void describe_code(ls_room_game *game)
{
    ls_build_fingerprint_here(&game->print);
    ls_bundle_print_libraries(&game->print);
    ls_simulation_print(&game->loaded, game->sim, &game->print);
    game->match.print = &game->print;
    game->match.maths_check = ls_simulation_maths(&game->loaded, game->sim);
}

/* A journal names its simulation: a built-in, unless the request names a plug-in. */
ls_status ls_room_game_load(ls_room_game *game, ls_text *why)
{
    const char *recorded = game->resume ? ls_resume_simulation(game->resume) : "units";
    const ls_simulation *own = game->request.simulation;
    game->sim = own ? own->name : game->request.sim ? game->request.sim : recorded;
    ls_plugin_crash_watch(game->sim);
    game->loaded.simulation = own;
    ls_status status = own ? LS_OK : ls_simulation_load(game->sim, &game->loaded, why);
    game->is_loaded = status == LS_OK;
    LS_THEN(status, configure(game, why));
    if (status != LS_OK) {
        return status;
    }
    describe_code(game);
    const ls_rerun_process_config reruns = {.name = game->loaded.library ? game->sim : NULL};
    game->match.rerun_host = game->request.rerun_host;
    if (!game->match.rerun_host &&
        ls_rerun_process_create(&reruns, ls_allocator_heap(), &game->reruns) == LS_OK) {
        game->match.rerun_host = ls_rerun_process_host(game->reruns);
    }
    return LS_OK;
}

static void warn_of_unused(const ls_room_game *game, const ls_log *log)
{
    static const char *const of_wait[] = {"wait-limit", "wait-budget"};
    uint64_t given = game->request.given;
    for (size_t i = 0; i < sizeof of_wait / sizeof of_wait[0]; i++) {
        if (ls_setting_is_given(&ls_match_settings, given, of_wait[i]) &&
            game->match.late_rule != LS_LATE_WAIT) {
            ls_log_line(log, LS_LOG_WARNING, "--%s has no effect without --late wait", of_wait[i]);
        }
    }
}

static void say_limits(const ls_room_game *game, const ls_log *log)
{
    const ls_simulation *simulation = game->loaded.simulation;
    if (!simulation->hash) {
        return;
    }
    if (ls_simulation_only_hashes(simulation)) {
        ls_log_line(
            log, LS_LOG_WARNING,
            "simulation '%s': a desync will be told with its tick and both hashes alone; %s",
            simulation->name, LS_DESYNC_OF_HASH_ALONE);
    } else if (game->match.finds_causes) {
        ls_log_line(log, LS_LOG_INFO,
                    "simulation '%s' has no schema: a desync will be told by the bytes of its "
                    "save%s",
                    simulation->name,
                    ls_simulation_names_saves(simulation) ? ", with the names of its save_fields"
                                                          : "");
    }
}

void ls_room_game_warn(const ls_room_game *game, const ls_log *log)
{
    warn_of_unused(game, log);
    say_limits(game, log);
}

void ls_room_game_veil(const ls_room_game *game, ls_text *why)
{
    if (game->has_decided && game->allowed.is_foreign) {
        ls_text_set(why,
                    "'%s' makes no match of these parameters and files: lockstep-synctest says why",
                    game->loaded.simulation->name);
    }
}

void ls_room_game_attach(ls_room_game *game, ls_event_loop *loop)
{
    if (game->reruns) {
        ls_rerun_process_attach(game->reruns, loop);
    }
}

void ls_room_game_detach(ls_room_game *game)
{
    ls_rerun_process_detach(game->reruns);
}

void ls_room_game_destroy(ls_room_game *game)
{
    if (!game) {
        return;
    }
    ls_room_game_detach(game);
    ls_rerun_process_destroy(game->reruns);
    ls_param_files_release(&game->files);
    if (game->is_loaded) {
        ls_simulation_unload(&game->loaded);
    }
    ls_resume_close(game->resume);
    ls_mapped_file_close(&game->journal);
    ls_release(ls_allocator_heap(), game);
}

const ls_match_config *ls_room_game_match(const ls_room_game *game)
{
    return &game->match;
}

const char *ls_room_game_simulation(const ls_room_game *game)
{
    return game->sim;
}

ls_resume *ls_room_game_resume(const ls_room_game *game)
{
    return game->resume;
}
