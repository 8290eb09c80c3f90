"""Layers: a folder is a layer, with the folders that it may include; and the files that alone may
name a third-party header."""

import fnmatch
import re
import textwrap

from tree import Finding

# What each layer may include besides itself, from the bottom up: a layer names none that stands
# below it in this table, so no two layers include each other. A folder that is not named belongs to
# the nearest one above it that is.
MATHS = {"common/base", "common/maths"}
SIMULATION = MATHS | {"common/simulation"}
PURE = SIMULATION | {"common/encoding", "common/time", "common/lag", "common/diagnosis"}
FILES = PURE | {"common/compress", "common/journal"}
GAMES = PURE | {"common/simulations", "common/loader"}
WIRE = {"protocol/transport", "protocol/wire", "protocol/blob", "protocol/sealed"}
MEETING = {"protocol/transport", "protocol/sealed", "protocol/relay"}
RUNTIME = {"common/system", "common/runtime", "common/runtime/rerun"}
NETWORK = WIRE | {"protocol/discovery", "protocol/enet", "protocol/relay", "protocol/udp"}
AROUND = FILES | GAMES | RUNTIME | NETWORK | {"common/program", "common/game"}
HOST = {"server/investigation", "server/match", "server/journal", "server/host"}
CLIENT = {"client/session", "client"}
VIEW = {"client/view", "client/window"}
MAY_USE = {
    "tools/liblockstep/lockstep.h": set(),
    "common/base": set(),
    "common/system": {"common/base"},
    "common/maths": {"common/base"},
    "common/compress": {"common/base"},
    "common/program": {"common/base", "common/system"},
    "common/runtime": {"common/base", "common/system"},
    "common/simulation": MATHS,
    "common/encoding": SIMULATION,
    "common/time": SIMULATION,
    "common/lag": SIMULATION,
    "common/simulations": SIMULATION,
    "common/loader": SIMULATION
    | {"common/system", "common/simulations", "tools/liblockstep/lockstep.h"},
    "common/game": SIMULATION | {"common/system", "common/program"},
    "common/diagnosis": SIMULATION | {"common/encoding"},
    "common/runtime/rerun": PURE | {"common/system", "common/loader", "common/runtime"},
    "common/journal": PURE | {"common/compress"},
    "protocol/transport": PURE,
    "protocol/wire": PURE,
    "protocol/blob": PURE | {"protocol/wire", "common/compress"},
    "protocol/sealed": PURE | {"common/system", "protocol/transport"},
    "protocol/relay": {"common/base", "common/system", "common/program"}
    | {"protocol/transport", "protocol/sealed"},
    "protocol/door": {"common/base", "common/system"},
    "protocol/portmap": {"common/base", "common/system"},
    "protocol/enet": PURE | {"common/system"},
    "protocol/discovery": PURE | WIRE,
    "protocol/udp": PURE | NETWORK | {"common/system", "common/runtime"},
    "server/investigation": PURE | WIRE,
    "server/match": PURE | WIRE | {"server/investigation"},
    "server/journal": FILES | {"server/investigation", "server/match", "common/runtime"},
    "server/host": FILES
    | NETWORK
    | {"common/system", "common/program", "common/runtime"}
    | {"server/investigation", "server/match", "server/journal"},
    "server/rooms": AROUND | HOST,
    "server/service": AROUND | HOST | {"protocol/door", "server/rooms"},
    "server/control": RUNTIME | WIRE | {"common/base", "common/program", "server/service"},
    "server/directory": MEETING
    | {"common/base", "common/system", "common/runtime", "common/program", "server/control"},
    "server/broadcast": FILES
    | {"common/system", "common/runtime", "common/program", "server/control"},
    "server/door": {"common/base", "common/system", "common/runtime", "common/program"}
    | {"protocol/door", "protocol/sealed", "server/service", "server/control"}
    | {"server/broadcast"},
    "server/relay": MEETING
    | {"common/base", "common/system", "common/runtime", "common/program", "protocol/door"}
    | {"server/directory", "server/door"},
    "server/program": AROUND
    | HOST
    | {"protocol/door", "protocol/portmap", "server/rooms", "server/service", "server/control"}
    | {"server/door", "server/relay"},
    "client/session": PURE | WIRE,
    "client": PURE | WIRE | {"client/session"},
    "client/view": PURE,
    "client/window": PURE | {"common/system", "client/view", "common/program"},
    "client/link": PURE
    | NETWORK
    | {"common/system", "common/runtime", "common/loader", "client/session"},
    "client/program": AROUND | CLIENT | VIEW | {"client/link"},
    "client/web": AROUND | CLIENT | VIEW | {"client/link", "client/program"},
    "tools/adapters": SIMULATION | {"common/system", "common/loader", "common/simulations"},
    "tools/liblockstep": AROUND
    | HOST
    | CLIENT
    | {"client/link", "server/rooms", "tools/liblockstep/lockstep.h"},
    "tools": AROUND | HOST | CLIENT | VIEW | {"server/service"},
    "tools/replay/web": AROUND | CLIENT | VIEW | {"client/web", "tools"},
    "tests/lab": AROUND | HOST | CLIENT | VIEW | {"server/service", "tools"},
}
MAY_USE["tests"] = set(MAY_USE)
# Their code gets nothing of the system, not even from the C library (PURE_HEADERS).
PURE_LAYERS = PURE - {"common/base"} | {"common/simulations"}

# Each third-party header, and the only files that may name it.
ADAPTERS = {
    "uv.h": (
        "common/runtime/event_loop.c",
        "common/runtime/line_channel.c",
    ),
    "systemd/sd-daemon.h": (
        "common/program/systemd.c",
    ),
    "curl/curl.h": ("common/program/http_transfer.h", "server/control/agones.c"),
    "enet/*": (
        "protocol/enet/enet_channel.c",
        "protocol/enet/enet_ends.h",
        "protocol/enet/enet_ends_built.c",
        "tests/lab/bench/net_server.c",
    ),
    "miniupnpc/*": ("protocol/portmap/router_upnp.c",),
    "natpmp.h": ("protocol/portmap/router_natpmp.c",),
    "utf8proc.h": (
        "common/program/log_format.c", "common/program/player_name.c",
        "tests/unit/test_canvas.c",
    ),
    "xxhash.h": ("common/base/hash_variant.h",),
    "immintrin.h": ("common/base/hash_variant.h",),
    "aclapi.h": ("common/system/windows/*",),
    "conio.h": ("common/system/windows/*",),
    "direct.h": ("common/system/windows/*",),
    "io.h": ("common/system/windows/*", "tests/support/plain_tests_windows.c"),
    "mswsock.h": ("common/system/windows/*",),
    "psapi.h": ("common/system/windows/*",),
    "sddl.h": ("common/system/windows/*",),
    "process.h": ("tests/support/plain_tests_windows.c",),
    "windows.h": ("common/system/windows/*", "tests/support/plain_tests_windows.c"),
    "winsock2.h": ("common/system/windows/*",),
    "ws2tcpip.h": ("common/system/windows/*",),
    "dlfcn.h": (
        "common/system/posix/library.c",
        "common/system/posix/linux_library.c",
        "tools/adapters/libretro/libretro_imports.c",
        "tools/bindings/mono/plugin.c",
        "tests/known_bad/libm.c",
        "tests/loopback/test_programs_matches.c",
    ),
    "sanitizer/*": ("common/simulation/sim_instance.c", "tests/fuzz/fuzz_memory.c",
                    "tests/unit/test_sim_instance.c"),
    "capstone/*": ("tools/disassembler/disassembler.h",),
    "libiberty/*": ("common/program/symbol_name.c",),
    "cjson/*": (
        "common/program/json.c",
        "tests/loopback/*",
        "tests/support/explained.h",
    ),
    "mpfr.h": ("tests/maths/strict_errors.c",),
    "valgrind/*": ("tests/instructions/instruction_paths.c",),
    "dwarf.h": ("tools/desync/machine_code.c", "tools/schema/debug_types.c"),
    "elfutils/*": ("tools/desync/machine_code.c", "tools/schema/debug_types.c"),
    "gelf.h": ("tools/schema/debug_types.c", "tools/synctest/lint.c"),
    "gnutls/abstract.h": ("server/control/tls_files.c",),
    "gnutls/gnutls.h": ("server/control/tls_files.c",),
    "openssl/*": ("server/door/rtc_seal.c",),
    "usrsctp.h": ("server/door/rtc_stream.c",),
    "qrencode.h": ("server/door/page_code.c",),
    "microhttpd.h": ("server/control/http_daemon.h",),
    "sodium.h": ("common/base/cipher.c", "tests/lab/virtual/sealed_network.c"),
    "zstd.h": ("common/compress/compress.c", "common/compress/compress_encoder_none.c"),
    "SDL2/*": ("client/window/font_file_none.c", "client/window/font_writer.c",
               "client/window/window.c"),
    "fontconfig/*": ("client/window/font_file.c",),
    # Of whoever is given the installed header alone.
    "lockstep.h": ("docs/examples/*", "tools/bindings/*"),
    "png.h": ("client/window/window.c",),
    "lua5.4/*": ("tools/adapters/lua/*",),
    "mono/*": ("tools/bindings/mono/*",),
    "box2d/*": ("tools/adapters/box2d/*",),
    "chipmunk/*": ("tools/adapters/chipmunk/*",),
    "criterion/*": ("tests/*",),
}

# What the C language itself gives: no clock, file, heap or environment behind it.
PURE_HEADERS = {
    "inttypes.h",
    "limits.h",
    "stdalign.h",
    "stdarg.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdnoreturn.h",
    "string.h",
}
# Pure files that need more: to format text (names, reasons) with snprintf, and to take the square
# root of a double with its rounding as it should be.
PURE_EXCEPTIONS = {
    "stdio.h": tuple(layer + "/*" for layer in PURE),
    "fenv.h": ("common/simulation/strict_double.c",),
    "math.h": (
        "common/maths/strict_libm.h",
        "common/maths/strict_power.c",
        "common/maths/strict_trig.c",
        "common/simulation/arithmetic_check.c",
        "common/simulations/rope/rope.c",
    ),
    "cmath": ("common/maths/strict_libm.h",),
}

SYSTEM_HEADERS = PURE_HEADERS | {
    "argp.h",
    "cmath",
    "arpa/inet.h",
    "ctype.h",
    "dirent.h",
    "elf.h",
    "errno.h",
    "execinfo.h",
    "fcntl.h",
    "fenv.h",
    "float.h",
    "getopt.h",
    "glob.h",
    "gnu/libc-version.h",
    "ifaddrs.h",
    "link.h",
    "linux/filter.h",
    "linux/openat2.h",
    "linux/sockios.h",
    "locale.h",
    "malloc.h",
    "math.h",
    "net/if.h",
    "netdb.h",
    "netinet/in.h",
    "netinet/tcp.h",
    "poll.h",
    "pthread.h",
    "pty.h",
    "sched.h",
    "setjmp.h",
    "signal.h",
    "spawn.h",
    "stdatomic.h",
    "stdio.h",
    "stdlib.h",
    "strings.h",
    "sys/*",
    "termios.h",
    "time.h",
    "ucontext.h",
    "unistd.h",
}

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)
OURS = "lockstep/"
# What sees the installed headers, as <lockstep/...>.
OUTSIDE = ("docs/examples/", "tests/outside/", "tools/new/template/")


def layer_of(path):
    """The folder in MAY_USE that a file is in, directly or below it."""
    folder = path
    while folder and folder not in MAY_USE:
        folder = folder.rpartition("/")[0]
    return folder or None


def fits(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def adapter_of(header):
    return next((files for name, files in ADAPTERS.items() if fnmatch.fnmatch(header, name)), None)


def own_header_problem(path, header):
    layer = layer_of(path)
    target = layer_of(header[len(OURS) :])
    if target is None:
        return f"{header} is in no layer"
    if target != layer and target not in MAY_USE[layer]:
        return f"{layer} may not include {header} ({target})"
    return None


def outside_header_problem(path, header):
    files = adapter_of(header)
    if files is not None:
        if fits(path, files):
            return None
        return f"only {', '.join(files)} may include <{header}>"
    if header.startswith(OURS) and path.startswith(OUTSIDE):
        return None
    if not fits(header, SYSTEM_HEADERS):
        return f"<{header}> is in no table of tests/checks/layers.py"
    if layer_of(path) in PURE_LAYERS and header not in PURE_HEADERS:
        if not fits(path, PURE_EXCEPTIONS.get(header, ())):
            return f"pure code may not include <{header}>"
    return None


def is_neighbour(path, header, paths):
    """Tests may name what stands beside them by its name alone."""
    return layer_of(path) == "tests" and path.rpartition("/")[0] + "/" + header in paths


def below(layer):
    """The layers that one may include of all that it may include through others as well."""
    through = set().union(*(MAY_USE[lower] for lower in MAY_USE[layer]))
    return sorted(MAY_USE[layer] - through)


def place_of(layer):
    """The sentence with which the README of a folder begins: where it stands."""
    names = [f"`{name}`" for name in below(layer)]
    stands = ", ".join(names[:-1]) + " and " * (len(names) > 1) + "".join(names[-1:])
    sentence = f"The layer stands on {stands}." if names else "The layer stands on the C library."
    return textwrap.fill(sentence, 100, break_long_words=False, break_on_hyphens=False)


def readme_problems(sources):
    texts = {source.path: source.text for source in sources}
    for layer in MAY_USE:
        path = layer + "/README.md"
        if any(name.startswith(layer + "/") for name in texts):
            begin = f"\n\n{place_of(layer)}\n"
            if begin not in texts.get(path, "")[: len(begin) + 80]:
                place = place_of(layer).replace("\n", " ")
                yield Finding(path, 1, f"a folder's README begins with its layer: {place}")


def find(sources, context):
    paths = {source.path for source in sources}
    findings = list(readme_problems(sources)) if "CMakeLists.txt" in paths else []
    for source in sources:
        if not source.is_c or layer_of(source.path) is None:
            continue
        # The quotes are in the text, the comments are not in the code: look where both agree.
        for match in INCLUDE.finditer(source.text):
            if source.code[match.start() : match.end()].strip() == "":
                continue
            quote, header = match.groups()
            if quote == "<":
                problem = outside_header_problem(source.path, header)
            elif header.startswith(OURS):
                problem = own_header_problem(source.path, header)
            elif is_neighbour(source.path, header, paths):
                problem = None
            else:
                problem = f'"{header}" does not start with {OURS}'
            if problem:
                findings.append(Finding(source.path, source.line_of(match.start(2)), problem))
    return findings


def self_test():
    """The table itself: a layer may include nothing that may include it in turn."""
    failures = 0
    done = set()
    for layer, may_use in MAY_USE.items():
        for above in may_use - done - {layer}:
            print(f"FAILED: {layer} may include {above}, which stands below it in MAY_USE")
            failures += 1
        done.add(layer)
    return failures


SAMPLES = (
    (
        "a folder's README says where it stands",
        {
            "CMakeLists.txt": "",
            "common/base/a.c": "",
            "common/base/README.md": "# common/base\n\nThe layer stands on the C library.\n",
            "common/maths/README.md": "# common/maths\n\nIt adds.\n",
            "common/time/a.c": "",
        },
        ["maths/README.md:1: a folder's README", "common/time/README.md:1: a folder's README"],
    ),
    (
        "arrows that exist are allowed",
        {
            "common/base/text.h": '#include "lockstep/common/base/limits.h"\n#include <stddef.h>\n',
            "common/maths/fixed.c": '#include "lockstep/common/base/assert.h"\n'
            "#include <stdio.h>\n",
            "common/simulations/arena/arena.c": '#include "lockstep/common/maths/fixed.h"\n',
            "common/loader/plugin_loader.c": "#include "
            '"lockstep/common/simulations/builtin.h"\n',
            "common/system/posix/library.c": "#include <dlfcn.h>\n",
            "protocol/enet/enet_channel.c": "#include <enet/enet.h>\n#include <errno.h>\n",
            "server/match/match.c": '#include "lockstep/protocol/wire/message.h"\n',
            "server/program/server.c": '#include "lockstep/common/runtime/event_loop.h"\n'
            '#include "lockstep/common/program/option.h"\n',
            "client/program/main.c": '#include "lockstep/client/program/client.h"\n',
            "tools/demo.c": '#include "lockstep/server/match/match.h"\n'
            '#include "lockstep/client/session/session.h"\n',
            "tests/unit/test_rng.c": '#include <criterion/criterion.h>\n#include "golden.h"\n',
            "tests/unit/golden.h": "#include <stdint.h>\n",
        },
        [],
    ),
    (
        "an include in a comment is none",
        {"common/maths/rng.c": '/* \n#include "lockstep/server/match/match.h"\n*/\n'},
        [],
    ),
    (
        "server and client do not know each other",
        {
            "server/match/match.c": '#include "lockstep/client/session/session.h"\n',
            "client/session/session.h": '\n#include "lockstep/server/match/match.h"\n',
        },
        ["match.c:1: server/match may not include", "session.h:2: client/session may not"],
    ),
    (
        "nothing looks upwards",
        {
            "common/base/status.c": '#include "lockstep/common/maths/fixed.h"\n',
            "common/maths/fixed.c": '#include "lockstep/common/simulations/arena/arena.h"\n',
            "common/maths/rng.c": '#include "lockstep/common/loader/plugin_loader.h"\n',
            "common/simulations/a.c": '#include "lockstep/protocol/transport/transport.h"\n',
            "protocol/wire/message.c": '#include "lockstep/server/match/match.h"\n',
        },
        [
            "common/base may not include",
            "common/maths may not include lockstep/common/simulations",
            "common/maths may not include lockstep/common/loader/plugin",
            "common/simulations may not include",
            "protocol/wire may not include",
        ],
    ),
    (
        "cores know no sockets and no programs",
        {
            "server/match/match.c": '#include "lockstep/protocol/udp/transport_udp.h"\n',
            "client/session/session.c": '#include "lockstep/common/program/option.h"\n',
            "protocol/wire/message.c": '#include "lockstep/common/runtime/event_loop.h"\n',
            "common/runtime/event_loop.c": '#include "lockstep/server/match/match.h"\n',
            "common/runtime/rerun/rerun_helper.c": "#include "
            '"lockstep/protocol/wire/message.h"\n',
            "server/match/seat.c": '#include "lockstep/server/program/server.h"\n',
        },
        [
            "server/match may not include lockstep/protocol/udp/transport_udp.h (protocol/udp)",
            "client/session may not include lockstep/common/program/option.h (common/program)",
            "protocol/wire may not include lockstep/common/runtime/event_loop.h (common/runtime)",
            "common/runtime may not include lockstep/server/match/match.h",
            "common/runtime/rerun may not include lockstep/protocol/wire/message.h",
            "server/match may not include lockstep/server/program/server.h (server/program)",
        ],
    ),
    (
        "nothing includes tests, and only they the laboratory",
        {
            "tools/demo.c": '#include "lockstep/tests/match/scene.h"\n',
            "tools/replay/replay.c": '#include "lockstep/tests/lab/virtual/virtual_match.h"\n',
            "tests/lab/bench/bench.c": '#include "lockstep/tests/match/scene.h"\n',
            "tests/match/scene.h": '#include "lockstep/tests/lab/virtual/virtual_match.h"\n',
        },
        ["tools may not include", "tools may not include", "lab may not include"],
    ),
    (
        "third-party headers stay in their adapters",
        {
            "protocol/transport/transport_memory.c": "#include <enet/enet.h>\n",
            "server/program/main.c": "#  include <uv.h>\n",
            "common/simulation/state_hash.c": "#include <xxhash.h>\n",
            "tools/bench.c": "#include <criterion/criterion.h>\n",
            "client/program/main.c": "#include <libfoo.h>\n",
            "tools/lockstep_schema.c": "#include <elfutils/libdw.h>\n",
        },
        [
            "net_server.c may include <enet/enet.h>",
            "common/runtime/line_channel.c may include <uv.h>",
            "hash_variant.h may include <xxhash.h>",
            "may include <criterion",
            "<libfoo.h> is in no table",
            "debug_types.c may include <elfutils/libdw.h>",
        ],
    ),
    (
        "pure code gets nothing that reaches outside",
        {
            "common/maths/rng.c": "#include <time.h>\n#include <stdlib.h>\n",
            "common/simulations/arena/arena.c": "#include <stdio.h>\n#include <math.h>\n",
        },
        ["<time.h>", "<stdlib.h>", "<stdio.h>", "<math.h>"],
    ),
    (
        "paths start at the root",
        {
            "common/maths/rng.c": '#include "rng.h"\n',
            "common/maths/rng.h": "",
            "common/maths/a.c": "#include <lockstep/common/base/b.h>\n",
            "tests/unit/test_rng.c": '#include "common/maths/rng.h"\n',
        },
        [
            'rng.c:1: "rng.h" does not start',
            "is in no table",
            'test_rng.c:1: "common/maths/rng.h"',
        ],
    ),
)
