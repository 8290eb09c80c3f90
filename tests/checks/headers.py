"""Headers: each compiles alone, without help from what was included before it. The compiler has
shown it of a header that its own .c file includes before anything else."""

import concurrent.futures
import os
import re
import subprocess
import tempfile

from tree import Finding

FLAGS = ["-fsyntax-only", "-std=c17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-xc", "-"]


def compile_problem(compiler, include_directory, path):
    """The compiler's first words about the header, or None."""
    # A header of ours may end up included twice: the guard has to hold.
    unit = f'#include "lockstep/{path}"\n' * 2 + "extern int a_unit_is_never_empty;\n"
    run = subprocess.run(
        [compiler, "-I", include_directory, *FLAGS],
        input=unit,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == 0:
        return None
    return next((line for line in run.stderr.splitlines() if "error" in line), run.stderr)


FIRST_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(?:include[ \t]*"lockstep/([^"]+)")?', re.MULTILINE)


def is_shown_by_its_own_file(source):
    """Whether the .c file of a pair begins with its header."""
    first = FIRST_DIRECTIVE.search(source.text)
    return first is not None and first.group(1) == source.path[:-1] + "h"


def find(sources, context):
    shown = {s.path[:-1] + "h" for s in sources if s.is_c and is_shown_by_its_own_file(s)}
    headers = [s.path for s in sources if s.path.endswith(".h") and s.path not in shown]
    with tempfile.TemporaryDirectory() as directory:
        os.symlink(os.path.abspath(context.root), os.path.join(directory, "lockstep"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = pool.map(
                lambda path: compile_problem(context.compiler, directory, path), headers
            )
            return [
                Finding(path, 1, f"does not compile alone: {problem}")
                for path, problem in zip(headers, problems)
                if problem is not None
            ]


SAMPLES = (
    (
        "a header that includes what it uses",
        {
            "a.h": "#ifndef A_H\n#define A_H\n#include <stdint.h>\ntypedef struct ls_a {\n"
            "    uint8_t x;\n} ls_a;\n#endif\n",
            "b.h": '#ifndef B_H\n#define B_H\n#include "lockstep/a.h"\nextern ls_a b;\n#endif\n',
        },
        [],
    ),
    ("a header that leans on others", {"a.h": "extern uint8_t x;\n"}, ["unknown type name"]),
    (
        "a header that its own file includes first, where a compiler has seen it",
        {"a.h": "extern uint8_t x;\n", "a.c": '/* A. */\n#include "lockstep/a.h"\n'},
        [],
    ),
    (
        "a header that its own file includes behind something else",
        {"a.h": "extern uint8_t x;\n", "a.c": '#define B\n#include "lockstep/a.h"\n'},
        ["unknown type name"],
    ),
    ("a header without a guard", {"a.h": "struct a {\n    int x;\n};\n"}, ["redefinition"]),
)
