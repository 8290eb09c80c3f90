#include "lockstep/common/program/option.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

static bool parse(const char *value, uint64_t *out)
{
    uint64_t number = 0;
    if (*value == '\0') {
        return false;
    }
    for (; *value != '\0'; value++) {
        uint64_t digit = (uint64_t)(*value - '0');
        if (*value < '0' || *value > '9' || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *out = number;
    return true;
}

ls_status ls_option_number(const char *name, const char *value, ls_option_range range,
                           uint64_t *out, ls_text *why)
{
    uint64_t number = 0;
    if (!parse(value, &number) || number < range.min || number > range.max) {
        ls_text_set(why, "--%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'", name,
                    range.min, range.max, value);
        return LS_BAD_ARGUMENT;
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
