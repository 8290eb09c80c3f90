"""Symbols: what the pure libraries and the cores call outside themselves, and what they keep.

Words in the source can hide behind a macro; undefined symbols of the object code cannot. Writable
static data is what makes a second run in one process differ from the first.
"""

import fnmatch
import os
import re
import subprocess

from tree import Finding

MEMORY = ("memcpy", "memset", "memmove", "memcmp", "memchr")
TEXT = ("strlen", "strnlen", "strcmp", "strncmp", "strchr", "strspn", "strcspn", "strstr")
# These write to the caller's memory only.
FORMATTING = ("snprintf", "vsnprintf")
COMPILER = (
    "__udivti3",
    "__umodti3",
    "__divti3",
    "__modti3",
    "__popcountdi2",
    "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_",
    "ls_*",
)
# Ours, but they reach outside: they belong to programs and adapters.
REACHING = (
    "ls_allocator_heap",
    "ls_build_fingerprint_here",
    "ls_clock_system",
    "ls_log_*",
    "ls_simulation_load",
    "ls_simulation_unload",
    "ls_event_loop_*",
    "ls_transport_udp_*",
    "ls_transport_create_enet*",
)

# Library -> calls allowed.
PURE = MEMORY + TEXT + COMPILER
LIBRARIES = {
    "common/liblockstep_core.a": PURE + FORMATTING,
    "common/liblockstep_diagnosis.a": PURE + FORMATTING,
    "common/liblockstep_bundle.a": PURE + FORMATTING,
    "common/simulations/liblockstep_double_sims.a": PURE,
    "common/simulations/liblockstep_sims.a": PURE,
    "protocol/liblockstep_protocol.a": PURE + FORMATTING,
    "protocol/liblockstep_link_model.a": PURE,
    "protocol/liblockstep_transport_memory.a": PURE,
    "server/liblockstep_server.a": PURE + FORMATTING,
    "client/liblockstep_client.a": PURE + FORMATTING,
    "tools/liblockstep_conditioner.a": PURE + ("netcond_*",),
}
# Object -> what it alone may call besides.
EXCEPTIONS = {
    "arithmetic_check.c.o": ("sqrt",),
    "bots.c.o": ("__tls_get_addr",),  # here and below: see KEPT
    "compress.c.o": ("ZSTD_*",),
    "hash.c.o": ("__cpu_model",),  # what the processor can do, which changes no hash
    "rope.c.o": ("sqrt",),
    "sim_instance.c.o": ("__tls_get_addr",),
    "strict_power.c.o": ("sqrt",),
    "strict_trig.c.o": ("sqrt",),
    "stepper.c.o": ("__tls_get_addr",),
    "strict_double.c.o": ("fegetenv", "fesetenv"),
}

# The one thing that is kept: where in a simulation each thread is. No result depends on it; only
# the last words of a program that crashes do.
KEPT = ("ls_plugin_place_here",)

# Sections that hold what a program may change while it runs. Constants with pointers in them are
# written once, by the loader, and live in .data.rel.ro.
WRITABLE = re.compile(r"^\.(bss|data|tbss|tdata)(\.(?!rel\.ro)|$)|^\*COM\*$")


def without_hardening(name):
    """__snprintf_chk is snprintf, as distributions that harden their code build it."""
    match = re.fullmatch(r"__(\w+)_chk", name)
    return match.group(1) if match else name


def is_allowed(name, allowed):
    if any(fnmatch.fnmatch(name, pattern) for pattern in REACHING):
        return False
    return any(fnmatch.fnmatchcase(without_hardening(name), pattern) for pattern in allowed)


def object_symbols(path):
    """(object file, flags, section, symbol) of every symbol in a library or object."""
    output = subprocess.run(
        ["objdump", "-t", path], capture_output=True, text=True, check=True
    ).stdout
    member = os.path.basename(path)
    for line in output.splitlines():
        heading = re.match(r"(\S+):\s+file format", line)
        if heading:
            member = heading.group(1)
            continue
        symbol = re.match(r"[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+(?: \.\w+)? (\S+)$", line)
        if symbol:
            flags, section, name = symbol.groups()
            yield member, flags, section, name


def library_problems(path, allowed):
    for member, flags, section, name in object_symbols(path):
        exceptions = EXCEPTIONS.get(member, ())
        if section == "*UND*" and not is_allowed(name, allowed + exceptions):
            yield member, f"calls {name}"
        elif name in KEPT:
            continue
        elif WRITABLE.match(section) and (flags.endswith("O") or section.startswith(".t")):
            yield member, f"keeps {name} in {section}: state outlives the match"


def find(sources, context):
    if context.build is None:
        return find_in_sample(sources, context)
    findings = []
    for library, allowed in LIBRARIES.items():
        path = os.path.join(context.build, library)
        if not os.path.exists(path):
            findings.append(Finding(library, 0, "was not built: nothing was checked"))
            continue
        findings += [
            Finding(library, 0, f"{member} {problem}")
            for member, problem in library_problems(path, allowed)
        ]
    return findings


def find_in_sample(sources, context):
    """Each .c of a sample is compiled and taken for a part of the core."""
    findings = []
    for source in (source for source in sources if source.path.endswith(".c")):
        built = os.path.join(context.root, source.path[:-1] + "o")
        subprocess.run(
            [context.compiler, "-O2", "-fPIC", "-c", os.path.join(context.root, source.path)]
            + ["-o", built],
            check=True,
        )
        allowed = LIBRARIES["common/liblockstep_core.a"]
        findings += [
            Finding(source.path, 0, problem) for _, problem in library_problems(built, allowed)
        ]
    return findings


_HARMLESS = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
void ls_other(void);
static const char *const names[] = {"a", "b"};
static const struct { void (*run)(void); } table[] = {{ls_other}};
unsigned __int128 divide(unsigned __int128 a, unsigned __int128 b) { return a / b; }
void format(char *text, int a, size_t size)
{
    memset(text, a, size);
    table[a].run();
    snprintf(text, size, "%s %d", names[a], a);
}
"""

SAMPLES = (
    ("pure code, with constants that hold pointers", {"a.c": _HARMLESS}, []),
    (
        "a clock",
        {"a.c": "#include <time.h>\nlong f(void) { return time(0); }\n"},
        ["calls time"],
    ),
    (
        "a clock behind a macro",
        {
            "a.c": "#include <time.h>\n#define now(x) clock_gettime(0, x)\n"
            "int f(struct timespec *t) { return now(t); }\n"
        },
        ["calls clock_gettime"],
    ),
    (
        "the heap",
        {"a.c": "#include <stdlib.h>\nvoid *f(void) { return malloc(9); }\n"},
        ["calls malloc"],
    ),
    (
        "a socket",
        {"a.c": "int socket(int, int, int);\nint f(void) { return socket(1, 2, 3); }\n"},
        ["calls socket"],
    ),
    (
        "the environment",
        {"a.c": "char *getenv(const char *);\nchar *f(void) { return getenv(\"X\"); }\n"},
        ["calls getenv"],
    ),
    (
        "ours, but it reads the clock",
        {"a.c": "int ls_clock_system(void);\nint f(void) { return ls_clock_system(); }\n"},
        ["calls ls_clock_system"],
    ),
    (
        "the C library's trigonometry",
        {"a.c": "double sin(double);\ndouble f(double x) { return sin(x); }\n"},
        ["calls sin"],
    ),
    (
        "a counter that lives on",
        {"a.c": "int f(void) { static int n; return ++n; }\n"},
        ["in .bss"],
    ),
    (
        "a cache that lives on",
        {"a.c": "static int n = 7;\nint f(int x) { n += x; return n; }\n"},
        ["in .data"],
    ),
    (
        "a cache per thread",
        {"a.c": "static _Thread_local int n = 7;\nint f(int x) { n += x; return n; }\n"},
        ["in .tdata", "calls __tls_get_addr"],
    ),
)
