/* Plug-ins that touch what lies outside their state: a library, the processor, files, variables.
 * One is built of each part, which its name selects. */
#include "lockstep/tests/plugins/minimal.h"

#include <stdio.h>
#include <stdlib.h>

/* ==== borrowed ==== */

/* A pass takes numbers from a variable of a library that the plug-in came with, which is
 * the fault, and keeps in a variable of its own what it reads in the same call alone. The library
 * is made of the same file. */
#ifdef PLUGIN_IS_BORROWED

uint32_t borrowed_next(void);

#ifdef BORROWED_LIBRARY
LS_SIMULATION_EXPORT uint32_t borrowed_next(void)
{
    static volatile uint32_t turns;
    turns = turns + 1;
    return turns;
}
#else
static const ls_step *volatile current;

static void burn(void)
{
    ((minimal_state *)current->state)->ships[0].fuel = borrowed_next();
}

static void lend(const ls_step *step)
{
    current = step;
    burn();
    current = step + 1;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"lend", lend}};
    static ls_simulation simulation;
    simulation = minimal_simulation("borrowed", minimal_fields);
    simulation.passes = passes;
    return &simulation;
}
#endif

#endif

/* ==== own_cpuid ==== */

/* Asks the processor what it is, by the instruction, and does nothing about it. */
#ifdef PLUGIN_IS_OWN_CPUID

static uint32_t ask(uint32_t leaf)
{
    uint32_t a = leaf, b = 0, c = 0, d = 0;
    __asm__ __volatile__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return b & c & d;
}

static void run(const ls_step *step)
{
    minimal_state *state = step->state;
    state->ships[0].fuel += ask(7) == 1 ? 1 : 2;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"run", run}};
    static ls_simulation simulation;
    simulation = minimal_simulation("own_cpuid", minimal_fields);
    simulation.passes = passes;
    return &simulation;
}

#endif

/* ==== reader ==== */

/* A plug-in that names an environment variable and a data file, which its fingerprint tells. */
#ifdef PLUGIN_IS_READER

static uint64_t content_digest(const ls_sim_config *config)
{
    FILE *rules = fopen("lockstep_reader.rules", "rb");
    const char *difficulty = getenv("LOCKSTEP_READER_DIFFICULTY");
    uint64_t digest = config->seed + (difficulty != NULL);
    if (rules) {
        digest += (uint64_t)fgetc(rules);
        fclose(rules);
    }
    return digest;
}

const ls_simulation *lockstep_simulation(void)
{
    static ls_simulation simulation;
    simulation = minimal_simulation("reader", minimal_fields);
    simulation.content_digest = content_digest;
    return &simulation;
}

#endif

/* ==== scribe ==== */

/* Writes to files of the folder SCRIBE_FOLDER: its pass opens one at each tick, and its bot
 * has one that stays open. */
#ifdef PLUGIN_IS_SCRIBE

static FILE *open_file(const char *name)
{
    char path[512];
    const char *folder = getenv("SCRIBE_FOLDER");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", name);
    return fopen(path, "a");
}

static void note(const ls_step *step)
{
    FILE *file = open_file("notes.log");
    if (file) {
        fprintf(file, "tick %u\n", step->inputs->tick);
        fclose(file);
    }
    minimal_run(step);
}

static uint32_t send_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                             ls_rng *rng, uint8_t *bytes)
{
    static FILE *file;
    (void)config;
    (void)state;
    (void)rng;
    (void)bytes;
    file = file ? file : open_file("bot.log");
    if (file) {
        fprintf(file, "slot %u\n", slot);
    }
    return 0;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"note", note}};
    static ls_simulation simulation;
    simulation = minimal_simulation("scribe", minimal_fields);
    simulation.passes = passes;
    simulation.pass_count = 1;
    simulation.bot = send_nothing;
    return &simulation;
}

#endif

/* ==== warmed ==== */

/* Right in all that it computes, and yet a pass and all that may only read write to
 * variables outside the state. */
#ifdef PLUGIN_IS_WARMED

static _Thread_local volatile uint32_t counted;
static volatile uint32_t warmed[64];
static volatile uint64_t frames, lines, keys, marks, cues;

static void count(const ls_step *step)
{
    counted++;
    minimal_run(step);
}

static uint32_t send_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                             ls_rng *rng, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)rng;
    (void)bytes;
    warmed[slot] = slot + 7;
    return 0;
}

static void show_nothing(const ls_sim_config *config, const void *previous, const void *current,
                         ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)alpha;
    (void)list;
    frames += previous != current; /* as one that draws between two states */
}

static void tell_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                         ls_status_list *list)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)list;
    lines++;
}

static uint32_t press_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                              const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)bytes;
    keys += controls->pressed != 0;
    return 0;
}

static void mark_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                         const ls_controls *controls, ls_draw_list *list)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)controls;
    (void)list;
    marks++;
}

static void play_nothing(const ls_sim_config *config, const void *previous, const void *current,
                         ls_sound_list *list)
{
    (void)config;
    (void)list;
    cues += previous != current;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"count", count}};
    static ls_simulation simulation;
    simulation = minimal_simulation("warmed", minimal_fields);
    simulation.passes = passes;
    simulation.pass_count = 1;
    simulation.bot = send_nothing;
    simulation.draw = show_nothing;
    simulation.draw_control = mark_nothing;
    simulation.control = press_nothing;
    simulation.sounds = play_nothing;
    simulation.status = tell_nothing;
    return &simulation;
}

#endif
