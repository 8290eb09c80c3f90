#include "lockstep/tools/replay/broadcast_index.h"

#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/program/json.h"

#include <string.h>

static bool is_id(const char *text)
{
    size_t size = strlen(text);
    return size == REPLAY_BROADCAST_ID_BYTES - 1 && strspn(text, "0123456789abcdef") == size;
}

static ls_status read_match(const ls_json *json, replay_broadcast_index *out)
{
    replay_broadcast_index read = {.segments = 0};
    const char *match = ls_json_read_text(json, "match");
    bool is_whole = match && is_id(match) && ls_json_read_u32(json, "segments", &read.segments) &&
                    ls_json_read_u32(json, "key", &read.key) &&
                    ls_json_read_bool(json, "is_over", &read.is_over) && read.key < read.segments;
    if (!is_whole) {
        return LS_MALFORMED;
    }
    memcpy(read.match, match, sizeof read.match);
    *out = read;
    return LS_OK;
}

ls_status replay_broadcast_index_read(const char *text, size_t size, replay_broadcast_index *out)
{
    ls_json *json = ls_json_parse(text, size);
    ls_status status = LS_MALFORMED;
    if (json && ls_json_is_object(json)) {
        bool is_list = ls_json_has(json, "matches");
        const ls_json *match = is_list ? ls_json_read_members(json, "matches") : json;
        status = match ? read_match(match, out) : LS_NOT_FOUND;
    }
    ls_json_destroy(json);
    return status;
}

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
