#include "lockstep/common/loader/maths_check.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_BYTES_MAX = 16,
    RESULTS = 1000, /* of each function: some differ in one of hundreds */
};

#define FLOATS 32u /* the bit of a function's version in float, above that of double */

/* X(name, the largest argument) and B(name) of two arguments; at most 32. Below 1
 * acosh has no result, on any machine. */
#define UNARY_MAP(X)                                                                               \
    X(sin, 1000.0)                                                                                 \
    X(cos, 1000.0)                                                                                 \
    X(tan, 1000.0)                                                                                 \
    X(asin, 1.0)                                                                                   \
    X(acos, 1.0)                                                                                   \
    X(atan, 100.0)                                                                                 \
    X(sinh, 40.0)                                                                                  \
    X(cosh, 40.0)                                                                                  \
    X(tanh, 10.0)                                                                                  \
    X(asinh, 1000.0)                                                                               \
    X(acosh, 1000.0)                                                                               \
    X(atanh, 1.0)                                                                                  \
    X(exp, 80.0)                                                                                   \
    X(exp2, 100.0)                                                                                 \
    X(exp10, 30.0)                                                                                 \
    X(expm1, 80.0)                                                                                 \
    X(log, 1000.0)                                                                                 \
    X(log2, 1000.0)                                                                                \
    X(log10, 1000.0)                                                                               \
    X(log1p, 1000.0)                                                                               \
    X(cbrt, 1000.0)                                                                                \
    X(erf, 4.0)                                                                                    \
    X(erfc, 4.0)                                                                                   \
    X(tgamma, 30.0)                                                                                \
    X(lgamma, 1000.0)                                                                              \
    X(j0, 100.0)                                                                                   \
    X(j1, 100.0)                                                                                   \
    X(y0, 100.0)                                                                                   \
    X(y1, 100.0)
#define BINARY_MAP(B)                                                                              \
    B(atan2)                                                                                       \
    B(pow)                                                                                         \
    B(hypot)

typedef struct maths_function {
    const char *name;
    double most; /* arguments are above 0 and up to this */
    bool is_of_two;
} maths_function;

#define UNARY(name, most) {#name, most, false},
#define BINARY(name) {#name, 20.0, true},
static const maths_function functions[] = {UNARY_MAP(UNARY) BINARY_MAP(BINARY)};

#define FUNCTION_COUNT (sizeof functions / sizeof functions[0])
_Static_assert(FUNCTION_COUNT <= FLOATS, "a bit for each");

/* ---- names ---- */

static uint64_t bit_of(const char *name, size_t size)
{
    for (uint32_t i = 0; i < FUNCTION_COUNT; i++) {
        if (strlen(functions[i].name) == size && memcmp(functions[i].name, name, size) == 0) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

/* "sin", "sinf", and "sinl", for which double stands. */
static uint64_t bits_of(const char *name, size_t size)
{
    uint64_t bits = bit_of(name, size);
    if (bits == 0 && size > 1 && name[size - 1] == 'f') {
        bits = bit_of(name, size - 1) << FLOATS;
    } else if (bits == 0 && size > 1 && name[size - 1] == 'l') {
        bits = bit_of(name, size - 1);
    }
    return bits;
}

static bool is_enclosed(const char *name, size_t size, const char *before, const char *behind)
{
    size_t head = strlen(before);
    size_t tail = strlen(behind);
    return size > head + tail && memcmp(name, before, head) == 0 &&
           memcmp(name + size - tail, behind, tail) == 0;
}

/* The plain name within "__pow_finite", "sin_r" and "_ZGVdN4v_sin". */
uint64_t ls_maths_functions_named(const char *import)
{
    size_t size = strlen(import);
    if (is_enclosed(import, size, "_ZGV", "")) {
        const char *plain = strrchr(import, '_') + 1;
        return bits_of(plain, strlen(plain));
    }
    if (is_enclosed(import, size, "__", "_finite")) {
        import += strlen("__");
        size -= strlen("__") + strlen("_finite");
    } else if (is_enclosed(import, size, "", "_r")) {
        size -= strlen("_r");
    }
    if (size >= strlen("sincos") && memcmp(import, "sincos", strlen("sincos")) == 0) {
        bool is_float = size > strlen("sincos") && import[strlen("sincos")] == 'f';
        return is_float ? bits_of("sinf", 4) | bits_of("cosf", 4)
                        : bits_of("sin", 3) | bits_of("cos", 3);
    }
    return bits_of(import, size);
}

/* ---- results ---- */

/* For the compiler a number that it cannot know: what is computed with it is computed here. */
static double unknown_number(double value)
{
    __asm__ __volatile__("" : : "r"(&value) : "memory");
    return value;
}

static uint64_t add_result(uint64_t hash, double result)
{
    uint64_t bits = 1; /* of all that are no number */
    if (!isnan(result)) {
        memcpy(&bits, &result, sizeof bits);
    }
    return ls_hash_pair(hash, bits);
}

/* The function as a plug-in calls it. */
typedef union found_function {
    void *address;
    double (*of_one)(double);
    float (*of_one_float)(float);
    double (*of_two)(double, double);
    float (*of_two_float)(float, float);
} found_function;

static found_function find(void *library, const char *name, bool is_float)
{
    char whole[NAME_BYTES_MAX];
    snprintf(whole, sizeof whole, "%s%s", name, is_float ? "f" : "");
    found_function found = {.address = ls_library_find(library, whole)};
    if (!found.address) {
        found.address = ls_library_find(NULL, whole); /* the plug-in does not say where it is */
    }
    return found;
}

static double call(found_function found, bool is_of_two, bool is_float, int i, double most)
{
    double x = unknown_number(most * i / RESULTS);
    double y = unknown_number(i % 37 * 0.13);
    if (is_of_two) {
        return is_float ? (double)found.of_two_float((float)x, (float)y) : found.of_two(x, y);
    }
    return is_float ? (double)found.of_one_float((float)x) : found.of_one(x);
}

static uint64_t check_function(uint64_t hash, const maths_function *function, void *library,
                               bool is_float)
{
    found_function found = find(library, function->name, is_float);
    for (int i = 1; found.address && i <= RESULTS; i++) {
        hash = add_result(hash, call(found, function->is_of_two, is_float, i, function->most));
    }
    return hash;
}

uint64_t ls_maths_check(uint64_t used, void *library)
{
    uint64_t hash = used == 0 ? 0 : 1;
    for (uint32_t i = 0; i < FUNCTION_COUNT; i++) {
        if (used & UINT64_C(1) << i) {
            hash = check_function(hash, &functions[i], library, false);
        }
        if (used & UINT64_C(1) << (i + FLOATS)) {
            hash = check_function(hash, &functions[i], library, true);
        }
    }
    return hash;
}
