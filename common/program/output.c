#include "lockstep/common/program/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

ls_status ls_output_write(const char *path, const char *text, ls_text *why)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!file) {
        ls_text_set(why, "cannot write to %s: %s", path, strerror(errno));
        return LS_IO;
    }
    int written = fprintf(file, "%s\n", text);
    int flushed = fflush(file);
    int closed = file == stdout ? 0 : fclose(file);
    if (written < 0 || flushed != 0 || closed != 0) {
        ls_text_set(why, "cannot write to %s: %s", path, strerror(errno));
        return LS_IO;
    }
    return LS_OK;
}
