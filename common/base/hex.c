#include "lockstep/common/base/hex.h"

#include <string.h>

static const char digits[] = "0123456789abcdef";

void ls_hex_write(char *text, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15u];
    }
    text[2 * size] = '\0';
}

/* 16 for a character that is no digit. */
static uint32_t value_of(char digit)
{
    char small = digit >= 'A' && digit <= 'F' ? (char)(digit - 'A' + 'a') : digit;
    const char *found = memchr(digits, small, sizeof digits - 1);
    return found ? (uint32_t)(found - digits) : 16;
}

bool ls_hex_read(const char *text, uint8_t *bytes, size_t size)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t high = value_of(text[2 * i]);
        uint32_t low = value_of(text[2 * i + 1]);
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
        uint32_t value = is_capital ? 16 : value_of(text[i]);
        if (value == 16) {
            return false;
        }
        number = number << 4 | value;
    }
    *out = number;
    return true;
}
