#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/timestep/gnuplot.h"

#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"

#include <errno.h>
#include <string.h>

static ls_status fail(const char *path, const char *reason, ls_text *why)
{
    return ls_fail(LS_IO, why, "cannot draw %s: %s", path, reason);
}

/* -d: gnuplot reads no ~/.gnuplot. */
static ls_status draw(FILE *script, const char *path, int output, ls_text *why)
{
    static const char *const arguments[] = {"gnuplot", "-d", NULL};
    if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0) {
        return fail(path, strerror(errno), why);
    }
    const ls_child_process_config config = {
        .program = arguments[0],
        .arguments = arguments,
        .streams = {fileno(script), output, LS_CHILD_OUR_ERRORS}};
    ls_child_process gnuplot;
    ls_child_process_end end;
    ls_text reason = {{0}};
    ls_status status = ls_child_process_start(&config, &gnuplot, &reason);
    if (status == LS_NOT_FOUND) {
        return fail(path,
                    "there is no gnuplot here; in Debian it comes with "
                    "apt-get install gnuplot-nox",
                    why);
    }
    if (status != LS_OK) {
        return fail(path, reason.bytes, why);
    }
    ls_child_process_wait(&gnuplot, LS_CHILD_WAIT_FOREVER, &end);
    return end.exit_code == 0 ? LS_OK : fail(path, "gnuplot failed; what it says is above", why);
}

ls_status stepping_gnuplot_run(FILE *script, const char *path, ls_text *why)
{
    bool was_there = ls_file_look(path, NULL);
    FILE *output = fopen(path, "w");
    if (!output) {
        return fail(path, strerror(errno), why);
    }
    ls_status status = draw(script, path, fileno(output), why);
    if (fclose(output) != 0 && status == LS_OK) {
        status = fail(path, strerror(errno), why);
    }
    if (status != LS_OK && !was_there) {
        remove(path);
    }
    return status;
}
