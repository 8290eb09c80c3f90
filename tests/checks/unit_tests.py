"""Unit tests: every one of them is run by CTest.

CTest runs the tests of test_<module>.c by the filter <module>/*, out of an executable that other
modules share: a test of another suite, or a file that is not listed, would never run.
"""

import re

from tree import Finding

LIST = "tests/unit/CMakeLists.txt"
FILE = re.compile(r"tests/unit/test_(\w+)\.c")
TEST = re.compile(
    r"^(?:Test|Theory|TestSuite)\(\s*(\w+)|^ParameterizedTest\([^,]*,\s*(\w+)", re.MULTILINE
)


def listed_modules(sources):
    """The words of the list, without its comments."""
    texts = [source.text for source in sources if source.path == LIST]
    return set(re.findall(r"\w+", re.sub(r"#.*", "", "\n".join(texts))))


def file_findings(source, module, modules):
    if module not in modules:
        yield Finding(source.path, 1, f"{module} is not listed in {LIST}: nothing runs it")
    count = 0
    for match in TEST.finditer(source.code):
        count += 1
        suite = match.group(1) or match.group(2)
        if suite != module:
            line = source.line_of(match.start())
            yield Finding(source.path, line, f"suite {suite} in the file of {module} never runs")
    if count == 0:
        yield Finding(source.path, 1, "no tests in it")


def find(sources, _context):
    modules = listed_modules(sources)
    return [
        finding
        for source in sources
        if (name := FILE.fullmatch(source.path))
        for finding in file_findings(source, name.group(1), modules)
    ]


_LIST = "ls_add_unit_tests(common MODULES rng hash # text\n  USES lockstep_core)\n"

SAMPLES = (
    (
        "files that are listed, with their own suites",
        {
            LIST: _LIST,
            "tests/unit/test_rng.c": "Test(rng, repeats)\n{\n}\n\nTestSuite(rng, .timeout = 5);\n",
            "tests/unit/test_hash.c": "Test(hash, fits,\n     .exit_code = 1)\n{\n}\n",
            "tests/unit/seat_table.c": "int x;\n",
            "tests/match/test_join.c": "Test(anything, goes)\n{\n}\n",
        },
        [],
    ),
    (
        "a test of another suite",
        {LIST: _LIST, "tests/unit/test_rng.c": "Test(rng, a)\n{\n}\n\nTest(range, b)\n{\n}\n"},
        ["test_rng.c:5: suite range"],
    ),
    (
        "a file that only a comment of the list names",
        {LIST: _LIST, "tests/unit/test_text.c": "Test(text, a)\n{\n}\n"},
        ["text is not listed"],
    ),
    (
        "a parameterised test of another suite",
        {LIST: _LIST, "tests/unit/test_rng.c": "ParameterizedTest(int *n, range, b)\n{\n}\n"},
        ["suite range"],
    ),
    (
        "a file without tests",
        {LIST: _LIST, "tests/unit/test_rng.c": "int x; /* Test(rng, a) */\n"},
        ["no tests in it"],
    ),
)
