/* Fuzzes the texts of players and their files. */
#include "lockstep/client/link/seat_file.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/frame_trace.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/system/private_file.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ==== frame_trace ==== */

/* Fuzzes the reading of frame traces: any text. Frames that were read are written again, one a
 * line, and must read the same. */

enum {
    LINE_BYTES = 24,
    FRAMES_MAX = 4096,
};

static const ls_allocator bounded = {fuzz_allocate_bounded, fuzz_release_bounded, NULL, NULL};

static void check_again(const ls_frame_trace *trace)
{
    static char text[FRAMES_MAX * LINE_BYTES];
    size_t size = 0;
    for (uint32_t i = 0; i < trace->count; i++) {
        size +=
            (size_t)snprintf(text + size, sizeof text - size, "%" PRIu64 "\n", trace->frames_ns[i]);
    }
    ls_frame_trace again;
    LS_ASSERT(ls_frame_trace_parse(text, size, "again", &bounded, &again, NULL) == LS_OK);
    LS_ASSERT(again.count == trace->count);
    for (uint32_t i = 0; i < trace->count; i++) {
        LS_ASSERT(again.frames_ns[i] == trace->frames_ns[i]);
    }
    ls_frame_trace_release(&again, &bounded);
}

FUZZ_TARGET(frame_trace)
{
    ls_frame_trace trace;
    ls_text why = {{0}};
    if (ls_frame_trace_parse((const char *)bytes, size, "fuzz", &bounded, &trace, &why) != LS_OK) {
        LS_ASSERT(why.bytes[0] != '\0');
        return 0;
    }
    LS_ASSERT(trace.count > 0);
    for (uint32_t i = 0; i < trace.count; i++) {
        LS_ASSERT(trace.frames_ns[i] >= 1 && trace.frames_ns[i] <= LS_FRAME_TRACE_FRAME_MAX_NS);
    }
    if (trace.count <= FRAMES_MAX) {
        check_again(&trace);
    }
    ls_frame_trace_release(&trace, &bounded);
    return 0;
}

/* ==== player_name ==== */

/* Fuzzes names: any bytes as a name that somebody gives a program, and any characters as one that a
 * client says. The server makes a name of it that a program would take, that stays as it is and
 * that can be told from the one with a number behind it. */

enum {
    TEXT_MAX = 512,
    POINT_BYTES = 3,
};

/* With a number behind it, it is another name, and without that the one that it was. */
static void check_number(const char name[LS_PLAYER_NAME_BYTES_MAX], uint32_t number)
{
    char bare[LS_PLAYER_NAME_BYTES_MAX];
    char numbered[LS_PLAYER_NAME_BYTES_MAX];
    memcpy(bare, name, sizeof bare);
    const ls_name_look bare_look = ls_player_name_clean(bare, 1);
    memcpy(numbered, name, sizeof numbered);
    const ls_name_look look = ls_player_name_clean(numbered, number);
    char again[LS_PLAYER_NAME_BYTES_MAX];
    memcpy(again, numbered, sizeof again);
    const ls_name_look same = ls_player_name_clean(again, LS_NAME_AS_GIVEN);
    LS_ASSERT(strcmp(again, numbered) == 0 && memcmp(&same, &look, sizeof same) == 0);
    LS_ASSERT(numbered[strlen(numbered) - 1] == ')');
    if (strlen(bare) + strlen(" (65536)") < LS_PLAYER_NAME_BYTES_MAX) {
        LS_ASSERT(!ls_name_look_is_like(&look, &bare_look));
        (void)ls_player_name_clean(numbered, 1);
        LS_ASSERT(strcmp(numbered, bare) == 0);
    }
}

/* A name that a server gives. */
static void check_name(const char name[LS_PLAYER_NAME_BYTES_MAX], const ls_name_look *look)
{
    char again[LS_PLAYER_NAME_BYTES_MAX];
    ls_text why = {{0}};
    check_number(name, 2);
    check_number(name, 65536);
    LS_ASSERT(ls_player_name_read(name, again, &why) == LS_OK);
    LS_ASSERT(strcmp(again, name) == 0);
    const ls_name_look same = ls_player_name_clean(again, LS_NAME_AS_GIVEN);
    LS_ASSERT(strcmp(again, name) == 0 && memcmp(&same, look, sizeof same) == 0);
    ls_text_make_printable(again, strlen(again));
    LS_ASSERT(strcmp(again, name) == 0);
    LS_ASSERT(ls_player_name_width(name) > 0);
}

static void read_bytes(const uint8_t *bytes, size_t size)
{
    char text[TEXT_MAX + 1] = "";
    char name[LS_PLAYER_NAME_BYTES_MAX];
    ls_text why = {{0}};
    memcpy(text, bytes, size < TEXT_MAX ? size : TEXT_MAX);
    if (ls_player_name_read(text, name, &why) != LS_OK) {
        LS_ASSERT(why.bytes[0] != '\0');
        return;
    }
    char cleaned[LS_PLAYER_NAME_BYTES_MAX];
    memcpy(cleaned, name, sizeof cleaned);
    const ls_name_look look = ls_player_name_clean(cleaned, LS_NAME_AS_GIVEN);
    LS_ASSERT(strcmp(cleaned, name) == 0);
    check_name(name, &look);
}

static size_t put_point(uint32_t point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t bytes = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i-- > 1; point >>= 6) {
        out[i] = (char)(0x80 | (point & 0x3f));
    }
    out[0] = (char)((0xf00 >> bytes & 0xff) | point);
    return bytes;
}

static void clean_points(const uint8_t *bytes, size_t size)
{
    char name[LS_PLAYER_NAME_BYTES_MAX] = "";
    size_t used = 0;
    for (size_t i = 0; i + POINT_BYTES <= size && used + 4 < sizeof name; i += POINT_BYTES) {
        uint32_t point = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        used += put_point(point % 0x110000, name + used);
    }
    name[used] = '\0';
    const ls_name_look look = ls_player_name_clean(name, LS_NAME_AS_GIVEN);
    check_name(name, &look);
}

FUZZ_TARGET(player_name)
{
    char name[LS_PLAYER_NAME_BYTES_MAX] = "";
    memcpy(name, bytes, size < sizeof name ? size : sizeof name - 1);
    const ls_name_look look = ls_player_name_clean(name, LS_NAME_AS_GIVEN);
    check_name(name, &look);
    read_bytes(bytes, size);
    clean_points(bytes, size);
    return 0;
}

/* ==== seat_file ==== */

/* Fuzzes the file in which a client remembers its seat: any content. One that is read has exactly
 * the form that is written, and is written again as it was; another one is refused with a reason
 * and changes nothing. */

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

FUZZ_TARGET(seat_file)
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
