#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/program_start.h"

#include "lockstep/common/system/posix/parts.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int code_of_abort;

static void on_abort(int signal_number)
{
    (void)signal_number;
    _exit(code_of_abort);
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
    struct sigaction action = {.sa_handler = on_abort};
    fill_standard_streams();
    code_of_abort = abort_code;
    sigaction(SIGABRT, &action, NULL);
    ls_program_part_at_end(at_end);
}
