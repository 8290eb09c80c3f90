#define _GNU_SOURCE
#include "lockstep/common/system/file_writes.h"

#include "lockstep/common/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    PATH_BYTES_MAX = 4096,
};

static char written[PATH_BYTES_MAX]; /* "": none since the last call */

static int first_argument(void *context)
{
#if defined(__x86_64__)
    return (int)((ucontext_t *)context)->uc_mcontext.gregs[REG_RDI];
#else
    (void)context;
    return -1;
#endif
}

/* In the call that was refused, whose first argument is the file: the signal comes nowhere else.
 * Where the registers of a call do not tell it any more, no file is named. */
static void on_refused(int signal_number, siginfo_t *info, void *context)
{
    char link[32];
    int fd = first_argument(context);
    (void)signal_number;
    (void)info;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (written[0] == '\0') {
        ssize_t length = readlink(link, written, sizeof written - 1);
        written[length > 0 ? length : 0] = '\0';
    }
}

void ls_file_writes_refuse(void)
{
    const struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO};
    struct rlimit limit;
    (void)fflush(NULL);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && sigaction(SIGXFSZ, &action, NULL) == 0) {
        limit.rlim_cur = 0;
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
}

/* A stream keeps what could not be written, and its file is met again. */
bool ls_file_writes_next(char *name, size_t capacity)
{
    (void)fflush(NULL);
    const char *folder = strrchr(written, '/');
    bool is_one = written[0] != '\0';
    if (is_one) {
        ls_name_copy(name, capacity, folder ? folder + 1 : written);
    }
    written[0] = '\0';
    return is_one;
}
