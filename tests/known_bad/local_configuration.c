/* Each machine has its own clock, cores, files, environment and locale (cause 13). A plug-in is
 * built of each part, which its name selects. */
#define _GNU_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

/* ==== clock ==== */

/* Cause 13, the time of day: at night a rule is another one. */
#ifdef GAME_IS_CLOCK

static void sleep_or_wake(const ls_step *step)
{
    game_state *state = step->state;
    bool is_night = step->inputs->tick / 100 % 2 == 0;
#if GAME_FAULTY
    is_night = time(NULL) / 3600 % 24 < 6;
#endif
    state->bonus += is_night ? 1 : 2;
}

GAME_PASSES("sleep", sleep_or_wake);
GAME_PLUGIN("clock", .fields = game_fields, .init = game_init)

#endif

/* ==== core_count ==== */

/* Cause 13: the work is cut into as many parts as there are cores, and so is the sum. */
#ifdef GAME_IS_CORE_COUNT

#if GAME_FAULTY
#include <sys/sysinfo.h>
#endif

static void share_work(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    uint32_t parts = (uint32_t)get_nprocs();
#else
    uint32_t parts = 4;
#endif
    state->bonus += state->inputs / parts;
}

GAME_PASSES("share", share_work);
GAME_PLUGIN("core_count", .fields = game_fields, .init = game_init)

#endif

/* ==== usable_cores ==== */

/* Cause 13: as core_count, by the cores that the process may use: a player who starts the game with
 * taskset, or in a container, has fewer. */
#ifdef GAME_IS_USABLE_CORES

#if GAME_FAULTY
#include <sched.h>
#endif

static uint32_t count_parts(void)
{
#if GAME_FAULTY
    cpu_set_t usable;
    return sched_getaffinity(0, sizeof usable, &usable) == 0 ? (uint32_t)CPU_COUNT(&usable) : 1;
#else
    return 4;
#endif
}

static void share_work(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += state->inputs / count_parts();
}

GAME_PASSES("share", share_work);
GAME_PLUGIN("usable_cores", .fields = game_fields, .init = game_init)

#endif

/* ==== environment ==== */

/* Cause 13: a rule of the game is read from the environment of each machine. With GAME_DECLARED it
 * says so in its content digest, as it should. */
#ifdef GAME_IS_ENVIRONMENT

static uint32_t tax_rate(void)
{
#if GAME_FAULTY
    const char *difficulty = getenv("GAME_DIFFICULTY");
    return difficulty ? (uint32_t)difficulty[0] : 2;
#else
    return 2;
#endif
}

static void tax(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += state->inputs % 11 * tax_rate();
}

#if defined(GAME_DECLARED)
#define CONTENT_DIGEST content_digest

static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    return tax_rate();
}
#else
#define CONTENT_DIGEST NULL
#endif

GAME_PASSES("tax", tax);
GAME_PLUGIN("environment", .fields = game_fields, .init = game_init,
            .content_digest = CONTENT_DIGEST)

#endif

/* ==== imports ==== */

/* Cause 13 in many forms: calls whose answers tell machines apart. Only the file is looked at. */
#ifdef GAME_IS_IMPORTS

#if GAME_FAULTY
static uint32_t ask_system(void)
{
    cpu_set_t cores;
    struct sysinfo machine;
    struct rusage used;
    CPU_ZERO(&cores);
    bool is_asked = sched_getaffinity(0, sizeof cores, &cores) == 0 && sysinfo(&machine) == 0 &&
                    getrusage(RUSAGE_SELF, &used) == 0;
    bool has_words = environ && environ[0] && strcasecmp(environ[0], "fast=1") == 0;
    return (uint32_t)(is_asked + has_words + (long)getauxval(AT_HWCAP) + syscall(SYS_getpid)) +
           (uint32_t)(pthread_self() >> 12);
}

static uint32_t ask_program(void)
{
    char line[16] = "";
    FILE *words = popen("true", "r");
    bool has_line = words && fgets(line, sizeof line, words);
    if (words) {
        pclose(words);
    }
    return has_line;
}

static uint32_t ask_maths(double number)
{
    int sign = 0;
    double sine = 0, cosine = 0;
    sincos(number, &sine, &cosine);
    return (uint32_t)(int64_t)((sin(number + 1) + pow(number, 1.5) + lgamma_r(number, &sign) +
                                sine + cosine) *
                               1e6);
}
#endif

static void ask(const ls_step *step)
{
    game_state *state = step->state;
#if GAME_FAULTY
    state->bonus += ask_system() + ask_program() + ask_maths(state->inputs + 1.0);
#else
    state->bonus += state->inputs;
#endif
}

GAME_PASSES("ask", ask);
GAME_PLUGIN("imports", .fields = game_fields, .init = game_init)

#endif

/* ==== decimal_comma ==== */

/* Cause 13: a number is written as text and the text is counted, as the machine's language has it.
 */
#ifdef GAME_IS_DECIMAL_COMMA

static void print_price(const ls_step *step)
{
    game_state *state = step->state;
    char text[32];
    uint32_t price = 100 + state->inputs;
#if GAME_FAULTY
    snprintf(text, sizeof text, "%.2f", price / 100.0);
#else
    snprintf(text, sizeof text, "%u.%02u", price / 100, price % 100);
#endif
    for (const char *letter = text; *letter; letter++) {
        state->bonus = state->bonus * 31 + (uint8_t)*letter;
    }
}

GAME_PASSES("print", print_price);
GAME_PLUGIN("decimal_comma", .fields = game_fields, .init = game_init)

#endif

/* ==== missing_file ==== */

/* Cause 13: a file of the current folder is read, if there is one. Where it was tested there was
 * none. */
#ifdef GAME_IS_MISSING_FILE

static uint32_t house_rule(void)
{
    uint32_t rule = 2;
#if GAME_FAULTY
    FILE *file = fopen("house_rules.txt", "r");
    if (file) {
        int letter = fgetc(file);
        rule = letter == EOF ? rule : (uint32_t)letter;
        fclose(file);
    }
#endif
    return rule;
}

static void rule(const ls_step *step)
{
    game_state *state = step->state;
    state->bonus += step->inputs->tick % 50 == 20 ? house_rule() : 2;
}

GAME_PASSES("rule", rule);
GAME_PLUGIN("missing_file", .fields = game_fields, .init = game_init)

#endif
