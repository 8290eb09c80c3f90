"""64-bit ARM: all programs are built by Debian's cross compiler, and run by qemu-user."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile

import mixed_match
import stages
from stages import ROOT, Failed, run

BUILD = ROOT / "build" / "arm64"
EMULATE = BUILD / "emulate"  # a script of the next line
EMULATOR = ("qemu-aarch64", "-L", ROOT / "build" / "sysroot-arm64")
UNIT_SECONDS_MAX = 3600  # of one module, on a machine that does much else
SHARE_MIN = 0.97
BUILTINS = ("arena", "rope", "spring", "tumble", "units")
LEFT_OUT = pathlib.Path(__file__).with_suffix(".txt")

# Adapters whose engine computes otherwise on this processor: plug-in -> the engine's name. Box2D is
# one of them where tools/platforms/box2d-library has not built it.
ENGINES = {"box2d": "Box2D", "chipmunk": "Chipmunk"}
BOX2D = ROOT / "build" / "box2d-library" / "aarch64" / "libbox2d.a"


def make_sysroot():
    run([ROOT / "tools" / "platforms" / "sysroot"])
    return "Debian's arm64 packages, unpacked"


def build():
    stages.build("arm64", "golden", "programs", "lockstep_box2d", "lockstep_chipmunk")
    return f"{len(list((BUILD / 'bin').iterdir()))} programs"


def write_script(path, command):
    """A program that is this command and what is added to it."""
    words = " ".join(f"'{word}'" for word in command)
    path.write_text(f"#!/bin/sh\nexec {words} \"$@\"\n", encoding="utf-8")
    path.chmod(0o755)


def compare_golden():
    """The same lines as on every machine: the program, run through the emulator."""
    script = BUILD / "golden-under-qemu"
    write_script(script, [*EMULATOR, BUILD / "tests" / "golden" / "golden"])
    run([ROOT / "tools" / "platform-matrix", "--check-program", script])
    values = (ROOT / "tests" / "golden" / "golden_values.txt").read_text(encoding="ascii")
    return f"{sum(1 for line in values.splitlines() if line and line[0] != '#')} values"


def left_out():
    """Names of tests that cannot pass here -> why."""
    lines = LEFT_OUT.read_text(encoding="ascii").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def run_unit_tests(test):
    """(tested, skipped, names of those that fail) of one of CTest's tests: a module."""
    environment = dict(os.environ, LS_TEST_EMULATOR=str(EMULATE))
    try:
        printed = subprocess.run(["nice", *test["command"]], capture_output=True, text=True,
                                 errors="replace", check=False, timeout=UNIT_SECONDS_MAX,
                                 stdin=subprocess.DEVNULL, env=environment).stdout
    except subprocess.TimeoutExpired as late:
        printed = (late.stdout or b"").decode(errors="replace")
    tested = re.search(r"Synthesis: Tested: (\d+)", printed)
    names = re.findall(r"^\[(FAIL|SKIP)\] (\w+::\w+)", printed, re.MULTILINE)
    failed = {name for kind, name in names if kind == "FAIL"}
    if not tested:
        failed.add(f"{test['name']} (does not end)")
    return int(tested[1]) if tested else 1, len(names) - len(failed), failed


def play_unit_tests():
    stages.build("arm64", "unit_tests")
    write_script(EMULATE, EMULATOR)
    listed = run(["ctest", "--test-dir", BUILD, "--show-only=json-v1", "-R", "^unit[.]"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(run_unit_tests, json.loads(listed)["tests"]))
    tested = sum(result[0] for result in results)
    failed = set().union(*(result[2] for result in results))
    known = left_out()
    passed = tested - len(failed)
    lines = [f"{passed} of {tested} pass, of which {sum(result[1] for result in results)} skip"]
    lines += [f"{name}: {known.get(name, f'not in {LEFT_OUT.name}')}" for name in sorted(failed)]
    lines += [f"{name}: passes: take it off the list" for name in sorted(known.keys() - failed)]
    if failed != known.keys() or passed < SHARE_MIN * tested:
        raise Failed("\n".join(lines))
    return "\n".join(lines)


def compare_by_synctest():
    """Every built-in, tick by tick, by the program here and by that under the emulator."""
    stages.build("release", "lockstep-synctest")
    program = ROOT / "build" / "release" / "bin" / "lockstep-synctest"
    other = " ".join(str(word) for word in (*EMULATOR, BUILD / "bin" / "lockstep-synctest"))
    compared = []
    for name in BUILTINS:
        found = json.loads(run([program, name, "--ticks", "300", "--only", "against", "--against",
                                other, "--json", "-"]))
        if found["status"] != "clean" or found["hashes_compared"] != 301:
            raise Failed(f"{name}: {found}")
        compared.append(name)
    return f"301 hashes each of {', '.join(compared)}"


def try_packages():
    """Debian packages, of which a program runs from where it was unpacked."""
    printed = run(["nice", ROOT / "tools" / "package" / "build", "--arm64"])
    packages = [line for line in printed.splitlines() if line.endswith(".deb")]
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            run(["dpkg-deb", "--extract", package, folder])
            fields = run(["dpkg-deb", "--field", package, "Architecture", "Depends"])
            if not re.search(r"^Architecture: arm64\nDepends: .*(libc6 |-dev)", fields):
                raise Failed(f"{package} has the fields {fields}")
        run([*EMULATOR, pathlib.Path(folder) / "usr" / "bin" / "lockstep-replay", "info",
             ROOT / "tests" / "samples" / "closed.journal"])
    return f"{len(packages)} packages"


def play_match():
    """A client under the emulator against a server and a client of this machine."""
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    return mixed_match.play({"arm64": [*EMULATOR, BUILD / "bin" / "lockstep-client"]})


def try_engine(plugin, engine):
    """Debian's arm64 library rounds otherwise than its x86-64 one (fused multiply-adds)."""
    if plugin == "box2d" and BOX2D.exists():
        for preset in ("release", "arm64"):  # which may have been there before the library
            run(["cmake", ROOT / "build" / preset])
            stages.build(preset, "lockstep_box2d")
    stages.build("release", "lockstep-server", "lockstep-client", f"lockstep_{plugin}")
    client = [*EMULATOR, BUILD / "bin" / "lockstep-client", "--sim",
              BUILD / "plugins" / f"{plugin}.so"]
    native = ROOT / "build" / "release" / "plugins" / f"{plugin}.so"
    if plugin == "box2d" and BOX2D.exists():
        return mixed_match.play({"arm64": client}, native)
    return mixed_match.refuse(client, native, f"engine {engine}: client ")


def play(report):
    report.stage("sysroot", make_sysroot)
    report.stage("build", build, needs=["sysroot"])
    report.stage("golden values", compare_golden, needs=["build"])
    report.stage("unit tests", play_unit_tests, needs=["build"])
    report.stage("synctest", compare_by_synctest, needs=["build"])
    report.stage("match with x86-64", play_match, needs=["build"])
    report.stage("packages", try_packages, needs=["build"])
    for plugin, engine in ENGINES.items():
        report.stage(f"engine {plugin}", lambda: try_engine(plugin, engine), needs=["build"])
