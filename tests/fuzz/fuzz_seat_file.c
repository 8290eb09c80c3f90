/* Fuzzes the file in which a client remembers its seat: any content. One that is read has exactly
 * the form that is written, and is written again as it was; another one is refused with a reason
 * and changes nothing. */
#include "lockstep/client/link/seat_file.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

#define SERVER "host:7300"
#define PATH "fuzz-seat-file" /* of this process, in the folder that it runs in */

enum {
    FILE_BYTES_MAX = 4096,
};

static size_t read_file(uint8_t bytes[FILE_BYTES_MAX])
{
    size_t size = 0;
    ls_text why = {{0}};
    LS_ASSERT(ls_private_file_read(PATH, bytes, FILE_BYTES_MAX, &size, &why) == LS_OK);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t again[FILE_BYTES_MAX];
    static const ls_session_seat untouched = {.match_id = 1, .secret = {2}};
    ls_session_seat seat = untouched;
    ls_text why = {{0}};
    size = size < FILE_BYTES_MAX ? size : FILE_BYTES_MAX;
    LS_ASSERT(ls_private_file_replace(PATH, "seat", bytes, size, &why) == LS_OK);
    ls_status status = ls_seat_file_read(PATH, SERVER, &seat, &why);
    if (status == LS_OK) {
        LS_ASSERT(ls_seat_file_write(PATH, SERVER, &seat, &why) == LS_OK);
        LS_ASSERT(read_file(again) == size && memcmp(again, bytes, size) == 0);
        seat = untouched;
        LS_ASSERT(ls_seat_file_read(PATH, SERVER "0", &seat, &why) == LS_NOT_FOUND);
    } else {
        LS_ASSERT((status == LS_IO || status == LS_NOT_FOUND) && why.bytes[0] != '\0');
    }
    LS_ASSERT(status == LS_OK || memcmp(&seat, &untouched, sizeof seat) == 0);
    ls_seat_file_remove(PATH);
    return 0;
}
