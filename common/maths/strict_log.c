/* Logarithms: the pair of the natural one, times the pair of the base's. */
#include "lockstep/common/maths/strict_log.h"

#include "lockstep/common/maths/strict_math.h"

#define SIZE_SMALL UINT64_C(0x3e30000000000000) /* 2^-28 */

/* Negative, NaN, 0 or infinite. */
static bool is_limit(double x)
{
    return ls_strict_bits(x) - 1 >= LS_STRICT_INFINITE - 1;
}

static double log_of_limit(double x)
{
    if (ls_strict_size(x) == 0) {
        return -ls_strict_infinity();
    }
    return ls_strict_bits(x) == LS_STRICT_INFINITE ? x : ls_strict_not_a_number();
}

double ls_strict_log(double x)
{
    return is_limit(x) ? log_of_limit(x) : ls_strict_log_parts(x).high;
}

/* `inverse` is 1 / ln(base): 26 bits, and the rest. */
static double log_to_base(double x, const double *inverse)
{
    if (is_limit(x)) {
        return log_of_limit(x);
    }
    ls_strict_pair natural = ls_strict_log_parts(x);
    double high = ls_strict_of_bits(ls_strict_bits(natural.high) & LS_STRICT_UPPER_BITS);
    double low = (natural.high - high) + natural.low;
    return high * inverse[0] + (high * inverse[1] + low * (inverse[0] + inverse[1]));
}

double ls_strict_log2(double x)
{
    return log_to_base(x, ls_strict_ln2_inverse);
}

double ls_strict_log10(double x)
{
    return log_to_base(x, ls_strict_ln10_inverse);
}

double ls_strict_log1p(double x)
{
    if (ls_strict_size(x) < SIZE_SMALL) {
        return x == 0 ? x : x - x * x * (0.5 - x * (1.0 / 3));
    }
    if (!(x > -1) || ls_strict_size(x) >= LS_STRICT_INFINITE) {
        bool is_minus_one = x == -1;
        return is_minus_one ? -ls_strict_infinity() : log_of_limit(x);
    }
    ls_strict_pair sum = ls_strict_sum(1, x);
    ls_strict_pair natural = ls_strict_log_parts(sum.high);
    return natural.high + (natural.low + sum.low / sum.high);
}
