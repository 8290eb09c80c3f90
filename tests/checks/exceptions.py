"""Exceptions: findings that the tree still has, one a line of exceptions.txt, which only shrinks.

A line is `check: path: what` or `check: path: what xCOUNT`, sorted, without line numbers, so that
branches that empty different lines merge. A line that the tree does not need is a finding.
"""

import collections
import importlib
import os
import re

from tree import Finding, Source

LISTING = ("circles", "links", "names", "private", "words", "writers")
PATH = "tests/checks/exceptions.txt"
LINE = re.compile(r"(\w+): ([^:]+): (.+?)(?: x(\d+))?$")
HOW = "python3 tests/checks/run.py --write-exceptions"


def parse(text):
    """{(check, path, what): count}; of two lines left over from a merge, the larger count."""
    listed = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            key = match.group(1, 2, 3)
            listed[key] = max(listed.get(key, 0), int(match.group(4) or 1))
    return listed


def load(sources):
    return next((parse(source.text) for source in sources if source.path == PATH), {})


def count(check_name, findings):
    """How often each of what can be listed was found."""
    return collections.Counter((check_name, f.path, f.what) for f in findings if f.what)


def without_listed(check_name, findings, listed):
    """The findings that no exception covers. One too many shows all of its kind in that file."""
    found = count(check_name, findings)
    left = []
    for finding in findings:
        key = (check_name, finding.path, finding.what)
        allowed = listed.get(key, 0)
        if finding.what is None or found[key] > allowed:
            note = f" ({found[key]} here, {allowed} are excepted)" if allowed else ""
            left.append(Finding(finding.path, finding.line, finding.message + note, finding.what))
    return left


def _found_now(names, sources, context):
    found = collections.Counter()
    for name in names:
        found.update(count(name, importlib.import_module(name).find(sources, context)))
    return found


def find(sources, context):
    """Lines of exceptions.txt that the tree does not need any more."""
    source = next((source for source in sources if source.path == PATH), None)
    if source is None:
        return []
    listed = {check for check, _, _ in parse(source.text)}
    found = _found_now([name for name in LISTING if name in listed], sources, context)
    findings = []
    for number, line in enumerate(source.lines, 1):
        match = LINE.match(line)
        if match is None:
            findings.append(Finding(PATH, number, f"no exception can be read from {line!r}"))
        elif found[match.group(1, 2, 3)] < int(match.group(4) or 1):
            left = found[match.group(1, 2, 3)]
            findings.append(Finding(PATH, number, f"only {left} left of {line!r}: run {HOW}"))
    return findings


def growth(found, listed):
    """What the whole tree has more of than the list: files may move, lists may not grow."""
    found_sums, listed_sums = collections.Counter(), collections.Counter()
    for (check, _, what), number in found.items():
        found_sums[check, what] += number
    for (check, _, what), number in listed.items():
        listed_sums[check, what] += number
    return {
        key: (number, listed_sums[key])
        for key, number in found_sums.items()
        if number > listed_sums[key]
    }


def lines_of(found):
    return sorted(
        f"{check}: {path}: {what}" + (f" x{number}" if number > 1 else "")
        for (check, path, what), number in found.items()
    )


def write(root, sources, context):
    """Rewrites the list. Returns what stands against it, and then has written nothing."""
    found = _found_now(LISTING, sources, context)
    listed = load(sources)
    grown = growth(found, listed)
    refusals = []
    for (check, what), (number, allowed) in sorted(grown.items()):
        refusals.append(f"{check}: {what}: {number} in the tree, {allowed} in the list")
        refusals += [
            f"    new in {key[1]}: {found[key] - listed.get(key, 0)}"
            for key in sorted(found)
            if key[0] == check and key[2] == what and found[key] > listed.get(key, 0)
        ]
    if not refusals:
        with open(os.path.join(root, PATH), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines_of(found))
    return refusals


def self_test():
    """Of what the list lets pass and what it does not. Returns how many answers are wrong."""
    listed = parse("words: a.c: zoo x2\nwords: a.c: zoo x3\nnames: b.h: ls_a\n")
    zoo = [Finding("a.c", line, "'zoo'", "zoo") for line in range(4)]
    other = Finding("a.c", 9, "a tab")
    moved = {("words", "b.c", "zoo"): 3, ("names", "b.h", "ls_a"): 1}
    answers = (
        ("the larger of two counts", listed[("words", "a.c", "zoo")] == 3),
        ("as many as listed pass", not without_listed("words", zoo[:3], listed)),
        ("one more shows all", len(without_listed("words", zoo, listed)) == 4),
        ("another check's lines say nothing", len(without_listed("links", zoo, listed)) == 4),
        ("what has no name cannot be listed", without_listed("words", [other], listed) != []),
        ("files move", not growth(moved, listed)),
        ("lists do not grow", list(growth({("words", "b.c", "zoo"): 4}, listed)) != []),
        ("nothing new", list(growth({("words", "a.c", "lane"): 1}, listed)) != []),
        ("a line is read as written", parse("\n".join(lines_of(listed))) == listed),
        ("the list is a file of the tree", load([Source(PATH, "words: a: b\n")]) != {}),
    )
    for shows, is_right in answers:
        print(f"{'ok' if is_right else 'FAILED'}: {shows}")
    return sum(not is_right for _, is_right in answers)


SAMPLES = (
    (
        "what is listed and there",
        {
            "tests/a.c": "int zoo_a, zoo_b;\n",
            PATH: "words: tests/a.c: zoo x2\n",
        },
        [],
    ),
    (
        "what is listed and there no more, or not so often, and what is no exception",
        {
            "tests/a.c": "int zoo_a;\n",
            PATH: "nonsense\nwords: tests/a.c: zoo x2\nwords: tests/b.c: zoo\n",
        },
        ["txt:1: no exception can be read", "txt:2: only 1 left", "txt:3: only 0 left"],
    ),
)
