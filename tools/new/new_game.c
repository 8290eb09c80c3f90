#include "lockstep/tools/new/new_game.h"

#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name of the game that the templates are. */
#define TEMPLATE_NAME "newgame"

enum {
    PATH_BYTES_MAX = 2 * LS_NAME_BYTES_MAX + 64,
};

extern const char new_game_build[], new_game_check_script[], new_game_ignored[],
    new_game_page_script[], new_game_play_script[], new_game_readme[], new_game_source[];

static const struct {
    const char *path;
    const char *text;
    bool is_executable;
} files[] = {
    {"CMakeLists.txt", new_game_build, false},    {"README.md", new_game_readme, false},
    {TEMPLATE_NAME ".c", new_game_source, false}, {"check", new_game_check_script, true},
    {"page", new_game_page_script, true},         {"play", new_game_play_script, true},
    {".gitignore", new_game_ignored, false},
};

ls_status new_game_check_name(const char *name, ls_text *why)
{
    size_t size = strlen(name);
    if (size == 0 || size >= LS_NAME_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a name has 1 to %u characters",
                       LS_NAME_BYTES_MAX - 1u);
    }
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != size || name[0] < 'a') {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "'%s' cannot be a name: it is made of a-z, 0-9, - and _, and begins with a "
                       "letter",
                       name);
    }
    if (ls_builtin_simulation_named(name)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s is a simulation that comes with Lockstep", name);
    }
    return LS_OK;
}

/* The text with the game's name in place of the template's, from the heap; NULL without memory. */
static char *filled(const char *text, const char *name)
{
    const size_t from_bytes = strlen(TEMPLATE_NAME), to_bytes = strlen(name);
    size_t bytes = strlen(text) + 1;
    for (const char *at = strstr(text, TEMPLATE_NAME); at; at = strstr(at + 1, TEMPLATE_NAME)) {
        bytes += to_bytes; /* more than enough */
    }
    char *out = malloc(bytes);
    char *end = out;
    while (out) {
        const char *next = strstr(text, TEMPLATE_NAME);
        size_t before = next ? (size_t)(next - text) : strlen(text);
        memcpy(end, text, before);
        end += before;
        if (!next) {
            *end = '\0';
            break;
        }
        memcpy(end, name, to_bytes);
        end += to_bytes;
        text = next + from_bytes;
    }
    return out;
}

static ls_status write_file(const char *name, size_t index, ls_text *why)
{
    char path[PATH_BYTES_MAX];
    char *file = filled(files[index].path, name);
    char *text = filled(files[index].text, name);
    ls_status status = file && text ? LS_OK : LS_NO_MEMORY;
    if (status == LS_OK) {
        snprintf(path, sizeof path, "%s/%s", name, file);
        status = ls_output_write_bytes(path, "a file of the game", text, strlen(text), why);
    }
    if (status == LS_OK && files[index].is_executable && !ls_file_set_executable(path)) {
        status = ls_fail(LS_IO, why, "%s: %s", path, strerror(errno));
    }
    free(file);
    free(text);
    return status;
}

ls_status new_game_make(const char *name, ls_text *why)
{
    ls_status status = new_game_check_name(name, why);
    if (status == LS_OK && !ls_folder_make(name, false)) {
        const char *reason =
            errno == EEXIST ? "it is there already; nothing was changed" : strerror(errno);
        status = ls_fail(LS_IO, why, "cannot make the directory %s: %s", name, reason);
    }
    for (size_t i = 0; status == LS_OK && i < sizeof files / sizeof files[0]; i++) {
        status = write_file(name, i, why);
    }
    return status;
}
