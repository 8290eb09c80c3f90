#include "lockstep/common/loader/plugin_loader.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/loader/maths_check.h"
#include "lockstep/common/loader/own_game.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/common/simulation/plugin_place.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/shared_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a plug-in that is written against lockstep.h: gives its lockstep_game. */
#define GAME_SYMBOL "lockstep_plugin"

enum {
    PROGRAM_PATH_BYTES = 4096,
};

static ls_status load_builtin(const char *name, ls_loaded_simulation *out, ls_text *why)
{
    const ls_simulation *simulation = ls_builtin_simulation_named(name);
    if (simulation) {
        LS_ASSERT(ls_simulation_check(simulation, NULL) == LS_OK);
        *out = (ls_loaded_simulation){.simulation = simulation};
        return LS_OK;
    }
    char shown[LS_NAME_BYTES_MAX];
    ls_name_copy(shown, sizeof shown, name);
    ls_text_set(why, "unknown simulation '%s'; built in are: ", shown);
    for (uint32_t i = 0; (simulation = ls_builtin_simulation(i)); i++) {
        ls_text_add(why, "%s%s", i > 0 ? ", " : "", simulation->name);
    }
    ls_text_add(why, "; a plug-in is named by its file, as in ./game.so");
    return LS_NOT_FOUND;
}

/* A schema depends on the configuration; one that misses bytes misses them by default as well, and
 * whoever loads a plug-in should hear of it before anybody connects. An engine behind a callback
 * has no schema and is not started for nothing. */
static ls_status check_schema(const ls_simulation *simulation, ls_text *fault)
{
    if (simulation->hash) {
        return LS_OK;
    }
    ls_sim_config config = ls_sim_config_default(simulation);
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, fault);
    ls_sim_instance_destroy(instance);
    return status == LS_SCHEMA ? LS_SCHEMA : LS_OK; /* other values may suit init or the memory */
}

/* ls_loaded_simulation.own points to one of these. */
typedef struct own_copy {
    ls_simulation simulation;
    lockstep_game game; /* that the simulation's functions find */
} own_copy;

/* A copy in this program's size, of a plug-in that was built with another. */
static ls_status adapt_size(const ls_simulation *exported, ls_loaded_simulation *out,
                            ls_text *fault)
{
    ls_simulation read;
    ls_status status = ls_simulation_read(exported, &read, fault);
    out->simulation = exported;
    if (status != LS_OK || exported->size == sizeof read) {
        return status;
    }
    own_copy *own = malloc(sizeof *own);
    if (!own) {
        return LS_NO_MEMORY;
    }
    own->simulation = read;
    out->own = own;
    out->simulation = &own->simulation;
    return LS_OK;
}

static ls_status adapt_game(const lockstep_game *exported, ls_loaded_simulation *out,
                            ls_text *fault)
{
    if (!exported) {
        return ls_fail(LS_PLUGIN, fault, "there is no game");
    }
    own_copy *own = malloc(sizeof *own);
    if (!own) {
        return LS_NO_MEMORY;
    }
    out->own = own;
    out->simulation = &own->simulation;
    if (!ls_own_game_read(exported, &own->game)) {
        return ls_fail(LS_PLUGIN, fault, "lockstep_game.size is not set to sizeof(lockstep_game)");
    }
    own->simulation = ls_own_game_simulation(&own->game);
    return ls_own_game_check(&own->game, fault);
}

/* Calls what a plug-in exports, which gives its simulation or its game. */
static const void *call_entry(void *symbol)
{
    const void *(*entry)(void) = NULL;
    /* ISO C has no conversion from object to function pointers; POSIX promises equal bits. */
    _Static_assert(sizeof entry == sizeof symbol, "functions are found as void *");
    memcpy(&entry, &symbol, sizeof entry);
    ls_plugin_place_enter(LS_PLUGIN_CALL_OPEN);
    const void *given = entry();
    ls_plugin_place_leave();
    return given;
}

static ls_status find_simulation(void *library, const char *file, ls_loaded_simulation *out,
                                 ls_text *why)
{
    ls_text fault = {""};
    void *symbol = ls_library_find(library, LS_SIMULATION_SYMBOL);
    void *game = symbol ? NULL : ls_library_find(library, GAME_SYMBOL);
    if (!symbol && !game) {
        return ls_fail(LS_PLUGIN, why, "plug-in '%s' does not export %s(), or %s()", file,
                       LS_SIMULATION_SYMBOL, GAME_SYMBOL);
    }
    ls_status status = symbol ? adapt_size(call_entry(symbol), out, &fault)
                              : adapt_game(call_entry(game), out, &fault);
    if (status == LS_OK) {
        bool is_good = ls_simulation_check(out->simulation, &fault) == LS_OK;
        status = is_good ? check_schema(out->simulation, &fault) : LS_PLUGIN;
    }
    if (status != LS_OK) {
        free(out->own);
        ls_text_set(why, "plug-in '%s' cannot be used: %s", file, fault.bytes);
    }
    return status;
}

/* Whether the C library of this process was told to do without features of the processor: what a
 * plug-in chooses by them goes without as well. */
static bool has_features_off(void)
{
    static const char name[] = "GLIBC_TUNABLES=";
    for (const char *const *variable = ls_machine_variables(); *variable; variable++) {
        if (strncmp(*variable, name, sizeof name - 1) == 0) {
            return strstr(*variable, "-AVX2") != NULL;
        }
    }
    return false;
}

/* A copy of the file in memory, which is changed before the linker asks it which functions to take.
 * NULL: nothing in it is to be changed. */
static void *open_without_features(const char *file)
{
    char path[LS_LIBRARY_COPY_BYTES];
    const char *why = NULL;
    ls_plugin_contents contents;
    void *library = NULL;
    if (!ls_plugin_contents_open(file, &contents)) {
        return NULL;
    }
    if (ls_plugin_contents_hide_features(&contents)) {
        int copy = ls_shared_memory_make("plugin");
        bool is_written =
            copy >= 0 && ls_shared_memory_write(copy, contents.bytes, contents.size, 0);
        copy = is_written ? ls_library_copy_name(copy, path) : copy;
        library = is_written && copy >= 0 ? ls_library_open(path, &why) : NULL;
        ls_shared_memory_close(copy);
    }
    ls_plugin_contents_close(&contents);
    return library;
}

static ls_status load_file(const char *file, ls_loaded_simulation *out, ls_text *why)
{
    ls_text fault = {""};
    ls_status status = ls_plugin_file_check(file, &fault);
    if (status != LS_OK) {
        return ls_fail(status, why, "plug-in '%s' cannot be opened: %s", file, fault.bytes);
    }
    ls_plugin_place_enter(LS_PLUGIN_CALL_OPEN); /* a library may run code when it is opened */
    const char *reason = "";
    void *library = has_features_off() ? open_without_features(file) : NULL;
    library = library ? library : ls_library_open(file, &reason);
    ls_plugin_place_leave();
    if (!library) {
        return ls_fail(LS_PLUGIN, why, "plug-in '%s' cannot be opened: %s", file, reason);
    }
    ls_loaded_simulation loaded = {.library = library};
    status = find_simulation(library, file, &loaded, why);
    if (status != LS_OK) {
        ls_library_close(library);
        return status;
    }
    *out = loaded;
    return LS_OK;
}

ls_status ls_simulation_load(const char *name, ls_loaded_simulation *out, ls_text *why)
{
    return ls_library_is_file(name) ? load_file(name, out, why) : load_builtin(name, out, why);
}

void ls_simulation_unload(ls_loaded_simulation *loaded)
{
    ls_library_close(loaded->library);
    free(loaded->own);
    *loaded = (ls_loaded_simulation){0};
}

/* ---- what a build fingerprint says of it ---- */

/* A program that embeds a game has names of the environment that are not the game's. */
static void print_file(const ls_plugin_contents *file, const char *name, bool is_plugin,
                       ls_build_fingerprint *print)
{
    static const struct {
        ls_fingerprint_item item;
        void (*read)(const ls_plugin_contents *file, ls_text *out);
    } items[] = {
        {LS_PRINT_COMPILER, ls_plugin_contents_compiler},
        {LS_PRINT_FLAGS, ls_plugin_contents_flags},
        {LS_PRINT_VARIABLES, ls_plugin_contents_variables},
        {LS_PRINT_FILES, ls_plugin_contents_data},
    };
    ls_text text = {{0}};
    for (size_t i = 0; i < (is_plugin ? sizeof items / sizeof items[0] : 2); i++) {
        items[i].read(file, &text);
        ls_build_fingerprint_set(print, items[i].item, text.bytes);
    }
    ls_text_set(&text, "%016" PRIx64 ", %zu bytes, %s", ls_plugin_contents_hash(file), file->size,
                name);
    ls_build_fingerprint_set(print, LS_PRINT_SIMULATION, text.bytes);
}

static const char *file_name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder of a file may differ from machine to machine and does not matter. */
void ls_simulation_print(const ls_loaded_simulation *loaded, const char *name,
                         ls_build_fingerprint *print)
{
    ls_plugin_contents file;
    char program[PROGRAM_PATH_BYTES] = "";
    bool may_be_own = !loaded->library && loaded->simulation;
    const void *code = may_be_own ? ls_own_game_code(loaded->simulation) : NULL;
    const char *path = code ? ls_library_of(code, NULL) : loaded->library ? name : NULL;
    if (path && path[0] == '\0' && ls_machine_program_path(program, sizeof program)) {
        path = program;
    }
    if (path && ls_plugin_contents_open(path, &file)) {
        print_file(&file, file_name_of(path), !code, print);
        ls_plugin_contents_close(&file);
    } else if (path || !code) {
        ls_build_fingerprint_set(print, LS_PRINT_SIMULATION,
                                 path ? file_name_of(path) : "built in");
    }
}

/* ---- which file it can be loaded from again ---- */

/* Whether the library that is loaded from this file shows a simulation or a game. */
static bool is_plugin(const char *path)
{
    const char *why = NULL;
    void *library = ls_library_open(path, &why);
    bool is_shown = library && (ls_library_find(library, LS_SIMULATION_SYMBOL) ||
                                ls_library_find(library, GAME_SYMBOL));
    ls_library_close(library);
    return is_shown;
}

const char *ls_simulation_file(const ls_simulation *simulation)
{
    const void *code = ls_own_game_code(simulation);
    const char *path = ls_library_of(code ? code : simulation->name, NULL);
    bool is_file = path && path[0] != '\0';
    if (code && !(is_file && is_plugin(path))) {
        return LS_SIMULATION_EMBEDDED;
    }
    return is_file ? path : NULL;
}

const char *ls_simulation_file_advice(const char *file)
{
    return file && strcmp(file, LS_SIMULATION_EMBEDDED) == 0
               ? "GAME.so stands for the game's own source, compiled with its program's flags and "
                 "-g -shared -fPIC, which exports lockstep_plugin; a language that makes none has "
                 "lockstep_check_steps"
               : NULL;
}

/* ---- which functions of the maths library it calls ---- */

enum {
    LIBRARIES_MAX = 64, /* that are looked into */
};

/* The plug-in's file, and those of the libraries that it needs and has been given. */
typedef struct maths_search {
    const char *paths[LIBRARIES_MAX];
    uint32_t count;
    uint64_t functions;
} maths_search;

static void add_path(maths_search *search, const char *path)
{
    bool is_new = search->count < LIBRARIES_MAX;
    for (uint32_t i = 0; is_new && i < search->count; i++) {
        is_new = strcmp(search->paths[i], path) != 0;
    }
    if (is_new) {
        search->paths[search->count++] = path;
    }
}

static void note_needed(void *user, const char *name)
{
    maths_search *search = user;
    const char *file = file_name_of(name);
    const char *path = ls_plugin_contents_is_of_language(file) ? NULL : ls_library_loaded(file);
    if (path) {
        add_path(search, path);
    }
}

static void note_import(void *user, const char *name)
{
    maths_search *search = user;
    search->functions |= ls_maths_functions_named(name);
}

uint64_t ls_simulation_maths(const ls_loaded_simulation *loaded, const char *name)
{
    maths_search search = {.count = 0};
    if (!loaded->library) {
        return 0;
    }
    add_path(&search, name);
    for (uint32_t next = 0; next < search.count; next++) {
        ls_plugin_contents file;
        if (ls_plugin_contents_open(search.paths[next], &file)) {
            ls_plugin_contents_imports(&file, note_import, &search);
            ls_plugin_contents_needed(&file, note_needed, &search);
            ls_plugin_contents_close(&file);
        }
    }
    return ls_maths_check(search.functions, loaded->library);
}
