"""Writers: JSON, HTML and XML are written through the writers that escape what they are given.

A string with a key of JSON or a tag in it, anywhere else, is text put together by hand: a player's
name with a quote breaks it.
"""

import fnmatch
import re

from tree import Finding, is_test

# The files that may hold such text: they make it, and escape.
WRITERS = (
    "common/*json*.[ch]",
    "common/*html*.[ch]",
    "common/*xml*.[ch]",
)

# A quoted key, and a list's quoted element: its first, its last, the next.
KEY = re.compile(r"\\\"\s*:|\[\s*\\\"|\\\"\s*\]|^,\s*\\\"")
TAGS = (
    "a|article|b|body|br|button|canvas|caption|circle|code|div|failure|figure|g"
    "|h[1-6]|head|hr|html|i|img|input|label|li|line|link|meta|ol|option|p|path"
    "|polyline|pre|rect|script|section|select|small|span|strong|style|summary|sub|sup"
    "|svg|system-out|table|tbody|td|testcase|testsuites?|text|th|thead|title|tr|ul"
)
TAG = re.compile(rf"</[a-zA-Z]|<(?:{TAGS})(?=[ >/]|$)|<!DOCTYPE|<!--|<\?xml|\]\]>", re.IGNORECASE)


def kind_of(text):
    if TAG.search(text):
        return "markup"
    return "JSON" if KEY.search(text) else None


def _is_in(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def find(sources, context):
    findings = []
    for source in sources:
        # Tests compare with what was written.
        if not source.is_c or is_test(source.path) or _is_in(source.path, WRITERS):
            continue
        for text, offset in source.strings:
            kind = kind_of(text[1:-1])
            if kind:
                message = f"{text} is {kind} by hand: use the writer that escapes"
                findings.append(Finding(source.path, source.line_of(offset), message))
    return findings


SAMPLES = (
    (
        "text that is neither, and the writers themselves",
        {
            "server/a.c": 'print("a \\"quoted\\" name, \\"%s\\", %s <slot> a < b, [%s]\\n");\n'
            '/* "{\\"a\\": 1}" and <td> */\ncode("{\\"%s\\", 1}");\n'
            'read("--sim <name>", "<stdin>", "\\"");\n',
            "common/program/json.c": 'put("\\":");\nput(",\\"");\n',
            "common/program/html.c": 'put("</td>");\n',
            "tests/unit/test_a.c": 'expect("{\\"a\\": 1}");\n',
        },
        [],
    ),
    (
        "JSON by hand",
        {
            "tools/a.c": 'f("{\\"name\\": \\"%s\\"");\n\nf("\\"%s\\": %u,\\n");\nf("[\\"a\\"]");\n'
            'f("\\"]\\n");\nf(", \\"%s\\"");\n'
        },
        ["a.c:1", "a.c:3", "a.c:4", "a.c:5", "a.c:6"],
    ),
    (
        "HTML and XML by hand",
        {
            "client/a.c": 'f("<td>%s");\nf("x</div>");\nf("<?xml version=\'1.0\'?>");\n'
            'f("<testcase name=");\nf("<P class=x>");\n'
        },
        ["a.c:1", "a.c:2", "a.c:3", "a.c:4", "a.c:5"],
    ),
)
