"""System seam: common/system alone includes headers of a system, and asks which one it is."""

import fnmatch
import re

from tree import Finding

SEAM = ("common/system/*",)
WHERE = ("common/*", "protocol/*", "server/*", "client/*", "tools/*")

# What looks into processes and machine code, or replaces what a library calls, which is Linux's by
# its nature.
LINUX_BY_NATURE = (
    "tools/desync/machine_code.c",
    "tools/desync/write_trace.c",
    "tools/synctest/crash.c",
    "tools/synctest/foreign_locale.c",
    "tools/synctest/laid_inputs.c",
    "tools/synctest/launch.c",
    "tools/synctest/page_memory.c",
    "tools/synctest/play_mode.c",
    "tools/synctest/shims.c",
    "tools/synctest/shims_files.c",
    "tools/synctest/shims_machine.c",
)

HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<((?:unistd|fcntl|poll|signal|dlfcn|pthread|termios|netdb|dirent"
    r"|spawn|sched|pwd|getopt|arpa/inet)\.h|(?:sys|netinet|net|linux)/[\w.]+)>",
    re.MULTILINE,
)
SYSTEM = re.compile(
    r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b.*?\b(__linux(?:__)?|__unix(?:__)?|_WIN32|_WIN64"
    r"|__APPLE__|__FreeBSD__|__GLIBC__|__ANDROID__)\b",
    re.MULTILINE,
)


def fits(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def problems_of(source):
    for match in HEADER.finditer(source.code):
        yield match.start(1), f"<{match.group(1)}> belongs into common/system"
    for match in SYSTEM.finditer(source.code):
        yield match.start(1), f"which system it is ({match.group(1)}) is asked in common/system"


def find(sources, context):
    findings = []
    for source in sources:
        if not source.is_c or not fits(source.path, WHERE) or fits(source.path, SEAM):
            continue
        problems = list(problems_of(source))
        if source.path in LINUX_BY_NATURE:
            if not problems:
                findings.append(
                    Finding(source.path, 1, "needs no system any more: take it off the list")
                )
            continue
        for offset, message in problems:
            findings.append(Finding(source.path, source.line_of(offset), message))
    return findings


SAMPLES = (
    (
        "the seam, what is Linux's by its nature, tests, and the C library",
        {
            "common/system/posix/file.c": "#include <sys/stat.h>\n#ifdef __linux__\n#endif\n",
            "tools/synctest/launch.c": "#include <sys/mman.h>\n",
            "tests/unit/test_file.c": "#include <unistd.h>\n",
            "server/program/main.c": "#include <errno.h>\n#include <stdio.h>\n"
            "/* #include <unistd.h> */\n#ifdef __x86_64__\n#endif\n",
        },
        [],
    ),
    (
        "headers of a system outside",
        {
            "server/program/main.c": "#include <stdio.h>\n#include <unistd.h>\n",
            "client/program/client.c": "# include <sys/stat.h>\n#include <netinet/in.h>\n",
            "tools/synctest/lint_rules.c": "#include <signal.h>\n",
        },
        [
            "main.c:2: <unistd.h> belongs into common/system",
            "client.c:1: <sys/stat.h>",
            "client.c:2: <netinet/in.h>",
            "lint_rules.c:1: <signal.h>",
        ],
    ),
    (
        "which system it is, outside",
        {
            "common/base/text.c": "#ifdef _WIN32\n#endif\n"
            "#if defined(__GNUC__) && defined(__linux__)\n#endif\n"
        },
        ["text.c:1: which system it is (_WIN32)", "text.c:3: which system it is (__linux__)"],
    ),
    (
        "a file that stays on the list for nothing",
        {"tools/synctest/launch.c": "#include <stdio.h>\n"},
        ["launch.c:1: needs no system any more"],
    ),
)
