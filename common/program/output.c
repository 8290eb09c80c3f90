#include "lockstep/common/program/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

ls_status ls_output_check_path(const char *path, ls_text *why)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "a");
    if (!file) {
        ls_text_set(why, "cannot write the summary to %s: %s", path, strerror(errno));
        return LS_IO;
    }
    if (file != stdout) {
        fclose(file);
    }
    return LS_OK;
}

/* `what` the text is, for the sentence about a failure. */
static ls_status write_text(const char *path, const char *what, const char *text, ls_text *why)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!file) {
        ls_text_set(why, "cannot write the %s to %s: %s", what, path, strerror(errno));
        return LS_IO;
    }
    int written = fprintf(file, "%s\n", text);
    int flushed = fflush(file);
    int closed = file == stdout ? 0 : fclose(file);
    if (written < 0 || flushed != 0 || closed != 0) {
        ls_text_set(why, "cannot write the %s to %s: %s", what, path, strerror(errno));
        return LS_IO;
    }
    return LS_OK;
}

ls_status ls_output_write(const char *path, const char *text, ls_text *why)
{
    return write_text(path, "summary", text, why);
}

ls_status ls_output_write_port(const char *path, uint16_t port, ls_text *why)
{
    char text[8];
    snprintf(text, sizeof text, "%u", (unsigned)port);
    return write_text(path, "port", text, why);
}
