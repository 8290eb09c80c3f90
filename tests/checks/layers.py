"""Layers: who may include whom, and which file alone may name a third-party header."""

import fnmatch
import re

from tree import Finding

# The room of a file: the first prefix that fits. The cores of server and client, and what goes over
# the wire, are rooms apart from the programs and sockets around them.
ROOMS = (
    ("compress", "common/base/compress."),
    ("pure", "common/base/byte_stream."),
    ("pure", "common/base/hash."),
    ("pure", "common/base/hash_avx2."),
    ("pure", "common/base/hash_avx512."),
    ("pure", "common/base/hash_variant."),
    ("pure", "common/base/hash_wide."),
    ("pure", "common/base/histogram."),
    ("base", "common/base/"),
    ("system", "common/system/"),
    ("game program", "common/program/drawing."),
    ("game program", "common/program/param_files."),
    ("program", "common/program/"),
    ("double sims", "common/maths/integrator."),
    ("pure", "common/maths/strict_double."),
    ("strict maths", "common/maths/strict_"),
    ("double sims", "common/simulations/chipmunk/"),
    ("double sims", "common/simulations/rope/"),
    ("double sims", "common/simulations/spring/"),
    ("sims", "common/maths/vec3."),
    ("lua", "common/simulations/lua/"),
    ("libretro", "common/simulations/libretro/"),
    ("sims", "common/simulations/"),
    ("loader", "common/simulation/maths_check."),
    ("loader", "common/simulation/plugin_contents."),
    ("loader", "common/simulation/plugin_crash."),
    ("loader", "common/simulation/plugin_file."),
    ("loader", "common/simulation/plugin_loader."),
    ("rerun", "common/runtime/rerun/"),
    ("runtime", "common/runtime/"),
    ("bundle", "common/diagnosis/desync_bundle"),
    ("pure", "common/journal/journal_record."),
    ("pure", "common/journal/match_stream."),
    ("pure", "common/journal/tick_block."),
    ("bundle", "common/journal/record_file."),
    ("record", "common/journal/"),
    ("pure", "common/"),
    ("network", "protocol/discovery/discovery_socket."),
    ("network", "protocol/enet/"),
    ("network", "protocol/udp/"),
    ("protocol", "protocol/"),
    ("server host", "server/host/host."),
    ("server host", "server/host/token_passes."),
    ("server host", "server/journal/journal_file."),
    ("server host", "server/journal/resume."),
    ("server program", "server/program/"),
    ("server program", "server/rooms/"),
    ("service", "server/service/ban_list."),
    ("service", "server/service/calendar."),
    ("service", "server/service/event_ring."),
    ("service", "server/service/room_directory."),
    ("service", "server/service/room_name."),
    ("service", "server/service/room_register."),
    ("service", "server/service/room_report."),
    ("service", "server/service/room_settings."),
    ("service", "server/service/service_config."),
    ("service", "server/service/service_view."),
    ("service", "server/service/toml_file."),
    ("service", "server/service/work_mark."),
    ("service", "server/service/worker_message."),
    ("server program", "server/service/"),
    ("server", "server/"),
    ("view options", "client/program/view_options."),
    ("client program", "client/program/"),
    ("view", "client/view/"),
    ("client", "client/"),
    ("tools", "tools/"),
    ("tests", "tests/"),
)
PURE = {"base", "pure"}
AROUND = PURE | {
    "strict maths",
    "sims",
    "double sims",
    "loader",
    "system",
    "runtime",
    "rerun",
    "compress",
    "bundle",
    "record",
    "program",
    "game program",
    "protocol",
    "network",
}
MAY_USE = {
    "base": {"base"},
    "program": {"base", "program"},
    "game program": PURE | {"program", "game program"},
    "pure": PURE,
    "strict maths": {"base", "strict maths"},
    "compress": {"base", "compress"},
    "bundle": PURE | {"compress", "bundle"},
    "record": PURE | {"compress", "bundle", "record"},
    "double sims": PURE | {"sims", "double sims"},
    "sims": PURE | {"sims", "double sims"},
    "lua": PURE | {"strict maths", "sims", "lua"},
    "libretro": PURE | {"sims", "strict maths", "loader", "libretro"},
    "loader": PURE | {"sims", "double sims", "loader"},
    "system": {"base", "system"},
    "runtime": {"base", "system", "runtime"},
    "rerun": PURE | {"loader", "system", "runtime", "rerun"},
    "network": PURE | {"protocol", "network", "runtime"},
    "protocol": PURE | {"compress", "protocol"},
    "server": PURE | {"protocol", "server"},
    "client": PURE | {"protocol", "client"},
    "server host": PURE
    | {"record", "protocol", "network", "runtime", "server", "server host"},
    "service": PURE | {"program", "protocol", "server", "service", "sims"},
    "server program": AROUND | {"server", "server host", "server program", "service"},
    "view": PURE | {"view"},
    "view options": PURE | {"program", "view", "view options"},
    "client program": AROUND | {"client", "client program", "view", "view options"},
    "tools": AROUND
    | {"server", "server host", "service", "client", "tools", "view", "view options"},
    "tests": {room for room, _ in ROOMS},
}

# Each third-party header, and the only files that may name it.
ADAPTERS = {
    "uv.h": (
        "common/runtime/event_loop.c",
        "common/runtime/line_channel.c",
        "common/runtime/loop_file.c",
    ),
    "systemd/sd-daemon.h": (
        "common/program/service_notify.c",
        "common/program/service_sockets.c",
    ),
    "curl/curl.h": ("common/program/http_transfer.h", "server/service/http_fetcher.c"),
    "enet/*": (
        "protocol/enet/enet_channel.c",
        "tools/bench/net_relay.c",
        "tools/bench/plain_client.c",
    ),
    "utf8proc.h": ("common/program/log_format.c", "common/program/player_name.c"),
    "xxhash.h": ("common/base/hash_variant.h",),
    "immintrin.h": ("common/base/hash_variant.h",),
    "dlfcn.h": (
        "common/simulation/plugin_loader.c",
        "common/simulations/libretro/libretro_core.c",
        "common/simulations/libretro/libretro_imports.c",
        "tests/known_bad/libm_looked_up.c",
        "tests/loopback/test_programs_clock.c",
    ),
    "sanitizer/*": ("common/simulation/sim_instance.c", "tests/fuzz/fuzz_memory.c",
                    "tests/unit/test_sim_instance.c"),
    "capstone/*": ("tools/disassembler/disassembler.h",),
    "cjson/*": (
        "common/program/json.c",
        "common/program/json_read.c",
        "tests/loopback/*",
        "tests/support/explained.c",
        "tests/support/explained.h",
        "tests/unit/test_explain_code.c",
    ),
    "mpfr.h": ("tests/maths/strict_errors.c",),
    "dwarf.h": ("tools/desync/code_place.c", "tools/schema/debug_types.c"),
    "elfutils/*": ("tools/desync/code_place.c", "tools/schema/debug_types.c"),
    "gelf.h": ("tools/schema/debug_types.c", "tools/synctest/lint.c"),
    "microhttpd.h": ("server/service/http_listener.c",),
    "sodium.h": ("common/base/cipher.c", "tools/virtual/seeded_keys.c"),
    "zstd.h": ("common/base/compress.c",),
    "SDL2/*": ("client/view/loudspeaker.c", "client/view/window.c"),
    "fontconfig/*": ("client/view/font_file.c",),
    "png.h": ("client/view/png_file.c",),
    "lua5.4/*": ("common/simulations/lua/*",),
    "box2d/*": ("common/simulations/box2d/*",),
    "chipmunk/*": ("common/simulations/chipmunk/*",),
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
    "stdio.h": ("common/*",),
    "fenv.h": ("common/maths/strict_double.c",),
    "math.h": (
        "common/maths/strict_arc.c",
        "common/maths/strict_libm.h",
        "common/maths/strict_power.c",
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
    "linux/sockios.h",
    "locale.h",
    "malloc.h",
    "math.h",
    "net/if.h",
    "netdb.h",
    "netinet/in.h",
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
OUTSIDE = ("tests/outside/", "tools/new/template/")


def room_of(path):
    return next((room for room, prefix in ROOMS if path.startswith(prefix)), None)


def fits(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def adapter_of(header):
    return next((files for name, files in ADAPTERS.items() if fnmatch.fnmatch(header, name)), None)


def own_header_problem(path, header):
    room = room_of(path)
    target = header[len(OURS) :]
    target_room = room_of(target)
    if target_room is None:
        return f"{header} is in no room"
    if target_room not in MAY_USE[room]:
        return f"{room} may not include {header} ({target_room})"
    return None


def outside_header_problem(path, header):
    room = room_of(path)
    files = adapter_of(header)
    if files is not None:
        if fits(path, files):
            return None
        return f"only {', '.join(files)} may include <{header}>"
    if header.startswith(OURS) and path.startswith(OUTSIDE):
        return None
    if not fits(header, SYSTEM_HEADERS):
        return f"<{header}> is in no table of tests/checks/layers.py"
    if room in ("pure", "sims", "double sims", "strict maths") and header not in PURE_HEADERS:
        if room == "sims" or not fits(path, PURE_EXCEPTIONS.get(header, ())):
            return f"pure code may not include <{header}>"
    return None


def is_neighbour(path, header, paths):
    """Tests may name what stands beside them by its name alone."""
    return room_of(path) == "tests" and path.rpartition("/")[0] + "/" + header in paths


def find(sources, context):
    paths = {source.path for source in sources}
    findings = []
    for source in sources:
        if not source.is_c or room_of(source.path) is None:
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


SAMPLES = (
    (
        "arrows that exist are allowed",
        {
            "common/base/text.h": '#include "lockstep/common/base/limits.h"\n#include <stddef.h>\n',
            "common/maths/fixed.c": '#include "lockstep/common/base/assert.h"\n'
            "#include <stdio.h>\n",
            "common/simulations/arena/arena.c": '#include "lockstep/common/maths/fixed.h"\n',
            "common/simulation/plugin_loader.c": "#include "
            '"lockstep/common/simulations/builtin.h"\n'
            "#include <dlfcn.h>\n",
            "protocol/enet/enet_channel.c": "#include <enet/enet.h>\n#include <sys/socket.h>\n",
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
        ["server/match/match.c:1: server may not", "client/session/session.h:2: client may not"],
    ),
    (
        "nothing looks upwards",
        {
            "common/base/status.c": '#include "lockstep/common/maths/fixed.h"\n',
            "common/maths/fixed.c": '#include "lockstep/common/simulations/arena/arena.h"\n',
            "common/maths/rng.c": '#include "lockstep/common/simulation/plugin_loader.h"\n',
            "common/simulations/a.c": '#include "lockstep/protocol/transport/transport.h"\n',
            "protocol/wire/message.c": '#include "lockstep/server/match/match.h"\n',
        },
        [
            "base may not include",
            "pure may not include lockstep/common/simulations",
            "pure may not include lockstep/common/simulation/plugin",
            "sims may not include",
            "protocol may not include",
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
            "server may not include lockstep/protocol/udp/transport_udp.h (network)",
            "client may not include lockstep/common/program/option.h (program)",
            "protocol may not include lockstep/common/runtime/event_loop.h (runtime)",
            "runtime may not include lockstep/server/match/match.h",
            "rerun may not include lockstep/protocol/wire/message.h",
            "server may not include lockstep/server/program/server.h (server program)",
        ],
    ),
    (
        "nothing includes tests",
        {"tools/bench.c": '#include "lockstep/tests/match/scene.h"\n'},
        ["tools may not include"],
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
            "plain_client.c may include <enet/enet.h>",
            "common/runtime/loop_file.c may include <uv.h>",
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
            "common/a.c": "#include <lockstep/common/b.h>\n",
            "tests/unit/test_rng.c": '#include "common/maths/rng.h"\n',
        },
        [
            'rng.c:1: "rng.h" does not start',
            "is in no table",
            'test_rng.c:1: "common/maths/rng.h"',
        ],
    ),
)
