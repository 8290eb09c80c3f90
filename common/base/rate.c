#include "lockstep/common/base/rate.h"

#include "lockstep/common/base/limits.h"

#include <inttypes.h>

enum {
    DECIMALS_MAX = 6,
    DIGITS_MAX = 10,
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Digits from *text on; moves it behind them. At most DIGITS_MAX are taken, and 0 are too few. */
static uint32_t read_digits(const char **text, uint64_t *value)
{
    uint32_t digits = 0;
    for (; **text >= '0' && **text <= '9' && digits < DIGITS_MAX; ++*text, digits++) {
        *value = *value * 10 + (uint64_t)(**text - '0');
    }
    return digits;
}

static bool read_fraction(const char *text, uint64_t *numerator, uint64_t *denominator)
{
    *numerator = 0;
    *denominator = 1;
    if (read_digits(&text, numerator) == 0) {
        return false;
    }
    if (*text == '/') {
        text++;
        *denominator = 0;
        return read_digits(&text, denominator) > 0 && *text == '\0' && *denominator > 0;
    }
    if (*text == '.') {
        text++;
        uint32_t decimals = read_digits(&text, numerator);
        for (uint32_t i = 0; i < decimals; i++) {
            *denominator *= 10;
        }
        return decimals > 0 && decimals <= DECIMALS_MAX && *text == '\0';
    }
    return *text == '\0';
}

ls_status ls_rate_read(const char *text, ls_rate *out, ls_text *why)
{
    uint64_t numerator = 0;
    uint64_t denominator = 1;
    bool is_fraction = read_fraction(text, &numerator, &denominator);
    uint64_t divisor = is_fraction ? common_divisor(numerator, denominator) : 1;
    ls_rate rate = {(uint32_t)(numerator / divisor), (uint32_t)(denominator / divisor)};
    bool is_narrow = numerator / divisor <= UINT32_MAX && denominator / divisor <= UINT32_MAX;
    if (!is_fraction || !is_narrow || !ls_rate_is_good(rate)) {
        char shown[LS_NAME_BYTES_MAX];
        ls_name_copy(shown, sizeof shown, text);
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "takes %u to %u, as in 60, 59.7275 or 262144/4389, not '%s'",
                       LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ, shown);
    }
    *out = rate;
    return LS_OK;
}

void ls_rate_add_text(ls_rate rate, ls_text *text)
{
    uint32_t scale = 1;
    int decimals = 0;
    while (decimals < DECIMALS_MAX && scale % rate.denominator != 0) {
        scale *= 10;
        decimals++;
    }
    if (rate.denominator == 1) {
        ls_text_add(text, "%" PRIu32, rate.numerator);
    } else if (scale % rate.denominator != 0) {
        ls_text_add(text, "%" PRIu32 "/%" PRIu32, rate.numerator, rate.denominator);
    } else {
        uint64_t scaled = (uint64_t)rate.numerator * (scale / rate.denominator);
        ls_text_add(text, "%" PRIu64 ".%0*" PRIu64, scaled / scale, decimals, scaled % scale);
    }
}

bool ls_rate_is_good(ls_rate rate)
{
    uint64_t least = (uint64_t)rate.denominator * LS_TICK_RATE_MIN_HZ;
    uint64_t most = (uint64_t)rate.denominator * LS_TICK_RATE_MAX_HZ;
    return rate.denominator >= 1 && rate.denominator <= LS_RATE_DENOMINATOR_MAX &&
           rate.numerator >= least && rate.numerator <= most &&
           common_divisor(rate.numerator, rate.denominator) == 1;
}

uint32_t ls_rate_nearest_hz(ls_rate rate)
{
    return (uint32_t)(((uint64_t)rate.numerator + rate.denominator / 2) / rate.denominator);
}

double ls_rate_hz(ls_rate rate)
{
    return (double)rate.numerator / rate.denominator;
}
