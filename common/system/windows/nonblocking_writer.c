#include "lockstep/common/system/nonblocking_writer.h"

#include "lockstep/common/base/language.h"

#include <errno.h>
#include <io.h>
#include <limits.h>

/* Pipes and consoles of this system take what they are given, or wait: none says how much room it
 * has. A console whose text is being marked waits until that is over. */
ls_nonblocking_writer ls_nonblocking_writer_open(int descriptor)
{
    return (ls_nonblocking_writer){.descriptor = descriptor};
}

void ls_nonblocking_writer_close(ls_nonblocking_writer *writer)
{
    *writer = (ls_nonblocking_writer){.descriptor = -1};
}

size_t ls_nonblocking_writer_write(ls_nonblocking_writer *writer, const char *bytes, size_t size)
{
    size_t written = 0;
    writer->has_failed = false;
    while (written < size && !writer->has_failed) {
        unsigned piece = (unsigned)LS_MIN(size - written, (size_t)INT_MAX);
        int taken = _write(writer->descriptor, bytes + written, piece);
        writer->has_failed = taken <= 0;
        written += taken > 0 ? (size_t)taken : 0;
    }
    return size;
}

bool ls_nonblocking_writer_wait(const ls_nonblocking_writer *writer, uint32_t patience_ms)
{
    (void)writer;
    (void)patience_ms;
    return true;
}
