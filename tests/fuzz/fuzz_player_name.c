/* Fuzzes names: any bytes as a name that somebody gives a program, and any characters as one that a
 * client says. The server makes a name of it that a program would take, that stays as it is and
 * that can be told from the one with a number behind it. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char name[LS_PLAYER_NAME_BYTES_MAX] = "";
    memcpy(name, bytes, size < sizeof name ? size : sizeof name - 1);
    const ls_name_look look = ls_player_name_clean(name, LS_NAME_AS_GIVEN);
    check_name(name, &look);
    read_bytes(bytes, size);
    clean_points(bytes, size);
    return 0;
}
