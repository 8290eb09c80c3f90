"""Formatting: tools/format decides how C looks, and nothing else does."""

import os
import re
import subprocess

from tree import Finding, SkipCheck

FORMAT = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "format")
NOT_INSTALLED = 77  # of tools/format


def find(sources, context):
    files = [source.path for source in sources if source.is_c]
    run = subprocess.run(
        [os.path.realpath(FORMAT), "--check", *files],
        cwd=context.root,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == NOT_INSTALLED:
        raise SkipCheck(run.stdout.strip())
    findings = re.findall(r"^(.+?):(\d+): (.*)$", run.stdout, re.MULTILINE)
    if run.returncode != (1 if findings else 0):
        return [Finding("tools/format", 0, run.stdout + run.stderr)]
    return [Finding(path, int(line), message) for path, line, message in findings]


SAMPLES = (
    ("as it should be", {"a.c": "int f(void)\n{\n    return 0;\n}\n"}, []),
    (
        "one finding per file",
        {"a.c": "int f( void ){\n  return 0; }\n", "b.c": "int x;\n", "c/d.h": "int  y;\n"},
        ["a.c:1: run tools/format", "c/d.h:1: run tools/format"],
    ),
)
