"""Formatting: .clang-format decides how C looks, and nothing else does."""

import os
import re
import shutil
import subprocess

from tree import Finding, SkipCheck

VERSION = "14"  # another one lays out some lines differently


def find_formatter():
    formatter = shutil.which(f"clang-format-{VERSION}") or shutil.which("clang-format")
    if formatter is None:
        raise SkipCheck("clang-format is not installed")
    version = subprocess.run([formatter, "--version"], capture_output=True, text=True, check=True)
    if not re.search(rf"version {VERSION}\.", version.stdout):
        raise SkipCheck(f"clang-format {VERSION} is needed, here is {version.stdout.strip()}")
    return formatter


def find(sources, context):
    style = os.path.join(os.path.dirname(__file__), "..", "..", ".clang-format")
    files = [source.path for source in sources if source.is_c]
    run = subprocess.run(
        [find_formatter(), f"--style=file:{style}", "--dry-run", *files],
        cwd=context.root,
        capture_output=True,
        text=True,
        check=False,
    )
    places = re.findall(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)$", run.stderr, re.MULTILINE)
    first = {}
    for path, line, message in places:
        first.setdefault(path, Finding(path, int(line), f"run clang-format -i: {message}"))
    if run.returncode != 0 and not first:
        first[""] = Finding("clang-format", 0, run.stderr)
    return list(first.values())


SAMPLES = (
    ("as it should be", {"a.c": "int f(void)\n{\n    return 0;\n}\n"}, []),
    (
        "one finding per file",
        {"a.c": "int f( void ){\n  return 0; }\n", "b.c": "int x;\n", "c/d.h": "int  y;\n"},
        ["a.c:1: run clang-format", "c/d.h:1: run clang-format"],
    ),
)
