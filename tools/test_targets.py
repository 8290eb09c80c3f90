#!/usr/bin/env python3
"""Names what has to be built for some of the tests, one a line. For tools/test.

usage: tools/test_targets.py BUILD_DIR [CTest's options that choose tests...]

BUILD_DIR must be configured; nothing needs to be built yet. A test needs the programs and libraries
that its command names, those in folders of the build that its command names, and those that macros
tell its program of.
"""

import json
import os
import pathlib
import re
import sys

import test_reach

COMMAND = re.compile(r"add_test\(\[(=*)\[(.*?)\]\1\] (.*)\)")
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


def read_commands(text):
    """{test: words of its command} of a CTestTestfile.cmake. CTest itself does not tell commands
    whose programs are not built."""
    return {
        match[2]: [re.sub(r"\\(.)", r"\1", word) for word in WORD.findall(match[3])]
        for match in COMMAND.finditer(text)
    }


def commands_of(build):
    commands = {}
    for path in pathlib.Path(build).rglob("CTestTestfile.cmake"):
        commands.update(read_commands(path.read_text(encoding="utf-8")))
    return commands


def targets_of(commands, graph):
    """What Ninja has to build for these commands."""
    below = graph.normal(".") + "/"
    words = {graph.normal(word) for words in commands for word in words if os.path.isabs(word)}
    made_of = graph.made_of(word for word in words if word.startswith(below))
    return sorted(graph.linked[path] for path in made_of if path in graph.linked)


def chosen_tests(build, options):
    listed = test_reach.output_of("ctest", "--test-dir", build, "--show-only=json-v1", *options)
    return [test["name"] for test in json.loads(listed)["tests"]]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
    build = os.path.realpath(sys.argv[1])
    graph = test_reach.Graph(root, build)
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        graph.read_build_file(file.read())
    commands = commands_of(build)
    chosen = [commands[name] for name in chosen_tests(build, sys.argv[2:])]
    print(*targets_of(chosen, graph), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
