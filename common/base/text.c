#include "lockstep/common/base/text.h"

#include "lockstep/common/base/assert.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void write_at(ls_text *text, size_t at, const char *format, va_list arguments)
{
    LS_ASSERT(at < sizeof text->bytes);
    vsnprintf(text->bytes + at, sizeof text->bytes - at, format, arguments);
}

ls_status ls_fail(ls_status status, ls_text *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (why) {
        write_at(why, 0, format, arguments);
    }
    va_end(arguments);
    return status;
}

void ls_text_set(ls_text *text, const char *format, ...)
{
    if (!text) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_at(text, 0, format, arguments);
    va_end(arguments);
}

void ls_text_add(ls_text *text, const char *format, ...)
{
    if (!text) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    write_at(text, strlen(text->bytes), format, arguments);
    va_end(arguments);
}

/* ---- UTF-8 ---- */

static bool is_inside(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

/* Bytes that the first byte of a sequence announces; 0: it cannot begin one. */
static size_t announced_bytes(uint8_t first)
{
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

/* Of these `bytes`, which may be well-formed. */
static uint32_t point_of(const char *text, size_t bytes)
{
    uint32_t point = (uint8_t)text[0] & (bytes == 1 ? 0x7fu : 0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        point = point << 6 | ((uint8_t)text[i] & 0x3fu);
    }
    return point;
}

/* Bytes of the well-formed character that begins here; 0: none does. */
static size_t well_formed_character(const char *text, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t bytes = size > 0 ? announced_bytes((uint8_t)text[0]) : 0;
    if (bytes == 0 || bytes > size) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if (!is_inside(text[i])) {
            return 0;
        }
    }
    uint32_t point = point_of(text, bytes);
    bool is_half = point >= 0xd800 && point <= 0xdfff;
    return point >= least[bytes] && point <= 0x10ffff && !is_half ? bytes : 0;
}

size_t ls_text_utf8_bytes(const char *text, size_t size)
{
    size_t at = 0;
    for (size_t bytes = 1; bytes > 0; at += bytes) {
        bytes = well_formed_character(text + at, size - at);
    }
    return at;
}

/* Control characters, what has no glyph, what turns the direction of the text around it, and what
 * is no character at all. */
static bool is_shown(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x0, 0x1f},        {0x7f, 0x9f},          {0xad, 0xad},     {0x61c, 0x61c},
        {0x180e, 0x180e},   {0x200b, 0x200f},      {0x2028, 0x202e}, {0x2060, 0x206f},
        {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},      {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
        {0xe0000, 0xe0fff}, {0xf0000, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (point >= hidden[i].first && point <= hidden[i].last) {
            return false;
        }
    }
    return (point & 0xfffe) != 0xfffe;
}

/* Bytes of the character that begins here, 0 when none does that may be shown. */
static size_t character_bytes(const char *text, size_t size)
{
    size_t bytes = well_formed_character(text, size);
    return bytes > 0 && is_shown(point_of(text, bytes)) ? bytes : 0;
}

/* Bytes of what nobody sees and which changes what is seen before it: a joiner of letters or emoji
 * (U+200C, U+200D) behind a character beyond ASCII, or the letters that make a black flag that of
 * England, Scotland or Wales. `before`: bytes of the character before. */
static size_t attached_bytes(const char *text, size_t size, size_t before)
{
    static const char joiners[][4] = {"\u200c", "\u200d"};
    static const char black_flag[] = "\U0001f3f4";
    static const char flags[][25] = {
        "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    };
    for (size_t i = 0; i < 2; i++) {
        if (before >= 2 && size >= strlen(joiners[i]) &&
            memcmp(text, joiners[i], strlen(joiners[i])) == 0) {
            return strlen(joiners[i]);
        }
    }
    bool is_flag = before == strlen(black_flag) && memcmp(text - before, black_flag, before) == 0;
    for (size_t i = 0; is_flag && i < sizeof flags / sizeof flags[0]; i++) {
        if (size >= strlen(flags[i]) && memcmp(text, flags[i], strlen(flags[i])) == 0) {
            return strlen(flags[i]);
        }
    }
    return 0;
}

void ls_text_make_printable(char *text, size_t size)
{
    size_t before = 0; /* bytes of the character before; 0 behind what was attached to one */
    for (size_t at = 0; at < size;) {
        size_t bytes = character_bytes(text + at, size - at);
        size_t attached = bytes == 0 ? attached_bytes(text + at, size - at, before) : 0;
        if (bytes + attached == 0) {
            text[at] = '?';
            bytes = 1;
        }
        at += bytes + attached;
        before = bytes;
    }
}

void ls_name_copy(char *field, size_t capacity, const char *name)
{
    LS_ASSERT(capacity > 0);
    size_t size = 0;
    while (size < capacity && name[size] != '\0') {
        size++;
    }
    if (size == capacity) {
        size--;
        while (size > 0 && is_inside(name[size])) {
            size--; /* no part of a character */
        }
    }
    memmove(field, name, size);
    field[size] = '\0';
    ls_text_make_printable(field, size);
}

/* ---- hex ---- */

static const char hex_digits[] = "0123456789abcdef";

void ls_hex_write(char *text, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = hex_digits[bytes[i] >> 4];
        text[2 * i + 1] = hex_digits[bytes[i] & 15u];
    }
    text[2 * size] = '\0';
}

/* 16 for a character that is no digit. */
static uint32_t value_of_digit(char digit)
{
    char small = digit >= 'A' && digit <= 'F' ? (char)(digit - 'A' + 'a') : digit;
    const char *found = memchr(hex_digits, small, sizeof hex_digits - 1);
    return found ? (uint32_t)(found - hex_digits) : 16;
}

bool ls_hex_read(const char *text, uint8_t *bytes, size_t size)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t high = value_of_digit(text[2 * i]);
        uint32_t low = value_of_digit(text[2 * i + 1]);
        wrong |= (high | low) & 16;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return wrong == 0;
}

bool ls_hex_read_number(const char *text, uint32_t digit_count, uint64_t *out)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < digit_count; i++) {
        bool is_capital = text[i] >= 'A' && text[i] <= 'F';
        uint32_t value = is_capital ? 16 : value_of_digit(text[i]);
        if (value == 16) {
            return false;
        }
        number = number << 4 | value;
    }
    *out = number;
    return true;
}

/* ---- plain text ---- */

enum {
    DIGITS_MAX = 20,
    HEX_DIGITS = 16,
};

static void add_byte(ls_plain_text *text, char byte)
{
    if (text->size + 1 < text->capacity) {
        text->bytes[text->size++] = byte;
    }
    text->bytes[text->size] = '\0';
}

void ls_plain_text_add(ls_plain_text *text, const char *words)
{
    for (size_t i = 0; words[i] != '\0'; i++) {
        add_byte(text, words[i]);
    }
}

void ls_plain_text_add_clean(ls_plain_text *text, const char *words)
{
    for (size_t i = 0; words[i] != '\0'; i++) {
        bool is_clean = words[i] >= ' ' && words[i] <= '~' && words[i] != '"' && words[i] != '\\';
        add_byte(text, is_clean ? words[i] : '?');
    }
}

void ls_plain_text_add_number(ls_plain_text *text, uint64_t number, uint32_t digits_min)
{
    char digits[DIGITS_MAX];
    uint32_t count = 0;
    while (count < DIGITS_MAX && (number > 0 || count < digits_min || count == 0)) {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    }
    while (count > 0) {
        add_byte(text, digits[--count]);
    }
}

void ls_plain_text_add_hash(ls_plain_text *text, uint64_t hash)
{
    for (uint32_t i = HEX_DIGITS; i-- > 0;) {
        add_byte(text, hex_digits[hash >> 4 * i & 15u]);
    }
}
