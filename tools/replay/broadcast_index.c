#include "lockstep/tools/replay/broadcast_index.h"

#include "lockstep/common/base/text.h"
#include "lockstep/common/program/json.h"

#include <string.h>

bool replay_broadcast_is_id(const char *text)
{
    uint64_t id = 0;
    return strlen(text) == REPLAY_BROADCAST_ID_BYTES - 1 &&
           ls_hex_read_number(text, REPLAY_BROADCAST_ID_BYTES - 1, &id);
}

static ls_status read_match(const ls_json *json, replay_broadcast_index *out)
{
    replay_broadcast_index read = {.segments = 0};
    const char *match = ls_json_read_text(json, "match");
    bool is_whole = match && replay_broadcast_is_id(match) &&
                    ls_json_read_u32(json, "segments", &read.segments) &&
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
