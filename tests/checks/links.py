"""Links: those between documents lead somewhere, and the README's contents name its sections."""

import os
import re

from tree import Finding

README = "README.md"
CONTENTS = "Contents"

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def prose(text):
    """The text with blocks of code blanked."""
    return re.sub(r"^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$", _blank, text, flags=re.DOTALL | re.MULTILINE)


def without_code(text):
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", _blank, prose(text))


def anchor_of(heading):
    """As GitHub makes it of a heading: letters and digits in lower case, hyphens for spaces."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def headings(text):
    """(level, text, anchor, offset) of each."""
    seen = {}
    for match in HEADING.finditer(prose(text)):
        anchor = anchor_of(match.group(2))
        times = seen.get(anchor, 0)
        seen[anchor] = times + 1
        numbered = f"{anchor}-{times}" if times else anchor
        yield len(match.group(1)), match.group(2), numbered, match.start()


def anchors(text):
    named = set(re.findall(r"<a\s+(?:id|name)=\"([^\"]+)\"", text))
    return named | {anchor for _, _, anchor, _ in headings(text)}


def links(text):
    shown = without_code(text)
    for pattern in (LINK, REFERENCE):
        for match in pattern.finditer(shown):
            yield match.group(1), match.start(1)


def target_problem(path, target, documents, root):
    """What is wrong with where a link leads, or None."""
    file, _, anchor = target.partition("#")
    full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
    if full.startswith(".."):
        return "leads out of the tree"
    if not os.path.exists(os.path.join(root, full)):
        return f"there is no {full}"
    if anchor and full not in documents:
        return f"{full} is no document with headings"
    if anchor and anchor not in documents[full]:
        return f"{full} has no heading #{anchor}"
    return None


def contents_problems(source):
    """Sections of the README that its contents, a list of links, does not name."""
    listed = set()
    for line in without_code(source.text).splitlines():
        if re.match(r"\s*([-*+]|\d+\.)\s", line):
            listed.update(re.findall(r"\]\(#([^)\s]+)\)", line))
    for level, text, anchor, offset in headings(source.text):
        if level == 2 and text != CONTENTS and anchor not in listed:
            yield text, offset


def find(sources, context):
    pages = [source for source in sources if source.path.endswith(".md")]
    documents = {source.path: anchors(source.text) for source in pages}
    findings = []
    for source in pages:
        for target, offset in links(source.text):
            if ELSEWHERE.match(target):
                continue
            problem = target_problem(source.path, target, documents, context.root)
            if problem:
                line = source.line_of(offset)
                findings.append(Finding(source.path, line, f"{target}: {problem}"))
        if source.path == README:
            for text, offset in contents_problems(source):
                message = f"the list of contents has no link to the section {text!r}"
                findings.append(Finding(source.path, source.line_of(offset), message))
    return findings


SAMPLES = (
    (
        "links to files, folders, pictures, headings and elsewhere",
        {
            "README.md": "# Lockstep\n\n## Contents\n\n- [Start](#getting-started)\n"
            "- [Joining, and `--late`](#joining-and---late)\n"
            "1. [Start again](#getting-started-1)\n\n"
            "## Getting started\n\nSee [the protocol](protocol/PROTOCOL.md#1-frames \"Frames\"), "
            "[![picture](a.svg)](docs), [web](https://example.com/#x), [mail](mailto:a@example.com)"
            " and [there][there].\n\n## Joining, and `--late`\n\n## Getting started\n\n"
            "```\n[no](nowhere.md)\n## No section\n```\n\nWrite `[text](file.md)`.\n\n"
            "[there]: docs/a.md#named\n",
            "a.svg": "<svg/>\n",
            "docs/a.md": "# A\n\n<a name=\"named\"></a>\n[up](../README.md#contents) [here](#a)\n",
            "protocol/PROTOCOL.md": "# P\n\n## 1. Frames ##\n",
        },
        [],
    ),
    (
        "links that lead nowhere",
        {
            "docs/a.md": "# A b\n\n[1](b.md) [2](#ab) [3](../README.md#x)\n[4](../../etc) "
            "[5](a.c#L3)\n![6](c.png)\n\n[r]: gone.md\n",
            "docs/a.c": "int a;\n",
            "README.md": "# R\n",
        },
        ["a.md:3: b.md: there is no docs/b.md", "#ab: docs/a.md has no", "README.md has no heading"]
        + ["out of the tree", "docs/a.c is no document", "docs/c.png", "docs/gone.md"],
    ),
    (
        "sections that the contents do not name",
        {"README.md": "# R\n\n- [A](#a)\n\n## A\n\n### A2\n\nSee [B](#b).\n\n## B\n"},
        ["README.md:11: the list of contents has no link to the section 'B'"],
    ),
)
