#!/usr/bin/env python3
"""Names the tests that a change can reach, one a line. For tools/test --changed.

usage: tools/test_reach.py BUILD_DIR [REVISION]

The change is what differs between REVISION and the working tree, files that git does not know yet
included. REVISION is by default where the branch left main. BUILD_DIR must be up to date: what a
program was made of is taken from Ninja, headers included. How many tests were left out, and which
files no test but the checks knows, goes to standard error.

A test is reached when it runs a program that was made of a changed file, when its command names a
changed file or a folder that holds one, or when a changed file lies beside its script in tests/
(scripts import their neighbours). A document reaches the tests with the label `docs`, and those
whose commands or scripts name it. The checks read all sources: they always run, and so does a test
whose command names nothing that could be followed. What tests read besides stands in ALSO_READS.
"""

import functools
import json
import os
import re
import subprocess
import sys

# Tests by the start of their names, and what they read that their commands do not name: folders,
# files, and programs of the build. It replaces the whole tree or build as an argument.
SHIPPED = ["CMakeLists.txt", "client/", "common/", "protocol/", "server/", "tools/", "tests/lab/"]
ALSO_READS = {
    "docs.commands": [*SHIPPED, "tests/docs/"],
    "docs.pages": ["tests/docs/"],
    "docs.reference": ["tools/", "tests/lab/"],
    "golden.": ["tests/golden/", "tools/platforms/", "tools/platform-matrix", "target:golden"],
    "tools.schema": ["common/"],
    "outside.": [*SHIPPED, "README.md", "tests/outside/"],
}
DOCUMENT = re.compile(r".*\.(md|png|gif|svg)|LICENSE|docs/.*")
CMAKE_FILE = re.compile(r"(.*/)?(CMakeLists\.txt|[^/]*\.cmake(\.in)?)|CMakePresets\.json")
EVERYTHING = ""  # as a folder: every path starts with it


# ---- the build's graph ----


def split_paths(text):
    """Ninja's list of paths: `$ `, `$:` and `$$` are a blank, a colon and a dollar in a path."""
    marked = text.replace("$$", "\1").replace("$ ", "\2").replace("$:", ":")
    return [path.replace("\2", " ").replace("\1", "$") for path in marked.split()]


class Graph:
    """What each file of a build is made of. Paths are relative to the source tree's root where they
    are below it, and absolute elsewhere."""

    def __init__(self, root, build):
        self.root = os.path.realpath(root)
        self.build = os.path.realpath(build)
        self.inputs = {}
        self.linked = {}  # programs and libraries, by normal path: as Ninja names them
        self.source_folders = set()

    @functools.lru_cache(maxsize=None)
    def normal(self, path):
        """The build has a folder with links into the sources: they count as what they lead to."""
        full = os.path.normpath(os.path.join(self.build, path))
        if full.startswith(self.build + os.sep):
            full = os.path.realpath(full)
        return os.path.relpath(full, self.root) if full.startswith(self.root + os.sep) else full

    def add(self, outputs, inputs):
        for output in outputs:
            self.inputs.setdefault(self.normal(output), set()).update(map(self.normal, inputs))

    def read_build_file(self, text):
        """build.ninja: `build OUTPUTS: RULE INPUTS`, with `|` and `||` before more of either."""
        outputs = []
        for line in text.replace("$\n", "").splitlines():
            if line.startswith("build "):
                left, right = re.split(r"(?<!\$):", line[len("build ") :], maxsplit=1)
                outputs = [path for path in split_paths(left) if path != "|"]
                rule, *inputs = split_paths(right)
                self.add(outputs, [path for path in inputs if path not in ("|", "||")])
                if "_LINKER__" in rule:
                    self.linked.update((self.normal(output), output) for output in outputs)
            elif line.startswith("  DEFINES = "):
                self.read_macros(outputs, line)

    def read_macros(self, outputs, line):
        """Tests are told by macros where the programs and files are that they use."""
        paths = re.findall(re.escape(self.root) + r"/[^\"\\\s]+", line)
        self.add(outputs, paths)
        self.source_folders.update(
            self.normal(path)
            for path in paths
            if os.path.isdir(path) and not path.startswith(self.build)
        )

    def read_header_lists(self, text):
        """What `ninja -t deps` prints: an object, and indented what its compiler has read."""
        output = None
        for line in text.splitlines():
            if line.startswith("    "):
                self.add([output], [line.strip()])
            elif ": #deps" in line:
                output = line.partition(": #deps")[0]

    def targets_below(self, folder):
        return [path for path in self.inputs if path.startswith(folder)]

    def made_of(self, starts):
        """Everything that the named files are made of, and they themselves. A folder of the build
        stands for what is built in it."""
        build = os.path.relpath(self.build, self.root) + "/"
        seen = set()
        waiting = list(starts)
        while waiting:
            path = waiting.pop()
            if path not in seen:
                seen.add(path)
                waiting += self.inputs.get(path, ())
                if path.startswith(build) and path not in self.inputs:
                    waiting += self.targets_below(path + "/")
        return seen


# ---- tests ----


class Test:
    """One test of CTest's list: where its definition stands, what it runs and what it reads."""

    def __init__(self, description, backtraces, graph):
        properties = {p["name"]: p["value"] for p in description.get("properties", [])}
        self.name = description["name"]
        self.is_about_documents = "docs" in properties.get("LABELS", [])
        self.definitions = self._definitions(description, backtraces, graph)
        self.folders = []
        self.scripts = []
        declared = [reads for start, reads in ALSO_READS.items() if self.name.startswith(start)]
        starts = [] if declared else None
        for argument in description.get("command", []):
            starts = self._read_argument(argument, graph, starts, bool(declared))
        for path in (path for reads in declared for path in reads):
            if path.startswith("target:"):
                starts.append(graph.normal(path.partition(":")[2]))
            elif path.endswith("/"):
                self.folders.append(path)
            else:
                starts.append(path)
        is_known = starts is not None or bool(self.folders)
        self.always_runs = not is_known or "check" in properties.get("LABELS", [])
        self.files = graph.made_of(starts or [])
        self.folders += [path + "/" for path in self.files & graph.source_folders]

    @staticmethod
    def _definitions(description, backtraces, graph):
        """The CMake files that took part in the definition."""
        files = set()
        node = description.get("backtrace")
        while node is not None:
            entry = backtraces["nodes"][node]
            files.add(graph.normal(backtraces["files"][entry["file"]]))
            node = entry.get("parent")
        return files

    def _read_argument(self, argument, graph, starts, is_declared):
        """`starts` with the file that the argument names; None stays None without one."""
        if not os.path.isabs(argument):
            if os.path.isfile(os.path.join(graph.root, argument)):
                return (starts or []) + [os.path.normpath(argument)]
            return starts
        path = graph.normal(argument)
        is_whole = os.path.realpath(argument) in (graph.root, graph.build)
        if is_whole:
            self.folders += [] if is_declared else [EVERYTHING]
            return starts
        if os.path.isabs(path):
            return starts  # a compiler, an interpreter
        if path not in graph.inputs and not path.startswith(graph.normal(".") + "/"):
            if os.path.isdir(argument):
                self.folders.append(path + "/")
            elif re.search(r"^#!|\.py$", _first_line(argument) + path):
                self.scripts.append(path)
        return (starts or []) + [path]

    def is_reached_by(self, path, graph):
        if DOCUMENT.fullmatch(path):
            texts = (_text(os.path.join(graph.root, script)) for script in self.scripts)
            is_named = path in self.files or any(path in text for text in texts)
            return is_named or self.is_about_documents
        if CMAKE_FILE.fullmatch(path) and self._is_built_by(os.path.dirname(path), graph):
            return True
        beside = [os.path.dirname(s) + "/" for s in self.scripts if s.startswith("tests/")]
        folders = self.folders + beside
        return path in self.files or any(path.startswith(folder) for folder in folders)

    def _is_built_by(self, folder, graph):
        """Whether CMake files of that folder say how the test, or anything it runs, is made."""
        below = folder + "/" if folder else EVERYTHING
        built = os.path.normpath(os.path.join(os.path.relpath(graph.build, graph.root), folder))
        return any(file.startswith(below) for file in self.definitions) or any(
            file.startswith(built + "/") for file in self.files
        )


def _text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _first_line(path):
    return _text(path).partition("\n")[0]


def reached(tests, changed, graph):
    """(names of the tests to run, changed files that only tests know that always run)"""
    followed = [test for test in tests if not test.always_runs]
    names = [
        test.name
        for test in tests
        if test.always_runs or any(test.is_reached_by(path, graph) for path in changed)
    ]
    unknown = [
        path
        for path in changed
        if not any(test.is_reached_by(path, graph) for test in followed)
    ]
    return names, unknown


# ---- what is asked of git, Ninja and CTest ----


def output_of(*command, cwd=None):
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"test_reach: {' '.join(command)}: {run.stderr.strip() or run.stdout.strip()}")
    return run.stdout


def default_revision(root):
    base = subprocess.run(
        ["git", "merge-base", "HEAD", "main"], cwd=root, capture_output=True, text=True, check=False
    )
    return base.stdout.strip() or "HEAD"


def changed_files(root, revision):
    known = output_of("git", "diff", "--name-only", "--no-renames", "-z", revision, "--", cwd=root)
    new = output_of("git", "ls-files", "--others", "--exclude-standard", "-z", cwd=root)
    return sorted(path for path in (known + new).split("\0") if path)


def read_graph(root, build):
    graph = Graph(root, build)
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        graph.read_build_file(file.read())
    graph.read_header_lists(output_of("ninja", "-C", build, "-t", "deps"))
    return graph


def read_tests(build, graph):
    listed = json.loads(output_of("ctest", "--test-dir", build, "--show-only=json-v1"))
    return [Test(test, listed["backtraceGraph"], graph) for test in listed["tests"]]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
    build = os.path.realpath(sys.argv[1])
    revision = sys.argv[2] if len(sys.argv) == 3 else default_revision(root)
    changed = changed_files(root, revision)
    graph = read_graph(root, build)
    tests = read_tests(build, graph)
    names, unknown = reached(tests, changed, graph)

    short = output_of("git", "rev-parse", "--short", revision, cwd=root).strip()
    print(
        f"{len(changed)} files differ from {short}: {len(names)} tests chosen, "
        f"{len(tests) - len(names)} left out",
        *(f"no test but the checks knows {path}" for path in unknown),
        sep="\n",
        file=sys.stderr,
    )
    print(*names, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
