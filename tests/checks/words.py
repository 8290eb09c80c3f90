"""Words: what code must not say, and where."""

import fnmatch
import re

from tree import Finding

PURE = ("common/*",)
PRODUCT = ("common/*", "protocol/*", "server/*", "client/*")
CODE = ("*.c", "*.h")
SIMS = ("common/simulations/*", "common/maths/vec3.*")
# Simulations in strict double: tests/golden holds them to the same bits on every machine.
DOUBLE_SIMS = (
    "common/maths/integrator.*",
    "common/simulations/rope/*",
    "common/simulations/spring/*",
)
OUTSIDE = ("common/base/*", "common/program/*", "common/simulation/plugin_loader.*")

# Simulations that do what they must not, and the program that finds them out.
ZOO = ("tests/zoo/*", "tools/synctest/shims.c", "tools/synctest/surroundings.c")

# (what, where, except, why)
BANNED = (
    (r"\bqsort(_r)?\b", CODE, ZOO, "order of ties differs between C libraries: use stable_sort"),
    (r"\bs?rand(om)?\s*\(", CODE, ZOO, "use rng"),
    (r"\b(strcpy|strcat|v?sprintf|gets|strtok)\s*\(", CODE, (), "unbounded: give a capacity"),
    (r"\bato(i|l|ll|f)\s*\(", CODE, (), "hides errors"),
    (r"\balloca\s*\(", CODE, (), "unbounded stack"),
    (r"\bsetlocale\b", CODE, ZOO, "changes how numbers read"),
    (r"#\s*include\s*<assert\.h>", CODE, (), "use LS_ASSERT: it stays on in every build"),
    (r"\bassert\s*\(", CODE, (), "use LS_ASSERT: it stays on in every build"),
    (r"\btypedef\b[^;{]*\b\w+_t\s*;", CODE, (), "types are plain: no _t of ours"),
    (r"\}\s*\w+_t\s*;", CODE, (), "types are plain: no _t of ours"),
    (r"\b(struct|enum|union)\s+\w+_t\b", CODE, (), "types are plain: no _t of ours"),
    (
        r"\b(malloc|calloc|realloc|free|strdup|aligned_alloc|posix_memalign)\s*\(",
        PRODUCT,
        ("common/base/allocator.c", "common/simulation/plugin_loader.c"),
        "memory comes from the allocator that was passed in",
    ),
    (r"\b(time|clock|gettimeofday|clock_gettime|nanosleep)\s*\(", PURE, OUTSIDE, "pure: no clock"),
    (
        r"\b(secure_)?getenv\b",
        PRODUCT,
        ("common/program/console.c",),
        "only the console asks the environment, what the terminal can do",
    ),
    (r"\b(v?f?printf|puts|putchar|fputs|perror)\s*\(", PURE, OUTSIDE, "pure: no output"),
    (r"\b(fopen|fread|fwrite|open|read|write|socket)\s*\(", PURE, OUTSIDE, "pure: no files"),
    (r"\b(pthread_\w+|thrd_\w+|_Thread_local|volatile)\b", PURE, (), "pure: no threads"),
    (r"\b(setjmp|longjmp)\b", PRODUCT, (), "no jumps over frames"),
    (r"\b(float|double)\b", SIMS, DOUBLE_SIMS, "simulations here are fixed point"),
    (r"\bfloat\b", DOUBLE_SIMS, (), "strict double only"),
    (
        r"\b(float|double)\b",
        PURE,
        SIMS
        + DOUBLE_SIMS
        + OUTSIDE
        + (
            "common/maths/fixed.*",
            "common/simulation/state_schema.c",
            "common/simulation/arithmetic_check.c",
        ),
        "floating point only converts and prints",
    ),
    (
        r"\bls_rng_(next|below|between|unit)\b[^;{}]*?\bls_rng_(next|below|between|unit)\b",
        tuple(f"{room}/*.c" for room in ("common", "client")),
        ("common/maths/rng.c",),
        "two draws in one statement: their order is not defined",
    ),
)

# In every text file, comments included.
BANNED_EVERYWHERE = (
    (r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", "unfinished: finish it or open an issue"),
    (r"[ \t]+$", "space at the end of the line"),
    (r"^\t", "tab at the start of the line"),
    (r"^(<{7}|={7}|>{7})( |$)", "left over from a merge"),
)


def _is_in(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def find(sources, context):
    findings = []
    for source in sources:
        for pattern, why in BANNED_EVERYWHERE:
            for match in re.finditer(pattern, source.text, re.MULTILINE):
                findings.append(
                    Finding(source.path, source.line_of(match.start()), f"{match.group()!r}: {why}")
                )
        if not source.is_c:
            continue
        for pattern, where, exceptions, why in BANNED:
            if not _is_in(source.path, where) or _is_in(source.path, exceptions):
                continue
            for match in re.finditer(pattern, source.code):
                word = " ".join(match.group().split())
                findings.append(
                    Finding(source.path, source.line_of(match.start()), f"{word!r}: {why}")
                )
    return findings


SAMPLES = (
    (
        "words that only look alike, in comments or in strings",
        {
            "common/maths/rng.c": "/* qsort, rand() and time() are not for us */\n"
            "uint32_t operand(int64_t runtime);\n"
            'const char *text = "sprintf(a double)"; // getenv\n'
            "LS_ASSERT(x); snprintf(a, 1, b); ls_release(a, b); freeze(x); uint8_t b;\n",
            "common/maths/fixed.h": "static inline double to_double(int64_t a);\n",
            "common/base/allocator.c": "void *p = calloc(1, bytes);\n",
            "common/simulations/a.c": "int32_t a = ls_rng_between(r, 1, 2);\n"
            "int b = ls_rng_next(r);\n",
        },
        [],
    ),
    (
        "each word in pure code",
        {
            "common/maths/rng.c": "\n".join(
                (
                    "qsort(a, b, c, d);",
                    "rand();",
                    "time(NULL);",
                    "getenv(name);",
                    "setlocale(LC_ALL, name);",
                    "malloc(1);",
                    "assert(x);",
                    "strcpy(a, b);",
                    "sprintf(a, b);",
                    "printf(a);",
                    "float x;",
                )
            )
            + "\n"
        },
        ["qsort", "'rand(", "time(", "getenv", "setlocale", "malloc(", "'assert(", "strcpy("]
        + ["'sprintf(", "'printf(", "float"],
    ),
    (
        "no floating point in a simulation",
        {"common/simulations/a.c": "void f(void)\n{\n    double x = 1;\n}\n"},
        ["common/simulations/a.c:3: 'double'"],
    ),
    (
        "memory outside the allocator",
        {"protocol/wire/message.c": "free(p);\n", "tools/bench.c": "free(p);\n"},
        ["protocol/wire/message.c:1: 'free('"],
    ),
    (
        "types named _t",
        {
            "client/a.h": "typedef unsigned ls_id_t;\nstruct ls_a_t { int x; };\n",
            "server/a.h": "typedef struct {\n    int x;\n} ls_b_t;\n",
        },
        ["ls_id_t", "ls_a_t", "ls_b_t"],
    ),
    (
        "two draws in one statement",
        {"common/simulations/a.c": "f(ls_rng_next(a),\n  ls_rng_next(b));\n"},
        ["two draws"],
    ),
    (
        "unfinished work, in any file",
        {
            "README.md": "TO" "DO: write\n",
            "common/a.c": "/* FIX" "ME later */\nint x; \n\tint y;\n",
            "common/b.c": "<<<<<<< ours\n",
        },
        ["README.md:1", "a.c:1", "a.c:2", "a.c:3", "merge"],
    ),
)
