#include "lockstep/client/view/letters.h"

#include "lockstep/common/base/hash.h"

#include <string.h>

typedef struct range {
    uint32_t first;
    uint32_t last;
} range;

#define JOINER 0x200Du /* between emoji that are one */

/* Marks that stand on the letter before, in scripts that are in use: of the categories Mn, Me and
 * Cf of Unicode 15, with medial letters of Hangul, joiners, variation selectors and skin tones.
 * Numbers that are not
 * assigned count as their neighbours. */
static const range marks[] = {
    {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},     {0x5BF, 0x5BF},     {0x5C1, 0x5C2},
    {0x5C4, 0x5C5},   {0x5C7, 0x5C7},   {0x600, 0x605},     {0x610, 0x61A},     {0x61C, 0x61C},
    {0x64B, 0x65F},   {0x670, 0x670},   {0x6D6, 0x6DD},     {0x6DF, 0x6E4},     {0x6E7, 0x6E8},
    {0x6EA, 0x6ED},   {0x70F, 0x70F},   {0x711, 0x711},     {0x730, 0x74A},     {0x7A6, 0x7B0},
    {0x7EB, 0x7F3},   {0x7FD, 0x7FD},   {0x816, 0x819},     {0x81B, 0x823},     {0x825, 0x827},
    {0x829, 0x82D},   {0x859, 0x85B},   {0x890, 0x89F},     {0x8CA, 0x902},     {0x93A, 0x93A},
    {0x93C, 0x93C},   {0x941, 0x948},   {0x94D, 0x94D},     {0x951, 0x957},     {0x962, 0x963},
    {0x981, 0x981},   {0x9BC, 0x9BC},   {0x9C1, 0x9C4},     {0x9CD, 0x9CD},     {0x9E2, 0x9E3},
    {0x9FE, 0xA02},   {0xA3C, 0xA3C},   {0xA41, 0xA51},     {0xA70, 0xA71},     {0xA75, 0xA75},
    {0xA81, 0xA82},   {0xABC, 0xABC},   {0xAC1, 0xAC8},     {0xACD, 0xACD},     {0xAE2, 0xAE3},
    {0xAFA, 0xB01},   {0xB3C, 0xB3C},   {0xB3F, 0xB3F},     {0xB41, 0xB44},     {0xB4D, 0xB56},
    {0xB62, 0xB63},   {0xB82, 0xB82},   {0xBC0, 0xBC0},     {0xBCD, 0xBCD},     {0xC00, 0xC00},
    {0xC04, 0xC04},   {0xC3C, 0xC3C},   {0xC3E, 0xC40},     {0xC46, 0xC56},     {0xC62, 0xC63},
    {0xC81, 0xC81},   {0xCBC, 0xCBC},   {0xCBF, 0xCBF},     {0xCC6, 0xCC6},     {0xCCC, 0xCCD},
    {0xCE2, 0xCE3},   {0xD00, 0xD01},   {0xD3B, 0xD3C},     {0xD41, 0xD44},     {0xD4D, 0xD4D},
    {0xD62, 0xD63},   {0xD81, 0xD81},   {0xDCA, 0xDCA},     {0xDD2, 0xDD6},     {0xE31, 0xE31},
    {0xE34, 0xE3A},   {0xE47, 0xE4E},   {0xEB1, 0xEB1},     {0xEB4, 0xEBC},     {0xEC8, 0xECE},
    {0xF18, 0xF19},   {0xF35, 0xF35},   {0xF37, 0xF37},     {0xF39, 0xF39},     {0xF71, 0xF7E},
    {0xF80, 0xF84},   {0xF86, 0xF87},   {0xF8D, 0xFBC},     {0xFC6, 0xFC6},     {0x102D, 0x1030},
    {0x1032, 0x1037}, {0x1039, 0x103A}, {0x103D, 0x103E},   {0x1058, 0x1059},   {0x105E, 0x1060},
    {0x1071, 0x1074}, {0x1082, 0x1082}, {0x1085, 0x1086},   {0x108D, 0x108D},   {0x109D, 0x109D},
    {0x1160, 0x11FF}, {0x135D, 0x135F}, {0x1712, 0x1714},   {0x1732, 0x1733},   {0x1752, 0x1753},
    {0x1772, 0x1773}, {0x17B4, 0x17B5}, {0x17B7, 0x17BD},   {0x17C6, 0x17C6},   {0x17C9, 0x17D3},
    {0x17DD, 0x17DD}, {0x180B, 0x180F}, {0x1885, 0x1886},   {0x18A9, 0x18A9},   {0x1920, 0x1922},
    {0x1927, 0x1928}, {0x1932, 0x1932}, {0x1939, 0x193B},   {0x1A17, 0x1A18},   {0x1A1B, 0x1A1B},
    {0x1A56, 0x1A56}, {0x1A58, 0x1A60}, {0x1A62, 0x1A62},   {0x1A65, 0x1A6C},   {0x1A73, 0x1A7F},
    {0x1AB0, 0x1B03}, {0x1B34, 0x1B34}, {0x1B36, 0x1B3A},   {0x1B3C, 0x1B3C},   {0x1B42, 0x1B42},
    {0x1B6B, 0x1B73}, {0x1B80, 0x1B81}, {0x1BA2, 0x1BA5},   {0x1BA8, 0x1BA9},   {0x1BAB, 0x1BAD},
    {0x1BE6, 0x1BE6}, {0x1BE8, 0x1BE9}, {0x1BED, 0x1BED},   {0x1BEF, 0x1BF1},   {0x1C2C, 0x1C33},
    {0x1C36, 0x1C37}, {0x1CD0, 0x1CD2}, {0x1CD4, 0x1CE0},   {0x1CE2, 0x1CE8},   {0x1CED, 0x1CED},
    {0x1CF4, 0x1CF4}, {0x1CF8, 0x1CF9}, {0x1DC0, 0x1DFF},   {0x200B, 0x200F},   {0x202A, 0x202E},
    {0x2060, 0x206F}, {0x20D0, 0x20F0}, {0x2CEF, 0x2CF1},   {0x2D7F, 0x2D7F},   {0x2DE0, 0x2DFF},
    {0x302A, 0x302D}, {0x3099, 0x309A}, {0xA66F, 0xA672},   {0xA674, 0xA67D},   {0xA69E, 0xA69F},
    {0xA6F0, 0xA6F1}, {0xA802, 0xA802}, {0xA806, 0xA806},   {0xA80B, 0xA80B},   {0xA825, 0xA826},
    {0xA82C, 0xA82C}, {0xA8C4, 0xA8C5}, {0xA8E0, 0xA8F1},   {0xA8FF, 0xA8FF},   {0xA926, 0xA92D},
    {0xA947, 0xA951}, {0xA980, 0xA982}, {0xA9B3, 0xA9B3},   {0xA9B6, 0xA9B9},   {0xA9BC, 0xA9BD},
    {0xA9E5, 0xA9E5}, {0xAA29, 0xAA2E}, {0xAA31, 0xAA32},   {0xAA35, 0xAA36},   {0xAA43, 0xAA43},
    {0xAA4C, 0xAA4C}, {0xAA7C, 0xAA7C}, {0xAAB0, 0xAAB0},   {0xAAB2, 0xAAB4},   {0xAAB7, 0xAAB8},
    {0xAABE, 0xAABF}, {0xAAC1, 0xAAC1}, {0xAAEC, 0xAAED},   {0xAAF6, 0xAAF6},   {0xABE5, 0xABE5},
    {0xABE8, 0xABE8}, {0xABED, 0xABED}, {0xFB1E, 0xFB1E},   {0xFE00, 0xFE0F},   {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0x1F3FB, 0x1F3FF}, {0xE0001, 0xE01EF},
};

/* Letters as wide as high: East_Asian_Width W and F of Unicode 15. */
static const range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x3029},
    {0x302E, 0x303E},   {0x3041, 0x3096},   {0x309B, 0x3247},   {0x3250, 0x4DBF},
    {0x4E00, 0xA4C6},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAD9},
    {0xFE10, 0xFE19},   {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x16FE0, 0x16FE3}, {0x16FF0, 0x1B2FB}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF},
    {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F335},
    {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3},
    {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F3FA}, {0x1F400, 0x1F43E},
    {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E},
    {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4},
    {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2},
    {0x1F6D5, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0},
    {0x1F90C, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}, {0x1FA70, 0x1FAF8},
    {0x20000, 0x323AF},
};

static bool is_in(const range *ranges, size_t count, uint32_t code)
{
    size_t low = 0;
    size_t end = count;
    while (low < end) {
        size_t middle = low + (end - low) / 2;
        if (code > ranges[middle].last) {
            low = middle + 1;
        } else {
            end = middle;
        }
    }
    return low < count && code >= ranges[low].first;
}

static bool is_mark(uint32_t code)
{
    return is_in(marks, sizeof marks / sizeof marks[0], code);
}

/* Two of them are a flag. */
static bool is_half_a_flag(uint32_t code)
{
    return code >= 0x1F1E6 && code <= 0x1F1FF;
}

/* The first character; a byte that begins none is one of its own. `code` is 0 at the end. */
static size_t decode(const char *text, uint32_t *code)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t size = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : bytes[0] >= 0xC0 ? 2 : 1;
    *code = size == 1 ? bytes[0] : bytes[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xC0u) != 0x80u) {
            *code = '?';
            return i;
        }
        *code = *code << 6 | (bytes[i] & 0x3Fu);
    }
    return bytes[0] ? size : 0;
}

ls_letter ls_letter_first(const char *text)
{
    uint32_t code;
    ls_letter letter = {.bytes = decode(text, &code)};
    letter.code = code;
    letter.columns = is_in(wide, sizeof wide / sizeof wide[0], code) ? 2 : letter.bytes > 0;
    letter.is_alone = true;
    bool is_joined = false;
    bool is_flag = is_half_a_flag(letter.code);
    for (size_t size = decode(text + letter.bytes, &code);
         size > 0 && (is_joined || is_mark(code) || (is_flag && is_half_a_flag(code)));
         size = decode(text + letter.bytes, &code)) {
        letter.columns = is_flag && is_half_a_flag(code) ? 2 : letter.columns;
        is_flag = is_flag && !is_half_a_flag(code);
        is_joined = code == JOINER && letter.columns == 2;
        letter.is_alone = false;
        letter.bytes += size;
    }
    return letter;
}

uint32_t ls_letters_columns(const char *text)
{
    uint32_t columns = 0;
    for (; *text; text += ls_letter_first(text).bytes) {
        columns += ls_letter_first(text).columns;
    }
    return columns;
}

size_t ls_letters_fit(const char *text, size_t columns)
{
    size_t size = 0;
    for (ls_letter next = ls_letter_first(text); next.bytes > 0 && next.columns <= columns;
         next = ls_letter_first(text + size)) {
        size += next.bytes;
        columns -= next.columns;
    }
    return size;
}

/* ---- letter pictures ---- */

enum {
    PICTURES_MAX = 1024,
    KEPT_BYTES_MAX = 32 << 20, /* beyond, nothing is added until all is forgotten */
};

/* `coverage` NULL: no font has the letters. */
typedef struct kept {
    uint64_t key; /* 0: free */
    uint8_t *coverage;
} kept;

struct ls_letter_pictures {
    const ls_allocator *allocator;
    ls_letter_painter painter;
    ls_canvas_writer writer;
    kept table[PICTURES_MAX];
    uint32_t count;
    size_t bytes;
};

static bool is_full(const ls_letter_pictures *pictures)
{
    return pictures->count >= PICTURES_MAX - 1 || pictures->bytes > KEPT_BYTES_MAX;
}

/* The picture's place, or the free one where it belongs. */
static kept *find(ls_letter_pictures *pictures, uint64_t key)
{
    size_t at = key % PICTURES_MAX;
    while (pictures->table[at].key != 0 && pictures->table[at].key != key) {
        at = (at + 1) % PICTURES_MAX;
    }
    return &pictures->table[at];
}

static uint8_t *paint(ls_letter_pictures *pictures, const ls_canvas_font *font, const char *line,
                      uint32_t width)
{
    uint8_t *coverage = ls_allocate_array(pictures->allocator, width, font->height);
    if (!coverage ||
        !pictures->painter.paint(pictures->painter.user, font, line, width, coverage)) {
        ls_release(pictures->allocator, coverage);
        return NULL;
    }
    pictures->bytes += (size_t)width * font->height;
    return coverage;
}

static const uint8_t *write(void *user, const ls_canvas_font *font, const char *text, size_t bytes,
                            uint32_t width)
{
    ls_letter_pictures *pictures = user;
    char line[LS_CANVAS_WRITTEN_BYTES_MAX + 1] = "";
    if (bytes > LS_CANVAS_WRITTEN_BYTES_MAX || width == 0) {
        return NULL;
    }
    memcpy(line, text, bytes);
    uint64_t key = ls_hash_bytes(line, bytes, ls_hash_pair(width, font->height)) | 1u;
    kept *picture = find(pictures, key);
    if (picture->key == 0 && !is_full(pictures)) {
        pictures->count++;
        *picture = (kept){key, paint(pictures, font, line, width)};
    }
    return picture->coverage;
}

static void forget(ls_letter_pictures *pictures)
{
    for (uint32_t i = 0; i < PICTURES_MAX; i++) {
        ls_release(pictures->allocator, pictures->table[i].coverage);
        pictures->table[i] = (kept){0, NULL};
    }
    pictures->count = 0;
    pictures->bytes = 0;
}

void ls_letter_pictures_begin(ls_letter_pictures *pictures)
{
    if (is_full(pictures)) {
        forget(pictures);
    }
}

ls_canvas_writer *ls_letter_pictures_writer(ls_letter_pictures *pictures)
{
    return &pictures->writer;
}

ls_letter_pictures *ls_letter_pictures_create(const ls_letter_painter *painter,
                                              const ls_allocator *allocator)
{
    ls_letter_pictures *pictures = ls_allocate(allocator, sizeof *pictures);
    if (pictures) {
        pictures->allocator = allocator;
        pictures->painter = *painter;
        pictures->writer = (ls_canvas_writer){pictures, write};
    }
    return pictures;
}

void ls_letter_pictures_destroy(ls_letter_pictures *pictures)
{
    if (pictures) {
        forget(pictures);
        ls_release(pictures->allocator, pictures);
    }
}
