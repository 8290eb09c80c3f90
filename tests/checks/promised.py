"""Promised: the headers that a game may rely on, which CMakeLists.txt lists: how many they are, how
long, and what comes with them."""

import re

import layers
from tree import Finding

LIST = "CMakeLists.txt"
HEADERS_MAX = 20
LINES_MAX = 3500

# What a game or an embedder is not handed: how a desync is looked into.
KEPT_OUT = {
    "server/match/match.h": ("common/diagnosis/",),
    "client/session/session.h": ("common/diagnosis/",),
}

# Beside our own: C's, and those of C++ where a header is for both.
C_HEADERS = {"cmath", "math.h", "stdbool.h", "stddef.h", "stdint.h", "string.h"}


def promised_headers(sources):
    """Their paths, as the list has them."""
    for source in sources:
        if source.path == LIST:
            listed = re.search(r"set\(LS_PROMISED_HEADERS\s([^)]*)\)", source.text)
            return listed.group(1).split() if listed else []
    return []


def includes(source):
    return [match.group(2) for match in layers.INCLUDE.finditer(source.text)]


def whole(path, by_path):
    """The header and all of ours that come with it."""
    found, waiting = [], [path]
    while waiting:
        path = waiting.pop()
        if path not in found and path in by_path:
            found.append(path)
            waiting += [
                name[len(layers.OURS) :]
                for name in includes(by_path[path])
                if name.startswith(layers.OURS)
            ]
    return found


def list_problems(promised, by_path):
    lines = sum(len(by_path[path].lines) for path in promised if path in by_path)
    names = [path.rpartition("/")[2] for path in promised]
    if not promised:
        yield "no list LS_PROMISED_HEADERS"
    if len(promised) > HEADERS_MAX:
        yield f"{len(promised)} promised headers, the limit is {HEADERS_MAX}"
    if lines > LINES_MAX:
        yield f"{lines} lines in promised headers, the limit is {LINES_MAX}"
    for path in promised:
        if path not in by_path:
            yield f"{path} is promised and not there"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two promised headers are lockstep/{name}"


def header_problems(source):
    """Of one that a game includes, by its name or because another one does."""
    declarations = re.sub(r"^[ \t]*#(.*\\\n)*.*$", "", source.code, flags=re.MULTILINE)
    if declarations.strip() and not re.search(
        r"^LS_C_BEGIN$.*^LS_C_END$", source.code, re.MULTILINE | re.DOTALL
    ):
        yield 1, "a header that games include declares between LS_C_BEGIN and LS_C_END, for C++"
    for match in layers.INCLUDE.finditer(source.text):
        header = match.group(2)
        if not header.startswith(layers.OURS) and header not in C_HEADERS:
            yield source.line_of(match.start(2)), f"a header that games include needs <{header}>"


def find(sources, context):
    by_path = {source.path: source for source in sources}
    promised = promised_headers(sources)
    findings = [Finding(LIST, 1, problem) for problem in list_problems(promised, by_path)]
    seen = {path for header in promised for path in whole(header, by_path)}
    for path in sorted(seen):
        findings += [Finding(path, *problem) for problem in header_problems(by_path[path])]
    for path, folders in KEPT_OUT.items():
        for pulled in whole(path, by_path) if path in promised else []:
            if pulled.startswith(folders):
                findings.append(Finding(path, 1, f"{pulled} comes with it"))
    return findings


def measures(sources):
    by_path = {source.path: source for source in sources}
    promised = promised_headers(sources)
    seen = {path for header in promised for path in whole(header, by_path)}
    lines = sum(len(by_path[path].lines) for path in promised)
    yield f"{len(promised)} promised headers, {lines} lines; {len(seen - set(promised))} in detail"


def _list(*paths):
    return "set(LS_PROMISED_HEADERS\n  " + "\n  ".join(paths) + ")\n"


_GOOD = "#include <stdint.h>\nLS_C_BEGIN\nint a(void);\nLS_C_END\n"

SAMPLES = (
    (
        "a header with another one that is not promised, and one of macros alone",
        {
            LIST: _list("common/a.h", "common/b.h"),
            "common/a.h": '#include "lockstep/common/c.h"\n' + _GOOD,
            "common/b.h": "#define B(x) \\\n    (x)\n",
            "common/c.h": _GOOD,
            "common/d.h": "#include <poll.h>\nint d(void);\n",
        },
        [],
    ),
    (
        "what C++ cannot use, and what needs more than C, beside it and behind it",
        {
            LIST: _list("common/a.h"),
            "common/a.h": '#include "lockstep/common/c.h"\nint a(void);\n',
            "common/c.h": "#include <poll.h>\n" + _GOOD,
        },
        ["common/a.h:1: a header that games", "common/c.h:1: a header that games include needs <p"],
    ),
    (
        "too many lines",
        {LIST: _list("common/a.h"), "common/a.h": "\n" * (LINES_MAX + 1)},
        ["3501 lines"],
    ),
    (
        "too many headers",
        {
            LIST: _list(*(f"common/a{i}.h" for i in range(HEADERS_MAX + 1))),
            **{f"common/a{i}.h": _GOOD for i in range(HEADERS_MAX + 1)},
        },
        ["21 promised headers"],
    ),
    (
        "one that is gone, and two of one name",
        {
            LIST: _list("common/gone.h", "common/a.h", "server/a.h"),
            "common/a.h": _GOOD,
            "server/a.h": _GOOD,
        },
        ["common/gone.h is promised", "lockstep/a.h"],
    ),
    ("no list", {LIST: "project(x)\n", "common/a.h": _GOOD}, ["no list"]),
    (
        "a match that hands out how a desync is looked into",
        {
            LIST: _list("server/match/match.h"),
            "server/match/match.h": '#include "lockstep/server/match/finding.h"\n' + _GOOD,
            "server/match/finding.h": '#include "lockstep/common/diagnosis/rerun.h"\n' + _GOOD,
            "common/diagnosis/rerun.h": _GOOD,
        },
        ["common/diagnosis/rerun.h comes with it"],
    ),
)
