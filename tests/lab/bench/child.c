#define _GNU_SOURCE
#include "lockstep/tests/lab/bench/child.h"

#include "lockstep/common/system/socket.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct child_task {
    bench_child_work work;
    const void *user;
} child_task;

static int work_in_child(const void *user, int channel)
{
    const child_task *task = user;
    task->work(task->user, channel);
    return 0;
}

ls_status bench_child_start(bench_child *child, bench_child_work work, const void *user,
                            ls_text *why)
{
    const child_task task = {work, user};
    const ls_child_process_work copy = {.run = work_in_child, .user = &task};
    fflush(NULL); /* or both would write what waits */
    return ls_child_process_fork(&copy, &child->process, &child->pipe, why);
}

ls_status bench_child_start_program(bench_child *child, const char *const *arguments, ls_text *why)
{
    const ls_child_process_config config = {
        .program = arguments[0], .arguments = arguments, .dies_with_parent = true};
    child->pipe = -1;
    return ls_child_process_start(&config, &child->process, why);
}

ls_status bench_child_receive(const bench_child *child, void *bytes, size_t size, int patience_ms,
                              ls_text *why)
{
    ls_status status = ls_socket_receive_all(child->pipe, bytes, size, (uint32_t)patience_ms);
    return status == LS_OK ? LS_OK
                           : ls_fail(LS_IO, why, "a process of the benchmark %s",
                                     status == LS_IO ? "ended before its time" : "took too long");
}

void bench_child_send(int pipe_end, const void *bytes, size_t size)
{
    if (ls_socket_send_all(pipe_end, bytes, size) != LS_OK) {
        _exit(1); /* the parent does not listen any more */
    }
}

ls_status bench_child_find_program(const char *name, char path[BENCH_PATH_BYTES_MAX], ls_text *why)
{
    char self[BENCH_PATH_BYTES_MAX] = "";
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes <= 0) {
        return ls_fail(LS_IO, why, "cannot tell where this program is");
    }
    char *own_name = strrchr(self, '/');
    *(own_name ? own_name : self) = '\0';
    int length = snprintf(path, BENCH_PATH_BYTES_MAX, "%s/%s", self, name);
    return length < BENCH_PATH_BYTES_MAX && access(path, X_OK) == 0
               ? LS_OK
               : ls_fail(LS_NOT_FOUND, why, "there is no %s", path);
}

void bench_child_ask_to_stop(bench_child *child, uint32_t patience_ms)
{
    if (child->process.id != 0) {
        ls_child_process_ask(&child->process);
        ls_child_process_wait(&child->process, patience_ms, NULL);
    }
    bench_child_stop(child);
}

void bench_child_stop(bench_child *child)
{
    if (child->process.id != 0) {
        ls_child_process_kill(&child->process);
        ls_socket_close(child->pipe);
    }
}

void bench_child_stay_on(unsigned core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    sched_setaffinity(0, sizeof cores,
                      &cores); /* fails where there is no such core: then anywhere */
}

double bench_process_number(int process, const char *name, const char *word)
{
    char text[256];
    double value = 0;
    snprintf(text, sizeof text, "/proc/%d/%s", process, name);
    FILE *file = fopen(text, "r");
    size_t size = strlen(word);
    while (file && fgets(text, sizeof text, file)) {
        value = strncmp(text, word, size) == 0 ? strtod(text + size, NULL) : value;
    }
    if (file) {
        fclose(file);
    }
    return value;
}

uint32_t bench_process_libraries(int process)
{
    char text[BENCH_PATH_BYTES_MAX];
    uint32_t count = 0;
    snprintf(text, sizeof text, "/proc/%d/maps", process);
    FILE *file = fopen(text, "r");
    while (file && fgets(text, sizeof text, file)) {
        count += strstr(text, " r-xp ") && strstr(text, ".so");
    }
    if (file) {
        fclose(file);
    }
    return count;
}
