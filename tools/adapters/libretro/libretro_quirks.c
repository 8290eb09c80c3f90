#include "lockstep/tools/adapters/libretro/libretro_quirks.h"

#include "lockstep/tools/adapters/libretro/libretro_api.h"

#include <string.h>

#define ALL_BUTTONS 0xffffu

/* ---- Gambatte ---- */

/* A save is u16 version, the size of a small picture in three bytes, and then members: a name with
 * its final NUL, a size in three bytes, a value, highest byte first. */
typedef struct member {
    size_t head; /* bytes of name and size */
    size_t value;
    size_t size;
} member;

enum {
    MEMBERS_AT = 5,
};

/* The one at this place; false at the end, and for one that does not fit. */
static bool read_member(const uint8_t *save, size_t size, size_t at, member *out)
{
    const uint8_t *end = at < size ? memchr(save + at, '\0', size - at) : NULL;
    size_t head = end ? (size_t)(end - (save + at)) + 4 : 0;
    if (!end || head > size - at) {
        return false;
    }
    size_t bytes = (size_t)end[1] << 16 | (size_t)end[2] << 8 | end[3];
    *out = (member){head, at + head, bytes};
    return bytes <= size - at - head;
}

static member find_member(const uint8_t *save, size_t size, const char *name)
{
    member found;
    for (size_t at = MEMBERS_AT; read_member(save, size, at, &found);
         at = found.value + found.size) {
        if (strcmp((const char *)save + at, name) == 0) {
            return found;
        }
    }
    return (member){0, 0, 0};
}

/* The same members, of the same sizes. */
static bool is_alike(const uint8_t *save, const uint8_t *own, size_t size)
{
    member found;
    size_t at = MEMBERS_AT;
    bool is_same = memcmp(save, own, MEMBERS_AT) == 0;
    for (; is_same && read_member(own, size, at, &found); at = found.value + found.size) {
        is_same = memcmp(save + at, own + at, found.head) == 0;
    }
    return is_same;
}

static uint32_t number_in(const uint8_t *save, size_t size, const char *name)
{
    member found = find_member(save, size, name);
    uint32_t number = 0;
    for (size_t i = 0; i < found.size; i++) {
        number = number << 8 | save[found.value + i];
    }
    return number;
}

enum {
    LINES_CYCLES = 144 * 456, /* of a picture, before the pause in which nothing is drawn */
    LINE_END = 168,
};

/* Sprites of a line of the picture, when none is being drawn. */
static void clean_gambatte(uint8_t *save, size_t size)
{
    static const char *const sprites[] = {"csprite", "nsprite", "spattr", "spbyte0", "spbyte1"};
    bool is_line =
        number_in(save, size, "vcycles") < LINES_CYCLES && number_in(save, size, "xpos") < LINE_END;
    for (size_t i = 0; !is_line && i < sizeof sprites / sizeof sprites[0]; i++) {
        member found = find_member(save, size, sprites[i]);
        memset(save + found.value, 0, found.size);
    }
}

static bool is_safe_gambatte(const uint8_t *save, const uint8_t *own, size_t size)
{
    uint32_t now = number_in(save, size, "cc"), copied = number_in(save, size, "lodmaup");
    bool is_copying = copied != UINT32_MAX; /* sprites: it goes on from there, a step at a time */
    return is_alike(save, own, size) &&
           (!is_copying || (copied <= now && now - copied < LINES_CYCLES * 4u));
}

/* ---- by name ---- */

static const struct {
    const char *name; /* begins with it */
    libretro_quirks quirks;
} known[] = {
    /* While X and Y are held it presses A and B by itself, by a count that it saves and does not
     * load. */
    {"Nestopia", {.buttons = ALL_BUTTONS ^ (1u << LIBRETRO_PAD_X | 1u << LIBRETRO_PAD_Y)}},
    /* Where a line ends comes back rounded up; a count of samples since it was started says when a
     * frame is passed over. */
    {"Gambatte",
     {.buttons = ALL_BUTTONS,
      .is_settled = true,
      .may_pass_over_frames = true,
      .clean = clean_gambatte,
      .is_safe = is_safe_gambatte}},
};

libretro_quirks libretro_quirks_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(name, known[i].name, strlen(known[i].name)) == 0) {
            return known[i].quirks;
        }
    }
    return (libretro_quirks){.buttons = ALL_BUTTONS};
}
