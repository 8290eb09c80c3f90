#include "lockstep/tools/replay/broadcast_segment.h"

#include "lockstep/common/journal/journal_index.h"

size_t replay_broadcast_segment_head(const uint8_t *bytes, size_t size)
{
    ls_record header;
    ls_text why;
    bool is_segment =
        ls_record_file_check(&ls_journal_format, bytes, size, &why) == LS_OK &&
        ls_record_read(&ls_journal_format, bytes, size, LS_RECORD_FILE_HEAD_BYTES, &header) &&
        header.kind == LS_JOURNAL_HEADER;
    return is_segment ? (size_t)ls_record_end(&header, &ls_journal_format) : 0;
}
