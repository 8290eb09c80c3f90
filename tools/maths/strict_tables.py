#!/usr/bin/env python3
"""Writes common/maths/strict_tables.c: the constants and polynomials of the strict maths functions.

Everything is computed here with 100 decimal digits. A polynomial is the best one by Remez's
exchange: the error of `f` over an interval, times a weight, swings between equal extremes. Prints
the errors; --check compares the file with what would be written, and writes nothing.

usage: tools/maths/strict_tables.py [--check]
"""

import decimal
import fractions
import pathlib
import sys

FILE = pathlib.Path(__file__).resolve().parents[2] / "common" / "maths" / "strict_tables.c"
DIGITS = 100
EXP_STEPS = 128
LOG_STEPS = 128
LOG_START = (0x3FE6 << 48) - (1 << 44)  # 1 is in the middle of an interval
ARC_STEPS = 32
GRID = 400
ROUNDS = 8

D = decimal.Decimal
decimal.getcontext().prec = DIGITS


def series(first, factor):
    """first + first * factor(1) + ..., until nothing is added."""
    total, term, n = first, first, 1
    while abs(term) > D(10) ** (-DIGITS - 5):
        term *= factor(n)
        total += term
        n += 1
    return total


def sin(x):
    return series(x, lambda n: -x * x / (2 * n * (2 * n + 1)))


def cos(x):
    return series(D(1), lambda n: -x * x / ((2 * n - 1) * 2 * n))


def atan(x):
    """Halved three times, so that the series ends soon."""
    for _ in range(3):
        x = x / (1 + (1 + x * x).sqrt())
    power, total, n = x, D(0), 1
    while abs(power) > D(10) ** (-DIGITS - 5):
        total += power / n
        power *= -x * x
        n += 2
    return 8 * total


def asin(x):
    return atan(x / (1 - x * x).sqrt())


def sinh(x):
    return series(x, lambda n: x * x / (2 * n * (2 * n + 1)))


def tanh(x):
    square = (2 * x).exp()
    return (square - 1) / (square + 1)


def cbrt(x):
    return x ** (D(1) / 3)


PI = 4 * atan(D(1))
LN2 = D(2).ln()


def exact(x):
    """A float, or one of our decimals, as it is."""
    return D(x) if isinstance(x, float) else x


def nearest(x):
    """The double nearest to x: float() of a fraction rounds correctly."""
    return float(fractions.Fraction(x))


def pair(x):
    high = nearest(x)
    return high, nearest(x - exact(high))


def short(x, bits):
    """The double of so many leading bits that is nearest to x."""
    fraction = fractions.Fraction(x)
    _, exponent = split(x)
    unit = fractions.Fraction(2) ** (exponent - bits + 1)
    return float(round(fraction / unit) * unit)


def split(x):
    """1 <= |fraction| < 2, and the exponent."""
    exponent = 0
    fraction = abs(fractions.Fraction(x))
    while fraction >= 2:
        fraction, exponent = fraction / 2, exponent + 1
    while fraction < 1:
        fraction, exponent = fraction * 2, exponent - 1
    return fraction, exponent


def solve(rows):
    """Gauss: each row is the coefficients and, last, the right side."""
    size = len(rows)
    for i in range(size):
        pivot = max(range(i, size), key=lambda row: abs(rows[row][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j])]
    result = [D(0)] * size
    for i in reversed(range(size)):
        rest = sum((rows[i][j] * result[j] for j in range(i + 1, size)), D(0))
        result[i] = (rows[i][size] - rest) / rows[i][i]
    return result


def evaluate(terms, x):
    total = D(0)
    for term in reversed(terms):
        total = total * x + exact(term)
    return total


def chebyshev(low, high, count):
    middle, half = (high + low) / 2, (high - low) / 2
    return [middle - half * cos(PI * (2 * i + 1) / (2 * count)) for i in range(count)]


def remez(f, low, high, count, weight):
    """Terms of the polynomial with the least weight * |f - p| over [low, high]."""
    grid = chebyshev(low, high, GRID)
    values = [(x, f(x), weight(x)) for x in grid]
    places = [(x, f(x), weight(x)) for x in chebyshev(low, high, count + 1)]
    for _ in range(ROUNDS):
        rows = [
            [x**k for k in range(count)] + [(-1) ** i / w, y]
            for i, (x, y, w) in enumerate(places)
        ]
        terms = solve(rows)[:count]
        extremes = []
        for x, y, w in values:
            error = w * (y - evaluate(terms, x))
            if extremes and (extremes[-1][0] > 0) == (error > 0):
                if abs(error) > abs(extremes[-1][0]):
                    extremes[-1] = (error, (x, y, w))
            else:
                extremes.append((error, (x, y, w)))
        if len(extremes) < count + 1:
            break
        while len(extremes) > count + 1:
            extremes.pop(0 if abs(extremes[0][0]) < abs(extremes[-1][0]) else -1)
        places = [place for _, place in extremes]
    rounded = [nearest(term) for term in terms]
    worst = max(abs(w * (y - evaluate(rounded, x))) for x, y, w in values)
    return rounded, worst


def odd(f, x_max, count):
    """f(x) = x + x^3 P(x^2): P, with the error against f."""
    def rest(z):
        x = z.sqrt()
        return (f(x) / x - 1) / z

    return remez(rest, D(0), x_max * x_max, count, lambda z: z)


def exp_rest(x):
    """What stands behind 1 + x."""
    return series(D(1) / 2, lambda n: x / (n + 2))


def log_rest(x):
    """What stands behind x - x^2 / 2."""
    power, total, n = D(1), D(0), 3
    while abs(power) > D(10) ** (-DIGITS - 5):
        total += power / n
        power *= -x
        n += 1
    return total


def exp2_rest(x):
    return series(LN2, lambda n: x * LN2 / (n + 1))


def cosine_rest(z):
    return series(D(1) / 24, lambda n: -z / ((2 * n + 3) * (2 * n + 4)))


POLYNOMIALS = (
    ("sine", "sin x = x + x^3 P(x^2), |x| <= pi/4", lambda: odd(sin, PI / 4 + D("0.0001"), 6)),
    ("cosine", "cos x = 1 - x^2/2 + x^4 P(x^2), |x| <= pi/4",
     lambda: remez(cosine_rest, D(0), (PI / 4 + D("0.0001")) ** 2, 6, lambda z: z * z)),
    ("arc_tangent", "atan x = x + x^3 P(x^2), |x| <= 1/63", lambda: odd(atan, D(1) / 63, 5)),
    ("arc_sine", "asin x = x + x^3 P(x^2), |x| <= 1/2", lambda: odd(asin, D("0.5"), 13)),
    ("exponential", "e^x = 1 + x + x^2 P(x), |x| <= ln 2 / 256",
     lambda: remez(exp_rest, -LN2 / 255, LN2 / 255, 5, lambda x: abs(x) + D("1e-5"))),
    ("power_of_two", "2^x = 1 + x P(x), |x| <= 1/256",
     lambda: remez(exp2_rest, D(-1) / 255, D(1) / 255, 5, lambda x: D(1))),
    ("logarithm", "ln(1 + x) = x - x^2/2 + x^3 P(x), |x| <= 1/230",
     lambda: remez(log_rest, D(-1) / 230, D(1) / 230, 7, lambda x: x * x + D("1e-9"))),
    ("sinh", "sinh x = x + x^3 P(x^2), |x| <= 1/2", lambda: odd(sinh, D("0.5"), 8)),
    ("tanh", "tanh x = x + x^3 P(x^2), |x| <= 1/4", lambda: odd(tanh, D("0.25"), 8)),
    ("cube_root", "cbrt x = P(x), 1 <= x < 8",
     lambda: remez(cbrt, D(1), D(8), 5, lambda x: D(1) / cbrt(x))),
)


def words(value, count):
    """So many 32-bit words of a fraction's bits, the first ones first."""
    return [int(value * D(2) ** (32 * (i + 1))) % 2**32 for i in range(count)]


def two_over_pi_words():
    """64 zeros, then 2 / pi."""
    decimal.getcontext().prec = 500
    quarter = 4 * digits_of_arc_tangent()
    result = [0, 0] + words(2 / quarter, 40)
    decimal.getcontext().prec = DIGITS
    return result


def digits_of_arc_tangent():
    """pi / 4 to the precision that is set now, by Machin's formula."""
    def inverse(n):
        power, total, k = D(1) / n, D(0), 1
        while power > D(10) ** (-decimal.getcontext().prec - 5):
            total += power / k if k % 4 == 1 else -power / k
            power /= n * n
            k += 2
        return total

    return 4 * inverse(5) - inverse(239)


def exp_table():
    for i in range(EXP_STEPS):
        value = D(2) ** (D(i) / EXP_STEPS)
        high = nearest(value)
        yield high, nearest(value / exact(high) - 1)


def double_of(bits):
    exponent = (bits >> 52) - 1075
    return D((bits & ((1 << 52) - 1)) | 1 << 52) * D(2) ** exponent


def log_table():
    """1/c in 16 bits, and -ln of it: a sum of a multiple of 2^-42 and a rest."""
    one = 0x3FF << 52
    for i in range(LOG_STEPS):
        start = LOG_START + (i << 45)
        middle = (double_of(start) + double_of(start + (1 << 45) - 1)) / 2
        inverse = 1.0 if start <= one < start + (1 << 45) else short(1 / middle, 16)
        value = -exact(inverse).ln()
        high = float(round(fractions.Fraction(value) * 2**42)) / 2**42
        yield inverse, high, nearest(value - exact(high))


def half_pi_parts():
    """Three parts of 33 bits, the rest."""
    rest, parts = PI / 2, []
    for _ in range(3):
        parts.append(short(rest, 33))
        rest -= exact(parts[-1])
    return [*parts, nearest(rest)]


def cut(value, bits):
    """So many leading bits, and the rest."""
    high = short(value, bits)
    return [high, nearest(value - exact(high))]


CONSTANTS = (
    ("half_pi_parts", half_pi_parts),
    ("half_pi", lambda: pair(PI / 2)),
    ("pi", lambda: pair(PI)),
    ("exp_step", lambda: cut(LN2 / EXP_STEPS, 34)),
    ("ln2", lambda: cut(LN2, 42)),
    ("ln10_inverse", lambda: cut(1 / D(10).ln(), 26)),
    ("ln2_inverse", lambda: cut(1 / LN2, 26)),
    ("scalars", lambda: (nearest(2 / PI), nearest(EXP_STEPS / LN2))),
)

HEAD = """/* Written by tools/maths/strict_tables.py: change that. */
#include "lockstep/common/maths/strict_parts.h"

/* clang-format off: a line has whole rows of a table. */
"""


def rows(values, per_line):
    values = list(values)
    lines = [", ".join(values[i : i + per_line]) for i in range(0, len(values), per_line)]
    return ",\n    ".join(lines)


def number(x):
    return x.hex()


def array(name, values, per_line=3, kind="double"):
    values = list(values)
    return (f"const {kind} ls_strict_{name}[{len(values)}] = {{\n    "
            f"{rows(values, per_line)}}};\n")


def make():
    parts = [HEAD]
    for name, what, compute in POLYNOMIALS:
        terms, worst = compute()
        bits = split(worst)[1]
        print(f"{name + '_terms':22} {len(terms):2} terms, error below 2^{bits + 1}: {what}")
        parts.append(f"/* {what}; error below 2^{bits + 1} */")
        parts.append(array(f"{name}_terms", map(number, terms)))
    for name, compute in CONSTANTS:
        parts.append(array(name, map(number, compute()), 2))
    parts.append(array("two_over_pi_words", (f"0x{word:08x}u" for word in two_over_pi_words()), 6,
                       "uint32_t"))
    pairs = [number(x) for row in exp_table() for x in row]
    parts.append(array("exp_table", pairs, 4))
    triples = [number(x) for row in log_table() for x in row]
    parts.append(array("log_table", triples, 3))
    arcs = [pair(atan(D(i) / ARC_STEPS)) for i in range(ARC_STEPS + 1)]
    parts.append(array("arc_table", [number(x) for row in arcs for x in row], 4))
    return "\n".join(parts)


def squeezed(text):
    return "".join(text.split())


def main():
    text = make()
    if "--check" in sys.argv[1:]:
        return 0 if squeezed(text) == squeezed(FILE.read_text(encoding="ascii")) else 3
    FILE.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
