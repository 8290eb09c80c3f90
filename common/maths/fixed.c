#include "lockstep/common/maths/fixed.h"

#include <stdbool.h>

/* An unsigned 128-bit number. */
typedef struct wide {
    uint64_t high;
    uint64_t low;
} wide;

#define LOW_32 UINT64_C(0xffffffff)

static wide wide_multiply_limbs(uint64_t a, uint64_t b)
{
    uint64_t a_high = a >> 32, a_low = a & LOW_32;
    uint64_t b_high = b >> 32, b_low = b & LOW_32;
    uint64_t low = a_low * b_low;
    uint64_t middle = a_high * b_low + (low >> 32);
    uint64_t other = a_low * b_high + (middle & LOW_32);
    return (wide){a_high * b_high + (middle >> 32) + (other >> 32), other << 32 | (low & LOW_32)};
}

/* Knuth's algorithm D with 32-bit digits; n.high < divisor. */
static uint64_t wide_divide_limbs(wide n, uint64_t divisor)
{
    int shift = ls_leading_zeros(divisor);
    if (shift > 0) {
        divisor <<= shift;
        n.high = n.high << shift | n.low >> (64 - shift);
        n.low <<= shift;
    }
    uint64_t top = divisor >> 32, bottom = divisor & LOW_32;
    uint64_t quotient = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t next = n.low >> 32;
        uint64_t digit = n.high / top;
        uint64_t rest = n.high - digit * top;
        while (rest <= LOW_32 && digit * bottom > (rest << 32 | next)) {
            digit--;
            rest += top;
        }
        n.high = (n.high << 32 | next) - digit * divisor;
        n.low <<= 32;
        quotient = quotient << 32 | digit;
    }
    return quotient;
}

#if LS_HAS_INT128
static wide wide_multiply(uint64_t a, uint64_t b)
{
    ls_uint128 product = (ls_uint128)a * b;
    return (wide){(uint64_t)(product >> 64), (uint64_t)product};
}

/* n.high < divisor. */
static uint64_t wide_divide(wide n, uint64_t divisor)
{
    return (uint64_t)(((ls_uint128)n.high << 64 | n.low) / divisor);
}
#else
#define wide_multiply wide_multiply_limbs
#define wide_divide wide_divide_limbs
#endif

/* n/divisor with a sign, toward zero, saturating; 0/0 is 0. */
static inline int64_t divide_signed(wide n, uint64_t divisor, bool is_negative,
                                    uint64_t (*divide)(wide n, uint64_t divisor))
{
    int64_t limit = is_negative ? INT64_MIN : INT64_MAX;
    if (n.high >= divisor) {
        return (n.high | n.low) == 0 ? 0 : limit;
    }
    uint64_t quotient = n.high == 0 ? n.low / divisor : divide(n, divisor);
    if (quotient > (uint64_t)INT64_MAX) {
        return limit;
    }
    return is_negative ? -(int64_t)quotient : (int64_t)quotient;
}

static wide dividend(ls_fixed a)
{
    return (wide){ls_magnitude(a) >> 32, ls_magnitude(a) << 32};
}

LS_TICK_CODE ls_fixed ls_fixed_div(ls_fixed a, ls_fixed b)
{
    return divide_signed(dividend(a), ls_magnitude(b), (a < 0) != (b < 0), wide_divide);
}

ls_fixed ls_fixed_div_limbs(ls_fixed a, ls_fixed b)
{
    return divide_signed(dividend(a), ls_magnitude(b), (a < 0) != (b < 0), wide_divide_limbs);
}

int64_t ls_mul_div(int64_t a, int64_t b, int64_t c)
{
    wide product = wide_multiply(ls_magnitude(a), ls_magnitude(b));
    return divide_signed(product, ls_magnitude(c), ((a < 0) != (b < 0)) != (c < 0), wide_divide);
}

int64_t ls_mul_div_limbs(int64_t a, int64_t b, int64_t c)
{
    wide product = wide_multiply_limbs(ls_magnitude(a), ls_magnitude(b));
    return divide_signed(product, ls_magnitude(c), ((a < 0) != (b < 0)) != (c < 0),
                         wide_divide_limbs);
}

/* Floor of the square root of n >= 2^62. The parabola is right to 2^-7.6 (relative), each Newton
 * step more than squares that and ends above the root, so at most a few are too many. */
static uint64_t root_of_64(uint64_t n)
{
    uint64_t top = n >> 32;
    uint64_t square = (top * top) >> 32;
    uint64_t root = UINT64_C(1113587592) + ((top * UINT64_C(2259194394)) >> 31) -
                    ((square * UINT64_C(1358587881)) >> 32);
    root = (root + n / root) >> 1;
    root = (root + n / root) >> 1;
    root = LS_MIN(root, LOW_32);
    while (root * root > n) {
        root--;
    }
    return root;
}

/* Floor of the square root: the root of the upper half, then one division for the lower half
 * (Zimmermann, "Karatsuba Square Root", 1999). */
static uint64_t root_of_wide(wide n)
{
    if (n.high == 0 && n.low == 0) {
        return 0;
    }
    int zeros = n.high != 0 ? ls_leading_zeros(n.high) : 64 + ls_leading_zeros(n.low);
    int shift = zeros & ~1;
    if (shift >= 64) {
        n = (wide){n.low << (shift - 64), 0};
    } else if (shift > 0) {
        n = (wide){n.high << shift | n.low >> (64 - shift), n.low << shift};
    }
    uint64_t upper = root_of_64(n.high);
    uint64_t rest = n.high - upper * upper;
    /* (rest*2^32 + the next 32 bits) / (2*upper), with both halved to stay in 64 bits. */
    uint64_t half = rest << 31 | n.low >> 33;
    uint64_t lower = half / upper;
    lower = LS_MIN(lower, LOW_32);
    uint64_t left = ((half - lower * upper) << 1) + (n.low >> 32 & 1);
    if (left <= LOW_32 && (left << 32 | (n.low & LOW_32)) < lower * lower) {
        lower--;
    }
    return (upper << 32 | lower) >> (shift / 2);
}

ls_fixed ls_fixed_sqrt(ls_fixed a)
{
    return a <= 0 ? 0 : (ls_fixed)root_of_wide(dividend(a));
}

ls_fixed ls_vec2_length(ls_vec2 a)
{
    if (a.x == 0 || a.y == 0) { /* the root is plain to see */
        uint64_t length = ls_magnitude(a.x | a.y);
        return length > (uint64_t)INT64_MAX ? LS_FIXED_MAX : (ls_fixed)length;
    }
    wide x = wide_multiply(ls_magnitude(a.x), ls_magnitude(a.x));
    wide y = wide_multiply(ls_magnitude(a.y), ls_magnitude(a.y));
    uint64_t low = x.low + y.low;
    uint64_t root = root_of_wide((wide){x.high + y.high + (low < x.low), low});
    return root > (uint64_t)INT64_MAX ? LS_FIXED_MAX : (ls_fixed)root;
}

ls_fixed ls_fixed_from_double(double value)
{
    if (value != value) {
        return 0;
    }
    if (value >= 2147483648.0) {
        return LS_FIXED_MAX;
    }
    if (value <= -2147483648.0) {
        return LS_FIXED_MIN;
    }
    return (ls_fixed)(value * 4294967296.0);
}
