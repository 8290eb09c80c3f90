#define _GNU_SOURCE
#include "lockstep/common/system/program_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *ls_program_name(void)
{
    return program_invocation_short_name;
}

static int code_of_abort;

static void on_abort(int signal_number)
{
    (void)signal_number;
    _exit(code_of_abort);
}

static void call_at_end(int code, void *user)
{
    void (*at_end)(int code) = NULL;
    memcpy(&at_end, user, sizeof at_end);
    at_end(code);
}

/* A socket would get the number of a closed standard stream, and everything that is printed. Opened
 * for reading, so that writing to it still fails. */
static void fill_standard_streams(void)
{
    int descriptor = open("/dev/null", O_RDONLY);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
        descriptor = open("/dev/null", O_RDONLY);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
}

void ls_program_begin(int abort_code, void (*at_end)(int code))
{
    static void (*kept)(int code);
    struct sigaction action = {.sa_handler = on_abort};
    fill_standard_streams();
    code_of_abort = abort_code;
    sigaction(SIGABRT, &action, NULL);
    kept = at_end;
    on_exit(call_at_end, (void *)&kept);
}
