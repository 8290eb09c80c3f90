#include "lockstep/common/program/setting_value.h"

#include "lockstep/common/base/rate.h"
#include "lockstep/common/program/option.h"

#include <string.h>

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
        memcpy((char *)target + row->offset, &text, sizeof text);
        return LS_OK;
    case LS_SETTING_IS_READ:
        return row->read(target, value, why);
    case LS_SETTING_IS_HEADING:
        break;
    }
    return LS_OK;
}

const ls_setting_row *ls_setting_find(const ls_setting_table *table, const char *flag)
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
    const ls_setting_row *row = ls_setting_find(table, text->flag);
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
