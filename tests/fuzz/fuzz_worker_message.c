/* Fuzzes the lines that a supervisor and its workers say to each other: any text. A message that
 * was read is written again, and reads as it was written. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/service/worker_message.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

/* Another line of the same message. */
static char *write_again(const char *line)
{
    static ls_worker_message message;
    LS_ASSERT(ls_worker_message_read(line, strlen(line), &message) == LS_OK);
    char *again = ls_worker_message_write(&message);
    ls_worker_message_deinit(&message);
    LS_ASSERT(again && !strchr(again, '\n'));
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static ls_worker_message message;
    if (ls_worker_message_read((const char *)bytes, size, &message) != LS_OK) {
        return 0;
    }
    LS_ASSERT(message.command.settings.count <= LS_ROOM_SETTINGS_MAX);
    LS_ASSERT(message.report.player_count <= LS_PLAYERS_MAX);
    char *line = ls_worker_message_write(&message);
    LS_ASSERT(line);
    ls_worker_message_deinit(&message);
    /* Bytes that are no text are replaced in the first line: two flags may have become one. */
    char *second = write_again(line);
    char *third = write_again(second);
    LS_ASSERT(strcmp(second, third) == 0);
    ls_json_release_line(third);
    ls_json_release_line(second);
    ls_json_release_line(line);
    return 0;
}
