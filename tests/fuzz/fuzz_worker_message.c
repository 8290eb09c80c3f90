/* Fuzzes the lines that a supervisor and its workers say to each other: any text. A message that
 * was read is written again, and says the same when that is read. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/service/worker_message.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static ls_worker_message first;
    static ls_worker_message second;
    if (ls_worker_message_read((const char *)bytes, size, &first) != LS_OK) {
        return 0;
    }
    LS_ASSERT(first.command.settings.count <= LS_ROOM_SETTINGS_MAX);
    LS_ASSERT(first.report.player_count <= LS_PLAYERS_MAX);
    char *line = ls_worker_message_write(&first);
    LS_ASSERT(line && !strchr(line, '\n'));
    LS_ASSERT(ls_worker_message_read(line, strlen(line), &second) == LS_OK);
    char *again = ls_worker_message_write(&second);
    LS_ASSERT(again && strcmp(line, again) == 0);
    ls_json_release_line(again);
    ls_json_release_line(line);
    return 0;
}
