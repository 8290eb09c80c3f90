"""Words: what code must not say, and where; terms that are not the field's; headless sentences."""

import fnmatch
import re

from tree import Finding

PURE = ("common/*", "tools/adapters/*")
PRODUCT = ("common/*", "protocol/*", "server/*", "client/*", "tools/adapters/*")
CODE = ("*.c", "*.h")
SIMS = ("common/simulations/*", "tools/adapters/*")
# Simulations in strict double: tests/golden holds them to the same bits on every machine, and
# lockstep-synctest the plug-in to the same bits on every processor of one kind.
DOUBLE_SIMS = (
    "tools/adapters/chipmunk/*",
    "tools/adapters/libretro/*",
    "common/simulations/rope/*",
    "common/simulations/spring/*",
)
OUTSIDE = (
    "common/base/*",
    "common/game/*",
    "common/loader/*",
    "common/program/*",
    "common/runtime/*",
    "common/system/*",
)

# Simulations that do what they must not, and the program that finds them out.
KNOWN_BAD = ("tests/known_bad/*", "tools/synctest/shims.c", "tools/synctest/process_changes.c")

# (what, where, except, why)
BANNED = (
    (
        r"\bqsort(_r)?\b",
        CODE,
        KNOWN_BAD,
        "order of ties differs between C libraries: use stable_sort",
    ),
    (r"\bs?rand(om)?\s*\(", CODE, KNOWN_BAD, "use rng"),
    (r"\b(strcpy|strcat|v?sprintf|gets|strtok)\s*\(", CODE, (), "unbounded: give a capacity"),
    (r"\bato(i|l|ll|f)\s*\(", CODE, (), "hides errors"),
    (r"\balloca\s*\(", CODE, (), "unbounded stack"),
    (r"\bsetlocale\b", CODE, KNOWN_BAD, "changes how numbers read"),
    (r"#\s*include\s*<assert\.h>", CODE, (), "use LS_ASSERT: it stays on in every build"),
    (r"\bassert\s*\(", CODE, (), "use LS_ASSERT: it stays on in every build"),
    (r"\btypedef\b[^;{]*\b\w+_t\s*;", CODE, (), "types are plain: no _t of ours"),
    (r"\}\s*\w+_t\s*;", CODE, (), "types are plain: no _t of ours"),
    (r"\b(struct|enum|union)\s+\w+_t\b", CODE, (), "types are plain: no _t of ours"),
    (
        r"\b(malloc|calloc|realloc|free|strdup|aligned_alloc|posix_memalign)\s*\(",
        PRODUCT,
        (
            "common/base/allocator.c",
            "common/loader/plugin_loader.c",
            "tools/adapters/lua/lua_memory.c",
            "server/door/rtc_stream.c",  # messages of usrsctp are of the C library's memory
            # Cores call it in place of the C library's.
            "tools/adapters/libretro/libretro_surroundings.c",
        ),
        "memory comes from the allocator that was passed in",
    ),
    (r"\b(time|clock|gettimeofday|clock_gettime|nanosleep)\s*\(", PURE, OUTSIDE, "pure: no clock"),
    (
        r"\b(secure_)?getenv\b",
        PRODUCT,
        ("common/program/console.c", "common/program/server_identity.c",
         "common/system/private_file.c", "common/system/*/file.c",
         "server/control/agones.c"),
        "the console alone asks what the terminal can do, files and the identity where they lie, "
        "private files where credentials are, and Agones names its port in no other way",
    ),
    (r"\b(v?f?printf|puts|putchar|fputs|perror)\s*\(", PURE, OUTSIDE, "pure: no output"),
    (r"\b(fopen|fread|fwrite|open|read|write|socket)\s*\(", PURE, OUTSIDE, "pure: no files"),
    (
        r"\b(pthread_\w+|thrd_\w+|_Thread_local|volatile)\b",
        PURE,
        # Each thread notes for itself which function of a simulation it is in.
        (
            "common/runtime/*",
            "common/system/*",
            "common/simulation/plugin_place.h",
            "common/simulation/sim_instance.c",
            # Cores do not say on whose behalf they call.
            "tools/adapters/libretro/libretro_console.c",
            "tools/adapters/libretro/libretro_surroundings.c",
        ),
        "pure: no threads",
    ),
    (r"\b(setjmp|longjmp)\b", PRODUCT, (), "no jumps over frames"),
    (r"\b(float|double)\b", SIMS, DOUBLE_SIMS, "simulations here are fixed point"),
    (
        r"\bfloat\b",
        DOUBLE_SIMS,
        ("tools/adapters/libretro/libretro_api.h",),  # as cores have it
        "strict double only",
    ),
    (
        r"\b(float|double)\b",
        PURE,
        SIMS
        + DOUBLE_SIMS
        + OUTSIDE
        + (
            "common/maths/fixed.*",
            "common/maths/strict_*",
            "common/simulation/strict_double.*",
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
    (
        # Unless the bound is the end of a long patience.
        r"\bcr_(?:assert|expect)_l(?:t|eq)\s*\((?![^;]*\b(?:\w+_)?(?:end|deadline)(?:_|\b))"
        r"[^;]*(?:_ns|_ms|elapsed)\b",
        ("tests/loopback/*", "tests/support/*"),
        ("tests/loopback/test_enet_channel.c",),  # its time is the test's own
        "a busy machine takes longer: claim an order, a count or what was done in virtual time",
    ),
)

# In tests, strings included. Pages have the usual port, and tests/docs puts another in its place.
BANNED_IN_TESTS = (
    (
        r"\b(?:assert|expect\()(?![^\n]*\b(?:end|deadline)\b)[^\n]*\bmonotonic\(\)",
        "a busy machine takes longer: claim an order or a count, and wait for it",
    ),
    (
        r"(?:--port\W{1,6}|\b(?:bind|create_server)\([^)\n]*)\b7300\b",
        "another server may have this port: take 0",
    ),
)

# In every text file, comments included.
BANNED_EVERYWHERE = (
    (r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", "unfinished: finish it or open an issue"),
    (r"[ \t]+$", "space at the end of the line"),
    (r"^\t", "tab at the start of the line"),
    (r"^(<{7}|={7}|>{7})( |$)", "left over from a merge"),
)

# The names of one idea: what is said here and nowhere else, and the field's term for it. Each part
# of an identifier counts as a word. (term, as a pattern, instead, where, except)
EVERYWHERE = ("*",)
SYNCTEST = ("tools/synctest/*", "tools/lockstep_synctest.c", "tests/unit/test_synctest_*")
TERMS = (
    ("news", "news", "event", EVERYWHERE, ()),
    ("mending", "mending|would mend", "suggested input delay", EVERYWHERE, ()),
    ("hands", "ls_hands|test_hands|hands->|hands\\.[ch]", "input mapper", EVERYWHERE, ()),
    ("wish", "wish(es|ed)?", "request", EVERYWHERE, ()),
    ("outlet", "outlets?", "non-blocking writer", EVERYWHERE, ()),
    ("stranger", "strangers?", "unknown peer", EVERYWHERE, ()),
    ("ladder", "ladders?", "desync investigation", EVERYWHERE, ()),
    ("descent", "descents?", "hash-tree diff", EVERYWHERE, ()),
    ("build print", "build[_ -]prints?", "build fingerprint", EVERYWHERE, ()),
    ("farewell", "farewells?", "close reason", EVERYWHERE, ()),
    ("guest", "guests?", "pending connection", EVERYWHERE, ()),
    ("seat turn", "seat('s)?[_ ]turns?", "seat generation", EVERYWHERE, ()),
    ("bare tick", "bare[_ ]ticks?", "keyframe", EVERYWHERE, ()),
    ("is_void", "is_void", "has_no_state", EVERYWHERE, ()),
    ("is_through", "is_through", "is_done", EVERYWHERE, ()),
    ("warm", "(match|watch)_warm\\w*|warm_(rings|further)", "prefetch", EVERYWHERE, ()),
    ("mood", "moods?", "cached status", EVERYWHERE, ("tests/schema/*",)),
    ("speak_of", "speak_of", "select_match", EVERYWHERE, ()),
    ("errand", "errands?", "child run", EVERYWHERE, ()),
    ("trip", "(?<!round )(?<!round-)(?<!round_)trips?", "child run", SYNCTEST, ()),
    ("world", "(?<!outside )worlds?", "perturbation", SYNCTEST, ()),
    ("moves", "(ls|synctest)_moves\\w*|uint32_t moves", "perturbations", SYNCTEST, ()),
    ("zoo", "zoo", "known-bad simulations", EVERYWHERE, ()),
    ("lane", "lanes?", "channel", EVERYWHERE, ()),
    ("facts", "ls_view_facts|(?<=overlay[_ ])facts|facts->", "HUD model", EVERYWHERE, ()),
    ("playout", "playouts?", "jitter buffer", EVERYWHERE, ()),
    ("parting", "parting", "first differing pass", EVERYWHERE, ()),
    ("tail window", "tail[_ ]windows?", "quantile window", EVERYWHERE, ()),
    ("witness", "witness(es|ed)?", "step observer", EVERYWHERE, ()),
    ("tally", "tally", "test simulation", EVERYWHERE, ("tests/lab/lockstep_faultsim.c",)),
    ("weather", "weathers?", "impairments", EVERYWHERE, ()),
    ("calm", "calm(ly)?", "baseline", EVERYWHERE, ()),
    ("comeback", "comebacks?", "reconnect", EVERYWHERE, ()),
    ("unproven", "unproven", "candidate ticks", EVERYWHERE, ()),
    ("greeting", "greeting", "handshaking", EVERYWHERE, ()),
    ("thinned", "thinned|thinning", "throttled rounds", EVERYWHERE, ()),
    ("watcher", "watchers?|who(ever)? watch(es|ed)?", "spectator", EVERYWHERE, ()),
    ("what is played", "what (is|was|has been) played", "gameplay", EVERYWHERE, ()),
    ("stands once", "stands? once(?! the)", "is in one place", EVERYWHERE, ()),
)
# The table above, samples and exceptions; and pages that repeat what the programs say, or said.
OWN = ("tests/checks/*", "docs/reference.md", "docs/changelog.md")


def _term_pattern(pattern):
    return rf"(?<![A-Za-z])(?:{pattern})(?![a-z])"



def _literals(pattern):
    """Of each alternative the longest piece that every match holds: what to look for first."""
    certain = re.sub(r"\([^()]*\)\??|\[[^\]]*\]|\\w\*", " ", pattern)
    plain = re.sub(r"[a-z]\?", " ", certain)
    return [max(re.findall(r"[a-z_]+", piece), key=len) for piece in plain.split("|")]


TERM_PATTERNS = [
    (*row, _literals(row[1]), re.compile(_term_pattern(row[1]), re.IGNORECASE)) for row in TERMS
]



def _first_words(pattern):
    """Of which a text has one where the pattern matches; None: it may match any."""
    lead = re.match(r"\\b(?:\((?:\?:)?([\w|?]+)\)(?!\?)|(\w[\w?]*))", pattern)
    return lead and [max(re.split(r"\w\?", each), key=len)
                     for each in (lead[1] or lead[2]).split("|")]


FIRST_WORDS = {row[0]: _first_words(row[0])
               for row in (*BANNED, *BANNED_EVERYWHERE, *BANNED_IN_TESTS)}


def _matches(pattern, text, flags=0):
    words = FIRST_WORDS[pattern]
    if words and not any(word in text for word in words):
        return ()
    return re.finditer(pattern, text, flags)


# A sentence whose subject is a clause: "Who comes back gets it." A question may begin so.
HEADLESS = re.compile(
    r"(?:^|(?<=[.!?]) )"
    r"((?:Who|Whom|Whose|Whoever|What|Whatever|That which|Nobody)\b[^.!?]*)([.!?]?)"
    r"|(?:^|(?<=[;:]) )((?:who|whom|whose|whoever|nobody|that which)\b[^.!?;]*)([.!?]?)"
)
HEADLESS_WORD = re.compile(r"[Ww]ho|[Ww]hat|[Nn]obody|[Tt]hat which")
NO_PROSE = re.compile(r"^(?:#|[ \t]*[|>])[^\n]*$|^```.*?^```[ \t]*$", re.MULTILINE | re.DOTALL)


def paragraphs(source):
    """The sentences of a file, its comments or a document's paragraphs: (text, offset)."""
    if source.is_c:
        for text, offset in source.comments:
            if HEADLESS_WORD.search(text):
                yield re.sub(r"\s*\n\s*\*?\s*", " ", text.strip("/*")).strip(), offset
    elif source.path.endswith(".md"):
        prose = NO_PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source.text)
        for match in re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", prose):
            for item in re.split(r"(?:^|\n)\s*(?:[-*+]|\d+\.)\s+", match.group()):
                yield " ".join(item.split()), match.start()


def term_findings(source):
    if _is_in(source.path, OWN):
        return
    lowered = source.text.lower()
    for _, _, instead, where, exceptions, literals, pattern in TERM_PATTERNS:
        if not any(literal in lowered for literal in literals):
            continue
        if not _is_in(source.path, where) or _is_in(source.path, exceptions):
            continue
        for match in pattern.finditer(source.text):
            message = f"{match.group()!r}: the word here is {instead}"
            yield Finding(source.path, source.line_of(match.start()), message)


def headless_findings(source):
    if _is_in(source.path, OWN):
        return
    for text, offset in paragraphs(source):
        for match in HEADLESS.finditer(text):
            said = match.group(1) or match.group(3)
            if (match.group(2) or match.group(4)) != "?":
                message = f"{said[:50]!r}: a sentence says who or what it is about"
                yield Finding(source.path, source.line_of(offset), message)


def findings_in_tests(source):
    if not _is_in(source.path, ("tests/*",)) or _is_in(source.path, (*OWN, "tests/docs/*")):
        return
    for pattern, why in BANNED_IN_TESTS:
        for match in _matches(pattern, source.text):
            yield Finding(source.path, source.line_of(match.start()), f"{match.group()!r}: {why}")


def _is_in(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def find(sources, context):
    findings = []
    for source in sources:
        for pattern, why in BANNED_EVERYWHERE:
            for match in _matches(pattern, source.text, re.MULTILINE):
                findings.append(
                    Finding(source.path, source.line_of(match.start()), f"{match.group()!r}: {why}")
                )
        findings += term_findings(source)
        findings += headless_findings(source)
        findings += findings_in_tests(source)
        if not source.is_c:
            continue
        for pattern, where, exceptions, why in BANNED:
            if not _is_in(source.path, where) or _is_in(source.path, exceptions):
                continue
            for match in _matches(pattern, source.code):
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
        "tests that wait, and compare times that are their own",
        {
            "tests/loopback/a.c": "cr_assert_lt(now_ns(), end_ns, \"late\");\n"
            "cr_assert_lt(now_ms, made.deadline_ms);\ncr_assert_geq(arrived_ns, sent_ns);\n"
            'cr_expect_leq(number(a, "p50_ms"), number(a, "p99_ms"));\n'
            'bind(socket, "127.0.0.1:0"); connect("127.0.0.1:7300");\n',
            "tests/unit/b.c": "cr_assert_leq(latency_ns, 20 * MS);\n",
            "tests/service/c.py": "assert time.monotonic() < end\n"
            'serve("--port", "0", seed=7300)\n',
            "tests/docs/d.py": '"lockstep-server --port 7300"\n',
        },
        [],
    ),
    (
        "tests that a busy machine or another server fails",
        {
            "tests/loopback/a.c": "cr_assert_leq(arrived_ns, sent_ns + MS);\n"
            "cr_expect_lt(elapsed,\n    20);\n"
            'hosted_serve("--port", "7300");\n',
            "tests/service/c.py": "assert 1 < time.monotonic() - begin < 5\n"
            'socket.bind(("127.0.0.1", 7300))\n',
        },
        ["a.c:1", "a.c:2", "a.c:4", "c.py:1", "c.py:2"],
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
    (
        "terms of the field, and words that only hold one of ours",
        {
            "client/a.c": "int renews; /* It hands over the shape of the world: a round trip. */\n"
            "/* The match stands once the planes are warmed up: calmest. */\n"
            "int ls_airplane;\n",
            "README.md": "Guesting is no word. The wishbone was planed, and she was parted.\n",
            "tests/checks/a.py": "news = 1\n",
            "tools/synctest/b.c": "/* A round trip of the state that removes it. */\n",
        },
        [],
    ),
    (
        "terms of our own, in code, comments, strings and documents",
        {
            "client/a.h": "int ls_playout_ns; /* Strangers. */\nenum { LS_SESSION_GREETING };\n"
            'f("lane\\n", ls_match_warm(a)); /* NULL: nobody may */\n',
            "README.md": "## The zoo\n\n| weather | guests |\n",
            "tools/synctest/b.c": "ls_world world_a; /* trip */\n",
            "tools/timestep/b.c": "ls_world world;\n",
        },
        ["'playout': the word here is jitter buffer", "Strangers", "GREETING", "'lane'", "warm"]
        + ["nobody may", "zoo", "weather", "guests", "b.c:1: 'world'", "b.c:1: 'world'", "trip"],
    ),
    (
        "sentences with a subject, and questions",
        {
            "client/a.c": "/* The server keeps what it has. What does it keep? It is what it is:\n"
            " * what it was. */\n// Whole words.\nint x; /* what the last frame took */\n",
            "README.md": "## What it is\n\nThe one who comes back gets it. Who else?\n\n"
            "| Who plays. | x |\n\n```\nWhat is code.\n```\n",
        },
        [],
    ),
    (
        "sentences without one",
        {
            "client/a.c": "/* The server has it. Who comes back\n * gets it. */\n"
            "int x;   /* whose turn it is */\n// What is sent, comes.\n"
            "/* None: nobody has it. */\n",
            "README.md": "# A\n\nNobody\nplays. It is so.\n\n- Whoever comes, plays\n",
        },
        ["a.c:1: 'Who comes back gets it'", "a.c:3", "a.c:4", "a.c:5"]
        + ["README.md:3", "Whoever comes, plays"],
    ),
)
