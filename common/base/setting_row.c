#include "lockstep/common/base/setting_row.h"

#include "lockstep/common/base/rate.h"

#include <inttypes.h>
#include <string.h>

static bool is_bool(const ls_setting_row *row)
{
    return row->type == LS_SETTING_IS_ON_OFF || row->type == LS_SETTING_IS_SWITCH;
}

static bool is_number(const ls_setting_row *row)
{
    return row->type == LS_SETTING_IS_U32 || row->type == LS_SETTING_IS_U64 ||
           row->type == LS_SETTING_IS_RATE || row->type == LS_SETTING_IS_WORD || is_bool(row);
}

static uint64_t read_u32(const void *target, size_t offset)
{
    uint32_t value = 0;
    memcpy(&value, (const char *)target + offset, sizeof value);
    return value;
}

static bool read_bool(const void *target, size_t offset)
{
    return *((const bool *)target + offset);
}

static ls_rate read_rate(const ls_setting_row *row, const void *target)
{
    ls_rate rate;
    memcpy(&rate, (const char *)target + row->other_offset, sizeof rate);
    return rate;
}

static void store_bool(void *target, size_t offset, bool value)
{
    *((bool *)target + offset) = value;
}

uint64_t ls_setting_value(const ls_setting_row *row, const void *target)
{
    if (is_bool(row)) {
        return read_bool(target, row->offset);
    }
    if (row->type == LS_SETTING_IS_U64) {
        uint64_t value = 0;
        memcpy(&value, (const char *)target + row->offset, sizeof value);
        return value;
    }
    return read_u32(target, row->offset);
}

void ls_setting_store(const ls_setting_row *row, void *target, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;
    if (is_bool(row)) {
        store_bool(target, row->offset, value != 0);
    } else if (row->type == LS_SETTING_IS_U64) {
        memcpy((char *)target + row->offset, &value, sizeof value);
    } else {
        memcpy((char *)target + row->offset, &narrow, sizeof narrow);
    }
}

static uint64_t word_count(const ls_setting_row *row)
{
    uint64_t count = 0;
    while (row->words[count]) {
        count++;
    }
    return count;
}

static uint64_t unit_of(const ls_setting_row *row)
{
    return row->unit > 0 ? row->unit : 1;
}

uint64_t ls_setting_flag_min(const ls_setting_row *row)
{
    uint64_t unit = unit_of(row);
    uint64_t min = row->min / unit + (row->min % unit > 0 ? 1 : 0);
    return LS_MAX(row->flag_min, min);
}

uint64_t ls_setting_flag_max(const ls_setting_row *row)
{
    return row->max / unit_of(row);
}

void ls_setting_add_value(const ls_setting_row *row, const void *target, ls_text *text)
{
    uint64_t value = ls_setting_value(row, target);
    if (row->other && read_bool(target, row->other_offset)) {
        ls_text_add(text, "%s", row->other);
    } else if (row->type == LS_SETTING_IS_WORD) {
        ls_text_add(text, "%s", value < word_count(row) ? row->words[value] : "?");
    } else if (is_bool(row)) {
        ls_text_add(text, "%s", value != 0 ? "on" : "off");
    } else if (row->type == LS_SETTING_IS_RATE && read_rate(row, target).denominator > 0) {
        ls_rate_add_text(read_rate(row, target), text);
    } else {
        ls_text_add(text, "%" PRIu64, value / unit_of(row));
    }
}

bool ls_setting_is_given(const ls_setting_table *table, uint64_t given, const char *flag)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->rows[i].flag && strcmp(table->rows[i].flag, flag) == 0) {
            return given >> i & 1;
        }
    }
    return false;
}

void ls_setting_table_reset(const ls_setting_table *table, void *target)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const ls_setting_row *row = &table->rows[i];
        if (is_number(row) && !row->is_reset_by_hand) {
            ls_setting_store(row, target, row->initial);
        }
    }
}

static uint64_t max_of(const ls_setting_row *row, const void *target)
{
    uint64_t max = row->type == LS_SETTING_IS_WORD ? word_count(row) - 1 : row->max;
    uint64_t limit = row->limit > 0 ? read_u32(target, row->limit) : max;
    return LS_MIN(limit, max);
}

ls_status ls_setting_table_check(const ls_setting_table *table, const void *target,
                                 bool names_flags, ls_text *why)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const ls_setting_row *row = &table->rows[i];
        if (!is_number(row) || is_bool(row)) {
            continue;
        }
        uint64_t value = ls_setting_value(row, target);
        uint64_t max = max_of(row, target);
        if (value >= row->min && value <= max) {
            continue;
        }
        if (names_flags && row->flag) {
            ls_text_set(why, "--%s takes %" PRIu64 " to %" PRIu64 ", not %" PRIu64, row->flag,
                        ls_setting_flag_min(row), max / unit_of(row), value / unit_of(row));
        } else {
            ls_text_set(why, "%s takes %" PRIu64 " to %" PRIu64 ", not %" PRIu64, row->name,
                        row->min, max, value);
        }
        return LS_BAD_ARGUMENT;
    }
    return LS_OK;
}

void ls_setting_table_copy(const ls_setting_table *table, uint64_t given, const void *from,
                           void *to)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const ls_setting_row *row = &table->rows[i];
        if ((given >> i & 1) == 0 || !is_number(row)) {
            continue;
        }
        ls_setting_store(row, to, ls_setting_value(row, from));
        if (row->type == LS_SETTING_IS_RATE) {
            ls_rate rate = read_rate(row, from);
            memcpy((char *)to + row->other_offset, &rate, sizeof rate);
        }
        if (row->other) {
            store_bool(to, row->other_offset, read_bool(from, row->other_offset));
        }
    }
}
