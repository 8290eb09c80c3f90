"""Circles: no file uses a file that comes back to it, by including its header or by what it calls.

A function belongs to the file that defines it, whatever header declares it: files that share a
private header and call each other through it are a circle too.
"""

import collections

import declarations
from tree import Finding, is_test


def nearest(path, candidates):
    """Of files that define the same name for different programs, those nearest to the user."""

    def shared(candidate):
        pairs = zip(path.split("/")[:-1], candidate.split("/")[:-1])
        return next((i for i, (a, b) in enumerate(pairs) if a != b), candidate.count("/"))

    best = max(shared(candidate) for candidate in candidates)
    return [candidate for candidate in candidates if shared(candidate) == best]


def owners_of_names(sources):
    """Where each external function and variable is defined, if a header declares it."""
    declared = set()
    for source in sources:
        if source.path.endswith(".h"):
            declared.update(declarations.IDENTIFIER.findall(source.code))
    owners = collections.defaultdict(list)
    for source in sources:
        if source.path.endswith(".c"):
            names = [name for name, _ in declarations.external_functions(source)]
            names += [name for name, _ in declarations.external_variables(source)]
            for name in declared.intersection(names):
                owners[name].append(source.path)
    return {name: declarations.without_stand_ins(paths) for name, paths in owners.items()}


def arrows_of_files(sources):
    """{file: {file that it uses: (how, offset)}}"""
    # A test's main program and its support are told apart by their targets.
    sources = [source for source in sources if source.is_c and not is_test(source.path)]
    owners = owners_of_names(sources)
    paths = {source.path for source in sources}
    arrows = {}
    for source in sources:
        used = arrows[source.path] = {}
        for path, offset in declarations.includes(source):
            if path in paths:
                used.setdefault(path, ("includes", offset))
        if source.path.endswith(".h"):
            continue
        own = set(declarations.static_functions(source))
        for match in declarations.IDENTIFIER.finditer(source.code):
            if match.group() in own or match.group() not in owners:
                continue
            for path in nearest(source.path, owners[match.group()]):
                used.setdefault(path, (f"uses {match.group()} of", match.start()))
        used.pop(source.path, None)
    return arrows


def circles_in(arrows):
    """Sets of files that all reach each other (Tarjan), without recursion."""
    order, low, stack, waiting, circles = {}, {}, [], set(), []
    for root in arrows:
        if root in order:
            continue
        work = [(root, iter(arrows[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        waiting.add(root)
        while work:
            file, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[file])
                if low[file] == order[file]:
                    at = stack.index(file)
                    circle, stack[at:] = stack[at:], []
                    waiting.difference_update(circle)
                    if len(circle) > 1:
                        circles.append(sorted(circle))
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                waiting.add(following)
                work.append((following, iter(arrows[following])))
            elif following in waiting:
                low[file] = min(low[file], order[following])
    return sorted(circles, key=lambda circle: (-len(circle), circle))


def shortest_way_back(arrows, start):
    """The smallest circle through a file, as the files that follow it, itself the last."""
    came_from = {}
    row = [start]
    while start not in came_from:
        following_row = []
        for file in row:
            for following in sorted(arrows[file]):
                if following not in came_from:
                    came_from[following] = file
                    following_row.append(following)
        row = following_row
    way = [start]
    while came_from[way[0]] != start:
        way.insert(0, came_from[way[0]])
    return way


def in_words(arrows, start):
    steps = []
    file = start
    for following in shortest_way_back(arrows, start):
        how = arrows[file][following][0]
        steps.append(f"{how} {following}")
        file = following
    return ", which ".join(steps)


def find(sources, context):
    arrows = arrows_of_files(sources)
    by_path = {source.path: source for source in sources}
    findings = []
    for circle in circles_in(arrows):
        for file in circle:
            first = shortest_way_back(arrows, file)[0]
            line = by_path[file].line_of(arrows[file][first][1])
            message = f"in a circle of {len(circle)} files: {in_words(arrows, file)}"
            findings.append(Finding(file, line, message))
    return findings


def measures(sources):
    circles = circles_in(arrows_of_files(sources))
    largest = max((len(circle) for circle in circles), default=0)
    yield f"circles among files: {len(circles)} (the largest has {largest} files)"
    for circle in circles:
        yield f"    {len(circle)}: {' '.join(circle)}"


SAMPLES = (
    (
        "arrows in one direction, and names that only look like calls",
        {
            "server/a.h": "void ls_a(void);\nvoid again(void);\n",
            "server/a.c": '#include "lockstep/server/a.h"\n#include "lockstep/server/b.h"\n'
            "void ls_a(void)\n{\n    ls_b();\n}\n\nvoid again(void)\n{\n}\n",
            "server/b.h": "void ls_b(void);\n",
            "server/b.c": '#include "lockstep/server/b.h"\n/* ls_a() calls this. */\n'
            "static void again(void)\n{\n}\n\nvoid ls_b(void)\n{\n    x.ls_a = y->ls_a;\n"
            '    print("ls_a()");\n    again();\n}\n',
        },
        [],
    ),
    (
        "parts of a module that include its header and are called by it",
        {
            "tools/report.h": "void ls_report(void);\nvoid ls_report_html(void);\n",
            "tools/report.c": '#include "lockstep/tools/report.h"\n'
            "void ls_report(void)\n{\n    ls_report_html();\n}\n",
            "tools/report_html.c": '#include "lockstep/tools/report.h"\n'
            "void ls_report_html(void)\n{\n}\n",
        },
        [],
    ),
    (
        "two files that call each other through a header that they share",
        {
            "server/match_state.h": "void ls_join(void);\nvoid ls_play(void);\n",
            "server/match_join.c": '#include "lockstep/server/match_state.h"\n'
            "void ls_join(void)\n{\n    ls_play();\n}\n",
            "server/match_play.c": '#include "lockstep/server/match_state.h"\n'
            "void\nls_play(int a,\n        int (*b)(int))\n{\n    ls_join();\n}\n",
        },
        [
            "match_join.c:4: in a circle of 2 files: uses ls_play of server/match_play.c, which "
            "uses ls_join of server/match_join.c",
            "match_play.c:6: in a circle",
        ],
    ),
    (
        "a circle of three across rooms by a callback and a table, and the smallest in words",
        {
            "common/a.h": "void ls_a(void);\nvoid ls_a2(void);\n",
            "common/a.c": "void ls_a(void)\n{\n    visit(ls_b);\n}\n",
            "server/b.h": "void ls_b(void);\n",
            "server/b.c": "void ls_b(void)\n{\n    f(&ls_table);\n}\n",
            "client/c.h": "extern const ls_row ls_table[];\n",
            "client/c.c": "const ls_row ls_table[] = {\n    {1, ls_a},\n};\n",
        },
        [
            "uses ls_b of server/b.c, which uses ls_table of client/c.c, which uses ls_a of "
            "common/a.c",
            "server/b.c:3",
            "client/c.c:2",
        ],
    ),
    (
        "headers that include each other",
        {
            "common/a.h": '#include "lockstep/common/b.h"\n',
            "common/b.h": '/* #include "lockstep/common/c.h" */\n#include "lockstep/common/a.h"\n',
            "common/c.h": '#include "lockstep/common/b.h"\n',
        },
        ["common/a.h:1: in a circle of 2 files: includes", "common/b.h:2"],
    ),
    (
        "two programs with functions of one name: each calls its own; a libc name is nobody's",
        {
            "tools/a/x.h": "void report(void);\nvoid a(void);\n",
            "tools/a/x.c": "void report(void)\n{\n}\n",
            "tools/a/y.c": "void a(void)\n{\n    report();\n}\n\nvoid time(void)\n{\n    b();\n}\n",
            "tools/b/x.h": "void report(void);\nvoid b(void);\n",
            "tools/b/x.c": "void report(void)\n{\n    a();\n}\n",
            "tools/b/y.c": "void b(void)\n{\n    time();\n}\n",
        },
        [],
    ),
    (
        "what stands in for a library that is not there is not what others use",
        {
            "client/window.h": "void ls_open(void);\n",
            "client/window.c": "void ls_open(void)\n{\n    ls_write();\n}\n",
            "client/png.h": "void ls_write(void);\n",
            "client/png.c": "void ls_write(void)\n{\n}\n",
            "client/window_none.c": "void ls_open(void)\n{\n    ls_write();\n}\n\n"
            "void ls_write(void)\n{\n    ls_open();\n}\n",
        },
        [],
    ),
)
