#include "lockstep/common/program/player_name.h"

#include "lockstep/common/program/name_tables.h"

#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

enum {
    COLUMNS = 16,
    POINTS_MAX = 1024, /* more than a name has in any form: 10 characters that become 18 each */
    MARKS_MAX = 4,     /* on one letter: more of them cover the lines above (UTS 39, 5.4) */
    CLEANINGS_MAX = 8, /* what goes can leave a joiner or mark without what it stood behind */
    VIRAMA = 9,        /* its combining class */
    NO_POINT = 0,
    ZWNJ = 0x200c,
    ZWJ = 0x200d,
    EMOJI_STYLE = 0xfe0f,
    KEYCAP = 0x20e3,
    BLACK_FLAG = 0x1f3f4,
    TAG = 0xe0000, /* and a letter of ASCII */
    TAG_END = 0xe007f,
    FLAG_LETTERS = 5,
};

/* Code points. utf8proc turns them into bytes in their place, with a NUL. */
typedef struct points {
    utf8proc_int32_t at[POINTS_MAX + 1];
    size_t count;
} points;

/* ---- characters ---- */

typedef struct range {
    utf8proc_int32_t first, last;
} range;

static bool is_in(const range *ranges, size_t count, utf8proc_int32_t point)
{
    for (size_t i = 0; i < count; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}
#define IS_IN(ranges, point) is_in(ranges, sizeof(ranges) / sizeof(ranges)[0], point)

/* Letters that leave a blank, and the parts of old Hangul, of which two do and which RFC 8264
 * leaves out. utf8proc knows those that Unicode itself calls ignorable. */
static const range blanks[] = {
    {0x1100, 0x11ff}, {0xa960, 0xa97c},   {0xd7b0, 0xd7fb},   {0x2800, 0x2800},
    {0xfffc, 0xfffc}, {0x16fe4, 0x16fe4}, {0x1d159, 0x1d159},
};

static utf8proc_int32_t point_at(const points *text, size_t at)
{
    return at < text->count ? text->at[at] : NO_POINT;
}

/* Stacked on the character before it. */
static bool is_stacked(utf8proc_int32_t point)
{
    utf8proc_category_t category = utf8proc_category(point);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME;
}

static bool is_mark(utf8proc_int32_t point)
{
    return is_stacked(point) || utf8proc_category(point) == UTF8PROC_CATEGORY_MC;
}

static bool is_pictograph(utf8proc_int32_t point)
{
    return utf8proc_get_property(point)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

static bool is_skin_tone(utf8proc_int32_t point)
{
    return point >= 0x1f3fb && point <= 0x1f3ff;
}

static bool is_ignorable(utf8proc_int32_t point)
{
    return utf8proc_get_property(point)->ignorable;
}

/* Letters, marks, numbers, punctuation, symbols and spaces: the categories in Unicode's order. */
static bool is_seen(utf8proc_int32_t point)
{
    utf8proc_category_t category = utf8proc_category(point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ZS &&
           !is_ignorable(point) && !IS_IN(blanks, point);
}

/* ---- emoji ---- */

static bool is_emoji_style(const points *text, size_t at)
{
    utf8proc_int32_t before = point_at(text, at - 1);
    bool is_key = before == '#' || before == '*' || (before >= '0' && before <= '9');
    return at > 0 && (is_pictograph(before) || (is_key && point_at(text, at + 1) == KEYCAP));
}

/* Between two pictographs, the first perhaps with a skin tone or an emoji's style. */
static bool joins_pictographs(const points *text, size_t at)
{
    size_t before = at;
    while (before > 0 &&
           (text->at[before - 1] == EMOJI_STYLE || is_skin_tone(text->at[before - 1]))) {
        before--;
    }
    return before > 0 && is_pictograph(text->at[before - 1]) &&
           is_pictograph(point_at(text, at + 1));
}

/* The flags of England, Scotland and Wales are a black flag with letters that nobody sees: these
 * letters, whole, and no others. */
static bool is_tag_of_flag(const points *text, size_t at)
{
    static const char *const flags[] = {"gbeng", "gbsct", "gbwls"};
    size_t flag = at;
    while (flag > 0 && text->at[flag] != BLACK_FLAG) {
        flag--;
    }
    if (text->at[flag] != BLACK_FLAG || at - flag > FLAG_LETTERS + 1 ||
        point_at(text, flag + FLAG_LETTERS + 1) != TAG_END) {
        return false;
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        size_t same = 0;
        while (same < FLAG_LETTERS && text->at[flag + 1 + same] == TAG + flags[i][same]) {
            same++;
        }
        if (same == FLAG_LETTERS) {
            return true;
        }
    }
    return false;
}

/* ---- contexts (RFC 5892, appendix A) ---- */

static const ls_joining_range *joining_of(utf8proc_int32_t point)
{
    for (size_t i = 0; i < ls_joining_ranges_count; i++) {
        if (point >= ls_joining_ranges[i].first && point <= ls_joining_ranges[i].last) {
            return &ls_joining_ranges[i];
        }
    }
    return NULL;
}

static bool is_behind_virama(const points *text, size_t at)
{
    return at > 0 && utf8proc_get_property(text->at[at - 1])->combining_class == VIRAMA;
}

/* Between two letters that would be written together. */
static bool parts_letters(const points *text, size_t at)
{
    size_t before = at;
    size_t behind = at + 1;
    while (before > 0 && is_stacked(text->at[before - 1])) {
        before--;
    }
    while (is_stacked(point_at(text, behind))) {
        behind++;
    }
    const ls_joining_range *left = before > 0 ? joining_of(text->at[before - 1]) : NULL;
    const ls_joining_range *right = joining_of(point_at(text, behind));
    return left && left->joins_behind && right && right->joins_before;
}

static bool has_any(const points *text, const range *ranges, size_t count)
{
    for (size_t i = 0; i < text->count; i++) {
        if (is_in(ranges, count, text->at[i])) {
            return true;
        }
    }
    return false;
}
#define HAS_ANY(text, ranges) has_any(text, ranges, sizeof(ranges) / sizeof(ranges)[0])

/* Whether the text around a character allows it, which may stand in some. */
static bool is_in_context(const points *text, size_t at)
{
    static const range greek[] = {{0x370, 0x373}, {0x376, 0x3e1}, {0x3f0, 0x3ff}, {0x1f00, 0x1fff}};
    static const range hebrew[] = {{0x591, 0x5f2}, {0xfb1d, 0xfb4f}};
    static const range japanese[] = {
        {0x2e80, 0x2fd5}, {0x3005, 0x3007}, {0x3021, 0x3029},   {0x3038, 0x303b},
        {0x3041, 0x309f}, {0x30a1, 0x30fa}, {0x30fc, 0x30ff},   {0x31f0, 0x31ff},
        {0x3400, 0x9fff}, {0xf900, 0xfaff}, {0x20000, 0x3ffff},
    };
    static const range arabic_digits[] = {{0x660, 0x669}};
    static const range persian_digits[] = {{0x6f0, 0x6f9}};
    utf8proc_int32_t before = at > 0 ? text->at[at - 1] : NO_POINT;
    switch (text->at[at]) {
    case ZWNJ:
        return is_behind_virama(text, at) || parts_letters(text, at);
    case ZWJ:
        return is_behind_virama(text, at) || joins_pictographs(text, at);
    case 0xb7: /* of Catalan */
        return before == 'l' && point_at(text, at + 1) == 'l';
    case 0x375:
        return IS_IN(greek, point_at(text, at + 1));
    case 0x5f3:
    case 0x5f4:
        return IS_IN(hebrew, before);
    case 0x30fb:
        return HAS_ANY(text, japanese);
    default:
        return !(IS_IN(arabic_digits, text->at[at]) && HAS_ANY(text, persian_digits)) &&
               !(IS_IN(persian_digits, text->at[at]) && HAS_ANY(text, arabic_digits));
    }
}

/* ---- what may stand ---- */

/* Letters of Europe, and symbols, bear no marks of other scripts: some of those have no ink where
 * they do not stack letters of their own (U+1039, U+17D2, U+1BC9D). */
static bool may_bear(utf8proc_int32_t letter, utf8proc_int32_t mark)
{
    static const range european[] = {
        {0, 0x58f}, {0x1d00, 0x2dff}, {0xa640, 0xa7ff}, {0xab30, 0xab6f}, {0x1f000, 0x1faff}};
    static const range general[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x1ab0, 0x1aff},
                                    {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0x2de0, 0x2dff},
                                    {0xa66f, 0xa69f}, {0xfe20, 0xfe2f}};
    return !IS_IN(european, letter) || IS_IN(general, mark);
}

static bool is_on_letter(const points *text, size_t at)
{
    utf8proc_int32_t mark = text->at[at];
    size_t stacked = 0;
    while (at > 0 && is_mark(text->at[at])) {
        stacked += is_stacked(text->at[at]) ? 1 : 0;
        at--;
    }
    return !is_mark(text->at[at]) && text->at[at] != ' ' && stacked <= MARKS_MAX &&
           may_bear(text->at[at], mark);
}

static bool may_stand(const points *text, size_t at)
{
    utf8proc_int32_t point = text->at[at];
    if (point == ZWNJ || point == ZWJ) {
        return is_in_context(text, at);
    }
    if (point == EMOJI_STYLE) {
        return is_emoji_style(text, at); /* what stood before it may be gone */
    }
    if (point > TAG && point <= TAG_END) {
        return is_tag_of_flag(text, at);
    }
    return is_seen(point) && (!is_mark(point) || is_on_letter(text, at)) && is_in_context(text, at);
}

/* The spaces of RFC 8266: one kind, single, none at the ends. An emoji that normalisation makes
 * letters of loses its style. */
static void settle(points *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->count; i++) {
        bool is_space = utf8proc_category(text->at[i]) == UTF8PROC_CATEGORY_ZS;
        bool is_style = text->at[i] == EMOJI_STYLE && !is_emoji_style(text, i);
        if (!is_style && (!is_space || (kept > 0 && text->at[kept - 1] != ' '))) {
            text->at[kept++] = is_space ? ' ' : text->at[i];
        }
    }
    text->count = kept > 0 && text->at[kept - 1] == ' ' ? kept - 1 : kept;
}

/* False for more than fits. The text is well-formed. */
static bool decompose(const char *text, utf8proc_option_t how, points *out)
{
    utf8proc_ssize_t count = utf8proc_decompose((const utf8proc_uint8_t *)text, 0, out->at,
                                                POINTS_MAX, how | UTF8PROC_NULLTERM);
    bool is_whole = count >= 0 && count <= POINTS_MAX;
    out->count = is_whole ? (size_t)count : 0;
    return is_whole;
}

/* The bytes, with a NUL; the points are gone then. */
static const char *encode(points *text)
{
    utf8proc_reencode(text->at, (utf8proc_ssize_t)text->count, UTF8PROC_STABLE);
    return (const char *)text->at;
}

/* Settling comes first: an emoji's style may have stood between a letter and its marks. */
static bool normalize(const char *text, points *out)
{
    const utf8proc_option_t form = UTF8PROC_STABLE | UTF8PROC_COMPAT;
    points loose;
    bool is_whole = decompose(text, form | UTF8PROC_DECOMPOSE, &loose);
    settle(&loose);
    is_whole = decompose(encode(&loose), form | UTF8PROC_COMPOSE, out) && is_whole;
    utf8proc_ssize_t count =
        utf8proc_normalize_utf32(out->at, (utf8proc_ssize_t)out->count, form | UTF8PROC_COMPOSE);
    out->count = (size_t)count;
    return is_whole;
}

/* ---- names ---- */

static ls_status check_points(const points *text, ls_text *why)
{
    for (size_t i = 0; i < text->count; i++) {
        if (!may_stand(text, i)) {
            const char *what = is_seen(text->at[i]) ? "in their place, and U+%04X is not"
                                                    : "that are seen, and U+%04X is none";
            ls_text_set(why, "--name takes characters ");
            ls_text_add(why, what, (unsigned)text->at[i]);
            return LS_BAD_ARGUMENT;
        }
    }
    return text->count > 0 ? LS_OK
                           : ls_fail(LS_BAD_ARGUMENT, why, "--name takes a name, not blanks");
}

ls_status ls_player_name_read(const char *text, char out[LS_PLAYER_NAME_BYTES_MAX], ls_text *why)
{
    points read;
    size_t good = ls_text_utf8_bytes(text, strlen(text));
    if (text[good] != '\0') {
        return ls_fail(LS_BAD_ARGUMENT, why, "--name takes UTF-8, and byte %zu is none", good + 1);
    }
    bool is_whole = normalize(text, &read);
    ls_status status = is_whole ? check_points(&read, why) : LS_OK;
    if (status != LS_OK) {
        return status;
    }
    const char *name = encode(&read);
    if (!is_whole || strlen(name) >= LS_PLAYER_NAME_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--name takes up to %u bytes of UTF-8",
                       LS_PLAYER_NAME_BYTES_MAX - 1);
    }
    memcpy(out, name, strlen(name) + 1);
    return LS_OK;
}

/* ---- looks ---- */

typedef struct look_text {
    char bytes[sizeof(points)];
} look_text;

static void set_text(look_text *text, points *from)
{
    const char *bytes = encode(from);
    memcpy(text->bytes, bytes, strlen(bytes) + 1);
}

/* The rows of what a character looks like; NULL: it looks like itself. */
static const ls_look_alike *look_alike_of(utf8proc_int32_t point)
{
    size_t low = 0;
    size_t high = ls_look_alikes_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ls_look_alikes[middle].point < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_there = low < ls_look_alikes_count && ls_look_alikes[low].point == point;
    return is_there ? &ls_look_alikes[low] : NULL;
}

static void add_look(points *text, utf8proc_int32_t point)
{
    const ls_look_alike *row = is_ignorable(point) ? NULL : look_alike_of(point);
    const ls_look_alike *end = ls_look_alikes + ls_look_alikes_count;
    if (!row && !is_ignorable(point) && text->count < POINTS_MAX) {
        text->at[text->count++] = point;
    }
    for (; row && row < end && row->point == point && text->count < POINTS_MAX; row++) {
        text->at[text->count++] = row->looks_like;
    }
}

/* The skeleton of UTS 39, in the place of the text; `casing` is UTF8PROC_CASEFOLD for that of the
 * text with its case folded, or 0. */
static void make_skeleton(look_text *text, utf8proc_option_t casing)
{
    points from, to;
    to.count = 0;
    (void)decompose(text->bytes, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | casing, &from);
    for (size_t i = 0; i < from.count; i++) {
        add_look(&to, from.at[i]);
    }
    (void)decompose(encode(&to), UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, &from);
    set_text(text, &from);
}

static void make_upper(look_text *text)
{
    points read;
    (void)decompose(text->bytes, UTF8PROC_STABLE, &read);
    for (size_t i = 0; i < read.count; i++) {
        read.at[i] = utf8proc_toupper(read.at[i]);
    }
    set_text(text, &read);
}

/* FNV-1a: somebody who finds another text of the same number gets a number behind the name. */
static uint64_t number_of(const look_text *text)
{
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (const char *at = text->bytes; *at != '\0'; at++) {
        number = (number ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    }
    return number | 1;
}

/* By case folding alone ADMIN is like admin, by the skeleton alone like ADMlN: a reader takes them
 * all for the same. So a name is looked at as it is written, with its case folded, and in capitals,
 * and what these look like in small letters is compared. */
static ls_name_look look_of(const char name[LS_PLAYER_NAME_BYTES_MAX])
{
    look_text written, folded, capital;
    memcpy(written.bytes, name, LS_PLAYER_NAME_BYTES_MAX);
    memcpy(folded.bytes, name, LS_PLAYER_NAME_BYTES_MAX);
    memcpy(capital.bytes, name, LS_PLAYER_NAME_BYTES_MAX);
    make_skeleton(&written, 0);
    make_skeleton(&written, UTF8PROC_CASEFOLD);
    make_skeleton(&folded, UTF8PROC_CASEFOLD);
    make_upper(&capital);
    make_skeleton(&capital, 0);
    make_skeleton(&capital, UTF8PROC_CASEFOLD);
    return (ls_name_look){{number_of(&written), number_of(&folded), number_of(&capital)}};
}

static void keep_right(points *text)
{
    const points all = *text;
    text->count = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (may_stand(&all, i)) {
            text->at[text->count++] = all.at[i];
        }
    }
}

/* ---- numbers behind names ---- */

static bool looks_like(utf8proc_int32_t point, utf8proc_int32_t other)
{
    const ls_look_alike *row = look_alike_of(point);
    const ls_look_alike *other_row = look_alike_of(other);
    return (row ? row->looks_like : point) == (other_row ? other_row->looks_like : other);
}

/* Of any script; "l" and "O" are taken for digits, too. */
static bool looks_like_digit(utf8proc_int32_t point)
{
    bool is_like = utf8proc_category(point) == UTF8PROC_CATEGORY_ND;
    for (utf8proc_int32_t digit = '0'; digit <= '9' && !is_like; digit++) {
        is_like = looks_like(point, digit);
    }
    return is_like;
}

/* Where blanks and marks before a place begin. */
static size_t before_blanks(const points *text, size_t at)
{
    while (at > 0 && (text->at[at - 1] == ' ' || is_stacked(text->at[at - 1]))) {
        at--;
    }
    return at;
}

/* Takes what looks like " (2)" off the end, as often as it stands there. */
static void drop_numbers(points *text)
{
    size_t at = before_blanks(text, text->count);
    while (at > 0 && looks_like(text->at[at - 1], ')')) {
        size_t digits = 0;
        at = before_blanks(text, at - 1);
        while (at > 0 && looks_like_digit(text->at[at - 1])) {
            at = before_blanks(text, at - 1);
            digits++;
        }
        if (digits == 0 || at == 0 || !looks_like(text->at[at - 1], '(')) {
            return;
        }
        at--;
        while (at > 0 && text->at[at - 1] == ' ') {
            at--;
        }
        text->count = at;
        at = before_blanks(text, at);
    }
}

/* Cleans until nothing changes: what goes may have been what another character stood behind. */
static void make_clean(char name[LS_PLAYER_NAME_BYTES_MAX], bool has_number)
{
    char before[LS_PLAYER_NAME_BYTES_MAX];
    points text;
    for (int i = 0; i < CLEANINGS_MAX; i++) {
        memcpy(before, name, sizeof before);
        (void)normalize(name, &text);
        keep_right(&text);
        if (!has_number) {
            drop_numbers(&text);
        }
        ls_name_copy(name, LS_PLAYER_NAME_BYTES_MAX, encode(&text));
        if (name[0] != '\0' && strcmp(name, before) == 0) {
            return;
        }
    }
    ls_name_copy(name, LS_PLAYER_NAME_BYTES_MAX, "player");
}

ls_name_look ls_player_name_clean(char name[LS_PLAYER_NAME_BYTES_MAX], uint32_t number)
{
    ls_text behind = {{0}};
    name[ls_text_utf8_bytes(name, strlen(name))] = '\0';
    make_clean(name, number == LS_NAME_AS_GIVEN);
    if (number > 1) {
        char whole[LS_PLAYER_NAME_BYTES_MAX];
        ls_text_set(&behind, " (%" PRIu32 ")", number);
        ls_name_copy(whole, LS_PLAYER_NAME_BYTES_MAX - strlen(behind.bytes), name);
        make_clean(whole, false);
        ls_name_copy(name, LS_PLAYER_NAME_BYTES_MAX - strlen(behind.bytes), whole);
        memcpy(name + strlen(name), behind.bytes, strlen(behind.bytes) + 1);
    }
    return look_of(name);
}

/* ---- widths ---- */

int ls_player_name_width(const char *name)
{
    int hidden = 0; /* bytes that take no column */
    utf8proc_int32_t point = 0;
    for (utf8proc_ssize_t bytes; *name != '\0'; name += bytes) {
        bytes = utf8proc_iterate((const utf8proc_uint8_t *)name, -1, &point);
        if (bytes <= 0) {
            return COLUMNS + hidden;
        }
        hidden += (int)bytes - utf8proc_charwidth(point);
    }
    return COLUMNS + hidden;
}
