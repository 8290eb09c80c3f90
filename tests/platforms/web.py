"""The browser's client: its libraries and modules by Debian's clang, and its steps beside those of
this machine."""

import os
import shutil

from stages import ROOT, Failed, Skipped, build, run

LIBRARIES = ROOT / "build" / "web-libraries"
WEB = ROOT / "build" / "web"
PLAYERS, TICKS = 4, 10000
NEEDS = {"node": "nodejs", "npm": "npm", "wasm-ld": "lld", "llvm-ar": "llvm", "clang": "clang"}


def build_libraries():
    """Downloads their sources where they are not there yet."""
    for program, package in NEEDS.items():
        if not shutil.which(program):
            raise Skipped(f"{program} is not installed: apt install {package}")
    if not os.path.exists("/usr/lib/wasm32-wasi/libc.a"):
        raise Skipped("apt install wasi-libc libclang-rt-14-dev-wasm32")
    run(["nice", "tools/platforms/web-libraries", LIBRARIES])
    return "libsodium, zstd's decoder, ENet"


def build_modules():
    if not (WEB / "build.ninja").exists():
        run(["cmake", "-S", ".", "-B", WEB, "-G", "Ninja", "--toolchain",
             "tools/platforms/web.cmake", "--log-level=WARNING"])
    run(["nice", "cmake", "--build", WEB])
    return ", ".join(f"{module.name} {module.stat().st_size} bytes"
                     for module in sorted((WEB / "web").glob("*.wasm")))


def parse(words):
    """Name -> chain of hashes, nanoseconds of a step."""
    rows = (line.split() for line in words.splitlines())
    return {name: (chain, int(step_ns)) for name, chain, step_ns in rows}


def compare(theirs):
    """Chains have to be equal, times are told."""
    ours = parse(run([ROOT / "build/release/tests/web/web_steps", PLAYERS, TICKS]))
    theirs = parse(theirs)
    if not ours or {k: v[0] for k, v in ours.items()} != {k: v[0] for k, v in theirs.items()}:
        raise Failed(f"{ours} here, {theirs} there")
    return f"{TICKS} ticks each; of this machine's time: " + ", ".join(
        f"{name} {theirs[name][1] / max(ours[name][1], 1):.2f}" for name in ours)


def compare_node():
    build("release", "web_steps")
    return compare(run(["node", "tests/web/steps.mjs", WEB / "web/steps.wasm", PLAYERS, TICKS]))


def play(report):
    report.stage("libraries", build_libraries)
    report.stage("modules", build_modules, needs=["libraries"])
    report.stage("steps in node", compare_node, needs=["modules"])
