"""Budget: how much a newcomer has to know of each room, as numbers that may only fall.

tests/checks/budget.txt has a row for each room. A figure that falls is written there by the check
itself. A figure that rises fails, unless somebody raises the number in the same commit, whose body
says why the room has to grow.
"""

import collections
import os
import tempfile
import types

import declarations
import layers
import promised
import tree
from tree import Finding

TABLE = "tests/checks/budget.txt"
FIGURES = ("lines", "files", "functions", "headers-of-one", "promised")
HEADING = """\
# What each room holds. Numbers here may only fall: `python3 -B tests/checks/run.py budget --root .`
# writes those that fell. Whoever raises one says why in the body of that commit.
#
# lines           of C, C++ and headers
# files           of these
# functions       that a room's files define for others
# headers-of-one  headers that one file uses at most, besides the .c of the same name
# promised        headers that a game or an embedding program may rely on
"""


def room_of(path):
    """A layer is a room, and so is each folder of tools; None for tests, which may grow."""
    layer = layers.layer_of(path)
    parts = path.split("/")
    if layer == "tools" and len(parts) > 2:
        return "/".join(parts[:2])
    return None if layer == "tests" else layer


def is_code(source):
    return source.path.endswith((".c", ".h", ".cpp"))


def users_of_headers(sources):
    users = collections.defaultdict(set)
    for source in sources:
        if is_code(source) and room_of(source.path):
            for header, _ in declarations.includes(source):
                if source.path.rpartition(".")[0] + ".h" != header:
                    users[header].add(source.path)
    return users


def measure(sources):
    """{room: [a number for each of FIGURES]}"""
    users = users_of_headers(sources)
    kept = set(promised.promised_headers(sources))
    rooms = {}
    for source in sources:
        room = room_of(source.path)
        if room is None or not is_code(source):
            continue
        figures = rooms.setdefault(room, [0] * len(FIGURES))
        is_header = source.path.endswith(".h")
        figures[0] += len(source.lines)
        figures[1] += 1
        figures[2] += 0 if is_header else len(declarations.external_functions(source))
        figures[3] += is_header and len(users[source.path]) < 2
        figures[4] += source.path in kept
    return rooms


def read_table(sources):
    """{room: (line in the file, its numbers)}"""
    rows = {}
    for source in sources:
        if source.path == TABLE:
            for number, line in enumerate(source.lines, 1):
                if line and not line.startswith("#"):
                    room, *figures = line.split()
                    rows[room] = (number, [int(figure) for figure in figures])
    return rows


def write_table(root, rows):
    width = max(len(room) for room in rows)
    lines = [f"{'# room':{width}} " + " ".join(f"{name:>14}" for name in FIGURES)]
    for room in sorted(rows):
        lines.append(f"{room:{width}} " + " ".join(f"{figure:14}" for figure in rows[room]))
    with open(os.path.join(root, TABLE), "w", encoding="utf-8") as file:
        file.write(HEADING + "\n" + "\n".join(lines) + "\n")


def find(sources, context):
    measured = measure(sources)
    table = read_table(sources)
    findings = []
    kept = {}
    for room, figures in measured.items():
        line, budget = table.get(room, (1, None))
        if budget is None:
            row = " ".join(map(str, [room, *figures]))
            findings.append(Finding(TABLE, line, f"{room} is a new room: give it the row `{row}`"))
            continue
        kept[room] = [min(pair) for pair in zip(figures, budget)]
        for name, figure, limit in zip(FIGURES, figures, budget):
            if figure > limit:
                message = f"{room} has {figure} {name}, its budget is {limit}: take something away"
                findings.append(Finding(TABLE, line, f"{message}, or say why it has to grow"))
    if kept and kept != {room: budget for room, (_, budget) in table.items()}:
        write_table(context.root, kept)
    return findings


def measures(sources):
    rooms = measure(sources)
    for room in sorted(rooms):
        yield f"{room} {' '.join(f'{name}={n}' for name, n in zip(FIGURES, rooms[room]))}"
    totals = [sum(column) for column in zip(*rooms.values())]
    yield "in all " + " ".join(f"{name}={n}" for name, n in zip(FIGURES, totals))


_TWO = {
    "common/base/a.h": "int a(void);\n",
    "common/base/a.c": '#include "lockstep/common/base/a.h"\nint a(void)\n{\n    return 1;\n}\n',
}

def self_test():
    """That a figure which fell is written down, and one which rose is not."""
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, os.path.dirname(TABLE)))
        sources = [tree.Source(path, text) for path, text in _TWO.items()]
        sources.append(tree.Source(TABLE, "common/base 60 1 1 9 0\n"))
        find(sources, types.SimpleNamespace(root=root))
        with open(os.path.join(root, TABLE), encoding="utf-8") as file:
            written = read_table([tree.Source(TABLE, file.read())])
    row = written["common/base"][1]
    if row != [6, 1, 1, 1, 0]:
        print(f"FAILED: written down as {row}")
    return row != [6, 1, 1, 1, 0]


SAMPLES = (
    ("a room within its budget", {**_TWO, TABLE: "common/base 6 2 1 1 0\n"}, []),
    ("a room that has shrunk", {**_TWO, TABLE: "# rows\ncommon/base 60 20 10 9 8\n"}, []),
    (
        "lines, files and functions that were added",
        {**_TWO, TABLE: "common/base 5 1 0 1 0\n"},
        ["has 6 lines, its budget is 5", "has 2 files, its", "has 1 functions, its budget is 0"],
    ),
    (
        "a header that only one file uses",
        {
            **_TWO,
            "common/base/b.c": '#include "lockstep/common/base/a.h"\n',
            TABLE: "common/base 7 3 1 0 0\n",
        },
        ["has 1 headers-of-one, its budget is 0"],
    ),
    ("a room without a row", {**_TWO, TABLE: "common/maths 9 9 9 9 9\n"}, ["new room"]),
    (
        "a header that is promised",
        {
            **_TWO,
            promised.LIST: "set(LS_PROMISED_HEADERS\n  common/base/a.h)\n",
            TABLE: "common/base 6 2 1 1 0\n",
        },
        ["has 1 promised"],
    ),
    ("tests may grow", {**_TWO, "tests/unit/a.c": "\n" * 9, TABLE: "common/base 6 2 1 1 0\n"}, []),
)
