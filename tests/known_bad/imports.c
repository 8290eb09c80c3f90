/* Cause 13 in many forms: calls whose answers tell machines apart. Only the file is looked at. */
#define _GNU_SOURCE
#include "lockstep/tests/known_bad/game.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

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
