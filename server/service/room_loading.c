#include "lockstep/server/service/room_loading.h"

#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/service/room_rotation.h"
#include "lockstep/server/service/room_settings.h"

#include <string.h>

enum {
    SPECTATORS = 16, /* of a room whose settings say nothing of them */
};

static ls_status choose_simulation(const ls_room_loading *loading, const char **sim, ls_text *why)
{
    const ls_plugin_choice choice = {.directory = loading->plugin_dir,
                                     .name = ls_room_settings_find(loading->settings, "sim"),
                                     .sha256 = ls_room_settings_find(loading->settings, "sha256")};
    if (!choice.name && !choice.sha256) {
        return LS_OK;
    }
    *sim = loading->path;
    return ls_plugin_choice_find(&choice, loading->path, loading->path_capacity, why);
}

static ls_status read_settings(const ls_room_loading *loading, ls_room_request *request,
                               ls_param_options *params, ls_text *why)
{
    ls_setting_target match = {.fields = &request->match};
    ls_setting_target given = {.fields = params};
    char drawn[] = "random"; /* unless the settings say otherwise */
    const ls_setting_text seed = {"seed", drawn};
    ls_status status = choose_simulation(loading, &request->sim, why);
    LS_THEN(status, ls_setting_read_text(&ls_match_settings, &match, &seed, why));
    for (uint32_t i = 0; status == LS_OK && i < loading->settings->count; i++) {
        ls_room_setting *row = &loading->settings->rows[i];
        const ls_setting_text text = {row->flag, row->value};
        bool is_ours = strcmp(row->flag, "sim") == 0 || strcmp(row->flag, "sha256") == 0 ||
                       strcmp(row->flag, "private") == 0 || strcmp(row->flag, "join-timeout") == 0;
        if (strcmp(row->flag, "param") == 0) {
            status = ls_setting_read_text(&ls_param_settings, &given, &text, why);
        } else if (!is_ours) {
            status = ls_setting_read_text(&ls_match_settings, &match, &text, why);
        }
    }
    request->given = match.given;
    request->params = params->assignments;
    request->param_count = params->count;
    return status == LS_NOT_FOUND ? LS_BAD_ARGUMENT : status;
}

ls_status ls_room_load(const ls_room_loading *loading, ls_room_game **out, ls_text *why)
{
    ls_room_request request = {
        .spectators = SPECTATORS, .resume_path = loading->journal, .files = loading->files};
    request.match = ls_match_config_default(ls_builtin_simulation(0));
    ls_param_options params = {.count = 0};
    ls_status status = read_settings(loading, &request, &params, why);
    LS_THEN(status, ls_room_game_create(&request, out, why));
    return status == LS_OK ? ls_room_game_load(*out, why) : status;
}

/* Whether the simulation makes a state of its parameters and files. */
static ls_status check_state(const ls_room_game *game, ls_text *why)
{
    const ls_match_config *match = ls_room_game_match(game);
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(match->simulation, &match->sim, ls_allocator_heap(), &instance, why);
    ls_sim_instance_destroy(instance);
    return status;
}

/* Of a room whose matches are checked. */
typedef struct checking {
    ls_room_loading loading;
    bool runs_plugins;
} checking;

static ls_status check_match(void *user, ls_room_settings *match, ls_text *why)
{
    checking *of = user;
    const char *sim = NULL;
    ls_room_game *game = NULL;
    of->loading.settings = match;
    ls_status status = choose_simulation(&of->loading, &sim, why);
    if (status == LS_OK && (of->runs_plugins || !sim || !ls_plugin_choice_is_file(sim))) {
        status = ls_room_load(&of->loading, &game, why);
        LS_THEN(status, check_state(game, why));
    }
    if (status != LS_OK && game) {
        ls_room_game_veil(game, why);
    }
    ls_room_game_destroy(game);
    return status;
}

ls_status ls_room_loading_check(const ls_room_loading *loading, const ls_room_settings *room,
                                bool runs_plugins, ls_text *why)
{
    checking of = {*loading, runs_plugins};
    return ls_room_rotation_check(room, (ls_room_match_check){check_match, &of}, why);
}
