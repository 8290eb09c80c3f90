"""Private: the inside of a struct that others know only by name is one file's own.

A header that lays out a struct which another header declares without its members is private, and
one .c file alone may include it: a second one shares an object instead of calling its owner.

A header that spares its reader an include declares a struct by name as well, and names the header
behind it: `struct ls_thing; /* thing.h */`. That makes nothing private.
"""

import collections
import os
import re

import declarations
from tree import Finding


_SPARED = re.compile(r"^struct (\w+); +/\* (\S+\.h) \*/$", re.MULTILINE)


def spared_includes(source):
    """The structs whose header a file names beside their declaration: {name: header}"""
    return dict(_SPARED.findall(source.text))


def private_headers(sources):
    """{header: a struct in it that is opaque elsewhere}"""
    opaque = collections.defaultdict(set)
    spared = collections.defaultdict(set)
    for source in sources:
        if source.path.endswith(".h"):
            for name in declarations.opaque_structs(source):
                header = spared_includes(source).get(name)
                if header is None:
                    opaque[name].add(source.path)
                else:
                    spared[name].add(header)
    found = {}
    for source in sources:
        if source.path.endswith(".h"):
            for name, _ in declarations.structs(source):
                wrong = spared[name] - {os.path.basename(source.path)}
                if wrong or opaque[name] - {source.path}:
                    found[source.path] = name
    return found


def find(sources, context):
    sources = [source for source in sources if source.is_c]
    private = private_headers(sources)
    users = collections.defaultdict(list)
    for source in sources:
        for path, offset in declarations.includes(source):
            if path in private:
                users[path].append((source, offset))
    findings = []
    for path, those in sorted(users.items()):
        if len(those) == 1:
            continue
        for source, offset in those:
            message = (
                f"includes {path} as {len(those) - 1} others do, but struct {private[path]} is "
                "private: it belongs to one file"
            )
            findings.append(Finding(source.path, source.line_of(offset), message))
    return findings


SAMPLES = (
    (
        "a struct that is named to spare an include, with its header and with another one",
        {
            "server/a.h": "struct ls_b; /* b.h */\nstruct ls_c; /* b.h */\n",
            "server/b.h": "struct ls_b {\n    int i;\n};\n",
            "server/c.h": "struct ls_c {\n    int i;\n};\n",
            "server/d.c": '#include "lockstep/server/b.h"\n#include "lockstep/server/c.h"\n',
            "server/e.c": '#include "lockstep/server/b.h"\n#include "lockstep/server/c.h"\n',
        },
        ["server/d.c:2: includes server/c.h", "server/e.c:2: includes server/c.h"],
    ),
    (
        "a private header with one user, and public ones with many",
        {
            "server/a.h": "typedef struct ls_a ls_a;\ntypedef struct ls_b {\n    int x;\n} ls_b;\n"
            "struct ls_b;\n",
            "server/a_state.h": '#include "lockstep/server/a.h"\nstruct ls_a {\n    ls_b b;\n};\n',
            "server/a.c": '#include "lockstep/server/a_state.h"\n#include "lockstep/server/a.h"\n',
            "server/b.c": '#include "lockstep/server/a.h"\n'
            '/* #include "lockstep/server/a_state.h" */\n',
        },
        [],
    ),
    (
        "a private header that a part of the module shares, and a test",
        {
            "server/a.h": "struct ls_a;\n",
            "server/a_state.h": "typedef struct ls_a {\n    int x;\n} ls_a;\n",
            "server/a.c": '#include "lockstep/server/a_state.h"\n',
            "server/a_part.c": '\n#include "lockstep/server/a_state.h"\n',
            "tests/test_a.c": '#include "lockstep/server/a_state.h"\n',
        },
        ["server/a.c:1: includes server/a_state.h as 2 others do", "a_part.c:2", "tests/test_a.c"],
    ),
)
