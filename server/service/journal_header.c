#include "lockstep/server/service/journal_header.h"

#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/common/journal/journal_index.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    FRAME_BYTES = LS_RECORD_FILE_HEAD_BYTES + LS_RECORD_MARKED_BYTES,
};

static bool is_missing(const uint8_t *bytes, size_t size)
{
    ls_record header;
    ls_text why;
    if (size < LS_RECORD_FILE_HEAD_BYTES ||
        memcmp(bytes, ls_journal_format.magic, LS_RECORD_MAGIC_BYTES) != 0) {
        return true;
    }
    if (ls_record_file_check(&ls_journal_format, bytes, size, &why) != LS_OK) {
        return false; /* a server of another version wrote it, and only that one can judge it */
    }
    return !ls_record_read(&ls_journal_format, bytes, size, LS_RECORD_FILE_HEAD_BYTES, &header) ||
           header.kind != LS_JOURNAL_HEADER;
}

bool ls_journal_header_is_missing(const char *path)
{
    uint8_t bytes[FRAME_BYTES + LS_JOURNAL_HEADER_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (!file) {
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    bool has_failed = ferror(file) != 0;
    fclose(file);
    return !has_failed && is_missing(bytes, size);
}
