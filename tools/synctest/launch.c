#define _GNU_SOURCE
#include "lockstep/tools/synctest/launch.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/tools/synctest/perturbed_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    VARIABLES_MAX = 1024,
    PADDING_BYTES_MAX = 64 << 10,
    POLL_MS = 100,
    NUMBER_BYTES = 16,
    /* malloc fills with this byte's complement: nothing in the reference. */
    REFERENCE_FILL = 0xff,
    MOVED_FILL = 0xa5, /* as many digits: the stack begins where it did */
};

static const char self[] = "/proc/self/exe";

/* The variables of the new process. */
typedef struct surroundings {
    char *variables[VARIABLES_MAX + 1];
    size_t count;
    size_t bytes; /* of all, with their ends */
    char tunables[256];
    char padding[PADDING_BYTES_MAX];
} surroundings;

static bool has_name(const char *variable, const char *name)
{
    size_t size = strlen(name);
    return strncmp(variable, name, size) == 0 && variable[size] == '=';
}

static bool is_kept(const char *variable, bool is_turned)
{
    static const char *const needed[] = {"PATH",         "LD_LIBRARY_PATH", "LD_PRELOAD",
                                         "ASAN_OPTIONS", "UBSAN_OPTIONS",   "TSAN_OPTIONS"};
    if (!is_turned) {
        return !has_name(variable, "GLIBC_TUNABLES");
    }
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (has_name(variable, needed[i])) {
            return true;
        }
    }
    return false;
}

static void add(surroundings *new, char *variable)
{
    if (new->count < VARIABLES_MAX) {
        new->variables[new->count++] = variable;
        new->bytes += strlen(variable) + 1;
    }
}

/* Variables without a meaning, so many that there are `count` variables of `bytes` bytes, and the
 * stack begins where it does with those. */
static void pad(surroundings *new, size_t count, size_t bytes)
{
    size_t missing = count > new->count ? count - new->count : 0;
    size_t room = bytes > new->bytes ? bytes - new->bytes : 0;
    if (missing == 0 || room < 3 * missing || room > sizeof new->padding) {
        return; /* as good as it gets */
    }
    char *variable = new->padding;
    for (size_t i = 0; i < missing; i++) {
        size_t size = i + 1 < missing ? 3 : room; /* with its end; the last takes what is left */
        memset(variable, 'P', size - 1);
        variable[1] = '=';
        variable[size - 1] = '\0';
        add(new, variable);
        variable += size;
        room -= size;
    }
}

/* The inherited variables, and those that take their place in an environment that is turned. */
static void add_inherited(surroundings *new, bool is_turned)
{
    static char foreign[][32] = {"LANG=de_DE.UTF-8",  "LC_ALL=de_DE.UTF-8", "TZ=Pacific/Chatham",
                                 "HOME=/nonexistent", "USER=somebody",      "LOGNAME=somebody"};
    new->count = new->bytes = 0;
    for (char **variable = environ; *variable; variable++) {
        if (is_kept(*variable, is_turned)) {
            add(new, *variable);
        }
    }
    for (size_t i = 0; is_turned && i < sizeof foreign / sizeof foreign[0]; i++) {
        add(new, foreign[i]);
    }
}

/* Features that the C library chooses its functions by: those that variant 0 leaves out, and those
 * that variant 1 leaves out as well. Names that it does not know are passed over. */
static const char *const features[] = {"AVX2",       "FMA", "FMA4",   "AVX512F", "AVX2_Usable",
                                       "FMA_Usable", "AVX", "SSE4_1", "SSE4_2"};
enum {
    FIRST_LEFT_OUT = 6,
};

/* As many bytes in every process, and in the reference without an effect: the stack begins where it
 * did. */
static void add_features(const synctest_launch *launch, char *text, size_t capacity)
{
    bool is_moved = launch->changes & SYNCTEST_CHANGES_CPU;
    size_t left_out =
        launch->exchange->variant == 0 ? FIRST_LEFT_OUT : sizeof features / sizeof features[0];
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        size_t used = strlen(text);
        snprintf(text + used, capacity - used, "%s%c%s",
                 i > 0 ? "," : ":glibc.cpu.hwcaps=", is_moved && i < left_out ? '-' : 'x',
                 features[i]);
    }
}

static void keep_one_core(void)
{
    cpu_set_t cores, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        return;
    }
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; core++) {
        if (CPU_ISSET(core, &cores)) {
            CPU_SET(core, &one);
        }
    }
    sched_setaffinity(0, sizeof one, &one);
}

/* Tunables, without the cache that would hand out memory as it is. */
static void make_surroundings(const synctest_launch *launch, surroundings *new)
{
    add_inherited(new, false);
    if (launch->changes & SYNCTEST_CHANGES_ENVIRONMENT) {
        size_t count = new->count, bytes = new->bytes;
        add_inherited(new, true);
        pad(new, count, bytes);
    }
    int fill = launch->changes & SYNCTEST_CHANGES_HEAP ? MOVED_FILL : REFERENCE_FILL;
    snprintf(new->tunables, sizeof new->tunables,
             "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=%d", fill);
    add_features(launch, new->tunables, sizeof new->tunables);
    add(new, new->tunables);
    if (launch->changes & SYNCTEST_CHANGES_ADDRESSES) {
        size_t moved_bytes = 777 + 1789 * (size_t)launch->exchange->variant;
        pad(new, new->count + 1, new->bytes + moved_bytes);
    }
    new->variables[new->count] = NULL;
}

/* In the new process, before exec: only what may follow a fork. */
static void become(const synctest_launch *launch, char **arguments, char **variables)
{
    for (uint32_t i = 0; i < SYNCTEST_FILE_COUNT; i++) {
        fcntl(launch->files[i], F_SETFD, 0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* its parent would not wait for it */
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(launch->words, STDERR_FILENO);
    if (launch->changes & SYNCTEST_CHANGES_CORES && launch->exchange->variant == 0) {
        keep_one_core();
    }
    if (!(launch->changes & SYNCTEST_CHANGES_ADDRESSES)) {
        personality(ADDR_NO_RANDOMIZE);
    }
    execve(self, arguments, variables);
    _exit(127);
}

static pid_t start(const synctest_launch *launch)
{
    static _Thread_local surroundings new;
    char numbers[SYNCTEST_FILE_COUNT][NUMBER_BYTES];
    char name[] = "lockstep-synctest";
    char argument[] = SYNCTEST_PERTURBED_ARGUMENT;
    char *arguments[SYNCTEST_PERTURBED_ARGUMENTS + 1] = {name, argument};
    for (uint32_t i = 0; i < SYNCTEST_FILE_COUNT; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%d", launch->files[i]);
        arguments[2 + i] = numbers[i];
    }
    make_surroundings(launch, &new);
    pid_t pid = fork();
    if (pid == 0) {
        become(launch, arguments, new.variables);
    }
    return pid;
}

/* False when it stood still for too long. */
static bool wait_for_end(const synctest_launch *launch, int process)
{
    uint32_t still_ms = 0;
    uint32_t beats = launch->exchange->progress.beats;
    struct pollfd watched = {.fd = process, .events = POLLIN};
    while (poll(&watched, 1, POLL_MS) == 0) {
        uint32_t now = launch->exchange->progress.beats;
        still_ms = now == beats ? still_ms + POLL_MS : 0;
        beats = now;
        if (still_ms >= launch->patience_ms) {
            return false;
        }
    }
    return true;
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * LS_NS_PER_SECOND + (uint64_t)time->tv_usec * LS_NS_PER_US;
}

ls_status synctest_launch_run(const synctest_launch *launch, synctest_launch_end *end,
                              int *wait_status, uint64_t *worked_ns)
{
    struct rusage used = {0};
    pid_t pid = start(launch);
    int process = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (process < 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, wait_status, 0);
        }
        return LS_IO;
    }
    bool has_ended = wait_for_end(launch, process);
    if (!has_ended) {
        kill(pid, SIGKILL);
    }
    while (wait4(pid, wait_status, 0, &used) < 0 && errno == EINTR) {
    }
    *worked_ns = ns_of(&used.ru_utime) + ns_of(&used.ru_stime);
    close(process);
    bool has_told = launch->exchange->outcome.kind != SYNCTEST_OUTCOME_NONE;
    *end = !has_ended ? SYNCTEST_LAUNCH_HUNG
           : has_told ? SYNCTEST_LAUNCH_TOLD
                      : SYNCTEST_LAUNCH_ENDED;
    return LS_OK;
}

bool synctest_launch_can_fix_addresses(void)
{
    int kept = personality(0xffffffff);
    bool can = kept >= 0 && personality((unsigned long)kept | ADDR_NO_RANDOMIZE) >= 0;
    if (can) {
        personality((unsigned long)kept);
    }
    return can;
}
