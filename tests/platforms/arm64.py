"""64-bit ARM: all programs are built by Debian's cross compiler, and run by qemu-user."""

import concurrent.futures
import os
import re
import subprocess

import mixed_match
import stages
from stages import ROOT, Failed, run

BUILD = ROOT / "build" / "arm64"
EMULATOR = ("qemu-aarch64", "-L", ROOT / "build" / "sysroot-arm64")
UNIT_SECONDS_MAX = 3600
SHARE_MIN = 0.97

# Unit tests that cannot pass under qemu-user: how their names begin, and why.
CANNOT_PASS = {
    "explain::": "they start lockstep-desync: this kernel starts no program of another processor",
}

# Adapters whose engine computes otherwise on this processor: plug-in -> the engine's name.
ENGINES = {"box2d": "Box2D", "chipmunk": "Chipmunk"}


def make_sysroot():
    run([ROOT / "tools" / "platforms" / "sysroot"])
    return "Debian's arm64 packages, unpacked"


def build():
    stages.build("arm64", "golden", "programs", "lockstep_box2d", "lockstep_chipmunk")
    return f"{len(list((BUILD / 'bin').iterdir()))} programs"


def compare_golden():
    """The same lines as on every machine: the program, run through the emulator."""
    script = BUILD / "golden-under-qemu"
    words = " ".join(f"'{word}'" for word in (*EMULATOR, BUILD / "tests" / "golden" / "golden"))
    script.write_text(f"#!/bin/sh\nexec {words} \"$@\"\n", encoding="utf-8")
    script.chmod(0o755)
    run([ROOT / "tools" / "platform-matrix", "--check-program", script])
    values = (ROOT / "tests" / "golden" / "golden_values.txt").read_text(encoding="ascii")
    return f"{sum(1 for line in values.splitlines() if line and line[0] != '#')} values"


def run_unit_tests(executable):
    """(tested, names of those that fail) of one executable of the unit tests."""
    try:
        done = subprocess.run([*EMULATOR, executable], capture_output=True, text=True,
                              errors="replace", check=False, timeout=UNIT_SECONDS_MAX,
                              cwd=executable.parent, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 1, {f"{executable.name} (does not end)"}
    tested = re.search(r"Synthesis: Tested: (\d+)", done.stdout)
    if not tested:
        return 1, {f"{executable.name} (ends with {done.returncode})"}
    return int(tested[1]), set(re.findall(r"^\[FAIL\] (\S+?::\S+?):", done.stdout, re.MULTILINE))


def play_unit_tests():
    stages.build("arm64", "unit_tests")
    executables = sorted(path for path in (BUILD / "tests" / "unit").glob("unit_*")
                         if path.is_file() and os.access(path, os.X_OK))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run_unit_tests, executables))
    tested = sum(count for count, _ in results)
    failed = set().union(*(names for _, names in results))
    known = {name for name in failed if any(name.startswith(key) for key in CANNOT_PASS)}
    lines = [f"{tested - len(failed)} of {tested} pass"]
    lines += [f"{key}*: {sum(1 for name in known if name.startswith(key))} fail: {why}"
              for key, why in CANNOT_PASS.items()]
    if failed - known or (tested - len(failed)) < SHARE_MIN * tested:
        raise Failed("\n".join([*lines, *sorted(failed - known)]))
    return "\n".join(lines)


def play_match():
    """A client under the emulator against a server and a client of this machine."""
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    return mixed_match.play({"arm64": [*EMULATOR, BUILD / "bin" / "lockstep-client"]})


def refuse_engine(plugin, engine):
    """Debian's arm64 library rounds otherwise than its x86-64 one (fused multiply-adds)."""
    stages.build("release", "lockstep-server", f"lockstep_{plugin}")
    client = [*EMULATOR, BUILD / "bin" / "lockstep-client", "--sim",
              BUILD / "plugins" / f"{plugin}.so"]
    return mixed_match.refuse(client, ROOT / "build" / "release" / "plugins" / f"{plugin}.so",
                              f"engine {engine}: client ")


def play(report):
    report.stage("sysroot", make_sysroot)
    report.stage("build", build, needs=["sysroot"])
    report.stage("golden values", compare_golden, needs=["build"])
    report.stage("unit tests", play_unit_tests, needs=["build"])
    report.stage("match with x86-64", play_match, needs=["build"])
    for plugin, engine in ENGINES.items():
        report.stage(f"engine {plugin}", lambda: refuse_engine(plugin, engine), needs=["build"])
