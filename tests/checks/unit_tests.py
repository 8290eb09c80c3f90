"""Unit tests: every one of them is run by CTest.

CTest runs the tests of a module by the filter <module>/*, out of an executable that other modules
share: a test of a suite that is not listed for its file, or a file that is not listed, would never
run.
"""

import re

from tree import Finding

LIST = "tests/unit/CMakeLists.txt"
FILE = re.compile(r"tests/unit/test_(\w+)\.c")
TEST = re.compile(
    r"^(?:Test|Theory|TestSuite)\(\s*(\w+)|^ParameterizedTest\([^,]*,\s*(\w+)", re.MULTILINE
)


def listed_suites(sources):
    """{file's name: suites that run of it}: what the list says without its comments."""
    texts = [source.text for source in sources if source.path == LIST]
    text = re.sub(r"#.*", "", "\n".join(texts))
    suites = {name: {name} for name in re.findall(r"\w+", text)}
    for modules in re.findall(r"\bMODULES\b(.*?)(?:\bSOURCES\b|\bUSES\b)", text, re.DOTALL):
        for name, own in re.findall(r"(\w+)\s*\(([^()]*)\)", modules):
            suites[name] = set(own.split())
    return suites


def file_findings(source, name, listed):
    if name not in listed:
        yield Finding(source.path, 1, f"{name} is not listed in {LIST}: nothing runs it")
    missing = set(listed.get(name, {name}))
    for match in TEST.finditer(source.code):
        suite = match.group(1) or match.group(2)
        missing.discard(suite)
        if suite not in listed.get(name, {name}):
            line = source.line_of(match.start())
            yield Finding(source.path, line, f"suite {suite} in the file of {name} never runs")
    if missing:
        yield Finding(source.path, 1, f"no tests of {', '.join(sorted(missing))} in it")


def find(sources, _context):
    listed = listed_suites(sources)
    return [
        finding
        for source in sources
        if (name := FILE.fullmatch(source.path))
        for finding in file_findings(source, name.group(1), listed)
    ]


_LIST = "ls_add_unit_tests(common MODULES rng hash # text\n  sums (sum mean) USES lockstep_core)\n"

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
        ["suite range", "no tests of rng in it"],
    ),
    (
        "a file without tests",
        {LIST: _LIST, "tests/unit/test_rng.c": "int x; /* Test(rng, a) */\n"},
        ["no tests of rng in it"],
    ),
    (
        "a file of two suites",
        {LIST: _LIST, "tests/unit/test_sums.c": "Test(sum, a)\n{\n}\n\nTest(mean, b)\n{\n}\n"},
        [],
    ),
    (
        "a file of two suites with one of them and another one",
        {LIST: _LIST, "tests/unit/test_sums.c": "Test(sum, a)\n{\n}\n\nTest(sums, b)\n{\n}\n"},
        ["test_sums.c:5: suite sums", "no tests of mean"],
    ),
)
