#include "lockstep/common/program/option.h"

#include "lockstep/common/base/rate.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLAG_BYTES_MAX = 64, /* that are compared */
};

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* One more digit at the end of the number, unless it grows beyond 64 bits. */
static bool append_digit(uint64_t *number, char character)
{
    uint64_t digit = (uint64_t)(character - '0');
    if (*number > (UINT64_MAX - digit) / 10) {
        return false;
    }
    *number = *number * 10 + digit;
    return true;
}

/* Digits, then perhaps a point and 1 to `places` digits; the number in units of 10^-places. */
static bool parse(const char *value, uint32_t places, uint64_t *out)
{
    uint64_t number = 0;
    if (!is_digit(*value)) {
        return false;
    }
    for (; is_digit(*value); value++) {
        if (!append_digit(&number, *value)) {
            return false;
        }
    }
    bool has_decimals = places > 0 && value[0] == '.' && is_digit(value[1]);
    value += has_decimals ? 1 : 0;
    for (uint32_t place = 0; place < places; place++) {
        bool is_given = has_decimals && is_digit(*value);
        if (!append_digit(&number, is_given ? *value : '0')) {
            return false;
        }
        value += is_given ? 1 : 0;
    }
    if (*value != '\0') {
        return false;
    }
    *out = number;
    return true;
}

ls_status ls_option_number(const char *name, const char *value, ls_option_range range,
                           uint64_t *out, ls_text *why)
{
    uint64_t number = 0;
    if (!parse(value, 0, &number) || number < range.min || number > range.max) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'", name,
                       range.min, range.max, value);
    }
    *out = number;
    return LS_OK;
}

ls_status ls_option_id(const char *name, const char *value, uint64_t *out, ls_text *why)
{
    if (strncmp(value, "0x", 2) != 0) {
        return ls_option_number(name, value, (ls_option_range){0, UINT64_MAX}, out, why);
    }
    const char *digits = value + 2;
    size_t count = strlen(digits);
    if (count == 0 || count > 16 || strspn(digits, "0123456789abcdefABCDEF") != count) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--%s takes 0x and 1 to 16 hexadecimal digits, not '%s'", name, value);
    }
    *out = strtoull(digits, NULL, 16);
    return LS_OK;
}

ls_status ls_option_decimal(const char *name, const char *value, uint32_t places,
                            ls_option_range range, uint64_t *out, ls_text *why)
{
    if (places == 0) {
        return ls_option_number(name, value, range, out, why);
    }
    uint64_t unit = 1;
    for (uint32_t place = 0; place < places; place++) {
        unit *= 10;
    }
    uint64_t number = 0;
    if (!parse(value, places, &number) || number < range.min * unit || number > range.max * unit) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--%s takes a number from %" PRIu64 " to %" PRIu64 " with up to %" PRIu32
                       " decimals, not '%s'",
                       name, range.min, range.max, places, value);
    }
    *out = number;
    return LS_OK;
}

ls_status ls_option_word(const char *name, const char *value, const char *const *words,
                         uint32_t count, uint32_t *out, ls_text *why)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(value, words[i]) == 0) {
            *out = i;
            return LS_OK;
        }
    }
    ls_text_set(why, "--%s takes", name);
    for (uint32_t i = 0; i < count; i++) {
        ls_text_add(why, "%s %s", i == 0 ? "" : " or", words[i]);
    }
    ls_text_add(why, ", not '%s'", value);
    return LS_BAD_ARGUMENT;
}

/* `count` when there is none of that name. */
static uint32_t word_at(const char *text, size_t bytes, const char *const *words, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && (strlen(words[i]) != bytes || memcmp(words[i], text, bytes) != 0)) {
        i++;
    }
    return i;
}

ls_status ls_option_list(const char *name, const char *list, const char *const *words,
                         uint32_t count, uint32_t *out, ls_text *why)
{
    uint32_t bits = 0;
    do {
        size_t bytes = strcspn(list, ",");
        uint32_t index = word_at(list, bytes, words, count);
        if (index == count) {
            ls_text_set(why, "--%s: there is no '%.*s', but", name, (int)bytes, list);
            for (uint32_t i = 0; i < count; i++) {
                ls_text_add(why, "%s %s", i == 0 ? "" : ",", words[i]);
            }
            return LS_BAD_ARGUMENT;
        }
        bits |= UINT32_C(1) << index;
        list += bytes;
    } while (*list++ == ',');
    *out = bits;
    return LS_OK;
}

static ls_status read_word_of(const ls_setting_row *row, const char *const *words, void *target,
                              const char *value, ls_text *why)
{
    uint32_t count = 0;
    uint32_t index = 0;
    while (words[count]) {
        count++;
    }
    ls_status status = ls_option_word(row->flag, value, words, count, &index, why);
    if (status == LS_OK) {
        ls_setting_store(row, target, index);
    }
    return status;
}

static ls_status read_number(const ls_setting_row *row, void *target, const char *value,
                             ls_text *why)
{
    ls_option_range range = {ls_setting_flag_min(row), ls_setting_flag_max(row)};
    uint64_t number = 0;
    bool is_other = row->other && strcmp(value, row->other) == 0;
    ls_status status = is_other ? LS_OK : ls_option_number(row->flag, value, range, &number, why);
    if (status == LS_OK) {
        ls_setting_store(row, target, row->unit > 0 ? number * row->unit : number);
    }
    if (status == LS_OK && row->other) {
        memcpy((char *)target + row->other_offset, &is_other, sizeof is_other);
    }
    return status;
}

static ls_status read_rate(const ls_setting_row *row, void *target, const char *value, ls_text *why)
{
    ls_rate rate;
    ls_text reason = {{0}};
    ls_status status = ls_rate_read(value, &rate, &reason);
    if (status != LS_OK) {
        return ls_fail(status, why, "--%s %s", row->flag, reason.bytes);
    }
    ls_setting_store(row, target, ls_rate_nearest_hz(rate));
    rate = rate.denominator > 1 ? rate : (ls_rate){0, 0};
    memcpy((char *)target + row->other_offset, &rate, sizeof rate);
    return LS_OK;
}

/* Without hyphens; cut where it does not fit. */
static size_t copy_letters(const char *flag, char out[FLAG_BYTES_MAX])
{
    size_t count = 0;
    for (; *flag != '\0' && count < FLAG_BYTES_MAX - 1; flag++) {
        out[count] = *flag;
        count += *flag != '-';
    }
    out[count] = '\0';
    return count;
}

bool ls_flag_is_near(const char *flag, const char *spelled)
{
    char left[FLAG_BYTES_MAX];
    char right[FLAG_BYTES_MAX];
    size_t left_rest = copy_letters(flag, left);
    size_t right_rest = copy_letters(spelled, right);
    const char *a = left;
    const char *b = right;
    for (; *a != '\0' && *a == *b; a++, b++) { /* what both begin with */
        left_rest--;
        right_rest--;
    }
    while (left_rest > 0 && right_rest > 0 && a[left_rest - 1] == b[right_rest - 1]) {
        left_rest--;
        right_rest--;
    }
    bool is_swapped = left_rest == 2 && right_rest == 2 && a[0] == b[1] && a[1] == b[0];
    return (left_rest <= 1 && right_rest <= 1) || is_swapped;
}

ls_status ls_setting_read(const ls_setting_row *row, void *target, char *value, ls_text *why)
{
    static const char *const switch_words[] = {"off", "on", NULL};
    const char *text = value ? value : "";
    switch (row->type) {
    case LS_SETTING_IS_U32:
    case LS_SETTING_IS_U64:
        return read_number(row, target, value, why);
    case LS_SETTING_IS_RATE:
        return read_rate(row, target, value, why);
    case LS_SETTING_IS_WORD:
        return read_word_of(row, row->words, target, value, why);
    case LS_SETTING_IS_ON_OFF:
        return read_word_of(row, switch_words, target, value, why);
    case LS_SETTING_IS_SWITCH:
        ls_setting_store(row, target, !row->initial);
        return LS_OK;
    case LS_SETTING_IS_CHOICE:
        ls_setting_store(row, target, row->initial);
        return LS_OK;
    case LS_SETTING_IS_TEXT:
        if (value && value[0] == '\0') {
            return ls_fail(LS_BAD_ARGUMENT, why, "--%s is empty: leave it out for none", row->flag);
        }
        memcpy((char *)target + row->offset, &text, sizeof text);
        return LS_OK;
    case LS_SETTING_IS_READ:
        return row->read(target, value, why);
    case LS_SETTING_IS_HEADING:
        break;
    }
    return LS_OK;
}

/* NULL: no row has this flag. */
static const ls_setting_row *setting_find(const ls_setting_table *table, const char *flag)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->rows[i].flag && strcmp(table->rows[i].flag, flag) == 0) {
            return &table->rows[i];
        }
    }
    return NULL;
}

/* A file says of a switch whether it is on; a line has its flag or not. */
static ls_status read_switch(const ls_setting_row *row, void *target, const char *value,
                             ls_text *why)
{
    static const char *const words[] = {"off", "on"};
    uint32_t is_on = 0;
    ls_status status = ls_option_word(row->flag, value, words, 2, &is_on, why);
    if (status == LS_OK) {
        ls_setting_store(row, target, is_on ? !row->initial : row->initial);
    }
    return status;
}

ls_status ls_setting_read_text(const ls_setting_table *table, ls_setting_target *target,
                               const ls_setting_text *text, ls_text *why)
{
    const ls_setting_row *row = setting_find(table, text->flag);
    if (!row) {
        return ls_fail(LS_NOT_FOUND, why, "there is no setting '%s'", text->flag);
    }
    ls_status status = row->type == LS_SETTING_IS_SWITCH
                           ? read_switch(row, target->fields, text->value, why)
                           : ls_setting_read(row, target->fields, text->value, why);
    if (status == LS_OK) {
        target->given |= UINT64_C(1) << (row - table->rows);
    }
    return status;
}
