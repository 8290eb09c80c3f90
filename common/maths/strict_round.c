/* Rounding to integers and remainders: exact, by the bits. */
#include "lockstep/common/maths/strict_math.h"

#include "lockstep/common/maths/strict_parts.h"

enum {
    SHIFT_MAX = 10, /* bits that a remainder below 2^54 can be moved up by */
};

double ls_strict_trunc(double x)
{
    uint64_t bits = ls_strict_bits(x);
    int32_t exponent = (int32_t)(bits >> 52 & 0x7ffu) - LS_STRICT_BIAS;
    if (exponent < 0) {
        return ls_strict_of_bits(bits & LS_STRICT_SIGN);
    }
    if (exponent >= LS_STRICT_FRACTION_BITS) {
        return ls_strict_is_not_a_number(x) ? ls_strict_not_a_number() : x;
    }
    return ls_strict_of_bits(bits & ~(LS_STRICT_FRACTION >> exponent));
}

double ls_strict_floor(double x)
{
    double whole = ls_strict_trunc(x);
    return x < whole ? whole - 1 : whole;
}

double ls_strict_ceil(double x)
{
    double whole = ls_strict_trunc(x);
    return x > whole ? whole + 1 : whole;
}

/* The integer next to `whole`, away from zero as x lies. */
static double next_whole(double whole, double x)
{
    return whole + ls_strict_with_sign(1, ls_strict_sign(x));
}

/* How far x is from `whole`; 0 where both are infinite. */
static double distance(double x, double whole)
{
    return x == whole ? 0 : ls_strict_of_bits(ls_strict_size(x - whole));
}

double ls_strict_round(double x)
{
    double whole = ls_strict_trunc(x);
    return distance(x, whole) >= 0.5 ? next_whole(whole, x) : whole;
}

double ls_strict_rint(double x)
{
    double whole = ls_strict_trunc(x), apart = distance(x, whole);
    bool is_odd = ls_strict_trunc(0.5 * whole) != 0.5 * whole;
    return apart > 0.5 || (apart == 0.5 && is_odd) ? next_whole(whole, x) : whole;
}

/* A positive number as mantissa * 2^exponent, with a mantissa from 2^52 to 2^53. */
typedef struct binary_number {
    uint64_t mantissa;
    int32_t exponent;
} binary_number;

static binary_number binary_of(uint64_t size)
{
    binary_number number = {size & LS_STRICT_FRACTION, (int32_t)(size >> 52)};
    if (number.exponent != 0) {
        number.mantissa |= LS_STRICT_FRACTION + 1;
    } else {
        number.exponent = 1;
    }
    while (number.mantissa <= LS_STRICT_FRACTION) {
        number.mantissa <<= 1;
        number.exponent--;
    }
    number.exponent -= LS_STRICT_BIAS + LS_STRICT_FRACTION_BITS;
    return number;
}

/* The rest of a division by `divisor` * 2^exponent, and whether the quotient is odd. */
typedef struct division {
    uint64_t rest;
    uint64_t divisor;
    int32_t exponent;
    bool is_odd;
} division;

/* x is at least half of y. */
static division divide(binary_number x, binary_number y)
{
    division left = {.rest = x.mantissa, .divisor = y.mantissa, .exponent = y.exponent};
    if (x.exponent < y.exponent) {
        left.divisor <<= 1;
        left.exponent--;
    }
    int32_t shifts = x.exponent - left.exponent;
    left.is_odd = left.rest / left.divisor % 2 != 0;
    left.rest %= left.divisor;
    while (shifts > 0) {
        int32_t step = shifts < SHIFT_MAX ? shifts : SHIFT_MAX;
        left.rest <<= step;
        left.is_odd = left.rest / left.divisor % 2 != 0;
        left.rest %= left.divisor;
        shifts -= step;
    }
    return left;
}

/* The mantissa may have a bit more than a double's if the last one is 0. */
static double value_of(uint64_t mantissa, int32_t exponent)
{
    int32_t half = exponent / 2;
    return (double)mantissa * ls_strict_power_of_two(half) *
           ls_strict_power_of_two(exponent - half);
}

static bool is_undefined(uint64_t x_size, uint64_t y_size)
{
    return x_size >= LS_STRICT_INFINITE || y_size > LS_STRICT_INFINITE || y_size == 0;
}

double ls_strict_fmod(double x, double y)
{
    uint64_t x_size = ls_strict_size(x), y_size = ls_strict_size(y);
    if (is_undefined(x_size, y_size)) {
        return ls_strict_not_a_number();
    }
    if (x_size < y_size) {
        return x;
    }
    division left = divide(binary_of(x_size), binary_of(y_size));
    return ls_strict_with_sign(value_of(left.rest, left.exponent), ls_strict_sign(x));
}

double ls_strict_remainder(double x, double y)
{
    uint64_t x_size = ls_strict_size(x), y_size = ls_strict_size(y), sign = ls_strict_sign(x);
    if (is_undefined(x_size, y_size)) {
        return ls_strict_not_a_number();
    }
    if (y_size == LS_STRICT_INFINITE || x_size == 0) {
        return x;
    }
    binary_number top = binary_of(x_size), bottom = binary_of(y_size);
    if (top.exponent < bottom.exponent - 1) {
        return x;
    }
    division left = divide(top, bottom);
    if (2 * left.rest > left.divisor || (2 * left.rest == left.divisor && left.is_odd)) {
        left.rest = left.divisor - left.rest;
        sign ^= LS_STRICT_SIGN;
    }
    return ls_strict_with_sign(value_of(left.rest, left.exponent), sign);
}
