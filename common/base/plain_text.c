#include "lockstep/common/base/plain_text.h"

#include <stdbool.h>

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
        add_byte(text, "0123456789abcdef"[hash >> 4 * i & 15u]);
    }
}
