#include "lockstep/common/system/program_start.h"

#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

/* Without its folder, and without the ending that people leave out. */
const char *ls_program_name(void)
{
    static char name[128];
    if (name[0] == '\0') {
        char path[4096] = "";
        (void)GetModuleFileNameA(NULL, path, sizeof path - 1);
        const char *slash = strrchr(path, '\\');
        snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
        char *ending = strrchr(name, '.');
        if (ending && _stricmp(ending, ".exe") == 0) {
            *ending = '\0';
        }
    }
    return name;
}

static int code_of_abort;
static void (*called_at_end)(int code);

static void on_abort(int signal_number)
{
    (void)signal_number;
    _exit(code_of_abort);
}

/* The C library does not hand on the code: it knows whether the streams hold what was written. */
static void call_at_end(void)
{
    called_at_end(0);
}

/* Files of this program are the same on every system, without carriage returns; a console shows
 * UTF-8, and moves by the sequences of a terminal. */
static void prepare_streams(void)
{
    FILE *const streams[] = {stdin, stdout, stderr};
    _fmode = _O_BINARY;
    for (int i = 0; i < 3; i++) {
        DWORD mode;
        if (_fileno(streams[i]) < 0) {
            (void)freopen("NUL", i == 0 ? "r" : "w", streams[i]);
        }
        (void)_setmode(i, _O_BINARY);
        HANDLE console = (HANDLE)_get_osfhandle(i);
        if (i > 0 && GetConsoleMode(console, &mode)) {
            (void)SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
        }
    }
    (void)SetConsoleOutputCP(CP_UTF8);
    (void)SetConsoleCP(CP_UTF8);
    setvbuf(stderr, NULL, _IONBF, 0);
}

void ls_program_begin(int abort_code, void (*at_end)(int code))
{
    prepare_streams();
    code_of_abort = abort_code;
    called_at_end = at_end;
    signal(SIGABRT, on_abort);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
    atexit(call_at_end);
}
