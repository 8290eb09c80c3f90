#define _GNU_SOURCE
#include "lockstep/tools/desync/memory_check.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_ARGUMENT "--check-memory"

enum {
    EXIT_OK = 0,
    EXIT_BAD = 1,
    LINE_BYTES_MAX = 512,
    PLACES_MAX = 200, /* bytes of the text of one */
};

/* ---- the helper ---- */

bool explain_memory_helper_is_asked(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], MEMORY_ARGUMENT) == 0;
}

/* memcheck speaks of a value that was never set once a branch depends on it: here one does on each
 * byte. The name stands in its reports. */
__attribute__((noinline)) static void explain_memory_look(const uint8_t *state, size_t bytes)
{
    static volatile unsigned seen;
    for (size_t i = 0; i < bytes; i++) {
        if (state[i] != 0) {
            seen++;
        }
    }
}

static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    const ls_sim_instance *instance = user;
    (void)index;
    pass->run(step);
    explain_memory_look(ls_sim_instance_view(instance), ls_sim_instance_state_bytes(instance));
}

static ls_status run_steps(const ls_rerun_order *order)
{
    ls_text why = {{0}};
    ls_loaded_simulation loaded;
    ls_sim_instance *instance = NULL;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_status status = ls_simulation_load(order->match.simulation, &loaded, &why);
    LS_THEN(status, ls_sim_instance_create(loaded.simulation, &order->match.config,
                                           ls_allocator_heap(), &instance, &why));
    LS_THEN(status, ls_replay_stretch_load(&order->stretch, instance));
    LS_THEN(status, ls_replay_stretch_run(&order->stretch, instance, order->stretch.last - 1));
    LS_THEN(status, ls_replay_stretch_inputs(&order->stretch, instance, slots, &inputs));
    if (status == LS_OK) {
        ls_sim_instance_step_watched(instance, &inputs, &(ls_step_watch){run_pass, instance});
    }
    return status;
}

int explain_memory_helper_run(void)
{
    const ls_rerun_order *order = ls_rerun_helper_begin();
    bool is_run = order && run_steps(order) == LS_OK;
    _Exit(is_run && ls_rerun_helper_write("", 1) ? EXIT_OK : EXIT_BAD);
}

/* ---- what memcheck said ---- */

/* Behind "==123==  at 0x4A5B1F0: think (game.c:30)"; NULL: no such line. */
static const char *place_in(const char *line)
{
    const char *at = strstr(line, " at 0x");
    at = at ? at : strstr(line, " by 0x");
    const char *colon = at ? strchr(at, ':') : NULL;
    return colon ? colon + 2 : NULL;
}

/* The libraries of allocation, and what looked. */
static bool is_of_tools(const char *place)
{
    static const char *const others[] = {
        "vg_replace_malloc", "vgpreload", "/lockstep-desync)", "(new_allocator.h:", "(allocator.h:",
        "(alloc_traits.h:",  "(stl_",     "(alloc.rs:",        "(raw_vec"};
    bool is_one = strncmp(place, "explain_memory_look", 19) == 0 ||
                  strncmp(place, "run_pass (memory_check", 22) == 0;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        is_one = is_one || strstr(place, others[i]);
    }
    return is_one;
}

typedef struct memory_words {
    char used[PLACES_MAX];   /* where the value was used; empty: by us alone */
    char origin[PLACES_MAX]; /* "a stack allocation", or "0 bytes after a block of size 40 alloc'd"
                              */
    char made[PLACES_MAX];   /* where */
    bool is_outside;         /* it lies in no block */
} memory_words;

static void copy(const char *text, char out[PLACES_MAX])
{
    snprintf(out, PLACES_MAX, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Behind the words from which on the line says where the value is from; NULL: it does not. */
static const char *origin_in(const char *line, bool is_outside)
{
    static const char created[] = "Uninitialised value was created by ";
    const char *found = strstr(line, created);
    const char *outside = is_outside && strstr(line, " Address 0x") ? strstr(line, " is ") : NULL;
    return found ? found + sizeof created - 1 : outside ? outside + strlen(" is ") : NULL;
}

/* Of the first value that was never set, or lies in no block. */
static bool read_words(FILE *file, memory_words *out)
{
    char line[LINE_BYTES_MAX];
    bool has_begun = false;
    while (out->made[0] == '\0' && fgets(line, sizeof line, file)) {
        out->is_outside = out->is_outside || strstr(line, "Invalid read of size");
        const char *origin = origin_in(line, out->is_outside);
        const char *place = place_in(line);
        has_begun = has_begun || out->is_outside || strstr(line, "uninitialised value");
        if (origin) {
            copy(origin, out->origin);
        } else if (place && out->origin[0] != '\0' && !is_of_tools(place)) {
            copy(place, out->made);
        } else if (place && has_begun && out->used[0] == '\0') {
            copy(is_of_tools(place) ? "" : place, out->used);
            has_begun = false; /* the frame on top alone */
        }
    }
    return out->made[0] != '\0';
}

/* One build, in a helper under memcheck; false: it could not be run. */
static bool check_build(const explain_runs *runs, const char *build, memory_words *found,
                        ls_text *why)
{
    static const char *const words[] = {"valgrind", "-q", "--tool=memcheck", "--track-origins=yes",
                                        NULL};
    const explain_variation run = {.name = build};
    uint8_t byte = 0;
    size_t size = 0;
    FILE *file = tmpfile();
    const explain_wrapper wrapper = {words, file ? fileno(file) : 0};
    bool is_run =
        file && explain_variation_run(runs, &run, MEMORY_ARGUMENT, &wrapper, &byte, 1, &size, why);
    if (file) {
        rewind(file);
        (void)read_words(file, found);
        fclose(file);
    }
    return is_run && size == 1;
}

void explain_memory_check(const explain_runs *runs, ls_text *out)
{
    const char *const builds[] = {runs->builds->name, runs->builds->other};
    memory_words found = {.is_outside = false};
    bool is_run = true;
    ls_text why = {{0}};
    for (size_t i = 0; i < 2 && builds[i] && is_run && found.made[0] == '\0'; i++) {
        is_run = check_build(runs, builds[i], &found, &why);
    }
    if (found.made[0] != '\0' && found.is_outside) {
        ls_text_set(out, "memcheck: %s reads %s in %s", found.used, found.origin, found.made);
    } else if (found.made[0] != '\0') {
        ls_text_set(out,
                    "memcheck: a value that was never set reaches the state%s%s; it is from %s "
                    "in %s",
                    found.used[0] ? ", used in " : "", found.used, found.origin, found.made);
    } else if (!is_run) {
        ls_text_set(out,
                    "memcheck did not run here (%s): where valgrind is installed, this "
                    "command names the variable",
                    why.bytes[0] ? why.bytes : "it ended early");
    } else {
        ls_text_set(out, "memcheck finds nothing unset that reaches the state in this tick");
    }
}
