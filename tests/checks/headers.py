"""Headers: each compiles alone, without help from what was included before it."""

import concurrent.futures
import os
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


def find(sources, context):
    headers = [source.path for source in sources if source.path.endswith(".h")]
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
    ("a header without a guard", {"a.h": "struct a {\n    int x;\n};\n"}, ["redefinition"]),
)
