"""System seam: common/system alone includes headers of a system, and asks which one it is. In it,
calls that Linux alone has stand in files linux_*.c."""

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
    "tools/synctest/process_changes.c",
    "tools/synctest/shims.c",
)

# A public header that other projects include by itself asks how a function of a library is named; a
# file that they compile by themselves, where it lies.
FOR_STRANGERS = ("tools/liblockstep/lockstep.h", "tools/bindings/mono/plugin.c")

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

# Calls and headers that macOS or a BSD has not.
LINUX_FILE = "common/system/posix/linux_*"
LINUX_ALONE = re.compile(
    r"\b(sys/(?:epoll|eventfd|timerfd|signalfd|inotify|prctl|sendfile|sysinfo|pidfd|syscall)\.h"
    r"|linux/\w+\.h|link\.h|epoll_\w+|eventfd|timerfd_\w+|signalfd|inotify_\w+|prctl|accept4"
    r"|(?:send|recv)mmsg|memfd_create|gettid|getrandom|renameat2|close_range|pidfd_open|splice|tee"
    r"|sched_[gs]etaffinity|pthread_setname_np|dl_iterate_phdr|RTLD_DI_LINKMAP|on_exit|mallopt"
    r"|program_invocation_(?:short_)?name|O_PATH|O_TMPFILE|MSG_ZEROCOPY|UDP_(?:SEGMENT|GRO)"
    r"|SO_(?:INCOMING_CPU|ATTACH\w+|BUSY_POLL|(?:RCV|SND)BUFFORCE|MARK|PRIORITY|BINDTODEVICE)"
    r"|IP_(?:RECVERR|MTU_DISCOVER))\b"
)
PROC = "/proc/"
# What is compiled for Linux or glibc alone, or does no harm elsewhere: a file of /proc that is not
# there.
HARMLESS = {
    "common/system/posix/memory.c": {"mallopt"},
    "common/system/posix/machine.c": {
        PROC,
        "sched_getaffinity",
        "dl_iterate_phdr",
        "link.h",
    },
    "common/system/posix/output.c": {PROC},
}


def fits(path, patterns):
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def problems_of(source):
    for match in HEADER.finditer(source.code):
        yield match.start(1), f"<{match.group(1)}> belongs into common/system"
    for match in SYSTEM.finditer(source.code):
        yield match.start(1), f"which system it is ({match.group(1)}) is asked in common/system"


def linux_alone(source):
    left = set(HARMLESS.get(source.path, ()))
    found = [(match.group(1), match.start()) for match in LINUX_ALONE.finditer(source.code)]
    found += [(PROC, offset) for text, offset in source.strings if PROC in text]
    for name, offset in found:
        if name not in HARMLESS.get(source.path, ()):
            message = f"{name} is Linux's: it belongs into {LINUX_FILE}"
            yield Finding(source.path, source.line_of(offset), message)
        left.discard(name)
    for name in sorted(left):
        yield Finding(source.path, 1, f"has no {name} any more: take it off the list")


def find(sources, context):
    findings = []
    for source in sources:
        if source.is_c and fits(source.path, SEAM) and not fits(source.path, (LINUX_FILE,)):
            findings += linux_alone(source)
        is_free = fits(source.path, SEAM + FOR_STRANGERS)
        if not source.is_c or not fits(source.path, WHERE) or is_free:
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
            "tools/synctest/process_changes.c": "#include <sys/mman.h>\n",
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
        "calls that Linux alone has",
        {
            "common/system/posix/linux_parts.c": "#include <sys/epoll.h>\nmemfd_create(n, 0);\n",
            "common/system/posix/file.c": "#include <sys/epoll.h>\n/* memfd_create */\n"
            'int a = memfd_create(n, 0);\nint b = open("/proc/self/x");\n',
            "common/system/posix/output.c": "int a;\n",
        },
        [
            "file.c:1: sys/epoll.h is Linux's",
            "file.c:3: memfd_create is Linux's",
            "file.c:4: /proc/ is Linux's",
            "output.c:1: has no /proc/ any more",
        ],
    ),
    (
        "a file that stays on the list for nothing",
        {"tools/synctest/process_changes.c": "#include <stdio.h>\n"},
        ["process_changes.c:1: needs no system any more"],
    ),
)
