"""Places: what may stand at the top, and that no file names one machine's paths or hosts."""

import os
import re

from tree import IGNORED_DIRECTORIES, IGNORED_FILES, Finding

TOP = {
    "CMakeLists.txt",
    "CMakePresets.json",
    "LICENSE",
    "README.md",
    "client",
    "common",
    "docs",
    "protocol",
    "server",
    "tests",
    "tools",
}

# Split, so that this file does not hold what it looks for.
MACHINE_PATHS = re.compile(r"(?<![\w.])/(work|tmp/w" r"t|home/\w+|root|Users/\w+)/")

# Hosts that text may name; any other one is somebody's mirror, registry or server.
PUBLIC_HOSTS = re.compile(
    r"(^|\.)(github\.com|debian\.org|ietf\.org|rfc-editor\.org|wikipedia\.org|gafferongames\.com"
    r"|cmake\.org|llvm\.org|gnu\.org|pcg-random\.org|arxiv\.org|doi\.org|xxhash\.com|bespin\.org"
    r"|libuv\.org|agones\.dev|enet\.bespin\.org|example\.(com|org|net)|localhost|w3\.org"
    r"|schemas\.microsoft\.com)$"
)
HOST = re.compile(r"\b(?:https?|ftp|ssh|git)://(?:[^\s/@]+@)?([\w.-]+)")
ADDRESS = re.compile(r"(?<![\w.])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\w.])")


def is_example_address(parts):
    """Everybody's own (loopback, any, private) or reserved for documentation (RFC 5737)."""
    a, b, c, _ = parts
    return (
        a in (0, 10, 127, 255)
        or (a, b) == (192, 168)
        or (a == 172 and 16 <= b <= 31)
        or (a, b, c) in ((192, 0, 2), (198, 51, 100), (203, 0, 113))
        or any(part > 255 for part in parts)
    )


def text_problems(source):
    for match in MACHINE_PATHS.finditer(source.text):
        yield match, f"{match.group()} is a path of one machine"
    for match in HOST.finditer(source.text):
        host = match.group(1)
        address = ADDRESS.fullmatch(host)
        if address is None and not PUBLIC_HOSTS.search(host.lower()):
            yield match, f"{host} is not among the public hosts of tests/checks/places.py"
    for match in ADDRESS.finditer(source.text):
        if not is_example_address([int(part) for part in match.groups()]):
            yield match, f"{match.group()} is somebody's address"


def find(sources, context):
    findings = []
    # By name, not by source: what is no text, a core file say, belongs there even less.
    for name in sorted(set(os.listdir(context.root)) - TOP - set(IGNORED_FILES)):
        if not name.startswith(".") and not IGNORED_DIRECTORIES.match(name):
            findings.append(Finding(name, 1, "does not belong at the top"))
    for source in sources:
        findings += [
            Finding(source.path, source.line_of(match.start()), message)
            for match, message in text_problems(source)
        ]
    return findings


SAMPLES = (
    (
        "what belongs here",
        {
            "README.md": "See https://github.com/a/b and http://example.com:80/x; join "
            "127.0.0.1:7777 or 192.168.1.20, version 1.2.3, not the work/ folder.\n",
            "CMakePresets.json": "{}\n",
            "common/a.c": "/* server/root/x */\n",
            "docs/a.md": "# A\n",
            "LICENSE": "MIT\n",
            ".clang-format": "x\n",
        },
        [],
    ),
    ("a stranger at the top", {"notes.txt": "x\n", "src/a.c": "x\n"}, ["notes.txt", "src"]),
    ("a stranger that is no text", {"core": "\0ELF\0", "build/a.o": "\0"}, ["core"]),
    (
        "paths of one machine",
        {"tools/a": "cd /work" "/main\ncd /tmp/w" "t/x\nls /home/me" "/x\nls /root" "/x\n"},
        ["a:1", "a:2", "a:3", "a:4"],
    ),
    (
        "hosts that are not public",
        {
            "tools/a": "get https:/" "/mirror.internal/x\nget http://me@10.1.2.3/x\n",
            "tests/b": "9.9." "9.9\n",
        },
        ["mirror.internal", "is somebody's"],
    ),
)
