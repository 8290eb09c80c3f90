"""Shape: lengths of files, functions and lines; headers say what they are; modules are pairs."""

import fnmatch
import re

from tree import Finding

FILE_LINES_MAX = 1000
FUNCTION_LINES_MAX = 80
COLUMNS_MAX = 100
COMMENT_LINES = (2, 12)  # of its first paragraph; a format may be laid out below

# A .c here is a program or a test: it has no header.
WITHOUT_HEADER = ("*main.c", "tools/*.c", "tests/*.c", "docs/examples/*.c")


def long_lines(source):
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns, the limit is {COLUMNS_MAX}"


def long_functions(source):
    """A function's braces stand alone in the first column: .clang-format sees to that."""
    start = None
    for number, line in enumerate(source.code.splitlines(), 1):
        if line.rstrip() == "{":
            start = number
        elif line.startswith("}") and start is not None:
            length = number - start + 1
            if length > FUNCTION_LINES_MAX:
                yield start, f"function of {length} lines, the limit is {FUNCTION_LINES_MAX}"
            start = None


def header_problems(source):
    comment = re.match(r"/\*.*?\*/", source.text, re.DOTALL)
    lines = re.split(r"\n \*\n", comment.group())[0].count("\n") + 1 if comment else 0
    if not COMMENT_LINES[0] <= lines <= COMMENT_LINES[1]:
        yield 1, "a header opens with three to six lines: what it owns, what it must never do"
    guard = "LOCKSTEP_" + re.sub(r"[^A-Z0-9]", "_", source.path.upper())
    if not re.search(rf"#ifndef {guard}\n#define {guard}\n", source.text):
        yield 1, f"the include guard is {guard}"


def module_problems(source, paths):
    """x.c includes x.h first; without x.h it is a part of a module: noun_part.c of noun*.h. The
    headers of common/system stand above the folders that implement them, each with the ways of its
    kinds of systems."""
    if any(fnmatch.fnmatch(source.path, pattern) for pattern in WITHOUT_HEADER):
        return
    headers = re.findall(r'^#include "lockstep/([^"]+)', source.text, re.MULTILINE)
    header = re.sub(r"/(linux|portable)_", "/", source.path[:-1] + "h")
    if header not in paths:
        header = re.sub(r"^(common/system/)\w+/", r"\1", header)
    if header in paths:
        first = re.search(r'^#include [<"]([^>"]+)', source.text, re.MULTILINE)
        if first is None or first.group(1) != f"lockstep/{header}":
            yield 1, f'the first include is "lockstep/{header}", which proves that it stands alone'
        return
    noun = re.match(r"(.*/[^/_.]+)", source.path).group(1)
    if not any(re.match(rf"{noun}(_\w+)?\.h$", included) for included in headers):
        yield 1, f"a module is one .h and one .c: no {header}, and no part of {noun}*.h either"


def find(sources, context):
    paths = {source.path for source in sources}
    findings = []
    for source in sources:
        problems = []
        if source.is_c or source.path.endswith(".py"):
            problems += long_lines(source)
            if len(source.lines) > FILE_LINES_MAX:
                problems.append((1, f"{len(source.lines)} lines, the limit is {FILE_LINES_MAX}"))
        if source.is_c:
            problems += long_functions(source)
        if source.path.endswith(".h"):
            problems += header_problems(source)
        if source.path.endswith(".c"):
            problems += module_problems(source, paths)
        findings += [Finding(source.path, line, message) for line, message in problems]
    return findings


def _header(name, comment="/* A thing.\n * Owns nothing. */\n", body=""):
    guard = f"LOCKSTEP_COMMON_{name}"
    return f"{comment}#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n"


def _function(lines):
    return "int f(void)\n{\n" + "    g();\n" * (lines - 2) + "}\n"


SAMPLES = (
    (
        "a module at every limit, a program and a test",
        {
            "common/a.h": _header("A_H"),
            "common/a.c": '#include "lockstep/common/a.h"\n'
            + _function(FUNCTION_LINES_MAX)
            + "\n" * (FILE_LINES_MAX - FUNCTION_LINES_MAX - 3)
            + "x" * COLUMNS_MAX
            + "\n",
            "server/program/main.c": "#include <stdio.h>\n",
            "tests/unit/test_a.c": "#include <criterion/criterion.h>\n",
        },
        [],
    ),
    (
        "a header of the system, and what implements it",
        {
            "common/system/a.h": _header("SYSTEM_A_H"),
            "common/system/posix/a.c": '#include "lockstep/common/system/a.h"\n',
            "common/system/posix/b.h": _header("SYSTEM_POSIX_B_H"),
            "common/system/posix/linux_b.c": '#include "lockstep/common/system/posix/b.h"\n',
            "common/system/posix/portable_b.c": '#include "lockstep/common/system/posix/b.h"\n',
        },
        [],
    ),
    (
        "an implementation of no header of the system",
        {"common/system/posix/b.c": '#include "lockstep/common/system/a.h"\n'},
        ["common/system/posix/b.c:1: a module is"],
    ),
    (
        "braces in strings and comments are no functions",
        {"tools/a.c": 'int f(void)\n{\n    g("\\n}");\n}\n/*\n{\n' + "x\n" * 90 + "}\n*/\n"},
        [],
    ),
    ("one line too many", {"tools/a.c": "\n" * (FILE_LINES_MAX + 1)}, ["tools/a.c:1: 1001 lines"]),
    ("a long function", {"tools/a.c": _function(FUNCTION_LINES_MAX + 1)}, ["2: function of 81"]),
    ("a line too long", {"tools/a.c": "\n" + "x" * (COLUMNS_MAX + 1)}, ["a.c:2: 101 columns"]),
    ("a header that says nothing", {"common/a.h": _header("A_H", "")}, ["opens with"]),
    ("a header that says one line", {"common/a.h": _header("A_H", "/* A. */\n")}, ["opens with"]),
    (
        "a header that goes on and on",
        {"common/a.h": _header("A_H", "/* A." + "\n * B." * COMMENT_LINES[1] + " */\n")},
        ["opens with"],
    ),
    (
        "a header that lays out a format after it has said what it is",
        {"common/a.h": _header("A_H", "/* A.\n * B.\n *\n" + " * c\n" * 20 + " */\n")},
        [],
    ),
    ("another file's guard", {"common/a.h": _header("B_H")}, ["guard is LOCKSTEP_COMMON_A_H"]),
    ("a module without a header", {"common/a.c": "int x;\n"}, ["no common/a.h"]),
    (
        "a part of a module that has a header, and one of a module that has none",
        {
            "server/match/match_state.h": _header("A_H").replace(
                "COMMON_A", "SERVER_MATCH_MATCH_STATE"
            ),
            "server/match/match_play.c": '#include "lockstep/server/match/match_state.h"\n',
            "server/watch_play.c": '#include "lockstep/server/match/match_state.h"\n',
        },
        ["watch_play.c:1: a module is"],
    ),
    (
        "a module that does not include its header first",
        {
            "common/a.h": _header("A_H"),
            "common/a.c": '#include <stdio.h>\n#include "lockstep/common/a.h"\n',
        },
        ["the first include is"],
    ),
)
